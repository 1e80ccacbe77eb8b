// The commands of the extension.
import * as vscode from 'vscode';
import { type Activity, DEFAULT_SESSION } from './activity';
import type { Approvals } from './person/approve';
import type { Questions } from './person/ask';
import type { CallResult, Mode, ToolInfo } from './protocol';
import type { Sidecar } from './sidecar';
import { oneLine } from './text';
import { showTrust } from './trust';

/** What the commands work on. */
export interface Parts {
  readonly sidecar: Sidecar;
  readonly activity: Activity;
  readonly approvals: Approvals;
  readonly questions: Questions;
}

const MODES: readonly { mode: Mode; detail: string }[] = [
  { mode: 'build', detail: 'Changes are made at once; undo is the net.' },
  { mode: 'review', detail: 'You are asked about each change.' },
  { mode: 'plan', detail: 'Nothing is changed or run: the outcome is a plan.' },
  { mode: 'explore', detail: 'Nothing is changed or run.' },
  { mode: 'danger', detail: 'Nothing is asked, but for protected places. Until the session or the sidecar ends.' },
];

/** A session: the only one there is, or the one that the person picks. */
async function pickSession(activity: Activity, placeHolder: string): Promise<string | undefined> {
  const sessions = activity.sessions();
  if (sessions.length === 1) return sessions[0];
  const items = sessions.map((name) => ({ label: oneLine(name), description: activity.mode(name), name }));
  return (await vscode.window.showQuickPick(items, { placeHolder }))?.name;
}

async function setMode({ sidecar, activity }: Parts): Promise<void> {
  const sessionId = await pickSession(activity, 'Of which session?');
  if (sessionId === undefined) return;
  const now = activity.mode(sessionId);
  const items = MODES.map(({ mode, detail }) => ({
    label: mode,
    detail,
    mode,
    ...(mode === now ? { description: 'now' } : {}),
  }));
  const chosen = await vscode.window.showQuickPick(items, {
    placeHolder: `The mode of the session ${oneLine(sessionId)}`,
  });
  if (!chosen) return;
  if (chosen.mode === 'danger') {
    const yes = 'Ask me nothing';
    const detail =
      'Agents change and run what they want in this session, without asking. Protected places stay protected.';
    if ((await vscode.window.showWarningMessage('Danger mode?', { modal: true, detail }, yes)) !== yes) return;
  }
  const { mode } = await sidecar.request('ropewalk/setMode', { sessionId, mode: chosen.mode });
  activity.setMode(sessionId, mode);
}

/** Arguments to begin with: what must be there, by the examples of the schema. */
export function exampleOf(schema: unknown): Record<string, unknown> {
  const { properties, required } = (schema ?? {}) as {
    properties?: Record<string, { examples?: unknown[]; type?: unknown }>;
    required?: string[];
  };
  const empty: Record<string, unknown> = { string: '', integer: 0, number: 0, boolean: false, array: [], object: {} };
  return Object.fromEntries(
    (required ?? []).map((name) => {
      const property = properties?.[name];
      return [name, property?.examples?.[0] ?? empty[String(property?.type)] ?? null];
    }),
  );
}

const RESULT_SCHEME = 'ropewalk-result';

/** The result of a call that a person made, as a page to read. */
function resultText(call: string, result: CallResult): string {
  const content = result.content.map((part) =>
    'text' in part && typeof part.text === 'string' ? part.text : `[${part.type}]`,
  );
  return `${call}\n${result.status}\n\n${content.join('\n\n')}\n`;
}

