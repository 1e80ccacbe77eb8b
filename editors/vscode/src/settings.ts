// The settings: the person's own alone go to the sidecar. What a workspace says is left out, whatever it says; a project
// tightens by its file `.ropewalk/settings.json`, which the sidecar reads by itself.

/** Settings that are about the program, not for it. */
export const OWN_KEYS = ['arguments', 'enabled', 'environment', 'path'] as const;

/** The names of further settings that are the extension's own: review, side view and models. */
export const UI_KEYS = ['agentModel', 'agentRounds', 'languageModelTools', 'mcpServer', 'review.codeLens', 'review.removedText'] as const;

/** What the extension itself is told. */
export interface OwnSettings {
  readonly enabled: boolean;
  readonly path: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** One setting as VS Code knows it: where it was set to what. */
export interface Inspected {
  readonly globalValue?: unknown;
  readonly workspaceValue?: unknown;
  readonly workspaceFolderValue?: unknown;
}

/** The settings object of the sidecar: the groups that the person set, in the order of their names. */
export function sidecarSettings(keys: readonly string[], inspect: (key: string) => Inspected | undefined): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const key of [...keys].sort()) {
    const value = inspect(key)?.globalValue;
    if (value !== undefined) settings[key] = value;
  }
  return settings;
}

const isText = (value: unknown): value is string => typeof value === 'string';

/** The extension's own settings. What has another shape than it should counts as not set. */
export function ownSettings(inspect: (key: string) => Inspected | undefined): OwnSettings {
  const value = (key: (typeof OWN_KEYS)[number]) => inspect(key)?.globalValue;
  const enabled = value('enabled');
  const path = value('path');
  const list = value('arguments');
  const environment = value('environment');
  return {
    enabled: typeof enabled === 'boolean' ? enabled : true,
    path: isText(path) ? path.trim() : '',
    arguments: Array.isArray(list) && list.every(isText) ? list : [],
    environment:
      typeof environment === 'object' && environment !== null && !Array.isArray(environment)
        ? Object.fromEntries(Object.entries(environment).filter((entry): entry is [string, string] => isText(entry[1])))
        : {},
  };
}

/** Whether two settings start the same program in the same way. */
export function isStartedAlike(a: OwnSettings, b: OwnSettings): boolean {
  const started = ({ path, arguments: list, environment }: OwnSettings) =>
    JSON.stringify([path, list, Object.entries(environment).sort(([one], [other]) => (one < other ? -1 : 1))]);
  return started(a) === started(b);
}

/** The names of the sidecar's settings, as the extension's manifest lists them. */
export function sidecarKeys(manifest: unknown): string[] {
  const groups = (manifest as { contributes?: { configuration?: { properties?: object }[] } }).contributes?.configuration;
  return (groups ?? [])
    .flatMap((group) => Object.keys(group.properties ?? {}))
    .map((name) => name.replace(/^ropewalk\./, ''))
    .filter((name) => ![...OWN_KEYS, ...UI_KEYS].some((own) => own === name));
}
