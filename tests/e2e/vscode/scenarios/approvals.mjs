// A person is asked: for consent on its page, and for answers in a quick pick. All of them share a window.

import assert from 'node:assert/strict';

import { begin, ended, text, waits } from '../agent.mjs';

/** Clicks on the page that asks about a call until the call has its answer. */
async function answer(code, callId, shown, button) {
  await code.click(shown, button, async () => !(await waits(code, callId)));
  return ended(code, callId);
}

/** Waits until nothing is asked any more. */
function unasked(code) {
  return code.until('the page to be gone', async () => (await code.page.locator('.tab', { hasText: 'Ropewalk asks' }).count()) === 0);
}

export async function a_call_is_approved_on_its_page(play) {
  const code = await play.share({ 'notes.txt': 'one\n' });
  await code.open(play.file('notes.txt'));
  const command = `printf approved > ${play.file('made.txt')} && printf done`;
  await begin(code, 'yes', 'bash', { command, description: 'Make a file' });
  const frame = await code.frame('printf approved');
  // The page never takes the keyboard: who is typing goes on.
  await code.type('typed while it asks ');
  await code.until('what was typed', async () => (await code.document(play.uri('notes.txt'))).text.startsWith('typed while it asks one'));
  assert.equal(await waits(code, 'yes'), true);
  assert.match(await frame.locator('body').innerText(), /bash/);
  const result = await answer(code, 'yes', 'printf approved', '[data-consent="once"]');
  assert.equal(result.status, 'ok', text(result));
  assert.match(text(result), /done/);
  assert.equal(play.saved('made.txt'), 'approved');
  await unasked(code);
}

export async function a_call_is_denied_with_words_for_the_model(play) {
  const code = await play.share({ '.vscode/tasks.json': '{}\n' });
  const file = play.file('.vscode/tasks.json');
  const written = { file_path: file, content: '{ "version": "2.0.0" }\n' };
  await begin(code, 'read', 'read', { file_path: file }, { sessionId: 'words' });
  assert.equal((await ended(code, 'read')).status, 'ok');
  await begin(code, 'no', 'write', written, { sessionId: 'words' });
  const frame = await code.frame('"version": "2.0.0"');
  const words = frame.locator('textarea').first();
  // What is typed in the first moments on the screen counts for nothing.
  await code.until('the words to be taken', async () => {
    await words.fill('tasks are mine');
    return (await words.inputValue()) === 'tasks are mine';
  });
  const result = await answer(code, 'no', '"version": "2.0.0"', '[data-words]');
  assert.equal(result.status, 'denied', text(result));
  assert.match(text(result), /tasks are mine/);
  assert.equal(play.saved('.vscode/tasks.json'), '{}\n');
}

export async function closing_the_page_is_a_no(play) {
  const code = await play.share({});
  await begin(code, 'closed', 'bash', { command: `printf never > ${play.file('never.txt')}`, description: 'Make a file' });
  await code.frame('printf never');
  await code.page.locator('.tab', { hasText: 'Ropewalk asks' }).click({ button: 'middle' });
  const result = await ended(code, 'closed');
  assert.equal(result.status, 'denied', text(result));
  assert.throws(() => play.saved('never.txt'));
}

export async function a_call_that_is_cancelled_takes_its_page_back(play) {
  const code = await play.share({});
  const command = `printf back > ${play.file('back.txt')}`;
  await begin(code, 'taken', 'bash', { command, description: 'Make a file' }, { sessionId: 'taken' });
  await code.frame('printf back');
  await code.run(async (_vscode, pane) => (await pane.api()).request('ropewalk/cancel', { sessionId: 'taken', callId: 'taken' }));
  assert.equal((await ended(code, 'taken')).status, 'cancelled');
  await unasked(code);
}

export async function a_question_is_answered_in_a_quick_pick(play) {
  const code = await play.share({});
  const options = [{ label: 'PostgreSQL', description: 'What the others have.' }, { label: 'SQLite', description: 'Nothing to run.' }];
  const questions = [{ question: 'Which database shall the service use?', header: 'Database', options }];
  await begin(code, 'asked', 'question', { questions });
  const offered = await code.offered();
  assert.match(offered, /PostgreSQL[\s\S]*SQLite/);
  await code.sees('Database');
  await code.until('the question to be answered', async () => {
    if (!(await waits(code, 'asked'))) return true;
    // A choice within the first moments on the screen counts for nothing.
    await code.page.locator('.quick-input-list .monaco-list-row', { hasText: 'SQLite' }).first().click({ timeout: 1000 }).catch(() => {});
    return false;
  });
  const result = await ended(code, 'asked');
  assert.equal(result.status, 'ok', text(result));
  assert.match(text(result), /SQLite/);
}

export async function a_question_that_is_closed_is_told(play) {
  const code = await play.share({});
  const questions = [{ question: 'Shall it be blue?', header: 'Colour', options: [{ label: 'Blue' }, { label: 'Red' }] }];
  await begin(code, 'unanswered', 'question', { questions });
  await code.offered();
  await code.until('the question to be closed', async () => {
    if (!(await waits(code, 'unanswered'))) return true;
    await code.press('Escape');
    return false;
  });
  assert.doesNotMatch(text(await ended(code, 'unanswered')), /chose Blue|chose Red/);
}
