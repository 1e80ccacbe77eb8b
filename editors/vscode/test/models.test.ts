// What VS Code's models get and are asked about, and the loop of an agent.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { PreviewResult } from '../src/protocol';
import { canonical, chatOf, Chats, CHATS, Preparations, SHARED } from '../src/models/chats';
import { chosen, DEFAULT } from '../src/models/choice';
import { confirmation } from '../src/models/confirm';
import { type Piece, run, type Task, type Turn } from '../src/models/loop';
import { environment, joining } from '../src/models/join';
import { answered, asked } from '../src/models/sampling';

const preview = (more: Partial<PreviewResult> = {}): PreviewResult => ({
  previewId: 'p1',
  name: 'edit',
  arguments: {},
  repairs: [],
  synthesized: false,
  valid: true,
  problems: [],
  access: { reads: ['file:///w/n'], writes: ['file:///w/n'], commands: [], hosts: [] },
  diff: '--- a/n\n+++ b/n\n+```\n',
  approval: { requirement: 'suggest', decision: 'ask', reason: 'in review mode', risk: 'medium' },
  ...more,
});
const named = (uri: string) => uri.replace('file:///w/', '');

test('what the rules ask about is asked about, with the diff in a block that it cannot leave', () => {
  const confirm = confirmation(preview(), named);
  assert.equal(confirm.kind, 'ask');
  assert.deepEqual(confirm, {
    kind: 'ask',
    doing: 'edit: n',
    title: 'Change n?',
    message: 'In review mode\\.\n\n````diff\n--- a/n\n+++ b/n\n+```\n````',
  });
});

test('a command is shown whole, as a command', () => {
  const access = { reads: [], writes: [], commands: ['rm -rf `pwd`\necho'], hosts: [] };
  const approval = { ...preview().approval, risk: 'high' as const };
  const confirm = confirmation(preview({ name: 'bash', access, approval, diff: null }), named);
  assert.ok(confirm.kind === 'ask');
  assert.equal(confirm.title, 'Run this command?');
  assert.match(confirm.message, /Much can go wrong/);
  assert.ok(confirm.message.includes('```sh\nrm -rf `pwd`\necho\n```'), confirm.message);
});

test('what is invisible or turns text around is spelled out, and no command is cut', () => {
  const hidden = 'echo \u202egnp.exe\u202c \u001b[2Kls\u200b';
  const command = `${'# nothing\n'.repeat(200)}${hidden}`;
  const access = { reads: [], writes: [], commands: [command], hosts: [] };
  const confirm = confirmation(preview({ name: 'bash', access, diff: null }), named);
  assert.ok(confirm.kind === 'ask');
  assert.ok(confirm.message.includes('echo \\u{202e}gnp.exe\\u{202c} \\u{001b}[2Kls\\u{200b}'), confirm.message);
  const written = { reads: [], writes: ['file:///w/a\u202e\n.ts'], commands: [], hosts: [] };
  const change = confirmation(preview({ access: written, diff: '+\u202eevil\n' }), named);
  assert.ok(change.kind === 'ask');
  assert.equal(change.title, 'Change a\\u{202e}\\n.ts?');
  assert.ok(change.message.includes('+\\u{202e}evil'), change.message);
  assert.ok(!/[\u200b\u202e\u001b]/.test(confirm.message + change.message + change.doing));
});

test('what is allowed is not asked about, what is denied says why', () => {
  const approval = preview().approval;
  assert.equal(confirmation(preview({ approval: { ...approval, decision: 'allow' } }), named).kind, 'allow');
  const denied = confirmation(
    preview({ approval: { ...approval, decision: 'deny', reason: 'a rule denies it' } }),
    named,
  );
  assert.deepEqual(denied, { kind: 'deny', doing: 'edit: n', reason: 'a rule denies it' });
  const broken = confirmation(preview({ valid: false, problems: ['old_string is missing'] }), named);
  assert.ok(broken.kind === 'deny' && broken.reason === 'old_string is missing');
});

