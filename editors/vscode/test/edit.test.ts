// Edits: which are applied, and why others are not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Place, readEdit, refusal, takenAlong } from '../src/edit';

const at = (line: number, character: number) => ({ line, character });
const change = (start: object, end: object, newText = 'x') => ({ range: { start, end }, newText });
const params = (textDocument: unknown, edits: unknown = [], more: object = {}) => ({
  edit: { documentChanges: [{ textDocument, edits }], ...more },
});
const document = (version: number, ...lines: string[]) => ({
  version,
  lineCount: lines.length,
  lineText: (line: number) => lines[line] ?? '',
});

test('only one versioned edit of one document can be read', () => {
  const check = (given: unknown, expected: string) => assert.deepEqual(readEdit(given), { refused: expected });
  const versions = 'only edits with versions (documentChanges) are applied';
  const one = 'only edits of exactly one document are applied';
  check(null, versions);
  check({ edit: { changes: { 'file:///a': [] } } }, versions);
  check(params({ uri: 'file:///a', version: 1 }, [], { changes: { 'file:///a': [] } }), versions);
  check({ edit: { documentChanges: [] } }, one);
  check({ edit: { documentChanges: [{ kind: 'delete', uri: 'file:///a' }] } }, one);
  check(
    {
      edit: {
        documentChanges: [
          { textDocument: { uri: 'a', version: 1 }, edits: [] },
          { textDocument: { uri: 'b', version: 1 }, edits: [] },
        ],
      },
    },
    one,
  );
  check(params({ uri: 'file:///a', version: null }), 'the edit names no version');
  check(params({ uri: 'file:///a' }), 'the edit names no version');
  check(
    params({ uri: 'file:///a', version: 1 }, [{ range: { start: at(0, 0) }, newText: '' }]),
    'the edit cannot be read',
  );
  check(params({ uri: 'file:///a', version: 1 }, [change(at(0, -1), at(0, 0))]), 'the edit cannot be read');
  check(params({ uri: 'file:///a', version: 1 }, 'none'), 'the edit cannot be read');
});

test('labels and annotations do not count: nothing but the text is taken', () => {
  const edits = [{ ...change(at(0, 0), at(0, 1), 'é'), annotationId: 'a' }];
  assert.deepEqual(
    readEdit(
      params({ uri: 'file:///a', version: 0 }, edits, { changeAnnotations: { a: { needsConfirmation: true } } }),
    ),
    {
      uri: 'file:///a',
      version: 0,
      edits: [change(at(0, 0), at(0, 1), 'é')],
    },
  );
});

test('an edit fits exactly its version and places that there are', () => {
  const check = (version: number, edits: ReturnType<typeof change>[], expected?: string) =>
    assert.equal(refusal({ version, edits: edits as never }, document(7, 'ab', '', '😀')), expected);
  check(7, [change(at(0, 0), at(2, 2))]);
  check(7, [change(at(2, 2), at(2, 2)), change(at(0, 0), at(0, 1)), change(at(0, 1), at(1, 0))]);
  check(7, [change(at(0, 1), at(0, 1)), change(at(0, 1), at(0, 1))]);
  check(6, [], 'the edit is for version 6, the document is at version 7');
  check(8, [], 'the edit is for version 8, the document is at version 7');
  check(0, [], 'the edit is for version 0, the document is at version 7');
  check(7, [change(at(0, 3), at(0, 3))], 'the place 0:3 is outside of the document');
  check(7, [change(at(0, 0), at(3, 0))], 'the place 3:0 is outside of the document');
  check(7, [change(at(1, 0), at(0, 0))], 'the range 1:0-0:0 is reversed');
  check(7, [change(at(0, 0), at(0, 2)), change(at(0, 1), at(0, 1))], 'two replacements overlap at 0:1');
});

test('no character is cut in two, and no half of one comes in', () => {
  const check = (line: string, edit: ReturnType<typeof change>, expected?: string) =>
    assert.equal(refusal({ version: 1, edits: [edit] as never }, document(1, line)), expected);
  check('a😀b', change(at(0, 1), at(0, 3), '😎'));
  check('a😀b', change(at(0, 2), at(0, 3)), 'the place 0:2 is within a character');
  check('a😀b', change(at(0, 1), at(0, 2)), 'the place 0:2 is within a character');
  check('a😀b', change(at(0, 2), at(0, 2)), 'the place 0:2 is within a character');
  check('ab', change(at(0, 1), at(0, 1), '\ud83d'), 'the new text at 0:1 has half a character');
  check('ab', change(at(0, 1), at(0, 1), '\ude00\ud83d'), 'the new text at 0:1 has half a character');
  // A half that is there already is a place like any other, and can be replaced.
  check('a\ud83db', change(at(0, 1), at(0, 2), '😀'));
  check('a\ude00\ud83db', change(at(0, 2), at(0, 3), ''));
});

/** Draws numbers below a bound, the same for the same seed. */
function draws(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) % below;
  };
}

const CHARACTERS = ['a', 'b', 'é', '\n', '😀', '😎', '👩', '\u200d', '👧', '👍', '\u{1f3fd}', '🇩', '🇪', '𝒳', '\u{20000}'];

