// Review beyond lenses: a proposal that is edited, words for the model, an undo that is refused, the text before.

import assert from 'node:assert/strict';

import { call, request, text } from '../agent.mjs';

const FILE = `${Array.from({ length: 30 }, (_, line) => `line ${line + 1}`).join('\n')}\n`;

/** A window with a file of this scenario's, open, and what an agent of this scenario's does there. */
async function open(play) {
  const code = await play.share({ 'notes.txt': FILE });
  await code.open(play.file('notes.txt'));
  const uri = play.uri('notes.txt');
  return {
    code,
    text: () => code.document(uri).then((document) => document.text),
    changes: () => request(code, 'ropewalk/changes', { uri }),
    lens: (title) => code.page.locator('.codelens-decoration a', { hasText: title }),
    async edit(from, to, more = {}) {
      const args = { file_path: play.file('notes.txt'), old_string: `${from}\n`, new_string: to };
      const result = await call(code, 'edit', args, { sessionId: play.name, ...more });
      assert.equal(result.status, 'ok', text(result));
    },
    keep: (name) => code.screenshot(`${play.rig.keep}/${play.name}-${name}.png`),
  };
}

export async function a_proposal_is_edited_and_accepted(play) {
  const { code, edit, lens, keep, ...file } = await open(play);
  await edit('line 3', 'proposed 3\n', { apply: 'propose' });
  await edit('line 8', 'proposed 8\n', { apply: 'propose' });
  assert.equal(await file.text(), FILE);
  await code.until('the lenses', async () => (await lens('Accept').count()) === 2);
  await keep('lenses');
  await lens('Accept').first().click();
  await code.until('it to be accepted', async () => (await file.text()).includes('proposed 3'));
  await code.until('the other to stay', async () => (await lens('Accept').count()) === 1);
  await lens('Edit').first().click();
  await code.until('the editor of the proposal', () =>
    code.run((vscode) => vscode.window.activeTextEditor?.document.uri.scheme === 'ropewalk-edit'),
  );
  await code.focused('notes.txt');
  await keep('edit');
  await code.press('Control+Home');
  await code.type('by hand\n');
  await code.until('the typed line', () =>
    code.run((vscode) => vscode.window.activeTextEditor.document.getText().startsWith('by hand\n')),
  );
  await code.page
    .locator('.title-actions a[aria-label^="Accept as Edited"], .editor-actions a[aria-label^="Accept as Edited"]')
    .first()
    .click();
  const expected = `by hand\n${FILE.replace('line 3', 'proposed 3').replace('line 8', 'proposed 8')}`;
  await code.until('the edited text', async () => (await file.text()) === expected);
  // The editor has the text before the sidecar has heard that it was taken.
  await code.until('nothing to be proposed', async () => (await file.changes()).proposals.length === 0);
  await code.until('the editor of the proposal to close', () =>
    code.run((vscode) => vscode.workspace.textDocuments.every((document) => document.uri.scheme !== 'ropewalk-edit')),
  );
}

export async function a_proposal_is_rejected_with_words(play) {
  const { code, edit, lens, ...file } = await open(play);
  await edit('line 3', 'proposed 3\n', { apply: 'propose' });
  await code.until('the lens', async () => (await lens('Reject with words').count()) === 1);
  await lens('Reject with words').click();
  const box = code.page.locator('.quick-input-widget input.input');
  await box.waitFor({ timeout: 20000 });
  await box.fill('Keep the numbers.');
  await code.press('Enter');
  await code.until('it to be gone', async () => (await file.changes()).proposals.length === 0);
  assert.equal(await file.text(), FILE);
  const next = await call(code, 'read', { file_path: play.file('notes.txt') }, { sessionId: play.name });
  assert.match(text(next), /Keep the numbers\./);
}

export async function a_refused_undo_says_where(play) {
  const { code, edit, lens, ...file } = await open(play);
  await edit('line 1', 'LINE 1\n');
  await code.until('the lens', async () => (await lens('Undo').count()) === 1);
  await code.press('Control+Home', 'End');
  await code.type(' and mine');
  await code.shows('LINE 1 and mine');
  await lens('Undo').click();
  await code.sees(/notes\.txt was (not changed|changed in part)/);
  assert.match(await file.text(), /and mine/);
}

export async function the_text_before_is_compared(play) {
  const { code, edit, keep } = await open(play);
  await code.type('typed\n');
  await code.shows('typed\nline 1');
  await edit('line 3', 'LINE 3\n');
  await edit('LINE 3', 'third\n');
  await edit('line 8', '');
  await code.command('Ropewalk: Compare With the Text Before');
  const before = (vscode, _pane, name) =>
    vscode.workspace.textDocuments
      .find(({ uri }) => uri.scheme === 'ropewalk-base' && uri.path.includes(name))
      ?.getText();
  const base = await code.until('the text before', () => code.run(before, play.name));
  assert.equal(base, `typed\n${FILE}`);
  await keep('diff');
}