test('the chat is what both interfaces name it by', () => {
  const uri = { scheme: 'vscode-chat-session', authority: 'local', path: '/x' };
  const chat = chatOf({ input: {}, chatSessionResource: uri });
  assert.equal(chat, 'vscode-chat-session://local/x');
  assert.equal(chatOf({ toolInvocationToken: { sessionResource: { ...uri, $mid: 1 } } }), chat);
  assert.equal(chatOf({ toolInvocationToken: { sessionId: 'old' } }), 'old');
  assert.equal(chatOf({ toolInvocationToken: undefined, input: {} }), undefined);
  assert.equal(chatOf({ toolInvocationToken: 7 }), undefined);
});

test('each chat has a session, and the one that was used longest ago is closed', () => {
  const chats = new Chats('r');
  assert.equal(chats.sessionOf(undefined).sessionId, SHARED);
  const first = chats.sessionOf('c0');
  assert.deepEqual(first, { sessionId: 'vscode-r-1', fresh: true, closed: [] });
  for (let i = 1; i < CHATS; i += 1) chats.sessionOf(`c${i}`);
  assert.equal(chats.sessionOf('c0').fresh, false);
  assert.deepEqual(chats.sessionOf('new').closed, ['vscode-r-2']);
  assert.equal(chats.all().length, CHATS);
});

test('a run takes the consent to exactly its input, the newest first, and once', () => {
  const prepared = new Preparations();
  prepared.put('edit', { a: 1, b: [2] }, { sessionId: 's', previewId: 'p1' });
  prepared.put('edit', { b: [2], a: 1 }, { sessionId: 's', previewId: 'p2' });
  assert.equal(prepared.take('edit', { a: 1, b: [3] }), undefined);
  assert.equal(prepared.take('write', { a: 1, b: [2] }), undefined);
  assert.equal(prepared.take('edit', { a: 1, b: [2] })?.previewId, 'p2');
  assert.equal(prepared.take('edit', { a: 1, b: [2] })?.previewId, 'p1');
  assert.equal(prepared.take('edit', { a: 1, b: [2] }), undefined);
  assert.equal(canonical({ b: undefined, a: ['x', null] }), '{"a":["x",null]}');
});

test('the setting says which tools there are', () => {
  const there = ['edit', 'bash', 'websearch', 'read'];
  assert.deepEqual(chosen('default', there), ['edit', 'websearch']);
  assert.deepEqual(chosen('all', there), ['bash', 'edit', 'read', 'websearch']);
  assert.deepEqual(chosen('none', there), []);
  assert.deepEqual(chosen(['ropewalk_bash', 'read', 'unknown', 3], there), ['bash', 'read']);
  assert.equal(
    chosen(
      'all',
      Array.from({ length: 200 }, (_, i) => `t${i}`),
    ).length,
    128,
  );
});

test('what the manifest declares is what VS Code takes', () => {
  interface Declared {
    name: string;
    toolReferenceName: string;
    displayName: string;
    modelDescription: string;
    userDescription: string;
    when: string;
    inputSchema: { type: string };
  }
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
    contributes: { languageModelTools: Declared[] };
  };
  const tools = manifest.contributes.languageModelTools;
  assert.ok(tools.length > DEFAULT.length && tools.length <= 128);
  for (const name of DEFAULT)
    assert.ok(
      tools.some((tool) => tool.name === `ropewalk_${name}`),
      name,
    );
  for (const tool of tools) {
    assert.match(tool.name, /^ropewalk_[a-z_]+$/);
    assert.match(tool.toolReferenceName, /^[\w-]+$/);
    assert.ok(tool.displayName && tool.modelDescription && tool.userDescription, tool.name);
    assert.equal(tool.inputSchema.type, 'object');
    assert.equal(tool.when, `ropewalk.tool.${tool.name.replace('ropewalk_', '')}`);
  }
});

/** A model that says what is scripted, and tools that answer with their names. */
function task(script: (Piece[] | Error)[], more: Partial<Task> = {}): Task & { asked: Turn[][] } {
  const seen: Turn[][] = [];
  return {
    asked: seen,
    model: {
      async *ask(turns) {
        seen.push([...turns]);
        const next = script.shift() ?? [];
        if (next instanceof Error) throw next;
        yield* next;
      },
    },
    tools: {
      list: async () => [{ name: 'read', description: '' }],
      run: async (calls) =>
        calls.map(({ callId, name }) => ({ callId, content: [{ type: 'text', text: `ran ${name}` }], isError: false })),
    },
    turns: [{ role: 'user', text: 'Do it.' }],
    rounds: 5,
    cancelled: () => false,
    ...more,
  };
}
const says = (text: string): Piece => ({ kind: 'text', text });
const wants = (callId: string): Piece => ({ kind: 'call', call: { callId, name: 'read', input: {} } });

