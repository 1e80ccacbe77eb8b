// What there is to judge, as data: the answer to `ropewalk/changes` by files, the text before the agents' changes, what
// stands above each hunk, and what to say of an undo that did not do everything. Plain functions; nothing here knows an
// editor.
import type {
  ChangesResult,
  HunkInfo,
  HunkKind,
  ProposedFile,
  ProposedHunk,
  UndoneHunk,
  UndoResult,
} from '../protocol';
import { type Edit, movedBy, type Span } from './spans';

/** A change that waits for the person's judgement. `span` moves with the typing. */
export interface Change {
  uri: string;
  span: Span;
  /** The editor's version of the document that `span` was told of; absent where it is not open. */
  version?: number;
  info: HunkInfo;
}

/** A change that is only proposed. `span` holds the lines that it would replace, and moves with the typing. */
export interface Proposed {
  uri: string;
  span: Span;
  version?: number;
  sessionId: string;
  movedTo?: string;
  info: ProposedHunk;
}

/** All that waits, in the order of files and lines. */
export interface Waiting {
  changes: Change[];
  proposals: Proposed[];
  undos: { undoId: string; uris: string[] }[];
}

export const NOTHING: Waiting = { changes: [], proposals: [], undos: [] };

/** The sidecar's answer as a model. */
export function waiting(answer: ChangesResult): Waiting {
  const of = (version: number | null | undefined) => (typeof version === 'number' ? { version } : {});
  const changes = (answer.files ?? []).flatMap((file) =>
    file.hunks.map((info) => ({ uri: file.uri, span: { ...info.lines }, ...of(file.version), info })),
  );
  const proposals = (answer.proposals ?? []).flatMap((file: ProposedFile) =>
    file.hunks.map((info) => ({
      uri: file.uri,
      span: { ...info.lines },
      ...of(file.version),
      sessionId: file.sessionId,
      ...(file.movedTo ? { movedTo: file.movedTo } : {}),
      info,
    })),
  );
  return { changes, proposals, undos: (answer.undos ?? []).map(({ undoId, uris }) => ({ undoId, uris: [...uris] })) };
}

/** What was typed in a document: the version that it made, and the edits in terms of the text before. */
export interface Typed {
  uri: string;
  version: number;
  edits: readonly Edit[];
}

/** An answer brought up to what was typed since the question was sent. */
export function caughtUp(all: Waiting, typed: readonly Typed[]): Waiting {
  const go = <T extends Change | Proposed>(items: T[]): T[] =>
    items.map((it) => {
      const later = typed.filter(
        ({ uri, version }) => uri === it.uri && it.version !== undefined && version > it.version,
      );
      return later.length === 0
        ? it
        : { ...it, span: later.reduce((span, { edits }) => movedBy(span, edits), it.span) };
    });
  return { ...all, changes: go(all.changes), proposals: go(all.proposals) };
}

/** The same with the parts of one file replaced by what is newer. */
export function withFile(all: Waiting, uri: string, newer: Waiting): Waiting {
  const byUri = (a: { uri: string }, b: { uri: string }) => (a.uri < b.uri ? -1 : a.uri > b.uri ? 1 : 0);
  const others = <T extends { uri: string }>(items: T[]) => items.filter((item) => item.uri !== uri);
  return {
    changes: [...others(all.changes), ...newer.changes.filter((it) => it.uri === uri)].sort(byUri),
    proposals: [...others(all.proposals), ...newer.proposals.filter((it) => it.uri === uri)].sort(byUri),
    undos: newer.undos,
  };
}

/** A text as lines with their ends. A text that ends with a line break has no empty line behind it. */
export function lines(text: string): string[] {
  return text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? [];
}

/** The one place of `part` in `text`, in characters; -1 where there is none or more than one. */
function onlyPlace(text: string, part: string): number {
  if (part === '') return -1;
  const at = text.indexOf(part);
  return at >= 0 && text.indexOf(part, at + 1) < 0 ? at : -1;
}

/**
 * The text of a document as it was before the changes under review: each hunk's lines become what stood there. What
 * later calls changed once more is taken back step by step, the newest first.
 */
export function baseText(text: string, changes: readonly Change[]): string {
  const kept = lines(text);
  const whole = changes.find((it) => it.info.kind === 'created');
  if (whole) return '';
  const inText = changes.filter((it) => it.info.kind === 'changed');
  const top = inText
    .filter((it) => !it.info.under)
    .sort((a, b) => b.span.start - a.span.start || b.span.count - a.span.count);
  for (const change of top) {
    let before = change.info.before;
    const under = inText
      .filter((it) => it.info.under && it.span.start === change.span.start && it.span.count === change.span.count)
      .reverse();
    for (const older of under) {
      const at = onlyPlace(before, older.info.after);
      if (at >= 0) before = before.slice(0, at) + older.info.before + before.slice(at + older.info.after.length);
    }
    const at = Math.min(change.span.start - 1, kept.length);
    kept.splice(at, change.span.count, ...lines(before));
  }
  return kept.join('');
}

/** Cut off after so many lines, with a word on how many are missing. */
export function shortened(text: string, most: number): string {
  const all = lines(text);
  if (all.length <= most) return text;
  return `${all.slice(0, most).join('')}... (${all.length - most} more lines)\n`;
}

/** A text as a block of code in Markdown: the fence is longer than any in the text, so that nothing gets out. */
export function fenced(text: string, language = ''): string {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(Math.max(3, longest + 1));
  return `${fence}${language}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`;
}

