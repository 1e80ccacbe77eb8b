// One window of the workbench, used as a person uses it: keys, clicks, and what there is to see.

import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { Host } from './host.mjs';
import { DEADLINE, until } from './until.mjs';

/** Matches a text that a person sees: part of it, or a regular expression. */
export function matches(text, expected) {
  return expected instanceof RegExp ? expected.test(text) : text.includes(expected);
}

export class Window {
  constructor(server, page, folder) {
    Object.assign(this, { server, page, folder });
  }

  static async open(server, context, folder) {
    const page = await context.newPage();
    page.setDefaultTimeout(DEADLINE);
    const window = new Window(server, page, folder);
    // Closing with unsaved documents asks; a person who closes the browser's window says yes.
    page.on('dialog', (dialog) => dialog.accept().catch(() => {}));
    await page.goto(`http://127.0.0.1:${server.port}/?folder=${encodeURIComponent(folder)}`);
    await page.locator('.monaco-workbench').waitFor({ timeout: DEADLINE });
    window.host = await Host.of(server.sockets, path.basename(folder));
    return window;
  }

  /** Waits until our extension has come to life by itself and its sidecar runs. */
  async ready() {
    const isActive = (vscode) => vscode.extensions.getExtension('ropewalk.ropewalk').isActive;
    await this.until('the extension to be active', () => this.run(isActive));
    // One that failed counts as active as well; this says why.
    await this.run(async (_vscode, pane) => void (await pane.api()));
    return this.until('the sidecar', () => this.sidecar());
  }

  /** The pid of the sidecar, or undefined. */
  sidecar() {
    return this.server.sidecars().find((found) => found.program === this.server.sidecar)?.pid;
  }

  until(what, condition, deadline) {
    return until(what, condition, deadline);
  }

  /** Runs a function of `(vscode, pane, ...values)` in the extension host. */
  run(code, ...values) {
    return this.host.run(code, ...values);
  }

  uri(name) {
    return pathToFileURL(path.join(this.folder, name)).href;
  }

  async press(...keys) {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  /** Types a text, each key so long after the one before (ms). */
  async type(text, delay = 0) {
    await this.page.keyboard.type(text, { delay });
  }

  /** Opens a file of the folder through the quick open box; with `editor: false` it is no text that takes keys. */
  async open(name, { editor = true } = {}) {
    const folder = path.dirname(name);
    // Files of the same name may be listed from before, until what was typed is searched for.
    await this.#choose('Control+P', name, path.basename(name), folder === '.' ? '' : folder);
    if (editor) await this.focused(path.basename(name));
  }

  /** Closes every editor without saving. */
  async tidy() {
    await this.press('Escape');
    await this.run(async (vscode) => {
      while (vscode.window.tabGroups.activeTabGroup.activeTab) {
        await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
      }
    });
  }

  /** Waits until an editor with this name is shown and takes keys. */
  async focused(name) {
    await this.page.locator('.tab.active', { hasText: name }).first().waitFor({ timeout: DEADLINE });
    await this.until(`the editor of ${name} to take keys`, () =>
      this.page.evaluate(() => document.activeElement?.closest('.monaco-editor') !== null),
    );
  }

  /** Runs a command by its title through the palette. */
  async command(title) {
    await this.#choose('F1', `>${title}`, title);
  }

  /** Opens the quick input by a key, types into it and takes the entry with this label that says this, too. */
  async #choose(key, text, label, says = '') {
    const box = this.page.locator('.quick-input-widget input.input');
    const row = this.#row(label, says);
    const focused = row.and(this.page.locator('.focused'));
    await this.until(`the entry ${label} of the quick input`, async () => {
      try {
        if (!(await box.isVisible())) await this.press(key);
        else if ((await box.inputValue({ timeout: 1000 })) !== text) await box.fill(text, { timeout: 1000 });
        else if (await focused.isVisible()) {
          // A click could meet another entry, should the list grow under the mouse.
          await this.press('Enter');
          return true;
        } else if (await row.isVisible()) await this.press('ArrowDown');
      } catch {
        // One that is about to close, or that another takes the place of, has to be opened once more.
      }
      return false;
    });
    await this.until('the quick input to close or to ask for more', async () => !(await row.isVisible()));
  }

