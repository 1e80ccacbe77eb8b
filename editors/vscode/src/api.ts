// What the extension gives to other extensions: `vscode.extensions.getExtension('ropewalk.ropewalk').exports`.
import type { Sidecar } from './sidecar';

/** The API. Within a major version, changes only add. */
export interface RopewalkApi {
  readonly version: 1;
}

/** Makes the API over the window's sidecar. */
export function makeApi(_sidecar: Sidecar): RopewalkApi {
  return { version: 1 };
}
