// How a program joins this window's sidecar over MCP. Plain functions over data; nothing here knows an editor.

/** The command that joins, or nothing where there is nothing to join. */
export function joining(
  program: string | undefined,
  folder: string | undefined,
  pid: number | undefined,
): string[] | undefined {
  if (program === undefined || folder === undefined || pid === undefined) return undefined;
  return [program, 'mcp', '--connect', '--root', folder, '--editor', String(pid)];
}

/** The variables that the person gives the sidecar: whoever joins has to look for its socket where it is. */
export function environment(setting: unknown): Record<string, string> {
  if (typeof setting !== 'object' || setting === null) return {};
  return Object.fromEntries(
    Object.entries(setting).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
