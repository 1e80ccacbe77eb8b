// The life of the sidecar in a window: it comes, it is killed and comes again, it goes with the window.

import assert from 'node:assert/strict';

import { begin, call, text } from '../agent.mjs';

export async function a_sidecar_that_is_killed_while_a_call_waits_comes_again(play) {
  const code = await play.open({ 'notes.txt': 'one\ntwo\n', 'other.txt': 'other\n' });
  await code.open('other.txt');
  await code.type('typed in the other ');
  await code.open('notes.txt');
  await code.type('typed ');
  await code.shows('typed one');
  const first = code.sidecar();
  await begin(code, 'waiting', 'bash', { command: 'printf waits > made.txt', description: 'Make a file' });
  await code.frame('printf waits');
  process.kill(first, 'SIGKILL');
  const answer = await code.until('the call to be answered', () => code.run((_vscode, pane) => pane.ended('waiting')));
  assert.ok(answer.error || answer.value.isError, JSON.stringify(answer));
  // Nobody can answer any more what the one before asked.
  await code.until('the page to be gone', async () => (await code.page.locator('.tab', { hasText: 'Ropewalk asks' }).count()) === 0);
  await code.until('another sidecar', () => ![first, undefined].includes(code.sidecar()));
  await code.run(async (vscode, pane) => {
    const api = await pane.api();
    if (api.state !== 'running') {
      await new Promise((resolve) => api.onDidChangeState((state) => state === 'running' && resolve()));
    }
  });
  assert.match(text(await call(code, 'read', { file_path: 'other.txt' })), /typed in the other other/);
  assert.match(text(await call(code, 'read', { file_path: 'notes.txt' })), /typed one/);
  const edit = await call(code, 'edit', { file_path: 'notes.txt', old_string: 'two', new_string: 'zwei' });
  assert.equal(edit.status, 'ok', text(edit));
  await code.shows('typed one\nzwei');
}

export async function nothing_is_left_of_a_window_that_closes_while_a_command_runs(play) {
  const settings = { 'ropewalk.permissions': { allow: ['bash(sleep 1000)'] } };
  const code = await play.open({ 'notes.txt': 'one\n' }, { settings });
  await code.open('notes.txt');
  await code.type('never saved ');
  await begin(code, 'long', 'bash', { command: 'sleep 1000', description: 'Take long' });
  const below = () => code.server.sidecars().map((found) => found.commandLine);
  await code.until('the command to run', () => below().some((line) => /^sleep 1000$/.test(line))).catch((error) => {
    throw new Error(`${error.message}; there are:\n${below().join('\n')}`);
  });
  await code.close();
}

export async function the_sidecar_comes_with_the_window_and_goes_with_it(play) {
  const code = await play.open({ 'notes.txt': 'one\n' });
  await code.open('notes.txt');
  await code.type('zero ');
  await code.shows('zero one');
  await code.close();
}
