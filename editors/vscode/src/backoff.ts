// When a sidecar that ended by itself is started again: each time later, and not without end.

/** What is remembered of the crashes of a window's sidecar. */
export interface Crashes {
  /** When each of them was (ms), oldest first; only those that still count. */
  readonly at: readonly number[];
}

/** What to do after a crash: start again after `delayMs`, or leave it to the person. */
export type Revival = { readonly kind: 'again'; readonly delayMs: number } | { readonly kind: 'giveUp' };

/** Crashes older than this (ms) count no more. */
export const WINDOW_MS = 180_000;
/** So many crashes within the window are put up with. */
export const CRASHES = 5;
const FIRST_MS = 500;

/** Remembers a crash at `now` (ms), and says what to do about it. */
export function crashed(crashes: Crashes, now: number): { crashes: Crashes; revival: Revival } {
  const at = [...crashes.at.filter((then) => now - then < WINDOW_MS), now];
  const revival: Revival =
    at.length > CRASHES ? { kind: 'giveUp' } : { kind: 'again', delayMs: FIRST_MS * 2 ** (at.length - 1) };
  return { crashes: { at }, revival };
}
