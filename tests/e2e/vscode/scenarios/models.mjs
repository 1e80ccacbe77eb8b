// Our tools as VS Code's models get them: a fake language model, contributed by the pane, that wants them called.

import assert from 'node:assert/strict';

import { request } from '../agent.mjs';

/** Registers a model that answers with what is in `pane.script`, an answer a request: texts and `{ name, input }`. */
async function model(code, script) {
  await code.run((vscode, pane, script) => {
    pane.script = script;
    pane.asked = [];
    const provider = {
      provideLanguageModelChatInformation: () => [
        {
          id: 'fake',
          name: 'Fake model',
          family: 'fake',
          version: '1',
          maxInputTokens: 100000,
          maxOutputTokens: 100000,
          capabilities: { toolCalling: true, imageInput: false },
          isUserSelectable: true,
        },
      ],
      async provideLanguageModelChatResponse(_model, messages, options, progress) {
        const words = (part) =>
          part.value ?? part.content?.map(words).join('') ?? (part.name ? `call ${part.name}` : '');
        pane.asked.push({
          tools: (options.tools ?? []).map((tool) => tool.name),
          said: messages.map((message) => message.content.map(words).join('')),
        });
        for (const [index, part] of (pane.script.shift() ?? ['Nothing more is scripted.']).entries()) {
          if (typeof part === 'string') progress.report(new vscode.LanguageModelTextPart(part));
          else progress.report(new vscode.LanguageModelToolCallPart(`call_${index}`, part.name, part.input));
        }
      },
      provideTokenCount: async (_model, text) => String(text).length,
    };
    pane.registration = vscode.lm.registerLanguageModelChatProvider('ropewalk-tests', provider);
  }, script);
  await code.until('the fake model', () =>
    code.run(async (vscode) => (await vscode.lm.selectChatModels({ vendor: 'ropewalk-tests' })).length > 0),
  );
}

/** A sidecar that has done nothing yet when a model comes is started anew, to be told of it: waits until that runs. */
async function restarted(code, before) {
  await code.until('the sidecar that knows of the model', () => ![before, undefined].includes(code.sidecar()));
  await code.until('it to run', () => code.run(async (_vscode, pane) => (await pane.api()).state === 'running'));
}

/** Waits for our tools among VS Code's, and gives their names. */
function tools(code) {
  return code.until('our language model tools', () =>
    code.run((vscode) => {
      const ours = vscode.lm.tools.map((tool) => tool.name).filter((name) => name.startsWith('ropewalk_'));
      return ours.length > 0 && ours.sort();
    }),
  );
}

/** What any agent of VS Code's does: asks the model, and invokes the tool that it wants. */
function agent(code, prompt) {
  return code.run((vscode, pane, prompt) => {
    const play = async () => {
      const [model] = await vscode.lm.selectChatModels({ vendor: 'ropewalk-tests' });
      const tools = vscode.lm.tools.filter((tool) => tool.name.startsWith('ropewalk_'));
      const messages = [vscode.LanguageModelChatMessage.User(prompt)];
      const response = await model.sendRequest(messages, { tools, justification: 'A test.' });
      const results = [];
      for await (const part of response.stream) {
        if (!(part instanceof vscode.LanguageModelToolCallPart)) continue;
        const result = await vscode.lm.invokeTool(part.name, { input: part.input, toolInvocationToken: undefined });
        results.push(result.content.map((piece) => piece.value).join('\n'));
      }
      return results;
    };
    pane.begin('agent', play());
  }, prompt);
}

function ended(code) {
  return code.until('the agent to end', () => code.run((_vscode, pane) => pane.ended('agent')));
}

/** Counts what the sidecar itself asks the person. */
function countQuestions(code) {
  return code.run(async (_vscode, pane) => {
    pane.questions = 0;
    (await pane.api()).on('approvalsChanged', ({ waiting }) => (pane.questions += waiting));
  });
}

export async function a_models_edit_of_a_dirty_buffer_is_asked_about_once(play) {
  const settings = { 'ropewalk.permissions': { mode: 'review' } };
  const code = await play.open({ 'notes.txt': 'one\ntwo\n' }, { settings });
  await code.open('notes.txt');
  await code.type('zero, typed\n');
  await code.shows('zero, typed\none\ntwo');
  const found = await tools(code);
  assert.ok(found.includes('ropewalk_edit'), found.join());
  // VS Code lists what is declared; what it has itself is not there to be run.
  const run = code.run((vscode) =>
    vscode.lm.invokeTool('ropewalk_bash', { input: { command: 'true' }, toolInvocationToken: undefined }),
  );
  await assert.rejects(run, /ropewalk_bash/);
  const input = { file_path: 'notes.txt', old_string: 'two', new_string: 'zwei' };
  await model(code, [[{ name: 'ropewalk_edit', input }]]);
  await countQuestions(code);
  await agent(code, 'Say it in German.');
  const dialog = code.page.locator('.monaco-dialog-box');
  await dialog.waitFor({ timeout: 20000 });
  const shown = await dialog.innerText();
  assert.match(shown, /notes\.txt/);
  assert.match(shown, /\+zwei/);
  assert.equal((await code.document(code.uri('notes.txt'))).text, 'zero, typed\none\ntwo\n');
  await code.screenshot(`${play.rig.keep}/${play.name}-asked.png`);
  await dialog
    .locator('.monaco-button', { hasText: /Allow|Continue|Yes/ })
    .first()
    .click();
  const { value, error } = await ended(code);
  assert.equal(error, undefined);
  assert.match(value[0], /not saved to the disk/);
  await code.shows('zero, typed\none\nzwei');
  assert.equal((await code.document(code.uri('notes.txt'))).dirty, true);
  assert.equal(await code.run((_vscode, pane) => pane.questions), 0, 'the sidecar asked, too');
  assert.equal(await dialog.count(), 0);
}

