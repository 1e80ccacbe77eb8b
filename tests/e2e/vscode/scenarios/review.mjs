// What agents changed and propose, judged by a person where it is.

import assert from 'node:assert/strict';

import { call, request, text } from '../agent.mjs';

const LINES = Array.from({ length: 14 }, (_, line) => `line ${line + 1}`);

/** The lenses that the editor shows, from the top to the bottom, as their words. */
async function lenses(code) {
  return code.page.evaluate(() => {
    const found = [...document.querySelectorAll('.editor-group-container.active .codelens-decoration')];
    found.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
    return found.map((lens) => lens.textContent.replaceAll('\u00a0', ' '));
  });
}

/** Clicks a word of the lenses above a line of the text, once more where they moved away under the mouse, until `done`. */
async function lens(code, line, word, done) {
  await code.until(`the lens ${word} above ${line}`, async () => {
    if (await done()) return true;
    const place = await code.page.evaluate(
      ([line, word]) => {
        const top = (element) => element.getBoundingClientRect().top;
        const lines = [...document.querySelectorAll('.editor-group-container.active .view-lines > .view-line')];
        const target = lines.find((found) => found.textContent.replaceAll('\u00a0', ' ').includes(line));
        if (!target) return undefined;
        const above = [...document.querySelectorAll('.editor-group-container.active .codelens-decoration')]
          .filter((found) => top(found) < top(target))
          .sort((a, b) => top(b) - top(a))[0];
        const link = [...(above?.querySelectorAll('a') ?? [])].find((found) => found.textContent.includes(word));
        if (!link) return undefined;
        const box = link.getBoundingClientRect();
        return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
      },
      [line, word],
    );
    if (place) await code.page.mouse.click(place.x, place.y);
    return done();
  }).catch(async (error) => {
    throw new Error(`${error.message}; there are: ${JSON.stringify(await lenses(code))}`);
  });
}

async function changes(code) {
  const { files } = await request(code, 'ropewalk/changes');
  return files.flatMap((file) => file.hunks.map((hunk) => hunk.now));
}

export async function one_hunk_is_kept_and_another_undone_through_lenses(play) {
  const code = await play.share({ 'list.txt': `${LINES.join('\n')}\n` });
  await code.open(play.file('list.txt'));
  await code.type('typed\n');
  await code.shows('typed\nline 1');
  await call(code, 'read', { file_path: play.file('list.txt') });
  const edits = [
    { old_string: 'line 3\n', new_string: 'LINE 3\n' },
    { old_string: 'line 9\n', new_string: 'LINE 9\n' },
  ];
  const result = await call(code, 'multi_edit', { file_path: play.file('list.txt'), edits });
  assert.equal(result.status, 'ok', text(result));
  await code.shows(/LINE 3\n[\s\S]*LINE 9\n/);
  assert.deepEqual(await changes(code), ['LINE 3\n', 'LINE 9\n']);
  await lens(code, 'LINE 3', 'Keep', async () => (await changes(code)).join() === 'LINE 9\n');
  await lens(code, 'LINE 9', 'Undo', async () => (await changes(code)).length === 0);
  await code.shows(/LINE 3\n[\s\S]*line 9\n/);
  const { text: now } = await code.document(play.uri('list.txt'));
  assert.equal(now, `typed\n${LINES.join('\n').replace('line 3', 'LINE 3')}\n`);
  await code.until('the lenses to be gone', async () => (await lenses(code)).length === 0);
}

