// The side view's data: calls as events tell of them, and the trees.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallResult, ToolEvent } from '../src/protocol';
import {
  after,
  announced,
  answered,
  type Calls,
  duration,
  ENDED,
  lost,
  NONE,
  printable,
  subjectOf,
} from '../src/views/calls';
import { changeEntries, jobEntries, proposalEntries, todoEntries } from '../src/views/trees';

const event = (kind: ToolEvent['kind'], callId: string, more: Partial<ToolEvent> = {}): ToolEvent => ({
  sessionId: 's',
  callId,
  kind,
  ...more,
});
const result = (callId: string, more: Partial<CallResult> = {}): CallResult => ({
  callId,
  name: 'edit',
  status: 'ok',
  isError: false,
  content: [{ type: 'text', text: 'Changed notes.txt.\nMore.' }],
  output: { id: 'o1', totalBytes: 1, truncated: false },
  timing: { queuedMs: 1, approvalMs: 2, runMs: 3, applyMs: 4, diagnosticsMs: 1190 },
  ...more,
});
const play = (events: ToolEvent[], from: Calls = NONE) => events.reduce((calls, it) => after(calls, it), from);

test('a call runs, speaks and ends', () => {
  const running = play([
    event('start', 'c1', { name: 'bash' }),
    event('output', 'c1', { detail: { text: 'one\n\u001b[31mtwo\u001b[0m\n', percentage: 40 } }),
  ]);
  assert.deepEqual(running.running, [
    { sessionId: 's', callId: 'c1', name: 'bash', subject: '', status: 'running', said: '40 % two' },
  ]);
  const over = play([event('complete', 'c1', { detail: result('c1', { name: 'bash' }) })], running);
  assert.deepEqual(over, {
    running: [],
    ended: [
      {
        sessionId: 's',
        callId: 'c1',
        name: 'bash',
        subject: 'Changed notes.txt.',
        status: 'ok',
        tookMs: 1200,
        outputId: 'o1',
      },
    ],
  });
});

test('what nobody announced and what is unknown does no harm', () => {
  assert.equal(play([event('output', 'never', { detail: { text: 'x' } })]), NONE);
  assert.equal(play([event('preview', 'never', { detail: 7 })]), NONE);
  assert.equal(play([event('complete', 'c', { detail: null })]).ended[0]?.status, 'ok');
  assert.equal(after(NONE, { ...event('start', 'c'), kind: 'later' as never }), NONE);
});

test('the subject comes from the arguments, where they are known', () => {
  const calls = after(
    announced(NONE, 's', 'c1', 'edit', { file_path: 'notes.txt' }),
    event('start', 'c1', { name: 'edit' }),
  );
  assert.deepEqual(
    calls.running.map((call) => call.subject),
    ['notes.txt'],
  );
  assert.equal(announced(calls, 's', 'c1', 'edit', {}), calls);
  assert.equal(subjectOf({ command: 'make\nall' }), 'make');
  assert.equal(subjectOf('text'), '');
});

test('only so many calls that have ended are kept, the newest first', () => {
  const calls = play(
    Array.from({ length: ENDED + 5 }, (_, i) => event('complete', `c${i}`, { detail: result(`c${i}`) })),
  );
  assert.equal(calls.ended.length, ENDED);
  assert.equal(calls.ended[0]?.callId, `c${ENDED + 4}`);
});

test('a sidecar that ends takes its calls and outputs along', () => {
  const calls = lost(play([event('complete', 'c1', { detail: result('c1') }), event('start', 'c2', { name: 'bash' })]));
  assert.deepEqual(
    calls.ended.map((call) => [call.callId, call.status, call.outputId]),
    [
      ['c2', 'cancelled', undefined],
      ['c1', 'ok', undefined],
    ],
  );
});

test('durations and lines for people', () => {
  assert.deepEqual([5, 1200, 61_000].map(duration), ['5 ms', '1.2 s', '1 min 1 s']);
  assert.equal(printable('a\u001b[1;32mb\u0007c\td'), 'abcd'.replace('cd', 'c\td'));
});

test('changes and proposals stand below their sessions and files', () => {
  const change = (hunkId: string, uri: string, sessionId: string) => ({
    uri,
    span: { start: 3, count: 1 },
    info: {
      hunkId,
      kind: 'changed' as const,
      sessionId,
      callId: 'c',
      lines: { start: 1, count: 1 },
      before: 'a\n',
      after: 'b\n',
      now: 'b\n',
      touched: false,
    },
  });
  const all = {
    changes: [change('1', 'f', 'z'), change('2', 'f', 'a'), change('3', 'g', 'a')],
    proposals: [],
    undos: [],
  };
  const flat = changeEntries(all, (uri) => uri).map((s) => [
    s.label,
    s.children?.map((f) => [f.label, f.children?.map((h) => `${h.label} ${h.which?.hunkId}`)]),
  ]);
  assert.deepEqual(flat, [
    [
      'a',
      [
        ['f', ['3: b 2']],
        ['g', ['3: b 3']],
      ],
    ],
    ['z', [['f', ['3: b 1']]]],
  ]);
  assert.deepEqual(
    proposalEntries(all, (uri) => uri),
    [],
  );
  const ids = changeEntries(all, (uri) => uri)
    .flatMap((s) => [s, ...(s.children ?? []).flatMap((f) => [f, ...(f.children ?? [])])])
    .map((it) => it.id);
  assert.equal(new Set(ids).size, ids.length, 'each entry has an id of its own');
});

test('jobs that run come first, task lists stand alone where there is one', () => {
  const job = (id: string, state: 'running' | 'exited') => ({
    id,
    label: `job ${id}`,
    state,
    outputBytes: 0,
    droppedBytes: 0,
  });
  const jobs = new Map([['s', [job('j1', 'exited'), job('j2', 'running'), job('j3', 'exited')]]]);
  assert.deepEqual(
    jobEntries(jobs).map((it) => `${it.which?.id} ${it.context}`),
    ['j2 ropewalkJobRunning', 'j3 ropewalkJob', 'j1 ropewalkJob'],
  );
  const todo = { id: '1', content: 'Write', status: 'pending' as const };
  assert.deepEqual(
    todoEntries(
      new Map([
        ['s', [todo]],
        ['t', []],
      ]),
    ).map((it) => it.label),
    ['Write'],
  );
  assert.deepEqual(
    todoEntries(
      new Map([
        ['t', [todo]],
        ['s', [todo]],
      ]),
    ).map((it) => it.label),
    ['s', 't'],
  );
});

test('a call that was refused before it began ends with its answer, and one that has ended stays as it is', () => {
  const calls = announced(NONE, 's', 'c1', 'edit', {});
  const refused = answered(calls, 's', 'c1', result('c1', { status: 'error', isError: true }));
  assert.deepEqual([refused.running.length, refused.ended.map((call) => call.status)], [0, ['error']]);
  assert.equal(answered(refused, 's', 'c1', result('c1')), refused);
  assert.deepEqual(
    answered(calls, 's', 'c1', undefined).ended.map((call) => call.status),
    ['cancelled'],
  );
});