/** A window in which edits are asked about, with a model that makes one when it hears of a task. */
async function translating(play) {
  const settings = { 'ropewalk.permissions': { mode: 'review' } };
  const code = await play.open({ 'notes.txt': 'one\ntwo\n' }, { settings });
  await code.open('notes.txt');
  await tools(code);
  await model(code, [
    [{ name: 'ropewalk_edit', input: { file_path: 'notes.txt', old_string: 'two', new_string: 'zwei' } }],
  ]);
  return code;
}

export async function a_models_edit_that_the_person_does_not_want_is_not_made(play) {
  const code = await translating(play);
  await agent(code, 'Say it in German.');
  const dialog = code.page.locator('.monaco-dialog-box');
  await dialog.waitFor({ timeout: 20000 });
  await code.press('Escape');
  const { error } = await ended(code);
  assert.ok(error, 'the invocation did not fail');
  assert.equal((await code.document(code.uri('notes.txt'))).text, 'one\ntwo\n');
}

export async function a_rule_that_says_no_fails_the_invocation_with_its_reason(play) {
  const settings = { 'ropewalk.permissions': { deny: ['edit(notes.txt)'] } };
  const code = await play.open({ 'notes.txt': 'one\ntwo\n' }, { settings });
  await code.open('notes.txt');
  await tools(code);
  await model(code, [
    [{ name: 'ropewalk_edit', input: { file_path: 'notes.txt', old_string: 'two', new_string: 'zwei' } }],
  ]);
  await agent(code, 'Say it in German.');
  const { error } = await ended(code);
  assert.match(error ?? '', /edit\(notes\.txt\)|denied|rule/i);
  assert.equal((await code.document(code.uri('notes.txt'))).text, 'one\ntwo\n');
}

export async function an_agent_is_run_by_a_model_of_the_editor(play) {
  const code = await play.open({ 'notes.txt': 'one\ntwo\n' });
  await code.open('notes.txt');
  const input = { file_path: 'notes.txt', old_string: 'two', new_string: 'zwei' };
  const before = code.sidecar();
  await model(code, [[{ name: 'edit', input }], ['It says zwei now.']]);
  await restarted(code, before);
  const args = { description: 'Say it in German', prompt: 'Make it German.' };
  await code.run((_vscode, pane, args) => {
    pane.begin(
      'agent',
      pane.api().then((api) => api.call({ sessionId: 'pane', name: 'agent', arguments: args })),
    );
  }, args);
  const consent = code.page.locator('.monaco-dialog-box .monaco-button', { hasText: 'Allow' });
  const first = await Promise.race([
    consent
      .first()
      .waitFor({ timeout: 20000 })
      .then(
        () => 'asked',
        () => 'not asked',
      ),
    ended(code).then(() => 'ended'),
  ]);
  if (first === 'asked') await consent.first().click();
  const { value, error } = await ended(code);
  assert.equal(error, undefined);
  assert.equal(value.status, 'ok', JSON.stringify(value.content));
  assert.match(value.content[0].text, /It says zwei now\./);
  await code.shows('one\nzwei');
  const asked = await code.run((_vscode, pane) => pane.asked);
  assert.equal(asked.length, 2);
  assert.ok(asked[0].tools.includes('edit'));
  assert.match(asked[1].said.join('\n'), /notes\.txt/);
}

export async function the_bridge_is_an_mcp_server_where_the_person_wants_it(play) {
  const code = await play.open({ 'notes.txt': 'one\n' }, { settings: { 'ropewalk.mcpServer': true } });
  await code.command('MCP: List Servers');
  await code.until('the server in the list', async () => (await code.offered()).includes('Ropewalk'));
}