  /** The entry of a quick pick whose label is exactly this, and that has some text besides. */
  #row(label, says) {
    const name = this.page.locator('.label-name').getByText(label, { exact: true });
    return this.page.locator('.quick-input-list .monaco-list-row').filter({ has: name, hasText: says }).first();
  }

  /** What a quick pick offers, once it is there. */
  async offered() {
    await this.page.locator('.quick-input-list .monaco-list-row').first().waitFor({ timeout: DEADLINE });
    return this.page.locator('.quick-input-widget').innerText();
  }

  /** The lines of the active editor that are on the screen, as they look. */
  async lines() {
    return this.page.evaluate(() => {
      const editors = [...document.querySelectorAll('.editor-group-container.active .monaco-editor')];
      const editor = editors.find((found) => found.contains(document.activeElement)) ?? editors[0];
      if (!editor) return [];
      const lines = [...editor.querySelectorAll('.view-lines > .view-line')];
      lines.sort((a, b) => parseFloat(a.style.top) - parseFloat(b.style.top));
      return lines.map((line) => line.textContent.replaceAll('\u00a0', ' '));
    });
  }

  /** Waits until the active editor shows a text, and extensions, which hear of what is typed a little later, have it, too. */
  async shows(expected) {
    const heard = (vscode) => vscode.window.activeTextEditor?.document.getText().replaceAll('\r\n', '\n') ?? '';
    return this.until(`the editor to show ${expected}`, async () => {
      const text = (await this.lines()).join('\n');
      return matches(text, expected) && matches(await this.run(heard), expected) && text;
    }).catch(async (error) => {
      throw new Error(`${error.message}; it shows:\n${(await this.lines()).join('\n')}`);
    });
  }

  /** Waits until some text is seen anywhere in the workbench, outside of webviews. */
  async sees(expected) {
    return this.until(`${expected} on the screen`, async () => {
      const text = (await this.page.locator('.monaco-workbench').innerText()).replaceAll('\u00a0', ' ');
      return matches(text, expected) && text;
    });
  }

  /** The frame of the webview that shows a text now, if there is one. */
  async #frame(expected) {
    for (const frame of this.page.frames()) {
      if (frame === this.page.mainFrame()) continue;
      // A frame that is being replaced shows nothing.
      const text = await frame.evaluate(() => document.body?.innerText ?? '').catch(() => '');
      if (matches(text, expected)) return frame;
    }
    return undefined;
  }

  /** The frame of the webview that shows a text. */
  async frame(expected) {
    return this.until(`a webview with ${expected}`, () => this.#frame(expected));
  }

  /** Clicks in the webview that shows a text, until `done`: the first moments on the screen count for nothing. */
  async click(expected, selector, done) {
    await this.until(`${selector} to do something`, async () => {
      if (await done()) return true;
      const frame = await this.#frame(expected);
      await frame?.locator(selector).first().click({ timeout: 1000 }).catch(() => {});
      return false;
    });
  }

  /** The text of a document, as the extension host has it, and its version, line ends and whether it is unsaved. */
  document(uri) {
    return this.run((vscode, _pane, uri) => {
      const found = vscode.workspace.textDocuments.find((document) => document.uri.toString() === vscode.Uri.parse(uri).toString());
      return found && { text: found.getText(), version: found.version, eol: found.eol, dirty: found.isDirty };
    }, uri);
  }

  async screenshot(file) {
    await this.page.screenshot({ path: file });
  }

  /** Closes the window as a person does, and waits until its extension host and its sidecar are gone. */
  async close() {
    const { pid } = this.host;
    const closed = new Promise((resolve) => this.page.once('close', resolve));
    await this.page.close({ runBeforeUnload: true });
    await closed;
    this.host.close();
    await this.until('the extension host to end', () => !this.server.watch.look().some((found) => found.pid === pid));
    await this.until('the sidecar and its children to end', () => this.server.sidecars().length === 0).catch((error) => {
      const left = this.server.sidecars().map((found) => `${found.pid} ${found.commandLine}`);
      throw new Error(`${error.message}; left are:\n${left.join('\n')}`);
    });
  }
}
