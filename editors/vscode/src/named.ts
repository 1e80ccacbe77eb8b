// Names of files for people, and turning the sidecar's URIs into VS Code's and back.
import * as vscode from 'vscode';

/** A file's name for people: relative to its workspace folder, where it is in one. */
export function named(uri: string): string {
  try {
    const parsed = vscode.Uri.parse(uri, true);
    return vscode.workspace.asRelativePath(parsed, (vscode.workspace.workspaceFolders?.length ?? 0) > 1);
  } catch {
    return uri;
  }
}

/** A URI of the sidecar's as VS Code's. */
export function parsed(uri: string): vscode.Uri {
  return vscode.Uri.parse(uri);
}

/** One spelling for each URI: two that VS Code holds for the same are the same text here. */
export function key(uri: string | vscode.Uri): string {
  return (typeof uri === 'string' ? vscode.Uri.parse(uri) : uri).toString();
}

/** The words of an error, for a person. */
export function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
