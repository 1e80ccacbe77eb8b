// The settings as VS Code has them now, and what follows when they change.
import * as vscode from 'vscode';
import { isStartedAlike, type OwnSettings, ownSettings, sidecarKeys, sidecarSettings } from './settings';
import type { Sidecar } from './sidecar';

export class Configuration {
  private readonly keys: readonly string[];

  /** `manifest`: that of the extension, which lists the settings. */
  constructor(manifest: unknown) {
    this.keys = sidecarKeys(manifest);
  }

  /** The extension's own. */
  own(): OwnSettings {
    return ownSettings(inspect());
  }

  /** The sidecar's: the person's own alone. */
  sidecar(): Record<string, unknown> {
    return sidecarSettings(this.keys, inspect());
  }

  /** `initializationOptions` */
  initializationOptions(): Record<string, unknown> {
    return { ...this.sidecar(), trusted: vscode.workspace.isTrusted };
  }

  /** Tells the sidecar of changes; starts it anew where they are about how it is started. */
  follow(sidecar: Sidecar): vscode.Disposable {
    let before = this.own();
    return vscode.workspace.onDidChangeConfiguration((event) => {
      if (!event.affectsConfiguration('ropewalk')) return;
      // VS Code tells of settings that it restricts as of changed ones when trust is given, though they are as before:
      // what waits for an answer of this sidecar is not to lose it by that.
      const [was, own] = [before, this.own()];
      before = own;
      if (!isStartedAlike(was, own) && (sidecar.state !== 'stopped' || sidecar.trouble !== undefined))
        void sidecar.restart();
      else if (was.enabled !== own.enabled) void (own.enabled ? sidecar.start() : sidecar.stop());
      else sidecar.notify('workspace/didChangeConfiguration', { settings: { ropewalk: this.sidecar() } });
    });
  }
}

function inspect() {
  const configuration = vscode.workspace.getConfiguration('ropewalk');
  return (key: string) => configuration.inspect(key);
}
