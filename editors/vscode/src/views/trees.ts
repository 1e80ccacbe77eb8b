// The entries of the side view, as data: changes and proposals by session, file and hunk, jobs, and task lists. Plain
// functions; nothing here knows an editor.
import type { JobInfo, Todo } from '../protocol';
import { type Change, type Proposed, summary, type Waiting } from '../review/model';

/** One entry. `context` says which commands it has, `which` what they are about. */
export interface Entry {
  id: string;
  label: string;
  description?: string;
  tooltip?: string;
  /** The name of a codicon. */
  icon?: string;
  /** What a screen reader says, where label and description do not say it all. */
  spoken?: string;
  context?: string;
  which?: Record<string, string>;
  /** What a click does. */
  command?: { command: string; arguments: unknown[] };
  /** The file it stands for, whose icon it gets. */
  file?: string;
  children?: Entry[];
}

function grouped<T>(items: readonly T[], by: (item: T) => string): [string, T[]][] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(by(item));
    if (group) group.push(item);
    else groups.set(by(item), [item]);
  }
  return [...groups];
}

const sorted = <T>(groups: [string, T][]) => [...groups].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
/** `1 change`, `2 changes` */
export const counted = (count: number, one: string) => `${count} ${one}${count === 1 ? '' : 's'}`;

function firstWords(text: string): string {
  const line =
    text
      .split(/[\r\n]+/)
      .find((it) => it.trim() !== '')
      ?.trim() ?? '';
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}

/** How hunks of one kind are shown above themselves. */
interface Kind<T> {
  noun: string;
  session: string;
  file: string;
  compares: (uri: string, sessionId: string) => NonNullable<Entry['command']>;
  entry: (hunk: T) => Entry;
}

/** Session > file > hunk. */
function bySession<T extends { uri: string }>(
  all: readonly T[],
  session: (hunk: T) => string,
  named: (uri: string) => string,
  kind: Kind<T>,
): Entry[] {
  return sorted(grouped(all, session)).map(([sessionId, ofSession]) => ({
    id: `s:${sessionId}`,
    label: sessionId,
    description: counted(ofSession.length, kind.noun),
    icon: 'comment-discussion',
    context: kind.session,
    which: { sessionId },
    children: grouped(ofSession, (it) => it.uri).map(([uri, hunks]) => ({
      id: `f:${sessionId}:${uri}`,
      label: named(uri),
      description: counted(hunks.length, kind.noun),
      file: uri,
      context: kind.file,
      which: { sessionId, uri },
      command: kind.compares(uri, sessionId),
      children: hunks.map(kind.entry),
    })),
  }));
}

/** Changes: session > file > hunk. */
export function changeEntries(all: Waiting, named: (uri: string) => string): Entry[] {
  return bySession(all.changes, (it) => it.info.sessionId, named, {
    noun: 'change',
    session: 'ropewalkChangeSession',
    file: 'ropewalkChangeFile',
    compares: (uri) => ({ command: 'ropewalk.showDiff', arguments: [{ uri }] }),
    entry: changeEntry,
  });
}

function changeEntry({ uri, span, info }: Change): Entry {
  const what = summary(info.kind, info.before, info.after);
  return {
    id: `h:${info.hunkId}`,
    label: `${span.start}: ${firstWords(info.now || info.before) || what}`,
    description: info.under ? `${what}, changed once more by ${info.under.callId}` : what,
    tooltip: `${what}, by the call ${info.callId}${info.touched ? '; you have changed some of it' : ''}`,
    spoken: `line ${span.start}, ${what}`,
    icon: {
      changed: 'diff-modified',
      created: 'diff-added',
      deleted: 'diff-removed',
      moved: 'diff-renamed',
      mode: 'terminal',
    }[info.kind],
    context: info.under ? 'ropewalkChangeUnder' : 'ropewalkChange',
    which: { hunkId: info.hunkId, uri },
    command:
      info.kind === 'deleted'
        ? { command: 'ropewalk.showDiff', arguments: [{ uri }] }
        : { command: 'ropewalk.reveal', arguments: [{ uri, hunkId: info.hunkId }] },
  };
}

