// Chromium without a screen, by playwright-core from the folder of tools.

import { accessSync, constants } from 'node:fs';
import path from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

function program() {
  for (const folder of process.env.PATH.split(':')) {
    for (const name of NAMES) {
      const file = path.join(folder, name);
      try {
        accessSync(file, constants.X_OK);
        return file;
      } catch {
        // Somewhere else, then.
      }
    }
  }
  throw new Error(`none of ${NAMES.join(', ')} is on PATH`);
}

/** Starts Chromium; `require` is that of the folder that has playwright-core. */
export async function chromium(require) {
  const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
  flags.push('--disable-component-update', '--disable-sync', '--disable-dev-shm-usage');
  return require('playwright-core').chromium.launch({ executablePath: program(), args: flags });
}
