// The pictures of the README, taken of the real editors at work: `tests/run pictures`. The driver of the VS Code scenarios
// plays this file, too, and keeps a picture of how each scene ends.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { call, request, text } from '../vscode/agent.mjs';
import { Neovim } from './neovim.mjs';

const CHECKOUT = path.resolve(import.meta.dirname, '../../..');

const SHOP = `export interface Item {
  name: string;
  price: number; // in cents
  count: number;
}

/** What all of it costs, in cents. */
export function total(items: Item[]): number {
  return items.reduce((sum, item) => sum + item.price, 0);
}

/** A line for each item, and one for the total. */
export function receipt(items: Item[]): string {
  const lines = items.map((item) => item.name);
  lines.push(\`Total: \${total(items)}\`);
  return lines.join('\\n');
}
`;

/** An agent in VS Code: an edit under review, one that brings an error, and a proposal, in a buffer that was never saved. */
export async function vscode(play) {
  const settings = { 'editor.fontSize': 13, 'chat.disableAIFeatures': true, 'breadcrumbs.enabled': false };
  const files = {
    'cart.ts': SHOP,
    'tsconfig.json': '{ "compilerOptions": { "strict": true, "noEmit": true, "types": [], "target": "es2022" } }\n',
  };
  const code = await play.open({}, { folder: play.folder(files, 'shop'), settings });
  await code.open('cart.ts');
  await code.type('// Typed a moment ago, and not saved.\n');
  await code.shows('// Typed a moment ago');
  const session = { sessionId: 'agent' };
  await request(code, 'ropewalk/openSession', { ...session, label: 'Agent' });
  const todos = [
    { content: 'Count each item in the total', status: 'completed' },
    { content: 'Show what each item costs', status: 'in_progress' },
  ];
  await call(code, 'todowrite', { todos }, session);
  const diagnostics = { wait: 'fresh', deadlineMs: 20000 };
  const edit = async (from, to, more = {}) => {
    const result = await call(code, 'edit', { file_path: 'cart.ts', old_string: from, new_string: to }, { ...session, ...more });
    assert.equal(result.status, 'ok', text(result));
    return text(result);
  };
  await call(code, 'read', { file_path: 'cart.ts' }, session);
  await edit('sum + item.price, 0', 'sum + item.price * item.count, 0', { diagnostics });
  const told = await edit('(item) => item.name)', '(item) => `${item.name}: ${item.cost}`)', { diagnostics, callId: 'wrong' });
  assert.match(told, /'cost' does not exist/);
  await edit("`Total: ${total(items)}`", "`Total: ${(total(items) / 100).toFixed(2)}`", { apply: 'propose' });
  await code.run((vscode) => vscode.commands.executeCommand('workbench.view.extension.ropewalk'));
  await code.run((vscode) => vscode.commands.executeCommand('workbench.actions.view.problems'));
  await code.sees("Property 'cost' does not exist");
  const lens = (word) => code.page.locator('.codelens-decoration a', { hasText: word }).first();
  await lens('Keep').waitFor();
  await lens('Accept').waitFor();
  await code.page.locator('.monaco-editor .view-line').first().click();
}

const CART = `from dataclasses import dataclass


@dataclass
class Item:
    name: str
    price: int  # in cents
    count: int


def total(items: list[Item]) -> int:
    """What all of it costs, in cents."""
    return sum(item.price for item in items)


def receipt(items: list[Item]) -> str:
    """A line for each item, and one for the total."""
    lines = [item.name for item in items]
    lines.append(f"Total: {total(items)}")
    return "\\n".join(lines)
`;

/** Calls a tool in Neovim and waits for its result. */
async function callIn(nvim, name, args, options = {}) {
  await nvim.lua(
    `local name, arguments, options = ...
    Called = nil
    require('ropewalk').call(name, arguments, function(err, result)
      Called = { err = err, result = result }
    end, options)`,
    name,
    args,
    options,
  );
  await nvim.until(`the result of ${name}`, 'return Called ~= nil');
  const { err, result } = await nvim.lua('return Called');
  assert.ok(!err, JSON.stringify(err));
  assert.equal(result.status, 'ok', text(result));
  return text(result);
}