export async function an_extensions_own_tool_is_run_and_registered_again(play) {
  const code = await play.open({ 'notes.txt': 'one\n' });
  await code.run(async (_vscode, pane) => {
    const tool = {
      name: 'open_tickets',
      description: 'Lists the open tickets of a project.',
      annotations: { readOnlyHint: true },
      inputSchema: { type: 'object', properties: { project: { type: 'string' } }, required: ['project'] },
      run({ project }, { sessionId }) {
        if (project === 'none') throw new Error('There is no such project.');
        return `No ticket of ${project} is open (${sessionId}).`;
      },
    };
    pane.tools = (await pane.api()).registerTools([tool]);
  });
  const ask = (project) =>
    code.run(
      async (_vscode, pane, project) =>
        (await pane.api()).call({ sessionId: 's', name: 'open_tickets', arguments: { project } }),
      project,
    );
  assert.deepEqual(await code.run((_vscode, pane) => pane.tools.tools), [
    { name: 'open_tickets', status: 'registered' },
  ]);
  assert.match((await ask('rope')).content[0].text, /No ticket of rope is open \(s\)\./);
  const failed = await ask('none');
  assert.equal(failed.isError, true);
  assert.match(failed.content[0].text, /There is no such project\./);
  const before = code.sidecar();
  process.kill(before, 'SIGKILL');
  await code.until('another sidecar', () => ![before, undefined].includes(code.sidecar()));
  await code.until('the sidecar to run', () =>
    code.run(async (_vscode, pane) => (await pane.api()).state === 'running'),
  );
  assert.match((await ask('rope')).content[0].text, /No ticket of rope is open \(s\)\./);
  await code.run((_vscode, pane) => pane.tools.dispose());
  assert.equal((await ask('rope')).isError, true);
}

export async function a_change_that_became_another_one_is_asked_about_again(play) {
  const code = await translating(play);
  await countQuestions(code);
  await agent(code, 'Say it in German.');
  const dialog = code.page.locator('.monaco-dialog-box');
  await dialog.waitFor({ timeout: 20000 });
  // Somebody changes the very line while the person looks at the dialogue: what they see is not what would be done.
  await code.run(async (vscode) => {
    const { document } = vscode.window.activeTextEditor;
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, new vscode.Position(1, 3), ', and more');
    await vscode.workspace.applyEdit(edit);
  });
  await dialog.locator('.monaco-button', { hasText: 'Yes' }).first().click();
  await code.until('the question of the sidecar', () => code.run((_vscode, pane) => pane.questions > 0));
  assert.equal((await code.document(code.uri('notes.txt'))).text, 'one\ntwo, and more\n');
  await request(code, 'ropewalk/cancel', { sessionId: 'vscode' });
  const { error } = await ended(code);
  assert.match(error ?? '', /cancel/i);
  assert.equal((await code.document(code.uri('notes.txt'))).text, 'one\ntwo, and more\n');
}

/** An MCP server with one tool, which asks the client's model and gives back what that said. */
const ASKER = `
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
let call;
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === 'initialize') {
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'asker', version: '1' } } });
  } else if (method === 'tools/list') {
    send({ id, result: { tools: [{ name: 'ask', description: 'Asks the model.', inputSchema: { type: 'object', properties: {} } }] } });
  } else if (method === 'tools/call') {
    call = id;
    const messages = [{ role: 'user', content: { type: 'text', text: 'Which colour is it?' } }];
    send({ id: 'sample', method: 'sampling/createMessage', params: { messages, maxTokens: 100 } });
  } else if (id === 'sample') {
    const text = error ? 'refused: ' + error.message : result.model + ' said: ' + result.content.text;
    send({ id: call, result: { content: [{ type: 'text', text }] } });
  } else if (id !== undefined) send({ id, result: {} });
});
`;

export async function an_mcp_server_asks_the_model_once_the_person_agrees(play) {
  const folder = play.folder({ 'asker.cjs': ASKER, 'notes.txt': 'one\n' });
  const server = { command: process.execPath, args: [`${folder}/asker.cjs`], trusted: true };
  const code = await play.open({}, { folder, settings: { 'ropewalk.mcp': { servers: { asker: server } } } });
  const before = code.sidecar();
  await model(code, [['It is blue.']]);
  await restarted(code, before);
  await code.run((_vscode, pane) => {
    pane.begin(
      'asked',
      pane.api().then((api) => api.call({ sessionId: 's', name: 'mcp__asker__ask', arguments: {} })),
    );
  });
  // Not a dialog, whose Enter is a yes: whoever types goes on, and what Enter takes first is the no.
  assert.match(await code.offered(), /asker[\s\S]*Which colour is it\?[\s\S]*No[\s\S]*Ask the model/);
  const agree = code.page.locator('.quick-input-list .monaco-list-row', { hasText: 'Ask the model' });
  // VS Code asks, too, whether the extension may use the model, where that was not said before.
  const consent = code.page.locator('.monaco-dialog-box .monaco-button', { hasText: 'Allow' });
  const { value, error } = await code.until('the answer', async () => {
    if (await agree.isVisible()) await agree.click({ timeout: 1000 }).catch(() => {});
    if (await consent.isVisible()) await consent.click();
    return code.run((_vscode, pane) => pane.ended('asked'));
  });
  assert.equal(error, undefined);
  assert.match(value.content.map((part) => part.text).join(''), /fake said: It is blue\./);
}
