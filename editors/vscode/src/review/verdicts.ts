// What the person decides: keep, undo, accept, reject, by hunk, file, call and session; and what the sidecar says to
// it.
import * as vscode from 'vscode';
import { key, named, parsed, words } from '../named';
import type { AcceptParams, AcceptResult, ChangesParams, RejectParams, UndoParams } from '../protocol';
import type { Sidecar } from '../sidecar';
import { atLine, undoTold } from './model';
import { shownAt, type Span } from './spans';
import type { ReviewStore } from './store';
import { aboutOf, BASE, EDITED, PROPOSED } from './texts';

/** What a verdict is about, as the sidecar's methods name it. */
export interface Which {
  hunkId?: string;
  uri?: string;
  callId?: string;
  sessionId?: string;
}

/**
 * How far a verdict reaches where it is not said: what is at the cursor, in the file, of the call there, of its
 * session.
 */
export type Reach = 'hunk' | 'file' | 'call' | 'session';

const FIELDS = ['hunkId', 'uri', 'callId', 'sessionId'] as const;

/** The argument of a command, from a lens, a caller, or an entry of a view: only what the sidecar's methods know. */
export function which(argument: unknown): Which | undefined {
  if (typeof argument !== 'object' || argument === null) return undefined;
  const given = (argument as { which?: unknown }).which ?? argument;
  if (typeof given !== 'object' || given === null) return undefined;
  const found: Which = {};
  for (const field of FIELDS) {
    const value = (given as Record<string, unknown>)[field];
    if (typeof value === 'string') found[field] = value;
  }
  return Object.keys(found).length > 0 ? found : undefined;
}

/** The document under the cursor, as one of the person's own: in our diff editors it is the one that they are about. */
export function here(): { uri: string; line: number } | undefined {
  const editor = vscode.window.activeTextEditor;
  if (!editor) return undefined;
  const { uri } = editor.document;
  const about = [BASE, PROPOSED, EDITED].includes(uri.scheme) ? aboutOf(uri) : undefined;
  return { uri: key(about?.uri ?? uri), line: editor.selection.active.line };
}

export class Verdicts {
  constructor(
    private readonly sidecar: Sidecar,
    private readonly store: ReviewStore,
  ) {}

  /** What a command without an argument means: by what is at the cursor, or in the file. */
  at(kind: 'changes' | 'proposals', reach: Reach): Which | undefined {
    const place = here();
    if (!place) return undefined;
    const of =
      kind === 'changes'
        ? this.store.changesOf(place.uri).filter((it) => !it.info.under)
        : this.store.proposalsOf(place.uri);
    const items: { uri: string; span: Span; info: { hunkId: string; callId: string }; sessionId: string }[] = of.map(
      (it) => ({
        uri: it.uri,
        span: it.span,
        info: it.info,
        sessionId: 'sessionId' in it ? it.sessionId : it.info.sessionId,
      }),
    );
    if (items.length === 0) return undefined;
    const sessions = new Set(items.map((it) => it.sessionId));
    const item = atLine(items, place.uri, place.line) ?? (items.length === 1 ? items[0] : undefined);
    if (reach === 'file') {
      const session = item?.sessionId ?? (sessions.size === 1 ? items[0]?.sessionId : undefined);
      if (kind === 'changes') return { uri: place.uri };
      return session === undefined ? undefined : { uri: place.uri, sessionId: session };
    }
    if (!item) return undefined;
    if (reach === 'hunk') return { hunkId: item.info.hunkId, sessionId: item.sessionId };
    if (reach === 'call') return { callId: item.info.callId, sessionId: item.sessionId };
    return { sessionId: item.sessionId };
  }

  async keep(what: Which): Promise<void> {
    await this.said(async () => {
      const params: ChangesParams = what;
      const { kept } = await this.sidecar.request('ropewalk/keep', params);
      if (kept.length === 0) return 'There is nothing to keep any more.';
      return undefined;
    });
  }