test('an agent calls tools until it answers, and only the answer is passed on', async () => {
  const it = task([[says('Let me '), says('look.'), wants('a'), wants('b')], [says('It is so.')]]);
  assert.deepEqual(await run(it), { output: 'It is so.', status: 'completed' });
  assert.deepEqual(it.asked[1]?.slice(1), [
    {
      role: 'assistant',
      text: 'Let me look.',
      calls: [
        { callId: 'a', name: 'read', input: {} },
        { callId: 'b', name: 'read', input: {} },
      ],
    },
    {
      role: 'results',
      results: ['a', 'b'].map((callId) => ({ callId, content: [{ type: 'text', text: 'ran read' }], isError: false })),
    },
  ]);
  assert.equal(it.turns.at(-1)?.role, 'assistant', 'the conversation can be gone on with');
});

test('an agent ends after its rounds, and when nothing comes', async () => {
  const endless = task(
    Array.from({ length: 9 }, () => [says('again'), wants('x')]),
    { rounds: 2 },
  );
  assert.deepEqual(await run(endless), {
    output: 'again\n\nagain\n\nIt was stopped after 2 rounds without an answer.',
    status: 'failed',
  });
  assert.deepEqual(await run(task([[]])), { output: 'The model ended without an answer.', status: 'failed' });
});

test('what goes wrong is how an agent ended', async () => {
  assert.deepEqual(await run(task([[says('Well.'), wants('x')], new Error('quota')])), {
    output: 'Well.\n\nThe model could not be asked: quota',
    status: 'failed',
  });
  const broken = task([[wants('x')]]);
  broken.tools.run = async () => {
    throw new Error('gone');
  };
  assert.deepEqual(await run(broken), { output: 'Its calls could not be run: gone', status: 'failed' });
  assert.equal(broken.turns.at(-1)?.role, 'results', 'each call has a result, so that it can go on');
});

test('a cancelled agent ends as cancelled, with what it had said', async () => {
  let cancelled = false;
  const it = task([[says('Half'), wants('x')], [says('never')]], { cancelled: () => cancelled });
  it.tools.run = async () => {
    cancelled = true;
    throw new Error('cancelled');
  };
  assert.deepEqual(await run(it), { output: 'Half', status: 'cancelled' });
  assert.deepEqual(await run(task([[says('x')]], { cancelled: () => true })), { output: '', status: 'cancelled' });
});

test('an MCP request becomes a conversation, if it is all words', () => {
  const request = {
    systemPrompt: 'Be brief.',
    messages: [
      { role: 'user', content: { type: 'text', text: 'Hi' } },
      { role: 'assistant', content: [{ type: 'text', text: 'Yes?' }] },
    ],
  };
  const question = asked(request);
  assert.ok('turns' in question);
  assert.deepEqual(
    question.turns.map((turn) => turn.role),
    ['user', 'user', 'assistant'],
  );
  assert.ok('fault' in asked({ messages: [{ role: 'user', content: { type: 'image', data: '' } }] }));
  assert.ok('fault' in asked(null));
  assert.deepEqual(answered('No.', 'm'), {
    role: 'assistant',
    content: { type: 'text', text: 'No.' },
    model: 'm',
    stopReason: 'endTurn',
  });
});

test('who joins names the folder and the very sidecar, and looks for it where it is', () => {
  assert.deepEqual(joining('/bin/ropewalk', '/w', 7), [
    '/bin/ropewalk',
    'mcp',
    '--connect',
    '--root',
    '/w',
    '--editor',
    '7',
  ]);
  assert.equal(joining('/bin/ropewalk', '/w', undefined), undefined);
  assert.equal(joining('/bin/ropewalk', undefined, 7), undefined);
  assert.deepEqual(environment({ XDG_RUNTIME_DIR: '/run/x', broken: 1 }), { XDG_RUNTIME_DIR: '/run/x' });
  assert.deepEqual(environment(undefined), {});
});
