// Agents and MCP's sampling by the language models that VS Code has. Whether there is one decides what is declared to
// the sidecar; VS Code asks its person before a model is used for the first time.
import * as vscode from 'vscode';
import { words } from '../named';
import type { Questions } from '../person/ask';
import type { CallParams, Content, RunAgentParams, RunAgentResult, SampleAnswer, SampleParams } from '../protocol';
import type { Sidecar } from '../sidecar';
import { followed, type Views } from '../views';
import { MOST } from './choice';
import { type Model, type Piece, run, type Tool, type Tools, type Turn } from './loop';
import { parts } from './parts';
import { answered, asked } from './sampling';

/** How long the start waits for the models of other extensions (ms). */
const MODELS_MS = 1500;
/** So many agents can go on with their conversation. */
const REMEMBERED = 16;
/** So much of what a model is to be asked is shown (UTF-16 units). */
const SHOWN = 2000;
const JUSTIFICATION = 'An agent that you or your model started works with the tools of Ropewalk.';

function settings(): { model: string; rounds: number } {
  const configuration = vscode.workspace.getConfiguration('ropewalk');
  return {
    model: configuration.get<string>('agentModel', ''),
    rounds: Math.max(1, configuration.get<number>('agentRounds', 50)),
  };
}

/** The model that the setting names by its id, family or name; without one, the first that there is. */
async function pick(): Promise<vscode.LanguageModelChat | undefined> {
  const { model } = settings();
  if (model === 'none') return undefined;
  const all = await vscode.lm.selectChatModels({});
  if (model === '') return all[0];
  const fits = (it: vscode.LanguageModelChat) => [it.id, `${it.vendor}/${it.id}`, it.family, it.name].includes(model);
  return all.find(fits);
}

function messages(turns: readonly Turn[]): vscode.LanguageModelChatMessage[] {
  return turns.map((turn) => {
    if (turn.role === 'user') return vscode.LanguageModelChatMessage.User(turn.text);
    if (turn.role === 'assistant') {
      const said = turn.text === '' && turn.calls.length > 0 ? [] : [new vscode.LanguageModelTextPart(turn.text)];
      const calls = turn.calls.map((call) => new vscode.LanguageModelToolCallPart(call.callId, call.name, call.input));
      return vscode.LanguageModelChatMessage.Assistant([...said, ...calls]);
    }
    return vscode.LanguageModelChatMessage.User(
      turn.results.map((result) => {
        const content = result.isError
          ? [{ type: 'text', text: 'The call failed.' } as Content, ...result.content]
          : result.content;
        return new vscode.LanguageModelToolResultPart(result.callId, parts(content) as vscode.LanguageModelTextPart[]);
      }),
    );
  });
}

/** A model of VS Code's as a port. */
function modelPort(model: vscode.LanguageModelChat, justification: string, token: vscode.CancellationToken): Model {
  return {
    async *ask(turns, tools): AsyncIterable<Piece> {
      const options: vscode.LanguageModelChatRequestOptions = { justification };
      if (tools.length > 0) {
        options.tools = tools
          .slice(0, MOST)
          .map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
      }
      const response = await model.sendRequest(messages(turns), options, token);
      for await (const part of response.stream) {
        if (part instanceof vscode.LanguageModelTextPart) yield { kind: 'text', text: part.value };
        else if (part instanceof vscode.LanguageModelToolCallPart) {
          yield { kind: 'call', call: { callId: part.callId, name: part.name, input: part.input } };
        }
      }
    },
  };
}

/** The tools of an agent's session as a port. */
function toolPort(
  sidecar: Sidecar,
  views: Views,
  sessionId: string,
  turnId: string,
  token: vscode.CancellationToken,
): Tools {
  // Models number their calls as they like, and some begin anew with each answer; ours have names of their own.
  let made = 0;
  return {
    async list() {
      const { tools } = await sidecar.request('ropewalk/listTools', { sessionId, dialect: 'vscode' }, token);
      return tools as unknown as Tool[];
    },
    async run(calls) {
      const named: CallParams[] = calls.map(({ name, input }) => ({
        callId: `${turnId}.${(made += 1)}`,
        name,
        arguments: input,
      }));
      const send = async () =>
        (await sidecar.request('ropewalk/callTools', { sessionId, turnId, calls: named }, token)).results;
      const results = await followed(views, sessionId, named, send);
      return results.map(({ content, isError }, at) => ({ callId: calls[at]?.callId ?? '', content, isError }));
    },
  };
}

function preamble({ agentType, description }: RunAgentParams): string {
  const roots = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath).join(', ');
  return [
    `You are an agent of the type "${agentType}" that works by itself in an editor, by the tools you are given. Your task: ${description}.`,
    roots === '' ? '' : `Workspace folders: ${roots}.`,
    'Nobody answers questions on your way. When you are done, say what you did and found; only that is passed on.',
  ]
    .filter((it) => it !== '')
    .join('\n');
}

