// Trust: VS Code trusts a window as a whole; the sidecar is told of each of its folders.
import * as vscode from 'vscode';
import type { Sidecar } from './sidecar';

/** Tells the sidecar what the person trusts, as it changes. What is so at the start goes with `initialize`. */
export function serveTrust(sidecar: Sidecar): vscode.Disposable {
  const tell = (folders: readonly vscode.WorkspaceFolder[]) => {
    for (const folder of folders)
      sidecar.notify('ropewalk/didChangeTrust', { root: folder.uri.toString(), trusted: vscode.workspace.isTrusted });
  };
  return vscode.Disposable.from(
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      sidecar.log.info('The workspace is trusted now');
      tell(vscode.workspace.workspaceFolders ?? []);
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(({ added }) => {
      // After the client's own word that there are other folders now.
      setTimeout(() => tell(added), 0);
    }),
  );
}

/** Shows what is trusted, and leads to where the person decides it. */
export async function showTrust(): Promise<void> {
  const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.name).join(', ') || 'no folder';
  const manage = 'Manage trust...';
  const chosen = await vscode.window.showInformationMessage(
    vscode.workspace.isTrusted
      ? `This window is trusted (${folders}): agents may be allowed to run commands in it.`
      : `This window is not trusted (${folders}): agents read and edit in it, but run nothing.`,
    manage,
  );
  if (chosen === manage) await vscode.commands.executeCommand('workbench.trust.manage');
}
