// The settings as VS Code has them now, and what follows when they change.
import * as vscode from 'vscode';
import { OWN_KEYS, type OwnSettings, ownSettings, sidecarKeys, sidecarSettings } from './settings';
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
    return vscode.workspace.onDidChangeConfiguration((event) => {
      if (!event.affectsConfiguration('ropewalk')) return;
      const start = OWN_KEYS.filter((key) => key !== 'enabled').some((key) =>
        event.affectsConfiguration(`ropewalk.${key}`),
      );
      if (start && (sidecar.state !== 'stopped' || sidecar.trouble !== undefined)) void sidecar.restart();
      else if (event.affectsConfiguration('ropewalk.enabled'))
        void (this.own().enabled ? sidecar.start() : sidecar.stop());
      else sidecar.notify('workspace/didChangeConfiguration', { settings: { ropewalk: this.sidecar() } });
    });
  }
}

function inspect() {
  const configuration = vscode.workspace.getConfiguration('ropewalk');
  return (key: string) => configuration.inspect(key);
}