export async function a_proposal_is_accepted_where_it_would_be(play) {
  const code = await play.share({ 'plan.txt': `${LINES.join('\n')}\n` });
  await code.open(play.file('plan.txt'));
  await request(code, 'ropewalk/openSession', { sessionId: 'proposer', label: 'Proposer', apply: 'propose' });
  const session = { sessionId: 'proposer' };
  await call(code, 'read', { file_path: play.file('plan.txt') }, session);
  for (const line of [3, 9]) {
    const edit = { file_path: play.file('plan.txt'), old_string: `line ${line}\n`, new_string: `LINE ${line}\n` };
    const result = await call(code, 'edit', edit, session);
    assert.equal(result.status, 'ok', text(result));
  }
  assert.equal((await code.document(play.uri('plan.txt'))).text, `${LINES.join('\n')}\n`);
  const proposed = async () => (await request(code, 'ropewalk/changes')).proposals.flatMap((file) => file.hunks).length;
  assert.equal(await proposed(), 2);
  await lens(code, 'line 3', 'Accept', async () => (await proposed()) === 1);
  await code.shows(/LINE 3\n[\s\S]*line 9\n/);
  await lens(code, 'line 9', 'Reject', async () => (await proposed()) === 0);
  assert.equal((await code.document(play.uri('plan.txt'))).text, `${LINES.join('\n').replace('line 3', 'LINE 3')}\n`);
}

export async function keys_and_commands_judge_what_is_at_the_cursor(play) {
  const code = await play.share({ 'keys.txt': `${LINES.join('\n')}\n` });
  await code.open(play.file('keys.txt'));
  await call(code, 'read', { file_path: play.file('keys.txt') });
  const edits = [
    { old_string: 'line 2\n', new_string: 'LINE 2\n' },
    { old_string: 'line 8\n', new_string: 'LINE 8\n' },
  ];
  await call(code, 'multi_edit', { file_path: play.file('keys.txt'), edits });
  await code.shows('LINE 8');
  await code.command('Ropewalk: Go to the Next Change');
  await code.command('Ropewalk: Undo the Change at the Cursor');
  await code.shows('line 2\n');
  await code.command('Ropewalk: Keep All Changes in This File');
  await code.until('nothing to be under review', async () => (await changes(code)).length === 0);
  await code.shows('LINE 8');
}

export async function the_side_view_tells_what_an_agent_does(play) {
  const code = await play.share({ 'side.txt': 'one\ntwo\n' });
  await code.open(play.file('side.txt'));
  await call(code, 'read', { file_path: play.file('side.txt') });
  const edit = { file_path: play.file('side.txt'), old_string: 'two', new_string: 'zwei' };
  assert.equal((await call(code, 'edit', edit)).status, 'ok');
  const todos = [{ content: 'Translate the rest', status: 'in_progress' }];
  assert.equal((await call(code, 'todowrite', { todos })).status, 'ok');
  await code.run((vscode) => vscode.commands.executeCommand('workbench.view.extension.ropewalk'));
  await code.sees(/edit[\s\S]*side\.txt/);
  const tasks = code.page.locator('.pane-header', { hasText: 'Tasks' });
  if ((await tasks.getAttribute('aria-expanded')) === 'false') await tasks.click();
  await code.sees('Translate the rest');
}

export async function lenses_come_though_the_keyboard_goes_elsewhere(play) {
  const code = await play.share({ 'away.txt': `${LINES.join('\n')}\n` });
  await code.open(play.file('away.txt'));
  await call(code, 'read', { file_path: play.file('away.txt') });
  const edits = [
    { old_string: 'line 3\n', new_string: 'LINE 3\n' },
    { old_string: 'line 9\n', new_string: 'LINE 9\n' },
  ];
  const params = { name: 'multi_edit', arguments: { file_path: play.file('away.txt'), edits } };
  // The person goes to the files, and back, and there again, while the editor is told of the changes: each time VS Code
  // forgets that it was about to ask for lenses.
  const result = await code.run(async (vscode, pane, params) => {
    const result = await (await pane.api()).call(params);
    for (let turn = 0; turn < 12; turn++) {
      await vscode.commands.executeCommand('workbench.action.focusActiveEditorGroup');
      await vscode.commands.executeCommand('workbench.files.action.focusFilesExplorer');
    }
    return result;
  }, params);
  assert.equal(result.status, 'ok', text(result));
  await code.until('the lenses', async () => (await lenses(code)).filter((words) => words.includes('Keep')).length === 3);
}