function placeAt(text: string, offset: number): Place {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length - 1, character: (before.at(-1) ?? '').length };
}

/** A text and edits of it that do not overlap, by offsets (UTF-16 units) and by places. */
function drawn(draw: (below: number) => number, offsets: (text: string) => number[]) {
  const words = (most: number) => Array.from({ length: draw(most) }, () => CHARACTERS[draw(CHARACTERS.length)]).join('');
  const text = words(14);
  const places = offsets(text);
  const ends = Array.from({ length: 2 * (1 + draw(3)) }, () => places[draw(places.length)] ?? 0).sort((a, b) => a - b);
  const cuts = Array.from({ length: ends.length / 2 }, (_, index) => ({
    start: ends[2 * index] ?? 0,
    end: ends[2 * index + 1] ?? 0,
    newText: words(4),
  }));
  const edits = cuts.map(({ start, end, newText }) => change(placeAt(text, start), placeAt(text, end), newText));
  const result = cuts.reduceRight((now, { start, end, newText }) => now.slice(0, start) + newText + now.slice(end), text);
  return { text, cuts, edits, result };
}

/** The offsets between characters. */
const between = (text: string) =>
  [...text].reduce((all, character) => [...all, (all.at(-1) ?? 0) + character.length], [0]);

const isWhole = (text: string) => !/\p{Surrogate}/u.test(text);

test('what is let through leaves every character whole, wherever it is', () => {
  const draw = draws(20261130);
  let [refused, accepted] = [0, 0];
  for (let turn = 0; turn < 20_000; turn++) {
    const all = (text: string) => Array.from({ length: text.length + 1 }, (_, offset) => offset);
    const { text, cuts, edits, result } = drawn(draw, turn % 2 === 0 ? between : all);
    const whole = cuts.every(({ start, end }) => [start, end].every((offset) => between(text).includes(offset)));
    const reason = refusal({ version: 1, edits: edits as never }, document(1, ...text.split('\n')));
    if (whole) {
      assert.equal(reason, undefined, JSON.stringify({ text, edits }));
      assert.ok(isWhole(result), JSON.stringify({ text, edits }));
      accepted += 1;
    } else {
      assert.match(reason ?? '', /is within a character$/, JSON.stringify({ text, edits }));
      refused += 1;
    }
  }
  assert.ok(refused > 1000 && accepted > 10_000, `${refused} ${accepted}`);
});

test('a caret stays where something is inserted, unless whole lines come above its line', () => {
  const check = (caret: Place, edits: ReturnType<typeof change>[], expected?: { to: Place; from: Place }) =>
    assert.deepEqual(takenAlong(caret, edits as never), expected);
  check(at(0, 3), [change(at(0, 3), at(0, 3), ' bar')], { to: at(0, 7), from: at(0, 3) });
  check(at(0, 3), [change(at(0, 3), at(0, 3), '\nbar')], { to: at(1, 3), from: at(0, 3) });
  check(at(0, 0), [change(at(0, 0), at(0, 0), 'x')], { to: at(0, 1), from: at(0, 0) });
  check(at(1, 0), [change(at(1, 0), at(1, 0), 'above\n')]);
  check(at(1, 0), [change(at(1, 0), at(1, 0), 'above\r\n')]);
  check(at(0, 3), [change(at(0, 2), at(0, 2), 'x')]);
  check(at(0, 3), [change(at(0, 3), at(0, 4), 'x')]);
  check(at(0, 3), [change(at(0, 3), at(0, 3), '')]);
  check(at(2, 3), [change(at(0, 0), at(1, 0), ''), change(at(2, 1), at(2, 2), '12\n34'), change(at(2, 3), at(2, 3), 'é')], {
    to: at(2, 4),
    from: at(2, 3),
  });
});

test('where a caret is taken, and where it belongs, are counted right', () => {
  const draw = draws(7);
  let seen = 0;
  for (let turn = 0; turn < 20_000; turn++) {
    const { text, cuts, edits, result } = drawn(draw, between);
    for (const offset of between(text)) {
      const caret = placeAt(text, offset);
      const taken = takenAlong(caret, edits as never);
      const here = cuts.filter(({ start, end }) => start === offset && end === offset);
      const inserted = here.map(({ newText }) => newText).join('');
      const expected = inserted !== '' && !(caret.character === 0 && inserted.endsWith('\n'));
      assert.equal(taken !== undefined, expected, JSON.stringify({ text, edits, caret }));
      if (!taken) continue;
      const before = cuts.filter(({ end, start }) => end <= offset && start < offset);
      const from = offset + before.reduce((sum, { start, end, newText }) => sum + newText.length - (end - start), 0);
      assert.deepEqual(taken.from, placeAt(result, from), JSON.stringify({ text, edits, caret }));
      assert.deepEqual(taken.to, placeAt(result, from + inserted.length), JSON.stringify({ text, edits, caret }));
      seen += 1;
    }
  }
  assert.ok(seen > 5000, String(seen));
});
