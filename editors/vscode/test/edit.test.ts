// Edits: which are applied, and why others are not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Place, readEdit, refusal, withCaretsLeft } from '../src/edit';

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

const CHARACTERS = [...'abé\n😀😎👩\u200d👧👍\u{1f3fd}🇩🇪𝒳\u{20000}'];

function placeAt(text: string, offset: number): Place {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length - 1, character: (before.at(-1) ?? '').length };
}

/** A text and edits of it that do not overlap, by offsets (UTF-16 units) and by places. */
function drawn(draw: (below: number) => number, offsets: (text: string) => number[]) {
  const one = () => CHARACTERS[draw(CHARACTERS.length)];
  const words = (most: number) => Array.from({ length: draw(most) }, one).join('');
  const text = words(14);
  const places = offsets(text);
  const ends = Array.from({ length: 2 * (1 + draw(3)) }, () => places[draw(places.length)] ?? 0).sort((a, b) => a - b);
  const cuts = Array.from({ length: ends.length / 2 }, (_, index) => ({
    start: ends[2 * index] ?? 0,
    end: ends[2 * index + 1] ?? 0,
    newText: words(4),
  }));
  const edits = cuts.map(({ start, end, newText }) => change(placeAt(text, start), placeAt(text, end), newText));
  const cut = (now: string, { start, end, newText }: (typeof cuts)[0]) => now.slice(0, start) + newText + now.slice(end);
  return { text, cuts, edits, result: cuts.reduceRight(cut, text) };
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

/** The text after edits that are in order and do not overlap. */
function applied(text: string, edits: { range: { start: Place; end: Place }; newText: string }[]): string {
  const lines = text.split('\n');
  const offset = ({ line, character }: Place) =>
    lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0) + character;
  return edits.reduceRight(
    (now, { range, newText }) => now.slice(0, offset(range.start)) + newText + now.slice(offset(range.end)),
    text,
  );
}

test('what is inserted takes the character behind it along, so that carets stay', () => {
  const check = (lines: string[], edits: ReturnType<typeof change>[], ...expected: ReturnType<typeof change>[]) =>
    assert.deepEqual(withCaretsLeft(edits as never, document(1, ...lines), '\r\n'), expected);
  const kept = (lines: string[], ...edits: ReturnType<typeof change>[]) => check(lines, edits, ...edits);
  check(['foo'], [change(at(0, 1), at(0, 1), 'x')], change(at(0, 1), at(0, 2), 'xo'));
  check(['a😀'], [change(at(0, 1), at(0, 1), 'x')], change(at(0, 1), at(0, 3), 'x😀'));
  check(['foo', ''], [change(at(0, 3), at(0, 3), '\nbar')], change(at(0, 3), at(1, 0), '\nbar\r\n'));
  check(['foo'], [change(at(0, 0), at(0, 0), '\nx')], change(at(0, 0), at(0, 1), '\nxf'));
  kept(['foo'], change(at(0, 3), at(0, 3), 'at the end of all'));
  kept(['foo'], change(at(0, 0), at(0, 0), 'lines\nabove\n'));
  kept(['foo'], change(at(0, 0), at(0, 1), 'x'));
  kept(['foo'], change(at(0, 1), at(0, 1), ''));
  kept(['foo'], change(at(0, 1), at(0, 1), 'x'), change(at(0, 1), at(0, 1), 'y'));
  kept(['foo'], change(at(0, 1), at(0, 1), 'x'), change(at(0, 2), at(0, 3), 'y'));
  kept(['f\ud83do'], change(at(0, 1), at(0, 1), 'x'));
});

test('that changes nothing of what comes of the edits', () => {
  const draw = draws(7);
  let seen = 0;
  for (let turn = 0; turn < 20_000; turn++) {
    const { text, edits, result } = drawn(draw, between);
    const it = document(1, ...text.split('\n'));
    const exact = withCaretsLeft(edits as never, it, '\n');
    assert.equal(refusal({ version: 1, edits: exact }, it), undefined, JSON.stringify({ text, edits }));
    assert.equal(applied(text, exact as never), result, JSON.stringify({ text, edits, exact }));
    if (JSON.stringify(exact) !== JSON.stringify(edits)) seen += 1;
  }
  assert.ok(seen > 2000, String(seen));
});
