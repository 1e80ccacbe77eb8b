// The bridge as an MCP server of VS Code's, for agents that know our tools by MCP only: they join this window's
// sidecar.
import * as vscode from 'vscode';
import type { Sidecar } from '../sidecar';
import { environment, joining } from './join';

/** As package.json declares it. */
const ID = 'ropewalk.bridge';

export function registerMcpServer(context: vscode.ExtensionContext, sidecar: Sidecar): void {
  if (typeof vscode.lm?.registerMcpServerDefinitionProvider !== 'function') return;
  const changed = new vscode.EventEmitter<void>();
  context.subscriptions.push(
    changed,
    sidecar.onDidChangeState(() => changed.fire()),
    vscode.workspace.onDidChangeWorkspaceFolders(() => changed.fire()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('ropewalk.mcpServer')) changed.fire();
    }),
    vscode.lm.registerMcpServerDefinitionProvider(ID, {
      onDidChangeMcpServerDefinitions: changed.event,
      provideMcpServerDefinitions() {
        if (!vscode.workspace.getConfiguration('ropewalk').get<boolean>('mcpServer', false)) return [];
        const folder = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === 'file');
        const line = joining(
          sidecar.program,
          folder?.uri.fsPath,
          sidecar.state === 'running' ? sidecar.pid : undefined,
        );
        if (!line) return [];
        const [program, ...args] = line;
        const { globalValue } = vscode.workspace.getConfiguration('ropewalk').inspect('environment') ?? {};
        return [
          new vscode.McpStdioServerDefinition(
            'Ropewalk',
            program ?? '',
            args,
            environment(globalValue),
            sidecar.version,
          ),
        ];
      },
    }),
  );
}
