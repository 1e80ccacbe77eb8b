// The item of the status bar: the mode, how many calls run, how many questions wait; a click on it opens the menu.
import * as vscode from 'vscode';
import { type Activity, callLine, DEFAULT_SESSION, shown } from './activity';
import type { Waiting } from './person/waiting';
import type { Sidecar } from './sidecar';

/** Keeps the item and the log up to what happens. */
export function showStatus(sidecar: Sidecar, activity: Activity, waiting: Waiting): vscode.Disposable {
  const item = vscode.window.createStatusBarItem('ropewalk.status', vscode.StatusBarAlignment.Right, 100);
  item.name = 'Ropewalk';
  const colours = {
    plain: undefined,
    warning: 'statusBarItem.warningBackground',
    error: 'statusBarItem.errorBackground',
  };
  const draw = () => {
    const { text, tooltip, look } = shown(
      sidecar.state,
      sidecar.trouble,
      vscode.workspace.isTrusted,
      activity,
      waiting.count,
    );
    const colour = colours[look];
    item.text = text;
    item.tooltip = tooltip;
    item.backgroundColor = colour ? new vscode.ThemeColor(colour) : undefined;
    item.command = sidecar.state === 'running' && waiting.count > 0 ? 'ropewalk.showApprovals' : 'ropewalk.menu';
  };
  draw();
  item.show();
  const learnMode = async () => {
    try {
      const { mode } = await sidecar.request('ropewalk/status', {});
      activity.setMode(DEFAULT_SESSION, mode);
      draw();
    } catch (error) {
      sidecar.log.debug(`The mode is not known: ${String(error)}`);
    }
  };
  return vscode.Disposable.from(
    item,
    sidecar.onDidChangeState((state) => {
      activity.reset();
      draw();
      if (state === 'running') void learnMode();
    }),
    sidecar.onEvent('toolEvent', (event) => {
      const line = callLine(event);
      if (line !== undefined) sidecar.log.info(line);
      if (activity.event(event)) draw();
    }),
    sidecar.onEvent('modeChanged', ({ sessionId, mode }) => {
      activity.setMode(sessionId, mode);
      draw();
    }),
    waiting.onDidChange(draw),
    vscode.workspace.onDidGrantWorkspaceTrust(draw),
  );
}
