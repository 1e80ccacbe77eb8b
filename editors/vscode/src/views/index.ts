// The side view: calls, changes, proposals, jobs and task lists of all sessions. Fed by events; nothing is polled.
import * as vscode from 'vscode';
import { named, words } from '../named';
import type { CallParams, CallResult, JobInfo, Todo } from '../protocol';
import type { Review } from '../review';
import type { Sidecar } from '../sidecar';
import { after, announced, answered, type Call, type Calls, duration, look, lost, NONE } from './calls';
import { Outputs } from './outputs';
import { EntryTree } from './tree';
import { changeEntries, counted, type Entry, jobEntries, proposalEntries, todoEntries } from './trees';

/** What other parts tell the side view. */
export interface Views {
  /**
   * A call is about to be sent; its arguments say what it is about. To be followed by `answered`, whatever comes of
   * it.
   */
  announce(sessionId: string, callId: string, name: string, args: unknown): void;
  /** The caller has the answer; without a result, none will come. */
  answered(sessionId: string, callId: string, result?: CallResult): void;
}

function callEntry(call: Call): Entry {
  const { icon, word } = look(call.status);
  const took = call.tookMs === undefined ? '' : duration(call.tookMs);
  const about = call.said !== undefined && call.status === 'running' ? call.said : call.subject;
  return {
    id: `c:${call.sessionId}:${call.callId}`,
    label: call.name || call.callId,
    description: [about, call.proposed ? 'proposed' : '', took].filter((it) => it !== '').join(' · '),
    tooltip: `${call.name} (${call.callId} of ${call.sessionId}): ${word}${call.subject ? `\n${call.subject}` : ''}`,
    spoken: [call.name, call.subject, word, took].filter((it) => it !== '').join(', '),
    icon,
    context: call.status === 'running' ? 'ropewalkCallRunning' : 'ropewalkCall',
    which: { sessionId: call.sessionId, callId: call.callId },
    command: {
      command: 'ropewalk.showOutput',
      arguments: [
        { sessionId: call.sessionId, callId: call.outputId ?? call.callId, title: `${call.name} ${call.callId}` },
      ],
    },
  };
}

export function registerViews(context: vscode.ExtensionContext, sidecar: Sidecar, review: Review): Views {
  let calls: Calls = NONE;
  const jobs = new Map<string, readonly JobInfo[]>();
  const todos = new Map<string, readonly Todo[]>();
  const approvals = new Map<string, number>();
  const known = new Set<string>();
  const { store } = review;
  const outputs = new Outputs(sidecar);
  const asks = () => [...approvals.values()].reduce((sum, count) => sum + count, 0);
  const callTree = new EntryTree(
    'ropewalk.calls',
    () => [...[...calls.running].reverse(), ...calls.ended].map(callEntry),
    () => ({
      value: asks(),
      tooltip: asks() === 1 ? 'a call waits for your answer' : `${asks()} calls wait for your answer`,
    }),
  );
  const changeTree = new EntryTree(
    'ropewalk.changes',
    () => changeEntries(store.waiting, named),
    () => ({
      value: store.waiting.changes.length,
      tooltip: `${counted(store.waiting.changes.length, 'change')} to keep or undo`,
    }),
  );
  const proposalTree = new EntryTree(
    'ropewalk.proposals',
    () => proposalEntries(store.waiting, named),
    () => ({
      value: store.waiting.proposals.length,
      tooltip: `${counted(store.waiting.proposals.length, 'proposal')} to accept or reject`,
    }),
  );
  const jobTree = new EntryTree('ropewalk.jobs', () => jobEntries(jobs));
  const todoTree = new EntryTree('ropewalk.todos', () => todoEntries(todos));
  const become = (next: Calls) => {
    if (next === calls) return;
    calls = next;
    callTree.refresh();
  };

  /** What was there of a session before this window heard of it. */
  const meet = async (sessionId: string) => {
    if (known.has(sessionId)) return;
    known.add(sessionId);
    try {
      const list = await sidecar.request('ropewalk/todos', { sessionId });
      if (!todos.has(sessionId)) todos.set(sessionId, list.todos);
      todoTree.refresh();
    } catch {
      // It has ended; the next one is asked again.
      known.delete(sessionId);
    }
  };

  context.subscriptions.push(
    outputs,
    callTree,
    changeTree,
    proposalTree,
    jobTree,
    todoTree,
    store.onDidChange(() => {
      changeTree.refresh();
      proposalTree.refresh();
    }),
    sidecar.onEvent('toolEvent', (event) => {
      become(after(calls, event, named));
      if (event.kind === 'start') void meet(event.sessionId);
    }),
    sidecar.onEvent('approvalsChanged', ({ sessionId, waiting }) => {
      approvals.set(sessionId, waiting);
      callTree.refresh();
    }),
    sidecar.onEvent('jobsChanged', ({ sessionId, jobs: list }) => {
      jobs.set(sessionId, list);
      jobTree.refresh();
    }),
    sidecar.onEvent('todosChanged', ({ sessionId, todos: list }) => {
      known.add(sessionId);
      todos.set(sessionId, list);
      todoTree.refresh();
    }),
    sidecar.onDidChangeState((state) => {
      if (state === 'running') return;
      for (const map of [jobs, todos, approvals]) map.clear();
      known.clear();
      become(lost(calls));
      for (const tree of [callTree, jobTree, todoTree]) tree.refresh();
    }),
    ...commands(sidecar, outputs, () => become({ ...calls, ended: [] })),
  );
  return {
    announce: (sessionId, callId, name, args) => become(announced(calls, sessionId, callId, name, args)),
    answered: (sessionId, callId, result) => become(answered(calls, sessionId, callId, result, named)),
  };
}

