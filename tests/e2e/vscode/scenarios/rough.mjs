// What an agent meets that is not meant for it, and what it does at the wrong moment.

import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import path from 'node:path';

import { begin, call, ended, request, text, waits } from '../agent.mjs';

const SHELF = 'alpha\nbeta\ngamma\n';

const done = (result) => assert.equal(result.status, 'ok', text(result));

/** An error that tells the model why. */
function refused(result, words) {
  assert.equal(result.status, 'error', text(result));
  assert.equal(result.error.kind, 'conflict', text(result));
  assert.match(text(result), words);
}

export async function what_a_setting_makes_read_only_takes_no_edits(play) {
  const files = { 'kept/whole.txt': SHELF, 'kept/open.txt': SHELF, 'free.txt': SHELF, 'locked.txt': SHELF };
  const settings = {
    'files.readonlyInclude': { '**/kept/**': true, 'free.txt': false },
    'files.readonlyExclude': { 'kept/open.txt': true },
    'files.readonlyFromPermissions': true,
  };
  const folder = play.folder(files);
  chmodSync(path.join(folder, 'locked.txt'), 0o444);
  const code = await play.open({}, { folder, settings });
  // Each is open, and only the last one is on the screen.
  for (const name of ['kept/whole.txt', 'locked.txt', 'kept/open.txt', 'free.txt']) {
    const show = (vscode, _pane, uri) => void vscode.window.showTextDocument(vscode.Uri.parse(uri), { preview: false });
    await code.run(show, code.uri(name));
    await code.focused(path.basename(name));
  }
  const change = (name) =>
    call(code, 'edit', { file_path: `${folder}/${name}`, old_string: 'beta', new_string: 'BETA' });
  refused(await change('kept/whole.txt'), /files\.readonlyInclude/);
  refused(await change('locked.txt'), /files\.readonlyFromPermissions/);
  assert.equal((await code.document(code.uri('kept/whole.txt'))).text, SHELF);
  assert.equal((await code.document(code.uri('locked.txt'))).text, SHELF);
  done(await change('kept/open.txt'));
  done(await change('free.txt'));
}

export async function a_question_that_comes_next_does_not_cover_what_is_typed_into(play) {
  const code = await play.open({ 'left.txt': '', 'right.txt': '' });
  await code.open('left.txt');
  const ask = (callId) =>
    begin(code, callId, 'bash', { command: `printf ${callId} > made.txt`, description: 'Ask' }, { sessionId: callId });
  await ask('first');
  await code.frame('printf first');
  // The person goes on in the group of the page, before which their file is now.
  const show = (vscode, _pane, uri) => void vscode.window.showTextDocument(vscode.Uri.parse(uri), { viewColumn: 2 });
  await code.run(show, code.uri('right.txt'));
  await code.focused('right.txt');
  await ask('second');
  await code.type('before ');
  await request(code, 'ropewalk/cancel', { sessionId: 'first', callId: 'first' });
  await ended(code, 'first');
  await code.frame('printf second');
  await code.type('after');
  await code.until('what was typed', async () => (await code.document(code.uri('right.txt')))?.text === 'before after');
  assert.equal(await waits(code, 'second'), true);
  await request(code, 'ropewalk/cancel', { sessionId: 'second', callId: 'second' });
  await ended(code, 'second');
}
