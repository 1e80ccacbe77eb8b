// Which program is the sidecar: the one that the settings name, the one that came with the extension, or the one on the
// PATH. Nothing is ever downloaded.
import * as path from 'node:path';

/** What the search looks at. */
export interface Surroundings {
  /** The setting `ropewalk.path`; empty where it is not set. */
  readonly setting: string;
  /** The folder of the extension. */
  readonly extension: string;
  /** The environment's PATH. */
  readonly path: string;
  /** The home folder, for a setting that begins with `~/`. */
  readonly home: string;
  readonly windows: boolean;
  /** Whether there is a file that may be run. */
  readonly runs: (file: string) => boolean;
}

/** The program, or why there is none, for a person. */
export type Found = { readonly program: string } | { readonly missing: string };

/** Finds the program. A setting that names none is not passed over: the person meant that one. */
export function findBinary(around: Surroundings): Found {
  const paths = around.windows ? path.win32 : path.posix;
  const name = around.windows ? 'ropewalk.exe' : 'ropewalk';
  const { setting } = around;
  if (setting !== '') {
    const program = setting.startsWith('~/') ? paths.join(around.home, setting.slice(2)) : setting;
    if (!paths.isAbsolute(program)) return { missing: `The setting ropewalk.path is not a full path: ${setting}` };
    return around.runs(program)
      ? { program }
      : { missing: `The setting ropewalk.path names no program that can be run: ${program}` };
  }
  const bundled = paths.join(around.extension, 'bin', name);
  if (around.runs(bundled)) return { program: bundled };
  for (const folder of around.path.split(paths.delimiter)) {
    // A relative entry would be looked up in whichever folder is open, which may be anybody's.
    if (!paths.isAbsolute(folder)) continue;
    const program = paths.join(folder, name);
    if (around.runs(program)) return { program };
  }
  return {
    missing:
      'There is no program `ropewalk`: none came with this extension, and none is on the PATH. ' +
      'Install it (`cargo install ropewalk`) or set `ropewalk.path`.',
  };
}
