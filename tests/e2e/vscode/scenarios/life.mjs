// The life of the sidecar in a window: it comes, it is killed and comes again, it goes with the window.

import assert from 'node:assert/strict';

export async function the_sidecar_comes_with_the_window_and_goes_with_it(play) {
  const code = await play.open({ 'notes.txt': 'one\n' });
  await code.open('notes.txt');
  await code.type('zero ');
  await code.shows('zero one');
  await code.close();
}

export async function a_sidecar_that_is_killed_comes_again(play) {
  const code = await play.open({ 'notes.txt': 'one\n' });
  const first = code.sidecar();
  process.kill(first, 'SIGKILL');
  await code.until('another sidecar', () => ![first, undefined].includes(code.sidecar()));
}
