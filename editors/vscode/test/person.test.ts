// What a person is asked, and what their answers mean.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { counts, decided, denied, GUARD_MS, Queue } from '../src/person/answers';
import { content, fields } from '../src/person/form';
import { diff, page } from '../src/person/page';
import { askResult, askSteps, type Ended, walk } from '../src/person/steps';
import type { ApproveCall, ApproveParams } from '../src/protocol';
import { html, oneLine, visible, wrapped } from '../src/text';

const call = (more: Partial<ApproveCall> = {}): ApproveCall => ({
  callId: 'c1',
  name: 'write',
  arguments: { file_path: 'a' },
  targets: ['/w/a'],
  reason: 'why',
  risk: 'low',
  ...more,
});
const request = (...calls: ApproveCall[]): ApproveParams => ({ sessionId: 's', calls });
const frame = {
  id: 'ID',
  cspSource: 'https://csp',
  nonce: 'NONCE',
  styleUri: 'https://csp/a.css',
  scriptUri: 'https://csp/a.js',
};

test('what is invisible is spelled out, and nothing else is touched', () => {
  const check = (given: string, expected: string) => assert.equal(visible(given), expected);
  check('plain\n\ttext é 😀 漢字', 'plain\n\ttext é 😀 漢字');
  check('a\u202eb\u200bc\u00a0d', 'a\\u{202e}b\\u{200b}c\\u{00a0}d');
  check('\u0000\u001b[31m\r\u0085\u2028', '\\u{0000}\\u{001b}[31m\\r\\u{0085}\\u{2028}');
  check('\u{e0041}\ufeff\ud800x', '\\u{e0041}\\u{feff}\\u{d800}x');
  assert.equal(oneLine('a\nb\tc'), 'a\\nb c');
  assert.equal(html('<b>&"\u202e'), '&#60;b&#62;&#38;&#34;<span class="hidden">\\u{202e}</span>');
});

test('wrapping loses nothing', () => {
  const text = 'one two  three\n\nfourfourfourfour five';
  const lines = wrapped(text, 9);
  assert.ok(lines.every((line) => line.length <= 9));
  assert.equal(lines.join('').replaceAll(' ', ''), text.replace(/\s/g, ''));
});

test('the page shows everything of a call, escaped, and lets nothing run or load', () => {
  const long = `${'x'.repeat(5000)}END`;
  const shown = page(
    request(
      call({
        name: 'bash<script>',
        reason: '</p><img src=x onerror=alert(1)>',
        targets: ['/w/a', 'rm\u202e -rf'],
        arguments: { command: 'echo "1"\nrm', flag: true, text: 'true', long, '<i>': null },
        suggestedRule: 'bash(echo:*)',
        risk: 'high',
      }),
    ),
    2,
    frame,
  );
  for (const part of [
    'END',
    'rm<span class="hidden">\\u{202e}</span> -rf',
    '<pre>true</pre>',
    '<pre>&#34;true&#34;</pre>',
    'bash(echo:*)',
    'high risk',
    '2 more questions wait',
    '<code>s</code>',
    'data-id="ID"',
  ])
    assert.ok(shown.includes(part), part);
  assert.ok(!/<(img|i|b|iframe)\b/i.test(shown));
  assert.equal([...shown.matchAll(/<script/g)].length, 1);
  assert.match(
    shown,
    /content="default-src &#39;none&#39;; style-src https:\/\/csp; script-src &#39;nonce-NONCE&#39;"/,
  );
  assert.ok(!/\son\w+=/.test(shown.replace(/onerror=alert\(1\)/, '')));
});

test('the no comes first, and each call of several has its own answer', () => {
  const shown = page(request(call(), call({ callId: 'c2' })), 0, frame);
  const answers = [...shown.matchAll(/data-consent="(\w+)"/g)].map((match) => match[1]);
  assert.deepEqual(answers, [
    ...['deny', 'once', 'session', 'always', 'deny'],
    ...['deny', 'once', 'session', 'always', 'deny'],
  ]);
  assert.equal([...shown.matchAll(/Not decided: counts as a no/g)].length, 2);
  assert.ok(shown.indexOf('data-all="deny"') < shown.indexOf('data-all="once"'));
});

test('content of a diff passes for no header', () => {
  const shown = diff(
    '--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n same\n@@ -9 +9 @@\n-a\n+b\n\\ No newline at end of file\n',
  );
  const kinds = [...shown.matchAll(/<span class="(\w+)"/g)].map((match) => match[1]);
  assert.deepEqual(kinds, ['file', 'file', 'hunk', 'removed', 'added', 'same', 'hunk', 'removed', 'added', 'note']);
});

test('everything but a clear yes is a no', () => {
  const params = request(call(), call({ callId: 'c2' }));
  const check = (message: unknown, expected: string) =>
    assert.equal(
      decided(params, message)
        .decisions.map((one) => `${one.callId}=${one.decision}${one.feedback ? ` (${one.feedback})` : ''}`)
        .join(' '),
      expected,
    );
  check(null, 'c1=deny c2=deny');
  check({ answers: 'once' }, 'c1=deny c2=deny');
  check({ answers: [{ index: 0, consent: 'yes' }, null] }, 'c1=deny c2=deny');
  check({ answers: [{ index: 1, consent: 'always' }] }, 'c1=deny c2=always');
  check(
    {
      answers: [
        { index: 0, consent: 'once' },
        { index: 0, consent: 'deny' },
      ],
    },
    'c1=deny c2=deny',
  );
  check(
    {
      answers: [
        { index: 0, consent: 'deny', words: ' not there ' },
        { index: 1, consent: 'once', words: 'x' },
      ],
    },
    'c1=deny (not there) c2=once',
  );
  check({ answers: [{ index: 7, consent: 'once' }] }, 'c1=deny c2=deny');
  assert.deepEqual(denied(params, 'gone').decisions[1], { callId: 'c2', decision: 'deny', feedback: 'gone' });
});