/** Words as Markdown that shows them as they are, on one line. */
export function escaped(text: string): string {
  return text.replace(/[\r\n]+/g, ' ').replace(/[\\`*_{}[\]()#+\-.!|<>&~$:@]/g, '\\$&');
}

/** Two texts as the lines of a diff: first what goes, then what comes. */
export function asDiff(before: string, after: string, most = 40): string {
  const marked = (text: string, mark: string) =>
    lines(shortened(text, most)).map((line) => mark + line.replace(/[\r\n]+$/, ''));
  return [...marked(before, '-'), ...marked(after, '+')].join('\n');
}

const plural = (count: number, one: string, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

/** What a hunk is, in a few words: `2 lines became 3`. */
export function summary(kind: HunkKind, before: string, after: string): string {
  const [from, to] = [lines(before).length, lines(after).length];
  switch (kind) {
    case 'created':
      return `new file, ${plural(to, 'line')}`;
    case 'deleted':
      return `deleted, ${plural(from, 'line')}`;
    case 'moved':
      return 'moved';
    case 'mode':
      return after.trim() === '100755' ? 'may be run' : 'may be run no more';
    case 'changed':
      if (from === 0) return `${plural(to, 'line')} added`;
      if (to === 0) return `${plural(from, 'line')} removed`;
      return from === to ? `${plural(from, 'line')} changed` : `${plural(from, 'line')} became ${to}`;
  }
}

/** What stands above a line (0-based) and does something when it is clicked. */
export interface Lens {
  line: number;
  title: string;
  tooltip: string;
  command: string;
  arguments: unknown[];
}

/**
 * Above each hunk and each proposal of a document: what can be done with it; at its top, what concerns the whole
 * file.
 */
export function lenses(uri: string, all: Waiting, lineCount: number): Lens[] {
  const at = (span: Span) => Math.max(0, Math.min(span.start - 1, lineCount - 1));
  const found: Lens[] = [];
  const add = (line: number, title: string, tooltip: string, command: string, ...args: unknown[]) =>
    found.push({ line, title, tooltip, command, arguments: args });
  const changes = all.changes.filter((it) => it.uri === uri && !it.info.under);
  const proposals = all.proposals.filter((it) => it.uri === uri);
  if (changes.length > 1) {
    add(0, `$(check-all) Keep all ${changes.length}`, 'Keep every change of agents in this file', 'ropewalk.keep', {
      uri,
    });
    add(0, '$(discard) Undo all', 'Take back every change of agents in this file', 'ropewalk.undo', { uri });
    add(0, '$(diff) Show', 'Compare this file with its text before the changes', 'ropewalk.showDiff', { uri });
  }
  for (const { span, info } of changes) {
    const what = `${summary(info.kind, info.before, info.after)}, by the call ${info.callId}`;
    add(at(span), '$(check) Keep', `Keep: ${what}`, 'ropewalk.keep', { hunkId: info.hunkId });
    add(at(span), '$(discard) Undo', `Take back: ${what}`, 'ropewalk.undo', { hunkId: info.hunkId });
    if (changes.length === 1)
      add(at(span), '$(diff) Show', 'Compare with the text before', 'ropewalk.showDiff', { uri });
  }
  for (const { span, info, sessionId } of proposals) {
    const what = `${summary(info.kind, info.before, info.after)}, by the call ${info.callId}`;
    const which = { sessionId, hunkId: info.hunkId };
    add(at(span), '$(check) Accept', `Apply: ${what}`, 'ropewalk.accept', which);
    add(at(span), '$(close) Reject', `Drop: ${what}`, 'ropewalk.reject', which);
    add(at(span), '$(comment) Reject with words', 'Drop it, and tell the model why', 'ropewalk.rejectWithWords', which);
    add(at(span), '$(edit) Edit', 'Change the proposed text before you accept it', 'ropewalk.editProposal', {
      sessionId,
      uri,
    });
    add(at(span), '$(diff) Show', `Compare with what is proposed: ${what}`, 'ropewalk.showProposal', {
      sessionId,
      uri,
    });
  }
  return found;
}

/** What to tell of an undo, or of the undo of an undo. */
export interface Told {
  /** Whether it is to be told as a warning. */
  warning: boolean;
  message: string;
  /** Where the first change is that stays. */
  uri?: string;
  hunkId?: string;
}

/** The words for what became of an undo; nothing where all of it was done. `named` gives a file's name for people. */
export function undoTold(result: UndoResult, named: (uri: string) => string): Told | undefined {
  const hunks = result.hunks ?? [];
  if (hunks.length === 0) return { warning: false, message: 'There is nothing to undo any more.' };
  const rest = hunks.filter((hunk: UndoneHunk) => hunk.outcome === 'left' || hunk.outcome === 'partly');
  const first = rest[0];
  if (!first) return undefined;
  const how = first.outcome === 'left' ? 'was not changed' : 'was changed in part';
  const others = rest.length > 1 ? ` (and ${rest.length - 1} more)` : '';
  const why = first.why ? `: ${first.why}` : '.';
  return { warning: true, message: `${named(first.uri)} ${how}${others}${why}`, uri: first.uri, hunkId: first.hunkId };
}

/** The change or proposal at a line (0-based) of a document: those that contain it first, else the nearest above. */
export function atLine<T extends { uri: string; span: Span }>(
  items: readonly T[],
  uri: string,
  line: number,
): T | undefined {
  const here = items.filter((it) => it.uri === uri);
  const inside = here.filter(({ span }) => {
    const first = span.start - 1;
    return span.count === 0 ? line === first || line === first - 1 : line >= first && line < first + span.count;
  });
  return inside[0];
}
