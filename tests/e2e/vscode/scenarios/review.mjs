// Review: what agents changed or propose, judged by a person.

import assert from 'node:assert/strict';

import { call, request, text } from '../agent.mjs';

const LINES = Array.from({ length: 30 }, (_, line) => `line ${line + 1}`);
const FILE = `${LINES.join('\n')}\n`;

async function edit(code, callId, from, to, more = {}) {
  const args = { file_path: 'notes.txt', old_string: `${from}\n`, new_string: to };
  const result = await call(code, 'edit', args, { sessionId: 'pane', callId, ...more });
  assert.equal(result.status, 'ok', text(result));
  return result;
}

const lens = (code, title) => code.page.locator('.codelens-decoration a', { hasText: title });

/** What waits, as the sidecar says. */
function changes(code) {
  return request(code, 'ropewalk/changes', {});
}

function docText(code) {
  return code.document(code.uri('notes.txt')).then((document) => document.text);
}

export async function one_hunk_is_kept_and_another_undone(play) {
  const code = await play.open({ 'notes.txt': FILE });
  await code.open('notes.txt');
  await code.type('typed\n');
  await edit(code, 'first', 'line 3', 'LINE 3\nand more\n');
  await edit(code, 'second', 'line 12', '');
  await code.until('the lenses', async () => (await lens(code, 'Keep').count()) >= 3);
  await code.screenshot(`${play.rig.keep}/${play.name}-lenses.png`);
  // Typing above moves everything along.
  await code.press('Control+Home');
  await code.type('above\n');
  await lens(code, 'Keep').nth(1).click();
  await code.until('one to be kept', async () => (await changes(code)).files[0]?.hunks.length === 1);
  await lens(code, 'Undo').first().click();
  await code.until('the other to be undone', async () => (await changes(code)).files.length === 0);
  const expected = `above\ntyped\n${FILE.replace('line 3\n', 'LINE 3\nand more\n')}`;
  assert.equal(await docText(code), expected);
  await code.until('the lenses to go', async () => (await lens(code, 'Keep').count()) === 0);
}

export async function a_proposal_is_shown_edited_and_accepted(play) {
  const code = await play.open({ 'notes.txt': FILE });
  await code.open('notes.txt');
  await edit(code, 'first', 'line 3', 'proposed 3\n', { apply: 'propose' });
  await edit(code, 'second', 'line 8', 'proposed 8\n', { apply: 'propose' });
  assert.equal(await docText(code), FILE);
  await code.until('the lenses', async () => (await lens(code, 'Accept').count()) === 2);
  await code.screenshot(`${play.rig.keep}/${play.name}-lenses.png`);
  await lens(code, 'Accept').first().click();
  await code.until('it to be accepted', async () => (await docText(code)).includes('proposed 3'));
  await code.until('the other to stay', async () => (await lens(code, 'Accept').count()) === 1);
  await lens(code, 'Edit').first().click();
  await code.until('the editor of the proposal', () =>
    code.run((vscode) => vscode.window.activeTextEditor?.document.uri.scheme === 'ropewalk-edit'),
  );
  await code.focused('notes.txt');
  await code.screenshot(`${play.rig.keep}/${play.name}-edit.png`);
  await code.press('Control+Home');
  await code.type('by hand\n');
  await code.until('the typed line', () =>
    code.run((vscode) => vscode.window.activeTextEditor.document.getText().startsWith('by hand\n')),
  );
  await code.run((vscode) => vscode.commands.executeCommand('ropewalk.acceptEdited'));
  const expected = `by hand\n${FILE.replace('line 3', 'proposed 3').replace('line 8', 'proposed 8')}`;
  await code.until('the edited text', async () => (await docText(code)) === expected);
  assert.equal((await changes(code)).proposals.length, 0);
}