/** Proposals: session > file > hunk. */
export function proposalEntries(all: Waiting, named: (uri: string) => string): Entry[] {
  return bySession(all.proposals, (it) => it.sessionId, named, {
    noun: 'proposal',
    session: 'ropewalkProposalSession',
    file: 'ropewalkProposalFile',
    compares: (uri, sessionId) => ({ command: 'ropewalk.showProposal', arguments: [{ uri, sessionId }] }),
    entry: proposalEntry,
  });
}

function proposalEntry({ uri, span, info, sessionId }: Proposed): Entry {
  const what = summary(info.kind, info.before, info.after);
  return {
    id: `p:${sessionId}:${info.hunkId}`,
    label: `${span.start}: ${firstWords(info.kind === 'mode' ? '' : info.after || info.before) || what}`,
    description: what,
    tooltip: `${what}, proposed by the call ${info.callId}`,
    spoken: `line ${span.start}, proposed: ${what}`,
    icon: 'git-pull-request-draft',
    context: 'ropewalkProposal',
    which: { hunkId: info.hunkId, sessionId },
    command: { command: 'ropewalk.showProposal', arguments: [{ uri, sessionId }] },
  };
}

/** Jobs by session; those that run first. */
export function jobEntries(jobs: ReadonlyMap<string, readonly JobInfo[]>): Entry[] {
  const icons = { running: 'loading~spin', exited: 'check', failed: 'error', stopped: 'debug-stop' } as const;
  const all = sorted([...jobs]).flatMap(([sessionId, list]) => list.map((job) => ({ sessionId, job })));
  const running = (it: (typeof all)[number]) => it.job.state === 'running';
  return [...all.filter(running), ...all.filter((it) => !running(it)).reverse()].map(({ sessionId, job }) => ({
    id: `j:${sessionId}:${job.id}`,
    label: firstWords(job.label) || job.id,
    description: `${job.state}${job.detail ? `, ${job.detail}` : ''}`,
    tooltip: `${job.id} of ${sessionId}: ${job.label}`,
    spoken: `${job.label}, ${job.state}`,
    icon: icons[job.state],
    context: job.state === 'running' ? 'ropewalkJobRunning' : 'ropewalkJob',
    which: { sessionId, id: job.id },
    command: { command: 'ropewalk.showJobOutput', arguments: [{ sessionId, id: job.id }] },
  }));
}

/** Task lists by session. With one list, its tasks stand alone. */
export function todoEntries(lists: ReadonlyMap<string, readonly Todo[]>): Entry[] {
  const icons = {
    pending: 'circle-large-outline',
    in_progress: 'arrow-right',
    completed: 'pass',
    cancelled: 'circle-slash',
  } as const;
  const spoken = { pending: 'not begun', in_progress: 'being done', completed: 'done', cancelled: 'given up' } as const;
  const full = sorted([...lists]).filter(([, todos]) => todos.length > 0);
  const tasks = (sessionId: string, todos: readonly Todo[]): Entry[] =>
    todos.map((todo) => ({
      id: `t:${sessionId}:${todo.id}`,
      label: todo.content,
      description: [spoken[todo.status], todo.priority === 'high' ? 'important' : '']
        .filter((it) => it !== '')
        .join(', '),
      icon: icons[todo.status],
      context: 'ropewalkTodo',
    }));
  const [only] = full;
  if (full.length === 1 && only) return tasks(only[0], only[1]);
  return full.map(([sessionId, todos]) => ({
    id: `s:${sessionId}`,
    label: sessionId,
    description: `${todos.filter((it) => it.status === 'completed').length} of ${todos.length} done`,
    icon: 'checklist',
    children: tasks(sessionId, todos),
  }));
}
