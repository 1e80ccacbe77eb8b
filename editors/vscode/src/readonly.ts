// Which documents VS Code keeps from being written to, as far as an extension can know: by the person's settings, for
// an editor's own state ("Read-only in Session") is told to nobody. An editor that is on the screen shows it by not
// taking an edit; see documents.ts.
import { statSync } from 'node:fs';
import * as vscode from 'vscode';

/** Nobody, not even its owner, may write to a file of this mode. */
const OWNER_WRITES = 0o200;

function isLocked(file: string): boolean {
  try {
    return (statSync(file).mode & OWNER_WRITES) === 0;
  } catch {
    return false;
  }
}

/** Whether a pattern that is switched on in a setting names the document: by its path in its folder, or whole. */
function isNamed(document: vscode.TextDocument, patterns: Record<string, unknown>): boolean {
  const folder = vscode.workspace.getWorkspaceFolder(document.uri.with({ scheme: 'file', fragment: '' }));
  return Object.entries(patterns).some(([pattern, on]) => {
    if (on !== true) return false;
    const globs: vscode.GlobPattern[] = [pattern, ...(folder ? [new vscode.RelativePattern(folder, pattern)] : [])];
    return globs.some((glob) => vscode.languages.match({ pattern: glob }, document) > 0);
  });
}

/** The setting by which a document is read-only, if there is one. */
export function readOnlyBy(document: vscode.TextDocument): string | undefined {
  if (document.isUntitled) return undefined;
  const settings = vscode.workspace.getConfiguration('files', document.uri);
  const patterns = (name: string) => settings.get<Record<string, unknown>>(name) ?? {};
  if (isNamed(document, patterns('readonlyExclude'))) return undefined;
  if (isNamed(document, patterns('readonlyInclude'))) return 'files.readonlyInclude';
  const byPermissions = settings.get<boolean>('readonlyFromPermissions') === true;
  return byPermissions && isLocked(document.uri.fsPath) ? 'files.readonlyFromPermissions' : undefined;
}