  async undo(what: Which | { undoId: string }): Promise<void> {
    const params: UndoParams = what;
    try {
      const told = undoTold(await this.sidecar.request('ropewalk/undo', params), named);
      if (told && !told.warning) vscode.window.setStatusBarMessage(told.message, 5000);
      else if (told) {
        const show = 'Show';
        const chosen = await vscode.window.showWarningMessage(told.message, ...(told.uri ? [show] : []));
        if (chosen === show && told.uri) await this.reveal(told.uri, told.hunkId);
      }
    } catch (error) {
      void vscode.window.showErrorMessage(`Ropewalk could not undo: ${words(error)}`);
    }
  }

  /** Applies what is proposed. A session as a whole goes file by file, up to the first that is refused. */
  async accept(what: Which, editedText?: string): Promise<boolean> {
    let done = true;
    await this.said(
      async () => {
        for (const part of this.parts(what)) {
          const params: AcceptParams = { ...part, ...(editedText === undefined ? {} : { editedText }) };
          const refused = acceptTold(await this.sidecar.request('ropewalk/accept', params));
          if (refused === undefined) continue;
          done = refused.startsWith('Accepted');
          return refused;
        }
        return undefined;
      },
      () => {
        done = false;
      },
    );
    return done;
  }

  async reject(what: Which, feedback?: string): Promise<void> {
    await this.said(async () => {
      for (const part of this.parts(what)) {
        const params: RejectParams = { ...part, ...(feedback === undefined ? {} : { feedback }) };
        const { rejected, refused } = await this.sidecar.request('ropewalk/reject', params);
        if (refused) return refused.message;
        const stand = rejected.flatMap((file) => file.standUnder);
        if (stand.length > 0) return `Some lines were changed once more by ${stand.join(', ')}; reject that first.`;
      }
      return undefined;
    });
  }

  /** `accept` and `reject` name a hunk, a call or a file; a session is all of its files. */
  private parts(what: Which): Which[] {
    const { sessionId } = what;
    if (what.hunkId !== undefined || what.uri !== undefined || what.callId !== undefined || sessionId === undefined)
      return [what];
    const uris = new Set(this.store.waiting.proposals.filter((it) => it.sessionId === sessionId).map((it) => it.uri));
    return [...uris].map((uri) => ({ uri, sessionId }));
  }

  /** Goes to a hunk, or to the top of a file where there is no such hunk. */
  async reveal(uri: string, hunkId?: string): Promise<void> {
    const place = [...this.store.changesOf(key(uri)), ...this.store.proposalsOf(key(uri))].find(
      (it) => it.info.hunkId === hunkId,
    );
    try {
      const editor = await vscode.window.showTextDocument(parsed(uri), { preserveFocus: false });
      const line = place ? shownAt(place.span, editor.document.lineCount) : 0;
      const at = new vscode.Position(line, 0);
      editor.selection = new vscode.Selection(at, at);
      editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    } catch (error) {
      void vscode.window.showWarningMessage(`${named(uri)} cannot be shown: ${words(error)}`);
    }
  }

  /** Does something, and tells what there is to tell. */
  private async said(step: () => Promise<string | undefined>, failed: () => void = () => {}): Promise<void> {
    try {
      const told = await step();
      if (told !== undefined) void vscode.window.showWarningMessage(told);
    } catch (error) {
      failed();
      void vscode.window.showErrorMessage(`Ropewalk: ${words(error)}`);
    }
  }
}

/** What to tell of an `accept`; nothing where all went as it should. */
export function acceptTold(result: AcceptResult): string | undefined {
  if (result.refused) return result.refused.message;
  if (result.accepted.length === 0) return 'Nothing of that is proposed any more.';
  const notes = result.notes ?? [];
  return notes.length > 0 ? `Accepted. ${notes.join(' ')}` : undefined;
}
