// What waits for the person's judgement, as the sidecar has it: asked for after each `changesChanged`, at most one
// question at a time, and moved along with the typing in between.
import * as vscode from 'vscode';
import { key } from '../named';
import type { ChangesResult } from '../protocol';
import type { Sidecar } from '../sidecar';
import { caughtUp, type Change, NOTHING, type Proposed, type Typed, type Waiting, waiting, withFile } from './model';
import { movedBy } from './spans';

/** So many files are asked about one by one; of more, everything is asked for at once. */
const SINGLY = 4;

/**
 * So long (ms) after the last key in a file with hunks it is asked about again: what was typed may have changed them.
 */
const PAUSE_MS = 700;

export class ReviewStore implements vscode.Disposable {
  private all: Waiting = NOTHING;
  private readonly changed = new vscode.EventEmitter<void>();
  /** Fires when something else waits; not for typing. */
  readonly onDidChange = this.changed.event;
  private readonly parts: vscode.Disposable[] = [];
  private readonly stale = new Set<string>();
  private everything = false;
  private asking: Promise<void> | undefined;
  /** What was typed while a question is open: its answer may be of the text before. */
  private typedMeanwhile: Typed[] = [];
  private pause: NodeJS.Timeout | undefined;
  private readonly typedIn = new Set<string>();

  constructor(private readonly sidecar: Sidecar) {
    this.parts.push(
      this.changed,
      sidecar.onEvent('changesChanged', ({ uris }) => this.refresh(uris)),
      sidecar.onDidChangeState((state) => {
        if (state === 'running') this.refresh();
        else this.take(NOTHING);
      }),
      vscode.workspace.onDidChangeTextDocument((event) => this.typed(event)),
      vscode.workspace.onDidOpenTextDocument((document) => {
        if (this.has(key(document.uri))) this.refresh([key(document.uri)]);
      }),
    );
    if (sidecar.state === 'running') this.refresh();
  }

  dispose(): void {
    clearTimeout(this.pause);
    for (const part of this.parts) part.dispose();
  }

  get waiting(): Waiting {
    return this.all;
  }

  changesOf(uri: string): Change[] {
    return this.all.changes.filter((it) => it.uri === uri);
  }

  proposalsOf(uri: string, sessionId?: string): Proposed[] {
    return this.all.proposals.filter((it) => it.uri === uri && (sessionId === undefined || it.sessionId === sessionId));
  }

  has(uri: string): boolean {
    return this.all.changes.some((it) => it.uri === uri) || this.all.proposals.some((it) => it.uri === uri);
  }

  /** Asks again: for these files, or for everything. Questions that come while one is open become one. */
  refresh(uris?: readonly string[]): void {
    if (!uris) this.everything = true;
    else for (const uri of uris) this.stale.add(uri);
    this.asking ??= this.ask().finally(() => {
      this.asking = undefined;
      this.typedMeanwhile = [];
      if (this.everything || this.stale.size > 0) this.refresh([]);
    });
  }

  /** Resolves once what was asked for has come. */
  async settled(): Promise<void> {
    while (this.asking) await this.asking;
  }

  private async ask(): Promise<void> {
    // One turn of the event loop, so that a batch of news is one question.
    await new Promise((resolve) => setImmediate(resolve));
    const uris = [...this.stale];
    const everything = this.everything || uris.length > SINGLY;
    this.stale.clear();
    this.everything = false;
    if (this.sidecar.state !== 'running' || (!everything && uris.length === 0)) return;
    try {
      if (everything) {
        this.take(this.answer(await this.sidecar.request('ropewalk/changes', {})));
        return;
      }
      for (const uri of uris) {
        const newer = this.answer(await this.sidecar.request('ropewalk/changes', { uri }));
        // A file that was moved answers to its old name and its new one.
        const names = new Set([key(uri), ...newer.changes.map((it) => it.uri), ...newer.proposals.map((it) => it.uri)]);
        this.all = [...names].reduce((all, name) => withFile(all, name, newer), this.all);
      }
      this.take(this.all);
    } catch (error) {
      if (this.sidecar.state === 'running') this.sidecar.log.warn(`ropewalk/changes: ${String(error)}`);
    }
  }

  private answer(given: ChangesResult): Waiting {
    return caughtUp(normal(waiting(given)), this.typedMeanwhile);
  }

  private take(all: Waiting): void {
    this.all = all;
    this.changed.fire();
  }

  private typed(event: vscode.TextDocumentChangeEvent): void {
    const uri = key(event.document.uri);
    if (event.contentChanges.length === 0 || (!this.asking && !this.has(uri))) return;
    const edits = event.contentChanges.map(({ range, text }) => ({ start: range.start, end: range.end, text }));
    if (this.asking) this.typedMeanwhile.push({ uri, version: event.document.version, edits });
    const go = <T extends Change | Proposed>(items: T[]): T[] =>
      items.map((it) => (it.uri === uri ? { ...it, span: movedBy(it.span, edits) } : it));
    this.all = { ...this.all, changes: go(this.all.changes), proposals: go(this.all.proposals) };
    if (!this.has(uri)) return;
    this.typedIn.add(uri);
    clearTimeout(this.pause);
    this.pause = setTimeout(() => {
      this.refresh([...this.typedIn]);
      this.typedIn.clear();
    }, PAUSE_MS);
  }
}

/** With VS Code's spelling of each URI. */
function normal(all: Waiting): Waiting {
  const go = <T extends { uri: string }>(items: T[]): T[] => items.map((it) => ({ ...it, uri: key(it.uri) }));
  return { changes: go(all.changes), proposals: go(all.proposals), undos: all.undos };
}
