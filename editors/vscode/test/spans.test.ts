// Spans that move with the typing, against a model: lines that carry names, edited as text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Edit, moved, movedBy, neighbour, type Span } from '../src/review/spans';

const edit = (sl: number, sc: number, el: number, ec: number, text: string): Edit => ({
  start: { line: sl, character: sc },
  end: { line: el, character: ec },
  text,
});

test('a span moves with what comes before it and grows with what is typed in it', () => {
  const at: Span = { start: 3, count: 2 };
  const table: [string, Edit, Span][] = [
    ['typing on a line above', edit(0, 2, 0, 2, 'x'), { start: 3, count: 2 }],
    ['a new line above', edit(0, 0, 0, 0, 'new\n'), { start: 4, count: 2 }],
    ['a new line right above', edit(2, 0, 2, 0, 'new\n'), { start: 4, count: 2 }],
    ['a break at the end of the line above', edit(1, 5, 1, 5, '\n'), { start: 4, count: 2 }],
    ['letters at the very beginning', edit(2, 0, 2, 0, 'x'), { start: 3, count: 2 }],
    ['a line above goes', edit(0, 0, 1, 0, ''), { start: 2, count: 2 }],
    ['a line within goes', edit(2, 0, 3, 0, ''), { start: 3, count: 1 }],
    ['a break within', edit(3, 1, 3, 1, '\r\n'), { start: 3, count: 3 }],
    ['a line right below', edit(4, 0, 4, 0, 'new\n'), { start: 3, count: 2 }],
    ['all of it goes', edit(2, 0, 4, 0, ''), { start: 3, count: 1 }],
    ['all of it is replaced, from above to below', edit(1, 0, 4, 2, 'a\nb'), { start: 2, count: 2 }],
  ];
  for (const [what, change, expected] of table) assert.deepEqual(moved(at, change), expected, what);
});

test('a place without lines goes along with the line that it stands before', () => {
  const at: Span = { start: 3, count: 0 };
  assert.deepEqual(moved(at, edit(0, 0, 0, 0, 'new\n')), { start: 4, count: 0 });
  assert.deepEqual(moved(at, edit(2, 0, 2, 3, 'x\ny')), at);
  assert.deepEqual(moved(at, edit(0, 0, 2, 2, 'x')), { start: 1, count: 0 });
});

test('several edits of one event are all in terms of the text before', () => {
  const edits = [edit(9, 0, 9, 0, 'later\n'), edit(0, 0, 0, 0, 'first\n'), edit(4, 0, 5, 0, '')];
  assert.deepEqual(movedBy({ start: 8, count: 1 }, edits), { start: 8, count: 1 });
});

test('whole lines that are put in or go elsewhere never change which lines a span holds', () => {
  // Every insertion and removal of whole lines in a text of eight lines, with every span.
  for (let start = 0; start < 8; start += 1) {
    for (let count = 1; start + count <= 8; count += 1) {
      const names = Array.from({ length: 8 }, (_, line) => `n${line}`);
      const held = names.slice(start, start + count);
      for (let at = 0; at <= 8; at += 1) {
        for (const size of [1, 3]) {
          const put = [...names];
          put.splice(at, 0, ...Array.from({ length: size }, () => 'new'));
          const inside = at > start && at < start + count;
          const span = moved({ start: start + 1, count }, edit(at, 0, at, 0, 'new\n'.repeat(size)));
          const now = put.slice(span.start - 1, span.start - 1 + span.count).filter((name) => name !== 'new');
          assert.deepEqual(now, held, `put ${size} at ${at}`);
          assert.equal(span.count, count + (inside ? size : 0));
          if (at + size > 8 || (at < start + count && at + size > start)) continue;
          const gone = moved({ start: start + 1, count }, edit(at, 0, at + size, 0, ''));
          const left = names.filter((_, line) => line < at || line >= at + size);
          assert.deepEqual(left.slice(gone.start - 1, gone.start - 1 + gone.count), held, `cut ${size} at ${at}`);
        }
      }
    }
  }
});

test('the next and the previous place go over all files and around', () => {
  const places = [
    { uri: 'b', line: 1 },
    { uri: 'a', line: 9 },
    { uri: 'a', line: 2 },
  ];
  const go = (at: { uri: string; line: number } | undefined, step: 1 | -1) => {
    const to = neighbour(places, at, step);
    return to && `${to.uri}${to.line}`;
  };
  assert.equal(go(undefined, 1), 'a2');
  assert.equal(go(undefined, -1), 'b1');
  assert.equal(go({ uri: 'a', line: 2 }, 1), 'a9');
  assert.equal(go({ uri: 'a', line: 9 }, 1), 'b1');
  assert.equal(go({ uri: 'b', line: 1 }, 1), 'a2');
  assert.equal(go({ uri: 'a', line: 2 }, -1), 'b1');
  assert.equal(neighbour([], undefined, 1), undefined);
});
