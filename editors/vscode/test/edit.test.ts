// Edits: which are applied, and why others are not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayCutCharacters, readEdit, refusal } from '../src/edit';

const at = (line: number, character: number) => ({ line, character });
const change = (start: object, end: object, newText = 'x') => ({ range: { start, end }, newText });
const params = (textDocument: unknown, edits: unknown = [], more: object = {}) => ({
  edit: { documentChanges: [{ textDocument, edits }], ...more },
});
const document = (version: number, ...lines: string[]) => ({
  version,
  lineCount: lines.length,
  lineLength: (line: number) => lines[line]?.length ?? 0,
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

test('only two texts with halves of characters can share one', () => {
  const check = (before: string, after: string, expected: boolean) =>
    assert.equal(mayCutCharacters(before, after), expected, `${before} ${after}`);
  check('', '', false);
  check('é', '変数', false);
  check('😀', '', false);
  check('plain', '😀', false);
  check('😀', '😎', true);
  check('a 😀', '🎉 b', true);
});
