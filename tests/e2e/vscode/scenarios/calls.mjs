// Calls in documents that a person is typing in.

import assert from 'node:assert/strict';

export async function a_project_is_opened_and_typed_in(play) {
  const code = await play.open({ 'notes.txt': 'one\ntwo\n' }, { ready: false });
  await code.open('notes.txt');
  await code.type('zero\n');
  await code.shows('zero\none\ntwo');
  assert.equal((await code.document(code.uri('notes.txt'))).dirty, true);
}
