// What is said and shown of changes and proposals.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChangesResult, HunkInfo } from '../src/protocol';
import {
  asDiff,
  baseText,
  caughtUp,
  escaped,
  fenced,
  lenses,
  lines,
  summary,
  undoTold,
  waiting,
  withFile,
} from '../src/review/model';

function hunk(hunkId: string, start: number, before: string, after: string, more: Partial<HunkInfo> = {}): HunkInfo {
  const count = lines(after).length;
  return {
    hunkId,
    kind: 'changed',
    sessionId: 's',
    callId: `call-${hunkId}`,
    lines: { start, count },
    before,
    after,
    now: after,
    touched: false,
    ...more,
  };
}

const answer = (hunks: HunkInfo[]): ChangesResult => ({
  files: [{ uri: 'file:///n', version: 1, hunks }],
  proposals: [],
  undos: [],
});

test('the text before the changes comes back, however hunks lie', () => {
  const base = (text: string, hunks: HunkInfo[]) => baseText(text, waiting(answer(hunks)).changes);
  assert.equal(base('a\nB\nC\nd\n', [hunk('1', 2, 'b\n', 'B\nC\n')]), 'a\nb\nd\n');
  assert.equal(base('a\nd\n', [hunk('1', 2, 'b\nc\n', '')]), 'a\nb\nc\nd\n', 'lines that were removed');
  assert.equal(base('new\na\n', [hunk('1', 1, '', 'new\n')]), 'a\n', 'lines that were added');
  assert.equal(
    base('A\nb\nC\n', [hunk('1', 1, 'a\n', 'A\n'), hunk('2', 3, 'c', 'C\n')]),
    'a\nb\nc',
    'a final line break',
  );
  assert.equal(base('x\ny\n', [hunk('1', 1, '', 'x\ny\n', { kind: 'created' })]), '', 'a new file');
  const older = hunk('1', 2, 'two\n', 'TWO\n', {
    under: { callId: 'call-2', sessionId: 's' },
    lines: { start: 2, count: 1 },
  });
  assert.equal(base('one\nzwei\n', [older, hunk('2', 2, 'TWO\n', 'zwei\n')]), 'one\ntwo\n', 'changed once more');
  assert.equal(base('a\r\nB\r\n', [hunk('1', 2, 'b\r\n', 'B\r\n')]), 'a\r\nb\r\n');
});

test('above each hunk stands what can be done with it', () => {
  const all = waiting({
    ...answer([hunk('1.1', 3, 'x\n', 'y\n'), hunk('1.2', 90, 'x\n', '')]),
    proposals: [
      {
        uri: 'file:///n',
        sessionId: 'p',
        hunks: [
          {
            hunkId: 'p1.1',
            kind: 'changed',
            callId: 'c',
            lines: { start: 5, count: 1 },
            proposedLines: { start: 5, count: 1 },
            before: 'x\n',
            after: 'y\n',
          },
        ],
      },
    ],
  });
  const shown = lenses('file:///n', all, 10).map(
    (lens) => `${lens.line} ${lens.title.replace(/\$\([^)]*\) /, '')} ${JSON.stringify(lens.arguments)}`,
  );
  assert.deepEqual(shown, [
    '0 Keep all 2 [{"uri":"file:///n"}]',
    '0 Undo all [{"uri":"file:///n"}]',
    '0 Show [{"uri":"file:///n"}]',
    '2 Keep [{"hunkId":"1.1"}]',
    '2 Undo [{"hunkId":"1.1"}]',
    '9 Keep [{"hunkId":"1.2"}]',
    '9 Undo [{"hunkId":"1.2"}]',
    '4 Accept [{"sessionId":"p","hunkId":"p1.1"}]',
    '4 Reject [{"sessionId":"p","hunkId":"p1.1"}]',
    '4 Reject with words [{"sessionId":"p","hunkId":"p1.1"}]',
    '4 Edit [{"sessionId":"p","uri":"file:///n"}]',
    '4 Show [{"sessionId":"p","uri":"file:///n"}]',
  ]);
  assert.deepEqual(lenses('file:///other', all, 10), []);
});

