// Plays scenarios in the real VS Code workbench: `node driver.mjs FILE [SCENARIO...]` plays those of a file, each in a
// window and a folder of its own, and prints a verdict as JSON in its last line; `--list FILE` lists them.
//
// Environment: ROPEWALK_BIN is the sidecar, ROPEWALK_TOOLS where code-server and the rest are, ROPEWALK_EXTENSION the
// built extension, ROPEWALK_KEEP where pictures are kept.

import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { chromium } from './browser.mjs';
import { Server } from './server.mjs';
import { Window } from './window.mjs';

/** What a scenario gets. */
class Play {
  windows = [];

  constructor(name, rig) {
    Object.assign(this, { name, rig });
  }

  /** A folder with files; each name may hold folders, each text may be a Buffer. */
  folder(files, name = this.name) {
    const folder = path.join(this.rig.root, name);
    mkdirSync(folder, { recursive: true });
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), text);
    }
    return realpathSync(folder);
  }

  /** Opens a window on a new folder with these files, and waits for the extension. */
  async open(files, { settings = {}, folder = this.folder(files), ready = true } = {}) {
    this.rig.server.settle(settings);
    const window = await Window.open(this.rig.server, this.rig.context, folder);
    this.windows.push(window);
    if (ready) await window.ready();
    return window;
  }

  /** The window that scenarios of the file share, without any editor; the files are in a folder of this scenario's. */
  async share(files) {
    this.folder(files, path.join(SHARED, this.name));
    if (this.rig.shared?.page.isClosed() !== false) {
      this.rig.shared = await this.open({}, { folder: this.folder({}, SHARED) });
      this.windows.pop();
    }
    await this.rig.shared.tidy();
    return this.rig.shared;
  }

  /** What is on the disk of a file of this scenario's own folder. */
  read(name) {
    return readFileSync(path.join(this.rig.root, this.name, name), 'utf8');
  }

  /** The name, within the shared folder, of a file of this scenario. */
  file(name) {
    return `${this.name}/${name}`;
  }

  uri(name) {
    return this.rig.shared.uri(this.file(name));
  }

  /** What is on the disk of a file of this scenario in the shared folder. */
  saved(name) {
    return readFileSync(path.join(this.rig.root, SHARED, this.name, name), 'utf8');
  }
}

/** The name of the folder that is open in the shared window. */
const SHARED = 'shared';

/** Closes a window; without a proper end nothing is left that could disturb the next scenario. */
async function close(window, faults) {
  await window.close().catch((error) => faults.push(`after closing: ${error.message}`));
  if (!window.page.isClosed()) await window.page.close();
}

async function play(name, scenario, rig) {
  const begun = performance.now();
  const played = new Play(name, rig);
  const faults = [];
  try {
    await scenario(played);
  } catch (error) {
    faults.push(error.stack ?? String(error));
  }
  for (const window of [...played.windows, rig.shared].filter((window) => window && !window.page.isClosed())) {
    const picture = path.join(rig.keep, `${name}.png`);
    await window.screenshot(picture).catch((error) => faults.push(`no picture: ${error.message}`));
    if (faults.length > 0) console.log(`${name}: a picture of its end is ${picture}`);
    if (faults.length > 0) for (const log of rig.server.logs()) console.log(log);
    // What failed may have left anything in a window.
    if (window !== rig.shared || faults.length > 0) await close(window, faults);
  }
  const seconds = Math.round((performance.now() - begun) / 100) / 10;
  console.log(`${faults.length === 0 ? 'ok' : 'FAILED'} ${name} (${seconds} s)`);
  return { name, ok: faults.length === 0, seconds, detail: faults.join('\n') || undefined };
}

async function main() {
  const [first, ...rest] = process.argv.slice(2);
  const file = path.resolve(first === '--list' ? rest[0] : first);
  const { options = {}, ...scenarios } = await import(pathToFileURL(file).href);
  if (first === '--list') {
    console.log(Object.keys(scenarios).join('\n'));
    return 0;
  }
  const names = rest.length > 0 ? rest : Object.keys(scenarios);
  const { ROPEWALK_TOOLS: tools, ROPEWALK_BIN: sidecar, ROPEWALK_EXTENSION: extension } = process.env;
  // Sockets have short names only, so this folder does, too.
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'rw-')));
  const keep = process.env.ROPEWALK_KEEP ?? path.join(tmpdir(), 'ropewalk-pictures');
  mkdirSync(keep, { recursive: true });
  const results = [];
  const left = [];
  const rig = { root, keep };
  let server;
  let browser;
  try {
    server = rig.server = await Server.start({ root, tools, extension, sidecar, ...options });
    browser = await chromium(createRequire(path.join(tools, 'code-server/package.json')));
    rig.context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    for (const name of names) {
      if (!scenarios[name]) throw new Error(`no scenario ${name}`);
      results.push(await play(name, scenarios[name], rig));
    }
    const faults = [];
    if (rig.shared?.page.isClosed() === false) await close(rig.shared, faults);
    if (faults.length > 0) results.push({ name: 'the shared window', ok: false, detail: faults.join('\n') });
  } catch (error) {
    results.push({ name: 'the rig', ok: false, detail: error.stack });
  } finally {
    await browser?.close();
    if (server) left.push(...(await server.stop()));
  }
  if (left.length > 0) results.push({ name: 'the end', ok: false, detail: `processes are left:\n${left.join('\n')}` });
  const ok = results.every((result) => result.ok);
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  console.log(JSON.stringify({ ok, results }));
  return ok ? 0 : 1;
}

process.exit(await main());
