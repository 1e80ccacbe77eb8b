// What the status bar and the log say.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Activity, callLine, shown } from '../src/activity';
import type { ToolEvent } from '../src/protocol';

const event = (kind: ToolEvent['kind'], callId: string, more: Partial<ToolEvent> = {}): ToolEvent => ({
  sessionId: 'default',
  callId,
  kind,
  ...more,
});

test('calls run from their start to their end, by session', () => {
  const activity = new Activity();
  assert.equal(activity.event(event('start', 'a', { name: 'edit' })), true);
  assert.equal(activity.event(event('start', 'a', { name: 'bash', sessionId: 'pane-1' })), true);
  assert.equal(activity.event(event('output', 'a')), false);
  assert.deepEqual(
    activity.running().map((call) => call.name),
    ['edit', 'bash'],
  );
  assert.equal(activity.event(event('complete', 'a')), true);
  assert.equal(activity.event(event('complete', 'a')), false);
  assert.deepEqual(
    activity.running().map((call) => call.name),
    ['bash'],
  );
  assert.deepEqual(activity.sessions(), ['default', 'pane-1']);
  activity.reset();
  assert.deepEqual([activity.running().length, activity.sessions()], [0, ['default']]);
});

test('the status bar says the mode, what runs and what waits', () => {
  const activity = new Activity();
  const check = (state: string, trouble: string | undefined, waiting: number, text: string, look: string) => {
    const item = shown(state, trouble, true, activity, waiting);
    assert.deepEqual([item.text, item.look], [text, look]);
  };
  check('running', undefined, 0, 'Ropewalk: build', 'plain');
  activity.setMode('default', 'review');
  activity.event(event('start', 'a', { name: 'edit' }));
  check('running', undefined, 2, '$(bell-dot) 2 $(loading~spin) 1 Ropewalk: review', 'warning');
  assert.match(
    shown('running', undefined, false, activity, 1).tooltip,
    /Running: edit\n1 question waits for your answer\nThe window is not trusted/,
  );
  activity.setMode('default', 'danger');
  check('running', undefined, 0, '$(loading~spin) 1 Ropewalk: danger', 'warning');
  check('starting', undefined, 0, '$(sync~spin) Ropewalk', 'plain');
  check('crashed', 'It ended.', 0, '$(error) Ropewalk', 'error');
  check('stopped', undefined, 0, '$(circle-slash) Ropewalk', 'plain');
  check('stopped', 'no program', 0, '$(circle-slash) Ropewalk', 'error');
});

test('the log has a line for each call that has ended', () => {
  const detail = {
    name: 'read',
    status: 'ok',
    content: [{ type: 'text', text: 'first\nsecond' }],
    timing: { queuedMs: 1, runMs: 2 },
  };
  assert.equal(callLine(event('complete', 'c1', { detail })), '[default] c1 read: ok (3 ms) first');
  assert.equal(callLine(event('start', 'c1')), undefined);
  assert.equal(callLine(event('complete', 'c1')), '[default] c1 ?: ? (0 ms)');
});