test('a yes that comes too early does not count, a no does', () => {
  const yes = decided(request(call()), { answers: [{ index: 0, consent: 'once' }] });
  assert.deepEqual(
    [counts(yes, 0, GUARD_MS - 1), counts(yes, 0, GUARD_MS), counts(denied(request(call())), 0, 1)],
    [false, true, true],
  );
});

test('the script of the page guards keys as the host does', () => {
  assert.match(readFileSync('media/approve.js', 'utf8'), new RegExp(`GUARD_MS = ${GUARD_MS};`));
});

test('what is taken back leaves the queue from any place', () => {
  const queue = new Queue<string>();
  for (const item of ['a', 'b', 'c']) queue.add(item);
  assert.deepEqual(
    [queue.remove('b'), queue.remove('b'), queue.first, queue.length, queue.clear(), queue.first],
    [true, false, 'a', 2, ['a', 'c'], undefined],
  );
});

test('questions go forth and back, and what was answered counts when they are closed', async () => {
  const steps = askSteps({
    sessionId: 's',
    callId: 'c',
    questions: [
      {
        question: 'Which?',
        header: null,
        options: [{ label: 'A', description: 'first' }, { label: 'B' }],
        multiple: false,
        custom: false,
      },
      { question: 'Name?', options: [], multiple: false, custom: false },
      { question: 'More?', options: [{ label: 'C' }], multiple: true, custom: true },
    ],
  });
  assert.deepEqual(
    steps.map((step) => [step.title, step.custom, step.options.length]),
    [
      ['An agent asks', false, 2],
      ['An agent asks', true, 0],
      ['An agent asks', true, 1],
    ],
  );
  const play = async (...script: Ended[]) => {
    const places: number[] = [];
    const result = await walk(steps, (_step, place) => {
      places.push(place);
      return Promise.resolve(script.shift() ?? { kind: 'cancel' });
    });
    return [places.join(''), JSON.stringify(askResult(result))];
  };
  const pick = (...selected: number[]): Ended => ({ kind: 'answer', answer: { selected } });
  const write = (text: string): Ended => ({ kind: 'answer', answer: { selected: [], text } });
  assert.deepEqual(await play(pick(1), write(''), pick()), [
    '012',
    '{"answers":[{"selected":[1]},{"selected":[],"text":""},{"selected":[]}]}',
  ]);
  assert.deepEqual(await play(pick(1), { kind: 'back' }, pick(0), { kind: 'skip' }, { kind: 'cancel' }), [
    '01012',
    '{"answers":[{"selected":[0]},null,null],"cancelled":true}',
  ]);
});

test('a form of plain fields is read, checked and filled in', () => {
  const form = fields({
    type: 'object',
    required: ['name', 'age'],
    properties: {
      name: { type: 'string', title: 'Name', minLength: 2 },
      mail: { type: 'string', format: 'email' },
      age: { type: 'integer', minimum: 1, maximum: 150, default: 30 },
      vip: { type: 'boolean' },
      tier: { type: 'string', enum: ['a', 'b'], enumNames: ['Gold', 'Silver'] },
      kinds: { type: 'array', items: { anyOf: [{ const: 'x', title: 'X!' }, { const: 'y' }] }, minItems: 1 },
    },
  });
  assert.ok(form);
  const text = (at: number, given: string) => form[at]?.step.fault?.({ selected: [], text: given });
  assert.deepEqual(
    [
      text(0, 'a'),
      text(0, 'ab'),
      text(1, 'x'),
      text(1, 'x@y'),
      text(2, '1.5'),
      text(2, '0'),
      text(2, ' 7 '),
      text(2, ''),
    ],
    [
      'At least 2 characters',
      undefined,
      'This has to be an e-mail address',
      undefined,
      'This has to be a whole number',
      'At least 1',
      undefined,
      'This has to be a number',
    ],
  );
  assert.equal(form[5]?.step.fault?.({ selected: [] }), 'Choose at least 1');
  assert.deepEqual(
    form.map(({ step }) => [step.optional, step.initial, step.options.map((option) => option.label).join()]),
    [
      [false, undefined, ''],
      [true, undefined, ''],
      [false, '30', ''],
      [true, undefined, 'Yes,No'],
      [true, undefined, 'Gold,Silver'],
      [true, undefined, 'X!,y'],
    ],
  );
  const answers = [
    { selected: [], text: 'Jo' },
    null,
    { selected: [], text: ' 42 ' },
    { selected: [1] },
    { selected: [1] },
    { selected: [0, 1] },
  ];
  assert.deepEqual(content(form, answers), { name: 'Jo', age: 42, vip: false, tier: 'b', kinds: ['x', 'y'] });
  for (const none of [
    undefined,
    {},
    { properties: { a: { type: 'object' } } },
    { properties: { a: { type: 'array', items: { type: 'string' } } } },
  ])
    assert.equal(fields(none), undefined);
});
