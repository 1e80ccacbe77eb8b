// Which of our tools VS Code's models get. Plain functions over data; nothing here knows an editor.

/** Our tools are known to VS Code by names of their own, for those are shared by all extensions. */
export const PREFIX = 'ropewalk_';

/** VS Code lets a request have at most so many tools. */
export const MOST = 128;

/**
 * What VS Code lacks. It reads, searches, lists, fetches, keeps tasks, asks questions, and runs commands in its
 * terminal by tools of its own; two of a kind only make a model choose worse. Ours differ in these: edits that find
 * their place in unsaved buffers, say what the language servers make of it and can be judged hunk by hunk
 * (`apply_patch`, `edit`, `multi_edit`); language servers asked about unsaved text, with a verdict for each (`lsp`);
 * commands that are followed (`monitor`); what is remembered of a project (`memory`); the web searched (`websearch`);
 * and the rest of a long result (`output`), which the others need.
 */
export const DEFAULT: readonly string[] = [
  'apply_patch',
  'edit',
  'lsp',
  'memory',
  'monitor',
  'multi_edit',
  'output',
  'websearch',
];

/** The names of the tools to register, sorted: of those that there are, what the setting asks for. */
export function chosen(setting: unknown, available: readonly string[]): string[] {
  const all = [...new Set(available)].sort();
  if (setting === 'none') return [];
  if (setting === 'all') return all.slice(0, MOST);
  const wanted = Array.isArray(setting) ? setting.filter((it): it is string => typeof it === 'string') : DEFAULT;
  const plain = new Set(wanted.map((name) => (name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name)));
  return all.filter((name) => plain.has(name)).slice(0, MOST);
}
