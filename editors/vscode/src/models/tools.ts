// Our tools as language model tools of VS Code. VS Code asks the person (from what `previewCall` says), and the call
// that follows carries that consent, so that nobody is asked twice; where the text has changed meanwhile, the consent
// does not fit any more and the sidecar asks by itself.
import * as vscode from 'vscode';
import { named } from '../named';
import type { CallParams } from '../protocol';
import type { Sidecar } from '../sidecar';
import { followed, type Views } from '../views';
import { Chats, chatOf, Preparations } from './chats';
import { chosen, PREFIX } from './choice';
import { confirmation } from './confirm';
import { parts, text } from './parts';

/** So long (ms) a call that woke the extension waits for the sidecar. */
const START_MS = 15_000;

/** What a token of a budget is taken for, and what an answer may have in any case (bytes). */
const BYTES_A_TOKEN = 3;
const LEAST_BYTES = 2000;

/** The names of our tools that package.json declares, without their prefix. */
function declared(context: vscode.ExtensionContext): string[] {
  const { contributes } = context.extension.packageJSON as {
    contributes?: { languageModelTools?: { name: string }[] };
  };
  return (contributes?.languageModelTools ?? []).map((tool) => tool.name.slice(PREFIX.length));
}

/** Registers the tools that the setting asks for, and follows it and the sidecar. */
export function registerLanguageModelTools(context: vscode.ExtensionContext, sidecar: Sidecar, views: Views): void {
  if (typeof vscode.lm?.registerTool !== 'function') return;
  const run = Date.now().toString(36);
  let chats = new Chats(run);
  let calls = 0;
  const preparations = new Preparations();
  const registered = new Map<string, vscode.Disposable>();

  /** A call can be what wakes the extension: it waits for the sidecar's first start. */
  const begun = new Promise<void>((resolve) => {
    const limit = setTimeout(resolve, START_MS);
    const listening = sidecar.onDidChangeState((state) => {
      if (state === 'starting') return;
      clearTimeout(limit);
      listening.dispose();
      resolve();
    });
  });

  const sessionOf = (options: unknown): string => {
    const { sessionId, fresh, closed } = chats.sessionOf(chatOf(options));
    for (const old of closed) void sidecar.request('ropewalk/closeSession', { sessionId: old }).catch(() => {});
    if (fresh) void sidecar.request('ropewalk/openSession', { sessionId, label: 'VS Code chat' }).catch(() => {});
    return sessionId;
  };

  const tool = (name: string): vscode.LanguageModelTool<object> => ({
    async prepareInvocation(options, token) {
      await begun;
      const sessionId = sessionOf(options);
      const preview = await sidecar.request(
        'ropewalk/previewCall',
        { sessionId, name, arguments: options.input },
        token,
      );
      const confirm = confirmation(preview, named);
      const asked = confirm.kind === 'ask';
      preparations.put(name, options.input, { sessionId, ...(asked ? { previewId: preview.previewId } : {}) });
      const invocationMessage = confirm.doing;
      if (confirm.kind !== 'ask') return { invocationMessage };
      const message = new vscode.MarkdownString(confirm.message);
      message.isTrusted = false;
      message.supportHtml = false;
      return { invocationMessage, confirmationMessages: { title: confirm.title, message } };
    },

    async invoke(options, token) {
      const prepared = preparations.take(name, options.input);
      const sessionId = prepared?.sessionId ?? sessionOf(options);
      const budget = options.tokenizationOptions?.tokenBudget;
      calls += 1;
      const callId = `vscode-${run}-${calls}`;
      const params: CallParams = {
        sessionId,
        callId,
        name,
        arguments: options.input,
        ...(prepared?.previewId === undefined ? {} : { approvedBy: prepared.previewId }),
        ...(budget === undefined ? {} : { maxBytes: Math.max(LEAST_BYTES, Math.floor(budget) * BYTES_A_TOKEN) }),
      };
      const result = await followed(views, sessionId, [params], () =>
        sidecar.request('ropewalk/callTool', params, token),
      );
      if (result.status === 'cancelled') throw new vscode.CancellationError();
      // What is not allowed fails as an invocation; what failed otherwise is told to the model like any result.
      if (result.status === 'denied') throw new Error(text(result.content) || 'The call was denied.');
      return new vscode.LanguageModelToolResult(parts(result.content) as vscode.LanguageModelTextPart[]);
    },
  });

  /** For the `when` of its declaration: VS Code lists what is declared, whether it is registered or not. */
  const list = (name: string, listed: boolean) =>
    vscode.commands.executeCommand('setContext', `ropewalk.tool.${name}`, listed);

  const drop = () => {
    for (const registration of registered.values()) registration.dispose();
    registered.clear();
  };

  /** What the sidecar had when it was asked last; before that, everything counts as there. */
  let there: Set<string> | undefined;
  /** Registers what is wanted and there, and takes back what is not any more. */
  const follow = async () => {
    if (sidecar.state === 'running') {
      const { tools } = await sidecar.request('ropewalk/listTools', { includeDeferred: true });
      there = new Set(tools.map((it) => (it as { name: string }).name));
    }
    const setting = vscode.workspace.getConfiguration('ropewalk').get<unknown>('languageModelTools', 'default');
    const wanted = new Set(
      chosen(
        setting,
        declared(context).filter((name) => there?.has(name) ?? true),
      ),
    );
    for (const [name, registration] of registered) {
      if (wanted.has(name)) continue;
      registration.dispose();
      registered.delete(name);
      void list(name, false);
    }
    for (const name of wanted) {
      if (registered.has(name)) continue;
      registered.set(name, vscode.lm.registerTool(PREFIX + name, tool(name)));
      void list(name, true);
    }
  };
  let queue = Promise.resolve();
  const soon = () => {
    queue = queue.then(follow).catch((error: unknown) => sidecar.log.warn(`Language model tools: ${String(error)}`));
  };

  context.subscriptions.push(
    { dispose: drop },
    sidecar.onDidChangeState((state) => {
      if (state !== 'running') {
        // What the one before previewed is unknown to the next one, and its sessions are only kept on the disk.
        preparations.clear();
        chats = new Chats(`${run}-${(calls += 1)}`);
      }
      soon();
    }),
    sidecar.onEvent('toolsChanged', ({ sessionId }) => {
      if (sessionId === undefined || sessionId === null || sessionId === 'default') soon();
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('ropewalk.languageModelTools')) soon();
    }),
  );
  soon();
}
