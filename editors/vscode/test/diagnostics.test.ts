// Diagnostics: raw again, by source, only what changed; and the answers of the TypeScript server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkersOf } from '../src/builtin';
import { bySource, Ledger, Sources, UNNAMED } from '../src/problems';
import { readAnswer, sectionOf } from '../src/tsserver';

const range = (line: number) => ({ start: { line, character: 1 }, end: { line, character: 3 } });
const diagnostic = (message: string, more: object = {}) =>
  ({ range: range(0), severity: 0, message, source: 'ts', ...more }) as never;

test('a diagnostic keeps its code, tags and relations', () => {
  const uri = { toString: () => 'file:///b' };
  const full = diagnostic('bad', {
    severity: 3,
    code: { value: 'E1', target: { toString: () => 'https://example.org/E1' } },
    tags: [1, 2],
    relatedInformation: [{ location: { uri, range: range(4) }, message: 'there' }],
  });
  assert.deepEqual(bySource([full]).get('ts'), [
    {
      range: range(0),
      severity: 4,
      message: 'bad',
      code: 'E1',
      codeDescription: { href: 'https://example.org/E1' },
      source: 'ts',
      tags: [1, 2],
      relatedInformation: [{ location: { uri: 'file:///b', range: range(4) }, message: 'there' }],
    },
  ]);
  assert.deepEqual(bySource([diagnostic('a', { code: 0, source: undefined })]).get(UNNAMED), [
    { range: range(0), severity: 1, message: 'a', code: 0 },
  ]);
});

test('sources stay apart, and our own is never echoed', () => {
  const groups = bySource([
    diagnostic('a'),
    diagnostic('b', { source: 'eslint' }),
    diagnostic('c', { source: 'ropewalk' }),
    diagnostic('d'),
  ]);
  assert.deepEqual(
    [...groups].map(([source, found]) => [source, found.map((one) => one.message)]),
    [
      ['ts', ['a', 'd']],
      ['eslint', ['b']],
    ],
  );
});

test('what did not change is not told: another source may have spoken', () => {
  const ledger = new Ledger();
  const told = (...diagnostics: never[]) =>
    ledger.update('file:///a', bySource(diagnostics)).map(([source, found]) => `${source}:${found.length}`);
  assert.deepEqual(told(), []);
  assert.deepEqual(told(diagnostic('a')), ['ts:1']);
  assert.deepEqual(told(diagnostic('a')), []);
  assert.deepEqual(told(diagnostic('a'), diagnostic('b', { source: 'eslint' })), ['eslint:1']);
  assert.deepEqual(told(diagnostic('b', { source: 'eslint' })), ['ts:0']);
  assert.deepEqual(told(diagnostic('b', { source: 'eslint' })), []);
  assert.deepEqual(told(diagnostic('b', { source: 'eslint', range: range(9) })), ['eslint:1']);
  ledger.forget('file:///a');
  assert.deepEqual(told(diagnostic('b', { source: 'eslint' })), ['eslint:1']);
  ledger.forget();
  assert.deepEqual(told(), []);
});

test('a language is served by those that were seen to check it, spell checkers aside', () => {
  const sources = new Sources();
  assert.deepEqual(
    [
      sources.add('python', 'Ruff'),
      sources.add('python', 'Ruff'),
      sources.add('python', 'cSpell'),
      sources.add('go', 'go'),
    ],
    [true, false, false, true],
  );
  assert.deepEqual([sources.of('python'), sources.of('rust')], [['Ruff'], []]);
});

test('answers of the TypeScript server are read, or are none', () => {
  const uriOf = (file: string) => `file://${file}`;
  const spot = (line: number, offset: number) => ({ line, offset });
  const answer = {
    type: 'response',
    success: true,
    body: [
      { start: spot(1, 14), end: spot(1, 15), text: 'Not assignable', code: 2322, category: 'error' },
      {
        start: spot(2, 1),
        end: spot(3, 1),
        text: 'Unused',
        code: 6133,
        category: 'suggestion',
        reportsUnnecessary: {},
        relatedInformation: [
          { span: { file: '/w/b.ts', start: spot(1, 1), end: spot(1, 2) }, message: 'here' },
          { message: 'nowhere' },
        ],
      },
    ],
  };
  assert.deepEqual(readAnswer(answer, uriOf), [
    {
      range: { start: { line: 0, character: 13 }, end: { line: 0, character: 14 } },
      severity: 1,
      message: 'Not assignable',
      source: 'ts',
      code: 2322,
    },
    {
      range: { start: { line: 1, character: 0 }, end: { line: 2, character: 0 } },
      severity: 4,
      message: 'Unused',
      source: 'ts',
      code: 6133,
      tags: [1],
      relatedInformation: [
        {
          location: {
            uri: 'file:///w/b.ts',
            range: { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } },
          },
          message: 'here',
        },
      ],
    },
  ]);
  for (const none of [
    undefined,
    null,
    { type: 'cancelled' },
    { type: 'response', success: false, body: [] },
    { type: 'response', success: true },
    { type: 'response', success: true, body: [{ text: 'x' }] },
  ])
    assert.equal(readAnswer(none, uriOf), undefined);
  assert.deepEqual(['typescriptreact', 'javascript', 'vue'].map(sectionOf), ['typescript', 'javascript', undefined]);
});

test("what VS Code's own extensions check is known before they have found anything", () => {
  const check = (language: string, text: string, ...expected: string[]) =>
    assert.deepEqual(
      checkersOf(language, () => text).map(({ extension, setting, source }) => `${source} ${setting} ${extension}`),
      expected,
    );
  check('json', '', 'json json.validate.enable vscode.json-language-features');
  check('jsonc', '', 'jsonc json.validate.enable vscode.json-language-features');
  check('scss', '', 'scss scss.validate vscode.css-language-features');
  check('html', '<p>script and style</p>');
  check('html', '<styled></styled><scripts>');
  check(
    'html',
    '<STYLE media="print"></STYLE>\n<script\n>',
    'javascript html.validate.scripts vscode.html-language-features',
    'css html.validate.styles vscode.html-language-features',
  );
  check('yaml', '');
  check('markdown', '');
});
