// Waiting for conditions; nothing here waits for a time.

import { setTimeout as pause } from 'node:timers/promises';

/** How long anything may take before the scenario fails (ms); a loaded machine with two cores is slow. */
export const DEADLINE = 30000;

/** Waits until `condition` gives something true, and gives that. */
export async function until(what, condition, deadline = DEADLINE) {
  const end = Date.now() + deadline;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await pause(25);
  }
}
