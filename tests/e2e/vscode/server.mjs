// One code-server, the real workbench and extension host, with our extension and the pane, in folders of its own.

import { spawn } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, openSync, readFileSync, readdirSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';

import { until } from './until.mjs';
import { Watch } from './processes.mjs';

const HERE = import.meta.dirname;

/** What every window is set to, so that only what a scenario does happens. */
export const SETTINGS = {
  'chat.commandCenter.enabled': false,
  'editor.autoClosingBrackets': 'never',
  'editor.autoClosingQuotes': 'never',
  'editor.autoIndent': 'none',
  'editor.formatOnType': false,
  'editor.inlayHints.enabled': 'off',
  'editor.minimap.enabled': false,
  'editor.parameterHints.enabled': false,
  'editor.quickSuggestions': { other: 'off', comments: 'off', strings: 'off' },
  'editor.suggestOnTriggerCharacters': false,
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'files.autoSave': 'off',
  'files.hotExit': 'off',
  'git.enabled': false,
  'json.schemaDownload.enable': false,
  'npm.autoDetect': 'off',
  'security.workspace.trust.banner': 'never',
  'security.workspace.trust.startupPrompt': 'never',
  'telemetry.telemetryLevel': 'off',
  'typescript.disableAutomaticTypeAcquisition': true,
  'typescript.surveys.enabled': false,
  'update.mode': 'none',
  'window.restoreWindows': 'none',
  'workbench.colorTheme': 'Default Dark Modern',
  'workbench.editor.useModal': 'off',
  'workbench.editor.empty.hint': 'hidden',
  'workbench.enableExperiments': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.welcomePage.walkthroughs.openOnInstall': false,
};

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Puts an extension's folder where code-server looks for extensions, under the name that it looks for. */
function install(source, extensions) {
  const manifest = JSON.parse(readFileSync(path.join(source, 'package.json'), 'utf8'));
  const target = path.join(extensions, `${manifest.publisher}.${manifest.name}-${manifest.version}`);
  // What the extension needs of its modules is built into it.
  const isPart = (file) => !['node_modules', '.git', '.stamp'].includes(path.basename(file));
  cpSync(source, target, { recursive: true, filter: isPart, dereference: true });
}

export class Server {
  /**
   * @param {object} options
   * @param {string} options.root an empty folder that is the server's own
   * @param {string} options.tools where `tests/run` has put code-server
   * @param {string} options.extension the built extension
   * @param {string} options.sidecar the sidecar under test
   * @param {boolean} options.trust whether workspaces have to be trusted; else every one is
   */
  static async start({ root, tools, extension, sidecar, trust }) {
    const server = new Server();
    server.root = root;
    server.user = path.join(root, 'user');
    server.sockets = path.join(root, 's');
    server.sidecar = realpathSync(sidecar);
    const extensions = path.join(root, 'extensions');
    for (const folder of [server.user, server.sockets, extensions, path.join(root, 'home')]) mkdirSync(folder, { recursive: true });
    install(extension, extensions);
    install(path.join(HERE, 'pane'), extensions);
    // Whatever arguments the extension gives, nothing of a run outlives it; `exec` keeps the pid.
    server.wrapper = path.join(root, 'ropewalk');
    writeFileSync(server.wrapper, `#!/bin/sh\nexec '${server.sidecar}' --ephemeral "$@"\n`);
    chmodSync(server.wrapper, 0o755);
    server.settle({});
    writeFileSync(path.join(root, 'config.yaml'), '');
    server.port = await freePort();
    const marker = `${process.pid}-${Date.now()}`;
    const program = path.join(tools, 'code-server/node_modules/code-server/out/node/entry.js');
    const node = process.execPath;
    const flags = ['--bind-addr', `127.0.0.1:${server.port}`, '--auth', 'none', '--disable-telemetry', '--disable-update-check'];
    flags.push('--disable-getting-started-override', '--disable-proxy', '--config', path.join(root, 'config.yaml'));
    // On a loaded machine a page can be gone before it has said so; its extension host then ends after this time (s).
    flags.push('--reconnection-grace-time', '10');
    flags.push('--user-data-dir', server.user, '--extensions-dir', extensions);
    if (!trust) flags.push('--disable-workspace-trust');
    const log = openSync(path.join(root, 'code-server.log'), 'w');
    server.child = spawn(node, [program, ...flags], {
      cwd: root,
      detached: true,
      stdio: ['ignore', log, log],
      env: {
        // Nothing of the environment that the tests run in but what a program needs, and no place outside.
        PATH: `${path.dirname(node)}:${process.env.PATH}`,
        HOME: path.join(root, 'home'),
        LANG: 'C.UTF-8',
        TMPDIR: root,
        SHELL: '/bin/sh',
        EXTENSIONS_GALLERY: '{"serviceUrl":"http://127.0.0.1:9/none"}',
        ROPEWALK_RIG: marker,
        ROPEWALK_RIG_SOCKETS: server.sockets,
      },
    });
    server.watch = new Watch(server.child.pid, `ROPEWALK_RIG=${marker}`);
    server.ended = new Promise((resolve) => server.child.once('exit', resolve));
    await until('code-server to answer', async () => {
      if (server.child.exitCode !== null) throw new Error(`code-server ended: ${server.child.exitCode}`);
      return fetch(`http://127.0.0.1:${server.port}/healthz`).then((answer) => answer.ok, () => false);
    });
    return server;
  }

  /** Writes the person's settings, which windows take over at once. */
  settle(settings) {
    const all = Object.entries({ ...SETTINGS, 'ropewalk.path': this.wrapper, ...settings });
    // Those that are a machine's are read from the machine that the extension host runs on.
    const isMachines = ([name]) => name.startsWith('ropewalk.');
    this.#write('User', all.filter((entry) => !isMachines(entry)));
    this.#write('Machine', all.filter(isMachines));
  }

  #write(folder, entries) {
    const file = path.join(this.user, folder, 'settings.json');
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(Object.fromEntries(entries), null, 2));
  }

  /** The sidecars and all that they started, as far as they run. */
  sidecars() {
    return this.watch.below(this.sidecar);
  }

  async stop() {
    if (this.child.exitCode === null && this.child.signalCode === null) process.kill(this.child.pid, 'SIGTERM');
    await Promise.race([this.ended, until('code-server to end', () => this.child.exitCode !== null).catch(() => {})]);
    const gone = () => this.watch.look().filter((found) => found.pid !== this.child.pid).length === 0;
    const left = await until('every process to end', gone, 10000).then(() => [], () => this.watch.look());
    this.watch.stop();
    for (const { pid } of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has gone meanwhile.
      }
    }
    return left.map(({ pid, program }) => `${pid} ${program}`);
  }

  /** The ends of the latest logs that may tell what went wrong, each with its name. */
  logs() {
    const found = [];
    const visit = (folder) => {
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        const file = path.join(folder, entry.name);
        if (entry.isDirectory()) visit(file);
        else if (/exthost\.log$|ropewalk/i.test(entry.name)) found.push(file);
      }
    };
    const logs = path.join(this.user, 'logs');
    if (existsSync(logs)) visit(logs);
    found.sort((a, b) => statSync(a).mtimeMs - statSync(b).mtimeMs);
    found.unshift(path.join(this.root, 'code-server.log'));
    return found.slice(-3).map((file) => `${path.relative(this.root, file)} ends with:\n${readFileSync(file, 'utf8').slice(-2000)}`);
  }
}