async function call(
  { sidecar }: Parts,
  results: Map<string, string>,
  shown: vscode.EventEmitter<vscode.Uri>,
): Promise<void> {
  const { tools } = await sidecar.request('ropewalk/listTools', { includeDeferred: true });
  const items = (tools as ToolInfo[]).map((tool) => ({
    label: tool.name,
    description: tool.title,
    detail: oneLine(tool.description.split('\n', 1)[0] ?? ''),
    tool,
  }));
  const chosen = await vscode.window.showQuickPick(items, { placeHolder: 'Which tool?', matchOnDescription: true });
  if (!chosen) return;
  const example = JSON.stringify(exampleOf(chosen.tool.inputSchema));
  const given = await vscode.window.showInputBox({
    prompt: `Arguments of ${chosen.label}, as JSON`,
    value: example,
    ignoreFocusOut: true,
  });
  if (given === undefined) return;
  const result = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: `Ropewalk: ${chosen.label}`, cancellable: true },
    (_, token) => sidecar.request('ropewalk/callTool', { name: chosen.label, arguments: given }, token),
  );
  const uri = vscode.Uri.from({ scheme: RESULT_SCHEME, path: `/${chosen.label}` });
  results.set(uri.toString(), resultText(`${chosen.label} ${given}`, result));
  shown.fire(uri);
  await vscode.window.showTextDocument(uri, {
    preview: true,
    preserveFocus: true,
    viewColumn: vscode.ViewColumn.Beside,
  });
}

async function menu(parts: Parts): Promise<void> {
  const { sidecar } = parts;
  const runs = sidecar.state === 'running';
  const items = [
    ...(runs
      ? [
          {
            label: '$(shield) Choose the mode...',
            command: 'ropewalk.setMode',
            description: parts.activity.mode(DEFAULT_SESSION),
          },
          { label: '$(bell) Show what waits for your answer', command: 'ropewalk.showApprovals' },
          { label: '$(play) Call a tool...', command: 'ropewalk.call' },
        ]
      : []),
    { label: '$(output) Show the log', command: 'ropewalk.showLog' },
    { label: '$(workspace-trusted) Show what is trusted', command: 'ropewalk.showTrust' },
    { label: runs ? '$(debug-restart) Restart the sidecar' : '$(play) Start the sidecar', command: 'ropewalk.restart' },
    ...(runs ? [{ label: '$(debug-stop) Stop the sidecar', command: 'ropewalk.stop' }] : []),
  ];
  const placeHolder = sidecar.trouble ?? `Ropewalk ${sidecar.version ?? ''}`;
  const chosen = await vscode.window.showQuickPick(items, { placeHolder });
  if (chosen) await vscode.commands.executeCommand(chosen.command);
}

/** Registers the commands. What fails is told. */
export function registerCommands(parts: Parts): vscode.Disposable {
  const { sidecar, approvals, questions } = parts;
  const results = new Map<string, string>();
  const shown = new vscode.EventEmitter<vscode.Uri>();
  const command = (name: string, run: () => unknown) =>
    vscode.commands.registerCommand(`ropewalk.${name}`, async () => {
      try {
        await run();
      } catch (error) {
        const words = error instanceof Error ? error.message : String(error);
        sidecar.log.error(`${name}: ${words}`);
        void vscode.window.showErrorMessage(`Ropewalk: ${words}`);
      }
    });
  return vscode.Disposable.from(
    shown,
    vscode.workspace.registerTextDocumentContentProvider(RESULT_SCHEME, {
      onDidChange: shown.event,
      provideTextDocumentContent: (uri) => results.get(uri.toString()) ?? '',
    }),
    command('restart', async () => {
      await sidecar.restart();
      if (sidecar.state === 'stopped' && sidecar.trouble) throw new Error(sidecar.trouble);
    }),
    command('stop', () => sidecar.stop()),
    command('showLog', () => sidecar.log.show()),
    command('showTrust', showTrust),
    command('setMode', () => setMode(parts)),
    command('call', () => call(parts, results, shown)),
    command('menu', () => menu(parts)),
    command('showApprovals', () => {
      if (!questions.focus() && !approvals.focus())
        void vscode.window.showInformationMessage('Nothing waits for your answer.');
    }),
  );
}