test('a hunk that was changed once more has no lenses, for the later one has to go first', () => {
  const all = waiting(
    answer([hunk('1', 1, 'a\n', 'b\n', { under: { callId: 'x', sessionId: 's' } }), hunk('2', 1, 'b\n', 'c\n')]),
  );
  assert.deepEqual(
    lenses('file:///n', all, 3).map((lens) => JSON.stringify(lens.arguments)),
    ['{"hunkId":"2"}', '{"hunkId":"2"}', '{"uri":"file:///n"}'].map((it) => `[${it}]`),
  );
});

test('an undo that did not do everything is told with its place and its reason', () => {
  const named = (uri: string) => uri.replace('file:///', '');
  const undone = { hunkId: '1', uri: 'file:///n', outcome: 'undone' as const };
  const left = { hunkId: '2', uri: 'file:///m', outcome: 'left' as const, why: 'You typed there.' };
  assert.equal(undoTold({ hunks: [undone] }, named), undefined);
  assert.deepEqual(undoTold({ hunks: [undone, left] }, named), {
    warning: true,
    message: 'm was not changed: You typed there.',
    uri: 'file:///m',
    hunkId: '2',
  });
  assert.match(
    undoTold({ hunks: [{ ...left, outcome: 'partly' }, left] }, named)?.message ?? '',
    /^m was changed in part \(and 1 more\)/,
  );
  assert.equal(undoTold({ hunks: [] }, named)?.warning, false);
});

test('one file that is asked about again does not touch the others', () => {
  const all = waiting({
    files: [
      { uri: 'a', hunks: [hunk('1', 1, '', 'x\n')] },
      { uri: 'c', hunks: [hunk('2', 1, '', 'x\n')] },
    ],
  });
  const newer = waiting({ files: [{ uri: 'b', hunks: [hunk('3', 1, '', 'x\n')] }] });
  assert.deepEqual(
    withFile(all, 'b', newer).changes.map((it) => it.uri),
    ['a', 'b', 'c'],
  );
  assert.deepEqual(
    withFile(all, 'a', waiting({ files: [] })).changes.map((it) => it.uri),
    ['c'],
  );
});

test('nothing in a text gets out of its block, and no words become Markdown', () => {
  assert.equal(fenced('a\n```\nb', 'diff'), '````diff\na\n```\nb\n````');
  assert.equal(fenced('plain'), '```\nplain\n```');
  assert.equal(escaped('[x](command:y) <b>\n$(zap)'), '\\[x\\]\\(command\\:y\\) \\<b\\> \\$\\(zap\\)');
  assert.equal(asDiff('a\nb\n', 'c'), '-a\n-b\n+c');
});

test('what a hunk is, in a few words', () => {
  assert.equal(summary('changed', 'a\n', 'b\nc\n'), '1 line became 2');
  assert.equal(summary('changed', 'a\n', 'b\n'), '1 line changed');
  assert.equal(summary('changed', '', 'b\nc\n'), '2 lines added');
  assert.equal(summary('changed', 'a\n', ''), '1 line removed');
  assert.equal(summary('created', '', 'b'), 'new file, 1 line');
  assert.equal(summary('mode', '100644', '100755'), 'may be run');
});

test('what was typed while a question was open moves its answer along, and only that', () => {
  const all = waiting({
    files: [
      { uri: 'a', version: 4, hunks: [hunk('1', 3, 'x\n', 'y\n')] },
      { uri: 'b', hunks: [hunk('2', 3, 'x\n', 'y\n')] },
    ],
  });
  const line = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 }, text: 'new\n' };
  const typed = [3, 4, 5, 6].map((version) => ({ uri: 'a', version, edits: [line] }));
  const spans = caughtUp(all, [...typed, { uri: 'b', version: 9, edits: [line] }]).changes.map((it) => it.span.start);
  assert.deepEqual(spans, [5, 3], 'of versions 5 and 6; a file that is not open has none');
});