export async function a_proposal_is_rejected_with_words(play) {
  const code = await play.open({ 'notes.txt': FILE });
  await code.open('notes.txt');
  await edit(code, 'first', 'line 3', 'proposed 3\n', { apply: 'propose' });
  await code.until('the lens', async () => (await lens(code, 'Reject with words').count()) === 1);
  await lens(code, 'Reject with words').click();
  const box = code.page.locator('.quick-input-widget input.input');
  await box.waitFor({ timeout: 20000 });
  await box.fill('Keep the numbers.');
  await code.press('Enter');
  await code.until('it to be gone', async () => (await changes(code)).proposals.length === 0);
  assert.equal(await docText(code), FILE);
  const next = await call(code, 'read', { file_path: 'notes.txt' }, { sessionId: 'pane' });
  assert.match(text(next), /Keep the numbers\./);
}

export async function a_refused_undo_says_where(play) {
  const code = await play.open({ 'notes.txt': FILE });
  await code.open('notes.txt');
  await edit(code, 'first', 'line 1', 'LINE 1\n');
  await code.until('the lens', async () => (await lens(code, 'Undo').count()) === 1);
  await code.press('Control+Home', 'End');
  await code.type(' and mine');
  await code.shows('LINE 1 and mine');
  await lens(code, 'Undo').click();
  await code.sees(/notes\.txt was (not changed|changed in part)/);
  assert.match(await docText(code), /and mine/);
}

export async function the_text_before_is_compared(play) {
  const code = await play.open({ 'notes.txt': FILE });
  await code.open('notes.txt');
  await edit(code, 'first', 'line 3', 'LINE 3\n');
  await edit(code, 'again', 'LINE 3', 'third\n');
  await edit(code, 'second', 'line 8', '');
  await code.command('Ropewalk: Compare With the Text Before');
  const base = await code.until('the text before', () =>
    code.run((vscode) => vscode.workspace.textDocuments.find((it) => it.uri.scheme === 'ropewalk-base')?.getText()),
  );
  assert.equal(base, FILE);
  await code.screenshot(`${play.rig.keep}/${play.name}-diff.png`);
}

export async function the_side_view_shows_what_there_is(play) {
  const code = await play.open({ 'notes.txt': FILE, 'src/other.txt': 'other\n' });
  await code.open('notes.txt');
  await edit(code, 'first', 'line 3', 'LINE 3\n');
  await edit(code, 'second', 'line 8', 'proposed 8\n', { apply: 'propose' });
  const refused = { file_path: 'notes.txt', old_string: 'not there', new_string: 'x' };
  assert.equal((await call(code, 'edit', refused, { sessionId: 'pane', callId: 'third' })).isError, true);
  await request(code, 'ropewalk/todos', { sessionId: 'pane', todos: [{ id: '1', content: 'Write the third line', status: 'in_progress' }] });
  const job = await call(code, 'monitor', { command: 'echo begun; sleep 600', description: 'A long build' }, { sessionId: 'pane', callId: 'job' });
  assert.equal(job.status, 'ok', text(job));
  await code.page.locator('.activitybar .action-item a[aria-label^="Ropewalk"]').first().click({ force: true });
  await code.sees('LINE 3');
  for (const view of ['Jobs', 'Tasks']) {
    const header = code.page.locator('.pane-header', { hasText: view }).first();
    if ((await header.getAttribute('aria-expanded')) !== 'true') await header.click();
  }
  await code.sees('A long build');
  await code.sees('Write the third line');
  await code.screenshot(`${play.rig.keep}/${play.name}-view.png`);
  const row = (words) => code.page.locator('.monaco-list-row', { hasText: words }).first();
  await row('LINE 3').hover();
  await row('LINE 3').locator('a.action-label[aria-label^="Keep"]').click();
  await code.until('it to be kept', async () => (await changes(code)).files.length === 0);
  await row('proposed 8').hover();
  await row('proposed 8').locator('a.action-label[aria-label^="Reject"]').first().click();
  await code.until('it to be rejected', async () => (await changes(code)).proposals.length === 0);
  const job1 = code.page.locator('.monaco-list-row[aria-label^="A long build"]').first();
  await job1.hover();
  await job1.locator('a.action-label[aria-label^="Stop"]').click();
  await code.until('the job to end', async () => (await request(code, 'ropewalk/jobs', { sessionId: 'pane' })).jobs[0].state !== 'running');
  await row('monitor').click();
  await code.until('the whole output', () =>
    code.run((vscode) => vscode.window.activeTextEditor?.document.uri.scheme === 'ropewalk-output'),
  );
}
