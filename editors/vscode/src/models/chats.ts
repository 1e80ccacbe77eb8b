// Which session of ours a call of VS Code's belongs to, and which preview it was confirmed by. Plain data structures;
// nothing here knows an editor.
//
// What identifies a chat: VS Code hands `invoke` a `toolInvocationToken`, which its interface calls opaque, and,
// as of 1.139, hands `prepareInvocation` a `chatSessionResource`. Both name the chat by the same URI. Where they say nothing
// (a call outside of a chat, an older VS Code), all calls share one session. No interface tells that a chat has ended,
// so the session that was used longest ago is closed when there are too many.

/** The session of calls that belong to no chat that can be told. */
export const SHARED = 'vscode';
/** So many chats have a session at once. */
export const CHATS = 16;
/** So many confirmed calls wait for their run. */
const WAITING = 64;

function text(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  // A URI, as an object of VS Code's or as its parts.
  const { scheme, authority, path, query } = value as Record<string, unknown>;
  if (typeof scheme !== 'string' || typeof path !== 'string') return undefined;
  return `${scheme}://${typeof authority === 'string' ? authority : ''}${path}${typeof query === 'string' && query ? `?${query}` : ''}`;
}

/** What names the chat in the options of `prepareInvocation` or `invoke`; nothing where they do not say. */
export function chatOf(options: unknown): string | undefined {
  if (typeof options !== 'object' || options === null) return undefined;
  const { chatSessionResource, chatSessionId, toolInvocationToken } = options as Record<string, unknown>;
  const direct = text(chatSessionResource) ?? text(chatSessionId);
  if (direct !== undefined || typeof toolInvocationToken !== 'object' || toolInvocationToken === null) return direct;
  const { sessionResource, sessionId } = toolInvocationToken as Record<string, unknown>;
  return text(sessionResource) ?? text(sessionId);
}

/** The sessions of chats, by the names of the chats. */
export class Chats {
  private readonly sessions = new Map<string, string>();
  private made = 0;

  /** `run` makes the names differ from those of other windows and earlier runs. */
  constructor(private readonly run: string) {}

  /** The session of a chat, and the sessions that are to be closed because there are too many. */
  sessionOf(chat: string | undefined): { sessionId: string; fresh: boolean; closed: string[] } {
    if (chat === undefined) return { sessionId: SHARED, fresh: false, closed: [] };
    const known = this.sessions.get(chat);
    if (known !== undefined) {
      // Used just now: to the end of the order.
      this.sessions.delete(chat);
      this.sessions.set(chat, known);
      return { sessionId: known, fresh: false, closed: [] };
    }
    this.made += 1;
    const sessionId = `${SHARED}-${this.run}-${this.made}`;
    this.sessions.set(chat, sessionId);
    const closed: string[] = [];
    for (const [oldest, session] of this.sessions) {
      if (this.sessions.size <= CHATS) break;
      this.sessions.delete(oldest);
      closed.push(session);
    }
    return { sessionId, fresh: true, closed };
  }

  /** Every session of a chat. */
  all(): string[] {
    return [...this.sessions.values()];
  }
}

/** A value as text that is the same for equal values, whatever the order of their keys. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const keys = Object.keys(value)
    .filter((key) => (value as Record<string, unknown>)[key] !== undefined)
    .sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical((value as Record<string, unknown>)[key])}`).join(',')}}`;
}

/** A call that was prepared. */
export interface Prepared {
  sessionId: string;
  /** What counts as the person's consent; absent where nobody was asked. */
  previewId?: string;
}

/**
 * Calls that were prepared and have not run yet. `prepareInvocation` and `invoke` share no name, so that a run is
 * matched by its tool and its input. Of several the newest counts: an older one may be of a question that the person
 * answered with no.
 */
export class Preparations {
  private entries: { key: string; prepared: Prepared }[] = [];

  put(tool: string, input: unknown, prepared: Prepared): void {
    this.entries.push({ key: `${tool} ${canonical(input)}`, prepared });
    if (this.entries.length > WAITING) this.entries.shift();
  }

  /** What was prepared for this run; nothing where its input is another one than was confirmed. */
  take(tool: string, input: unknown): Prepared | undefined {
    const key = `${tool} ${canonical(input)}`;
    for (let at = this.entries.length - 1; at >= 0; at -= 1) {
      if (this.entries[at]?.key === key) return this.entries.splice(at, 1)[0]?.prepared;
    }
    return undefined;
  }

  /** The sidecar is another one: what the one before previewed counts no more. */
  clear(): void {
    this.entries = [];
  }
}
