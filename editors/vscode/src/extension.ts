// The extension: puts its parts together, starts the sidecar, and gives other extensions the API.
import * as vscode from 'vscode';
import { makeApi, type RopewalkApi } from './api';
import { inspector, ownSettings, sidecarKeys, sidecarSettings } from './settings';
import { Sidecar } from './sidecar';
import { registerUi } from './ui';

let sidecar: Sidecar | undefined;

/** Called by VS Code, once a window. */
export function activate(context: vscode.ExtensionContext): RopewalkApi {
  const keys = sidecarKeys(context.extension.packageJSON);
  const inspect = () => inspector(vscode.workspace.getConfiguration('ropewalk'));
  const started = new Sidecar({
    extensionPath: context.extensionPath,
    settings: () => ownSettings(inspect()),
    initializationOptions: () => ({ ...sidecarSettings(keys, inspect()), trusted: vscode.workspace.isTrusted }),
  });
  sidecar = started;
  context.subscriptions.push(
    vscode.commands.registerCommand('ropewalk.restart', () => started.restart()),
    vscode.commands.registerCommand('ropewalk.stop', () => started.stop()),
    vscode.commands.registerCommand('ropewalk.showLog', () => started.log.show()),
  );
  const ui = registerUi(context, started);
  const api = makeApi(started, ui.views);
  if (ownSettings(inspect()).enabled) void ui.ready().then(() => started.start());
  return api;
}

/** Called by VS Code when the window closes: resolves once the sidecar's process has ended. */
export async function deactivate(): Promise<void> {
  await sidecar?.shutdown();
  sidecar = undefined;
}
