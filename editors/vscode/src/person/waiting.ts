// How many questions wait for the person: for the status bar, and for whoever shows a badge.
import * as vscode from 'vscode';

/** Kinds of questions. */
export type Kind = 'approve' | 'ask';

export class Waiting implements vscode.Disposable {
  private readonly counts = new Map<Kind, number>();
  private readonly changed = new vscode.EventEmitter<number>();
  /** Fires with the number of all questions that wait. */
  readonly onDidChange = this.changed.event;

  /** So many wait now: requests, each of one or several calls or questions. */
  get count(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Of one kind so many wait now. */
  of(kind: Kind): number {
    return this.counts.get(kind) ?? 0;
  }

  set(kind: Kind, count: number): void {
    if (this.of(kind) === count) return;
    this.counts.set(kind, count);
    this.changed.fire(this.count);
  }

  dispose(): void {
    this.changed.dispose();
  }
}
