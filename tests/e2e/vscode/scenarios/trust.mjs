// Workspace trust: not given, agents read and edit but run nothing; given, they may be allowed to.

import assert from 'node:assert/strict';

import { begin, call, ended, text, waits } from '../agent.mjs';

export const options = { trust: true };

/** Trusts the window as a person does. */
async function trust(code) {
  await code.command('Workspaces: Manage Workspace Trust');
  await code.page.locator('.workspace-trust-editor .monaco-button', { hasText: /^Trust$/ }).first().click();
  await code.until('trust', () => code.run((vscode) => vscode.workspace.isTrusted));
  await code.press('Escape');
}

export async function a_call_that_waits_outlives_the_trust_that_is_given(play) {
  const code = await play.open({ '.vscode/tasks.json': '{}\n' });
  const [before] = code.server.sidecars();
  const file_path = '.vscode/tasks.json';
  const session = { sessionId: 'waits' };
  assert.equal((await call(code, 'read', { file_path }, session)).status, 'ok');
  await begin(code, 'waits', 'write', { file_path, content: '{ "version": "2.0.0" }\n' }, session);
  await code.frame('"version": "2.0.0"');
  await trust(code);
  assert.equal(await waits(code, 'waits'), true);
  assert.deepEqual(code.server.sidecars().map((found) => found.pid), [before.pid]);
  await code.command('Ropewalk: Show What Waits for Your Answer');
  await code.click('"version": "2.0.0"', '[data-consent="once"]', async () => !(await waits(code, 'waits')));
  const result = await ended(code, 'waits');
  assert.equal(result.status, 'ok', text(result));
  assert.equal(play.read('.vscode/tasks.json'), '{ "version": "2.0.0" }\n');
  // The same sidecar knows of the trust: it asks where it would have refused.
  const command = 'printf trusted > made.txt';
  await begin(code, 'after', 'bash', { command, description: 'Make a file' }, session);
  await code.click('printf trusted', '[data-consent="once"]', async () => !(await waits(code, 'after')));
  assert.equal((await ended(code, 'after')).status, 'ok');
  assert.deepEqual(code.server.sidecars().map((found) => found.pid), [before.pid]);
}

export async function trust_that_is_given_lets_commands_run_once_allowed(play) {
  const code = await play.open({ 'notes.txt': 'one\n' });
  assert.equal(await code.run((vscode) => vscode.workspace.isTrusted), false);
  const command = 'printf trusted > made.txt && printf done';
  assert.equal((await call(code, 'bash', { command, description: 'Make a file' })).isError, true);
  await trust(code);
  await begin(code, 'trusted', 'bash', { command, description: 'Make a file' }, { sessionId: 'trusted' });
  await code.click('printf trusted', '[data-consent="once"]', async () => !(await waits(code, 'trusted')));
  const result = await ended(code, 'trusted');
  assert.equal(result.status, 'ok', text(result));
  assert.equal(play.read('made.txt'), 'trusted');
}

export async function without_trust_agents_read_and_edit_and_run_nothing(play) {
  const project = { permissions: { allow: ['bash'] } };
  const code = await play.open({ 'notes.txt': 'one\ntwo\n', '.ropewalk/settings.json': JSON.stringify(project) });
  assert.equal(await code.run((vscode) => vscode.workspace.isTrusted), false);
  await code.open('notes.txt');
  await code.type('typed ');
  await code.shows('typed one');
  assert.match(text(await call(code, 'read', { file_path: 'notes.txt' })), /typed one/);
  const edit = await call(code, 'edit', { file_path: 'notes.txt', old_string: 'two', new_string: 'zwei' });
  assert.equal(edit.status, 'ok', text(edit));
  await code.shows('typed one\nzwei');
  const bash = await call(code, 'bash', { command: 'printf ran > ran.txt', description: 'Make a file' });
  assert.equal(bash.status, 'denied', text(bash));
  assert.match(text(bash), /trust/i);
  assert.throws(() => play.read('ran.txt'));
}