/** Sends calls that have names: the side view knows what they are about from their start, and that they have ended. */
export async function followed<T extends CallResult | CallResult[]>(
  views: Views,
  sessionId: string,
  calls: readonly CallParams[],
  sent: () => Promise<T>,
): Promise<T> {
  const session = (call: CallParams) => call.sessionId ?? sessionId;
  for (const call of calls) views.announce(session(call), call.callId ?? '', call.name ?? '', call.arguments);
  let results: readonly CallResult[] = [];
  try {
    const given = await sent();
    results = Array.isArray(given) ? given : [given];
    return given;
  } finally {
    calls.forEach((call, at) => views.answered(session(call), call.callId ?? '', results[at]));
  }
}

/** What a command of an entry is about; the entry itself, or the argument of a caller. */
function about(argument: unknown): Record<string, string> | undefined {
  if (typeof argument !== 'object' || argument === null) return undefined;
  const given = (argument as { which?: unknown }).which ?? argument;
  return typeof given === 'object' && given !== null ? (given as Record<string, string>) : undefined;
}

function commands(sidecar: Sidecar, outputs: Outputs, clear: () => void): vscode.Disposable[] {
  const on = (name: string, run: (which: Record<string, string>, argument: unknown) => unknown) =>
    vscode.commands.registerCommand(`ropewalk.${name}`, async (argument: unknown) => {
      const which = about(argument);
      if (!which) return;
      try {
        await run(which, argument);
      } catch (error) {
        void vscode.window.showErrorMessage(`Ropewalk: ${words(error)}`);
      }
    });
  return [
    on('showOutput', ({ sessionId, callId, title }) =>
      outputs.showCall(sessionId ?? 'default', callId ?? '', title ?? `output of ${callId ?? ''}`),
    ),
    on('showJobOutput', ({ sessionId, id }) => outputs.showJob(sessionId ?? 'default', id ?? '')),
    on('stopJob', async ({ sessionId, id }) => {
      const { stopped } = await sidecar.request('ropewalk/stopJob', {
        id: id ?? '',
        ...(sessionId === undefined ? {} : { sessionId }),
      });
      if (!stopped) vscode.window.setStatusBarMessage('Ropewalk: it had ended already.', 4000);
    }),
    on('cancelCall', ({ sessionId, callId }) =>
      sidecar.request('ropewalk/cancel', { callId: callId ?? null, ...(sessionId === undefined ? {} : { sessionId }) }),
    ),
    vscode.commands.registerCommand('ropewalk.refreshOutput', () => {
      const uri = vscode.window.activeTextEditor?.document.uri.toString();
      outputs.refresh((it) => uri !== undefined && JSON.stringify(it) === vscode.Uri.parse(uri).query);
    }),
    vscode.commands.registerCommand('ropewalk.clearCalls', clear),
  ];
}
