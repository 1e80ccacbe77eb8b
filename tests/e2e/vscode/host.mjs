// The driver's end of the pane's socket: code that runs in the extension host of one window.

import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';

import { until } from './until.mjs';

export class Host {
  #waiting = new Map();
  #next = 1;
  #socket;

  /** Waits for the extension host of the window that shows a folder of this name. */
  static async of(sockets, name, without = []) {
    const host = new Host();
    await until('the extension host', async () => {
      for (const file of readdirSync(sockets)) {
        const pid = Number(file.slice(name.length + 1));
        if (file !== `${name}.${pid}` || without.includes(pid)) continue;
        if (await host.#connect(path.join(sockets, file))) {
          host.pid = pid;
          return true;
        }
      }
      return false;
    });
    return host;
  }

  #connect(file) {
    return new Promise((resolve) => {
      const socket = connect(file);
      socket.once('error', () => resolve(false));
      socket.once('connect', () => {
        this.#socket = socket.setEncoding('utf8');
        this.#listen();
        resolve(true);
      });
    });
  }

  #listen() {
    let waiting = '';
    this.#socket.on('data', (text) => {
      const lines = (waiting + text).split('\n');
      waiting = lines.pop();
      for (const line of lines) {
        const { id, value, error } = JSON.parse(line);
        const [resolve, reject] = this.#waiting.get(id);
        this.#waiting.delete(id);
        if (error === undefined) resolve(value);
        else reject(new Error(`in the extension host: ${error}`));
      }
    });
    this.#socket.on('close', () => {
      for (const [, reject] of this.#waiting.values()) reject(new Error('the extension host is gone'));
      this.#waiting.clear();
    });
  }

  /** Runs a function of `(vscode, pane, ...values)` in the extension host and gives what it gives, as JSON can. */
  run(code, ...values) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, [resolve, reject]);
      this.#socket.write(`${JSON.stringify({ id, code: code.toString(), arguments: values })}\n`);
    });
  }

  close() {
    this.#socket?.destroy();
  }
}
