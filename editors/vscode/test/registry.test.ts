// Tools of other extensions: who runs which.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerOf, failureOf, owned, refused, Registry, sendable } from '../src/registry';

const tool = (name: string, answer: string) => ({
  name,
  description: '',
  inputSchema: {},
  answer,
  run() {
    return this.answer;
  },
});

test('a tool is run by who registered it first, and what leaves is only what nobody else has', () => {
  const registry = new Registry<() => string>();
  const first = registry.add(owned([tool('a', 'first'), tool('b', 'first')]));
  const second = registry.add(owned([tool('b', 'second')]));
  assert.equal(registry.find('b')?.(), 'first', 'and it keeps its `this`');
  assert.deepEqual(registry.remove(first), ['a']);
  assert.equal(registry.find('b')?.(), 'second');
  assert.deepEqual(registry.remove(first), [], 'twice does no harm');
  assert.deepEqual(registry.all(), [second]);
});

test('the sidecar is not told what runs a tool', () => {
  const [one] = owned([{ name: 'a', description: 'd', inputSchema: {}, run: () => '' }]);
  assert.deepEqual(one?.definition, { name: 'a', description: 'd', inputSchema: {} });
});

test('an answer that cannot be written as JSON is a failure, not silence', () => {
  const circle: Record<string, unknown> = {};
  circle['itself'] = circle;
  for (const structuredContent of [circle, { big: 1n }]) assert.throws(() => sendable({ content: [], structuredContent }));
  assert.throws(() => sendable(answerOf(undefined as never)), /no answer/);
  assert.deepEqual(sendable(answerOf('yes')), answerOf('yes'));
});

test('a text is an answer, and what is thrown is a failure that is told', () => {
  assert.deepEqual(answerOf('yes'), { content: [{ type: 'text', text: 'yes' }] });
  assert.deepEqual(failureOf(new Error('no')), { content: [{ type: 'text', text: 'no' }], isError: true });
  assert.deepEqual(
    refused([
      { name: 'a', status: 'registered' },
      { name: 'b', status: 'refused', reason: 'taken' },
    ]),
    ['b: taken'],
  );
});
