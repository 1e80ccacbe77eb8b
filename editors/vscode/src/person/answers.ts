// What a person answered on the page, as the sidecar takes it. Everything but a clear yes is a no.
import type { ApproveDecision, ApproveParams, ApproveResult, Consent } from '../protocol';

/**
 * Clicks and keys count for nothing until a question has been on the screen for so long (ms): they were meant for
 * something else.
 */
export const GUARD_MS = 300;

const CONSENTS: readonly Consent[] = ['once', 'session', 'always', 'deny'];

/** All calls denied. */
export function denied(params: ApproveParams, feedback?: string): ApproveResult {
  return {
    decisions: params.calls.map(({ callId }) => ({ callId, decision: 'deny', ...(feedback ? { feedback } : {}) })),
  };
}

/** Reads the message of the page `{ answers: [{ index, consent, words? }] }`: calls that it does not name are denied. */
export function decided(params: ApproveParams, message: unknown): ApproveResult {
  const given = (message as { answers?: unknown } | null)?.answers;
  const answers = Array.isArray(given) ? (given as { index?: unknown; consent?: unknown; words?: unknown }[]) : [];
  return {
    decisions: params.calls.map(({ callId }, index): ApproveDecision => {
      const said = answers.filter((answer) => answer?.index === index);
      const consent = CONSENTS.find((known) => known === said[0]?.consent);
      // Of two words about one call none is clear.
      const decision = said.length === 1 && consent ? consent : 'deny';
      const words = said[0]?.words;
      const feedback = decision === 'deny' && typeof words === 'string' ? words.trim() : '';
      return { callId, decision, ...(feedback ? { feedback } : {}) };
    }),
  };
}

/** Whether a message of the page that came at `now` (ms) counts. A no always does. */
export function counts(result: ApproveResult, shownAt: number, now: number): boolean {
  return now - shownAt >= GUARD_MS || result.decisions.every(({ decision }) => decision === 'deny');
}

/** Questions that wait, one after the other: the first is on the screen. */
export class Queue<T> {
  private readonly items: T[] = [];

  get first(): T | undefined {
    return this.items[0];
  }

  get length(): number {
    return this.items.length;
  }

  add(item: T): void {
    this.items.push(item);
  }

  /** Takes one out, wherever it is. Whether it was there. */
  remove(item: T): boolean {
    const at = this.items.indexOf(item);
    if (at >= 0) this.items.splice(at, 1);
    return at >= 0;
  }

  /** Takes all out. */
  clear(): T[] {
    return this.items.splice(0);
  }
}
