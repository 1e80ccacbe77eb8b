// What VS Code asks its person before one of our tools runs, from what `ropewalk/previewCall` says the call would do.
// Plain functions over data; nothing here knows an editor.
import type { PreviewResult } from '../protocol';
import { escaped as markdown, fenced, shortened } from '../review/model';
import { oneLine, visible } from '../text';

/** So many lines of a diff are shown; who wants all of it lets the tool propose. A command is shown whole. */
const SHOWN_LINES = 120;

/** Words and blocks of code for Markdown, with what is invisible or turns other text around spelled out. */
const escaped = (text: string) => markdown(visible(text));
const block = (text: string, language: string) => fenced(visible(text), language);

export type Confirmation =
  /** It runs without a question. */
  | { kind: 'allow'; doing: string }
  /** The person is asked; `message` is Markdown. */
  | { kind: 'ask'; doing: string; title: string; message: string }
  /** It does not run: a rule says no, or its arguments do not fit. */
  | { kind: 'deny'; doing: string; reason: string };

/** What a call does, in a few words: `edit notes.txt`. */
function subject(preview: PreviewResult, named: (uri: string) => string): string {
  const { writes, reads, commands, hosts } = preview.access;
  const files = (uris: string[]) => {
    const first = uris.slice(0, 2).map(named).join(', ');
    return uris.length > 2 ? `${first} and ${uris.length - 2} more` : first;
  };
  if (writes.length > 0) return files(writes);
  if (commands.length > 0) return (commands[0] ?? '').split(/[\r\n]/, 1)[0] ?? '';
  if (hosts.length > 0) return hosts.join(', ');
  return files(reads);
}

function title(preview: PreviewResult, named: (uri: string) => string): string {
  const { writes, commands, hosts } = preview.access;
  const one = (uris: string[]) => (uris.length === 1 ? named(uris[0] ?? '') : `${uris.length} files`);
  if (writes.length > 0) return `Change ${one(writes)}?`;
  if (commands.length > 0) return commands.length === 1 ? 'Run this command?' : `Run ${commands.length} commands?`;
  if (hosts.length > 0) return `Talk to ${hosts.length === 1 ? oneLine(hosts[0] ?? '') : `${hosts.length} machines`}?`;
  return `Run the tool ${preview.name}?`;
}

/** What to ask, if anything. `named` gives a file's name for people. */
export function confirmation(preview: PreviewResult, nameOf: (uri: string) => string): Confirmation {
  const named = (uri: string) => oneLine(nameOf(uri));
  const about = oneLine(subject(preview, named));
  const doing =
    about === '' ? preview.name : `${preview.name}: ${about.length > 80 ? `${about.slice(0, 79)}…` : about}`;
  const { decision, reason, risk } = preview.approval;
  if (decision === 'deny' || !preview.valid) {
    return {
      kind: 'deny',
      doing,
      reason: [...preview.problems, reason].filter((it) => it !== '')[0] ?? 'it is not allowed',
    };
  }
  if (decision === 'allow') return { kind: 'allow', doing };
  const parts = [escaped(reason.charAt(0).toUpperCase() + reason.slice(1)) + '\\.'];
  if (risk === 'high') parts.push('**Much can go wrong here\\.**');
  for (const command of preview.access.commands) parts.push(block(command, 'sh'));
  if (preview.diff) parts.push(block(shortened(preview.diff, SHOWN_LINES), 'diff'));
  else if (preview.access.writes.length > 0) parts.push(list('Changes', preview.access.writes.map(named)));
  const others = preview.access.reads.filter((uri) => !preview.access.writes.includes(uri));
  if (others.length > 0) parts.push(list('Reads', others.map(named)));
  if (preview.access.hosts.length > 0) parts.push(list('Talks to', preview.access.hosts));
  if (preview.access.writes.length === 0 && preview.access.commands.length === 0) {
    parts.push(block(shortened(JSON.stringify(preview.arguments, null, 2), SHOWN_LINES), 'json'));
  }
  if (preview.repairs.length > 0) parts.push(list('What was mended in the arguments', preview.repairs));
  return { kind: 'ask', doing, title: title(preview, named), message: parts.join('\n\n') };
}

function list(head: string, items: string[]): string {
  const shown = items.slice(0, 20).map((item) => `- ${escaped(item)}`);
  if (items.length > 20) shown.push(`- and ${items.length - 20} more`);
  return `${escaped(head)}:\n\n${shown.join('\n')}`;
}