/** The same in Neovim, with the agent's pane beside the buffer. */
export async function neovim(play) {
  const { ROPEWALK_TOOLS: tools, ROPEWALK_BIN: sidecar } = process.env;
  const folder = play.folder({ 'cart.py': CART }, 'till');
  const home = path.join(play.rig.root, 'neovim');
  mkdirSync(home);
  const env = { PATH: `${tools}/py/bin:${process.env.PATH}`, HOME: home, LANG: 'C.UTF-8', XDG_RUNTIME_DIR: home };
  for (const kind of ['CONFIG', 'DATA', 'STATE', 'CACHE']) env[`XDG_${kind}_HOME`] = path.join(home, kind.toLowerCase());
  const nvim = await Neovim.start(path.join(tools, 'bin/nvim'), { cwd: folder, env, columns: 132, rows: 30 });
  try {
    await nvim.lua(
      `local plugin, sidecar = ...
      vim.opt.runtimepath:prepend(plugin)
      vim.cmd('filetype on | syntax on')
      vim.cmd.runtime('plugin/ropewalk.lua')
      vim.o.termguicolors, vim.o.number, vim.o.signcolumn, vim.o.laststatus = true, true, 'yes', 3
      vim.opt.fillchars = { eob = ' ' }
      vim.o.showmode, vim.o.ruler, vim.o.swapfile = false, false, false
      vim.diagnostic.config({ virtual_text = true })
      vim.lsp.config('basedpyright', { cmd = { 'basedpyright-langserver', '--stdio' }, filetypes = { 'python' } })
      vim.lsp.enable('basedpyright')
      require('ropewalk').setup({ cmd = { sidecar, '--ephemeral' }, trusted = false })
      vim.cmd.edit('cart.py')`,
      path.join(CHECKOUT, 'editors/nvim'),
      sidecar,
    );
    await nvim.until('the sidecar', "return #vim.lsp.get_clients({ name = 'ropewalk' }) > 0");
    await nvim.until('the language server', "return #vim.lsp.get_clients({ name = 'basedpyright' }) > 0");
    await nvim.type('O# Typed a moment ago, and not saved.<Esc>');
    await nvim.shows('# Typed a moment ago');
    await callIn(nvim, 'read', { file_path: 'cart.py' });
    const diagnostics = { diagnostics: { wait: 'fresh', deadlineMs: 20000 } };
    const edit = (from, to) => callIn(nvim, 'edit', { file_path: 'cart.py', old_string: from, new_string: to }, diagnostics);
    await edit('sum(item.price for item', 'sum(item.price * item.count for item');
    const told = await edit('[item.name for item', '[f"{item.name}: {item.cost}" for item');
    assert.match(told, /"cost"/);
    await nvim.lua(
      `vim.cmd('botright vnew')
      vim.bo.buftype, vim.bo.filetype = 'nofile', 'markdown'
      vim.cmd.file('agent')
      vim.api.nvim_win_set_width(0, 52)
      vim.wo.number, vim.wo.wrap, vim.wo.linebreak, vim.wo.signcolumn = false, true, true, 'no'
      local lines = vim.split(..., '\\n')
      table.insert(lines, 1, '> edit cart.py')
      table.insert(lines, 2, '')
      vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
      vim.cmd.wincmd('p')
      vim.cmd.normal({ 'gg', bang = true })`,
      told,
    );
    await nvim.redraw();
    const page = await play.rig.context.newPage();
    await page.setContent(nvim.screen.html());
    await page.locator('pre').screenshot({ path: path.join(play.rig.keep, 'neovim.png') });
    await page.close();
  } finally {
    await nvim.stop();
  }
  // A picture of nothing is smaller.
  assert.ok(readFileSync(path.join(play.rig.keep, 'neovim.png')).length > 20000);
}
