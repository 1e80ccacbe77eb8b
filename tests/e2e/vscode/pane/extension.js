// Plays an agent's pane. The driver sends code over a socket, a line of JSON each, which runs here, in the extension
// host: `{ id, code, arguments }`, where the code is a function of `(vscode, pane, ...arguments)`. `pane` is an object
// that stays from one piece of code to the next.

'use strict';

const net = require('node:net');
const path = require('node:path');
const vscode = require('vscode');

/** What a scenario keeps here, and what every scenario needs. */
const pane = {
  /** Our extension's interface, as any other extension gets it. */
  async api() {
    return vscode.extensions.getExtension('ropewalk.ropewalk').activate();
  },
  /** Begins something that ends later, under a name; `ended` tells. */
  begin(name, promise) {
    pane.pending[name] = null;
    promise.then(
      (value) => (pane.pending[name] = { value }),
      (error) => (pane.pending[name] = { error: String(error?.stack ?? error) }),
    );
  },
  ended(name) {
    return pane.pending[name];
  },
  pending: {},
};

function plain(error) {
  return error instanceof Error ? error.stack ?? error.message : String(error);
}

async function answer(line) {
  const { id, code, arguments: values } = JSON.parse(line);
  try {
    const run = new Function(`return (${code})`)();
    return JSON.stringify({ id, value: (await run(vscode, pane, ...values)) ?? null });
  } catch (error) {
    return JSON.stringify({ id, error: plain(error) });
  }
}

exports.activate = (context) => {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const sockets = process.env.ROPEWALK_RIG_SOCKETS;
  if (!folder || !sockets) return;
  const server = net.createServer((socket) => {
    let waiting = '';
    socket.setEncoding('utf8').on('error', () => {});
    socket.on('data', (text) => {
      const lines = (waiting + text).split('\n');
      waiting = lines.pop();
      for (const line of lines) answer(line).then((reply) => socket.write(`${reply}\n`));
    });
  });
  // A window that is loaded anew gets a host of its own, whose socket has its pid for a name.
  server.listen(path.join(sockets, `${path.basename(folder)}.${process.pid}`));
  context.subscriptions.push({ dispose: () => server.close() });
};
