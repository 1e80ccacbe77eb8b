// The side view: what agents did and propose, what runs, and judging from there.

import assert from 'node:assert/strict';

import { call, request, text } from '../agent.mjs';

const FILE = `${Array.from({ length: 30 }, (_, line) => `line ${line + 1}`).join('\n')}\n`;

export async function what_the_side_view_shows_can_be_judged_there(play) {
  const code = await play.open({ 'notes.txt': FILE });
  const changes = () => request(code, 'ropewalk/changes', {});
  const make = async (from, to, more = {}) => {
    const args = { file_path: 'notes.txt', old_string: `${from}\n`, new_string: to };
    const result = await call(code, 'edit', args, { sessionId: 'pane', ...more });
    assert.equal(result.status, 'ok', text(result));
  };
  await code.open('notes.txt');
  await make('line 3', 'LINE 3\n');
  await make('line 8', 'proposed 8\n', { apply: 'propose' });
  const refused = { file_path: 'notes.txt', old_string: 'not there', new_string: 'x' };
  assert.equal((await call(code, 'edit', refused, { sessionId: 'pane', callId: 'third' })).isError, true);
  await request(code, 'ropewalk/todos', {
    sessionId: 'pane',
    todos: [{ id: '1', content: 'Write the third line', status: 'in_progress' }],
  });
  const job = await call(
    code,
    'monitor',
    { command: 'echo begun; sleep 600', description: 'A long build' },
    { sessionId: 'pane', callId: 'job' },
  );
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
  await code.until('it to be kept', async () => (await changes()).files.length === 0);
  await row('proposed 8').hover();
  await row('proposed 8').locator('a.action-label[aria-label^="Reject"]').first().click();
  await code.until('it to be rejected', async () => (await changes()).proposals.length === 0);
  const job1 = code.page.locator('.monaco-list-row[aria-label^="A long build"]').first();
  await job1.hover();
  await job1.locator('a.action-label[aria-label^="Stop"]').click();
  await code.until(
    'the job to end',
    async () => (await request(code, 'ropewalk/jobs', { sessionId: 'pane' })).jobs[0].state !== 'running',
  );
  await row('monitor').click();
  await code.until('the whole output', () =>
    code.run((vscode) => vscode.window.activeTextEditor?.document.uri.scheme === 'ropewalk-output'),
  );
}
