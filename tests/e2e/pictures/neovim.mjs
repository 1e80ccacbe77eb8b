// A Neovim with a UI that is ours: real keys go in, and its screen is known.

import { spawn } from 'node:child_process';

import { until } from '../vscode/until.mjs';
import { pack, unpack } from './msgpack.mjs';
import { Screen } from './screen.mjs';

export class Neovim {
  screen = new Screen();
  #waiting = new Map();
  #next = 1;
  #child;
  #complete = 0;

  /** Starts `program` in a folder with these arguments and attaches a screen of so many cells. */
  static async start(program, { cwd, env, columns, rows, flags = [] }) {
    const nvim = new Neovim();
    nvim.#child = spawn(program, ['--embed', '-u', 'NONE', '-i', 'NONE', '-n', ...flags], {
      cwd,
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    nvim.ended = new Promise((resolve) => nvim.#child.once('exit', resolve));
    let waiting = Buffer.alloc(0);
    nvim.#child.stdout.on('data', (bytes) => {
      const { values, rest } = unpack(Buffer.concat([waiting, bytes]));
      waiting = rest;
      for (const value of values) nvim.#take(value);
    });
    await nvim.request('nvim_ui_attach', columns, rows, { rgb: true, ext_linegrid: true });
    return nvim;
  }

  #take([kind, ...rest]) {
    if (kind === 1) {
      const [id, error, result] = rest;
      const [resolve, reject] = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) reject(new Error(String(error[1] ?? error)));
      else resolve(result);
    } else if (kind === 2 && rest[0] === 'redraw' && this.screen.take(rest[1])) this.#complete += 1;
  }

  request(method, ...parameters) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, [resolve, reject]);
      this.#child.stdin.write(pack([0, id, method, parameters]));
    });
  }

  lua(code, ...values) {
    return this.request('nvim_exec_lua', code, values);
  }

  async type(keys) {
    await this.request('nvim_input', keys);
  }

  /** Waits until a text is to be read on the screen. */
  shows(expected) {
    const has = () => (expected instanceof RegExp ? expected.test(this.screen.text()) : this.screen.text().includes(expected));
    return until(`${expected} on the screen`, has).catch((error) => {
      throw new Error(`${error.message}; it shows:\n${this.screen.text()}`);
    });
  }

  /** Waits until a chunk of Lua gives something true. */
  until(what, code, ...values) {
    return until(what, () => this.lua(code, ...values));
  }

  /** Draws everything anew and waits for that. */
  async redraw() {
    const before = this.#complete;
    await this.request('nvim_command', 'redraw!');
    await until('the screen', () => this.#complete > before);
  }

  async stop() {
    // The answer never comes: Neovim ends.
    this.request('nvim_command', 'qall!').catch(() => {});
    await this.ended;
  }
}