export interface Agents {
  /** Resolves once it is known whether there is a model, or after a moment. To be awaited before the sidecar starts. */
  ready(): Promise<void>;
}

export function registerAgents(
  context: vscode.ExtensionContext,
  sidecar: Sidecar,
  views: Views,
  questions: Questions,
): Agents {
  const there = typeof vscode.lm?.selectChatModels === 'function';
  const log = vscode.window.createOutputChannel('Ropewalk Agents');
  const conversations = new Map<string, Turn[]>();
  let model = false;
  let declared = false;
  let idle = true;

  const look = async () => {
    try {
      model = there && (await pick()) !== undefined;
    } catch (error) {
      sidecar.log.warn(`The language models cannot be listed: ${words(error)}`);
    }
  };

  sidecar.registerBeforeStart((capabilities) => {
    declared = model;
    idle = true;
    if (!model) return;
    capabilities.runAgent = true;
    capabilities.sample = true;
  });
  sidecar.onRequest('ropewalk/runAgent', (params, token) => runAgent(params, token));
  sidecar.onRequest('ropewalk/sample', (params, token) => sample(params, token));

  async function runAgent(params: RunAgentParams, token: vscode.CancellationToken): Promise<RunAgentResult> {
    const chosen = await pick().catch(() => undefined);
    if (!chosen) return { output: noModel(), status: 'failed' };
    const before = params.resume ? conversations.get(params.sessionId) : undefined;
    const turns: Turn[] = before ?? [{ role: 'user', text: preamble(params) }];
    if (params.resume && !before && params.previousOutput) {
      turns.push({ role: 'user', text: `In the end you said this before:\n\n${params.previousOutput}` });
    }
    turns.push({ role: 'user', text: params.prompt });
    conversations.delete(params.sessionId);
    conversations.set(params.sessionId, turns);
    for (const oldest of conversations.keys()) {
      if (conversations.size <= REMEMBERED) break;
      conversations.delete(oldest);
    }
    const turnId = `${params.taskId}-${turns.length}`;
    log.appendLine(`--- ${params.sessionId} (${chosen.name}): ${params.description}`);
    const ended = await run({
      model: modelPort(chosen, JUSTIFICATION, token),
      tools: toolPort(sidecar, views, params.sessionId, turnId, token),
      turns,
      rounds: settings().rounds,
      cancelled: () => token.isCancellationRequested,
      said: (text) => log.append(text),
    });
    log.appendLine(`\n--- ${params.sessionId}: ${ended.status}`);
    void sidecar.request('ropewalk/endTurn', { sessionId: params.sessionId, turnId }).catch(() => {});
    return ended;
  }

  async function sample({ server, request }: SampleParams, token: vscode.CancellationToken): Promise<SampleAnswer> {
    const question = asked(request);
    if ('fault' in question) throw new Error(`The model was not asked: ${question.fault}.`);
    const chosen = await pick();
    if (!chosen) throw new Error(noModel());
    const title = `The MCP server ${server} wants to ask the model ${chosen.name}`;
    const rest = question.shown.length - SHOWN;
    if (rest > 0) sidecar.log.info(`${title}:\n${question.shown}`);
    const more = rest > 0 ? `… (${rest} more; the log has all of it)` : '';
    const shown = question.shown.slice(0, SHOWN) + more;
    // Not in a dialog: one takes the keyboard from whoever types, and an Enter that was meant for the text is a yes.
    if (!(await questions.agree(title, shown, 'Ask the model', token))) throw new Error('The person said no.');
    let text = '';
    for await (const piece of modelPort(chosen, `The MCP server "${server}" asks a model.`, token).ask(
      question.turns,
      [],
    )) {
      if (piece.kind === 'text') text += piece.text;
    }
    return { result: answered(text, chosen.id) };
  }

  /**
   * A model came, or was chosen, after the sidecar had started: a sidecar that has done nothing yet is started anew,
   * to tell it.
   */
  const late = async () => {
    await look();
    if (model && !declared && idle && sidecar.state === 'running') await sidecar.restart();
  };

  context.subscriptions.push(
    log,
    sidecar.onEvent('toolEvent', () => {
      idle = false;
    }),
    // A model that came while this one was starting.
    sidecar.onDidChangeState((state) => {
      if (state === 'running' && !declared) void late();
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('ropewalk.agentModel')) void late();
    }),
    ...(there ? [vscode.lm.onDidChangeChatModels(() => void late())] : []),
  );
  return {
    ready: () => Promise.race([look(), new Promise<void>((resolve) => setTimeout(resolve, MODELS_MS))]),
  };
}

function noModel(): string {
  const { model } = settings();
  return model === '' || model === 'none'
    ? 'VS Code has no language model that could run an agent.'
    : `VS Code has no language model "${model}" (setting ropewalk.agentModel).`;
}
