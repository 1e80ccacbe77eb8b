// The extension: puts its parts together, starts the sidecar, and gives other extensions the API.
import * as vscode from 'vscode';
import { Activity } from './activity';
import { makeApi, type RopewalkApi } from './api';
import { registerCommands } from './commands';
import { Configuration } from './configuration';
import { forwardDiagnostics } from './diagnostics';
import { serveDocuments } from './documents';
import { serveEditor } from './editor';
import { serveApprovals } from './person/approve';
import { serveQuestions } from './person/ask';
import { Waiting } from './person/waiting';
import { Sidecar } from './sidecar';
import { showStatus } from './status';
import { serveTrust } from './trust';
import { registerUi } from './ui';

let running: Sidecar | undefined;

/** Called by VS Code, once a window. */
export function activate(context: vscode.ExtensionContext): RopewalkApi {
  const configuration = new Configuration(context.extension.packageJSON);
  const sidecar = new Sidecar({
    extensionPath: context.extensionPath,
    settings: () => configuration.own(),
    initializationOptions: () => configuration.initializationOptions(),
  });
  running = sidecar;
  const activity = new Activity();
  const waiting = new Waiting();
  const approvals = serveApprovals(sidecar, context.extensionUri, waiting);
  const questions = serveQuestions(sidecar, waiting);
  context.subscriptions.push(
    waiting,
    approvals,
    questions,
    configuration.follow(sidecar),
    serveDocuments(sidecar),
    serveEditor(sidecar),
    forwardDiagnostics(sidecar),
    serveTrust(sidecar),
    showStatus(sidecar, activity, waiting),
    registerCommands({ sidecar, activity, approvals, questions }),
  );
  const ui = registerUi(context, sidecar, questions);
  const api = makeApi(sidecar, ui.views);
  if (configuration.own().enabled) void ui.ready().then(() => sidecar.start());
  return api;
}

/** Called by VS Code when the window closes: resolves once the sidecar's process has ended. */
export async function deactivate(): Promise<void> {
  await running?.shutdown();
  running = undefined;
}
