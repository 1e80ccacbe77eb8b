// What the window knows of its sessions from the sidecar's events: their modes, and the calls that run. Pure.
import type { CallResult, Mode, ToolEvent } from './protocol';

/** The session of calls that name none. */
export const DEFAULT_SESSION = 'default';

/** A line of the log about a call that has ended. */
export function callLine(event: ToolEvent): string | undefined {
  if (event.kind !== 'complete') return undefined;
  const result = (event.detail ?? {}) as Partial<CallResult>;
  const text = result.content?.find((part) => part.type === 'text');
  const said = text && 'text' in text && typeof text.text === 'string' ? (text.text.split('\n', 1)[0] ?? '') : '';
  const timing = result.timing
    ? Object.values(result.timing).reduce<number>((sum, part) => sum + (typeof part === 'number' ? part : 0), 0)
    : 0;
  const short = said.length > 160 ? `${said.slice(0, 159)}…` : said;
  return `[${event.sessionId}] ${event.callId} ${result.name ?? '?'}: ${result.status ?? '?'} (${timing} ms)${short ? ` ${short}` : ''}`;
}

export class Activity {
  private readonly modes = new Map<string, Mode>();
  private readonly calls = new Map<
    string,
    { readonly sessionId: string; readonly callId: string; readonly name: string }
  >();

  /** Takes an event of a call. Whether the number of running calls changed. */
  event(event: ToolEvent): boolean {
    const key = JSON.stringify([event.sessionId, event.callId]);
    if (event.kind === 'start') {
      this.calls.set(key, { sessionId: event.sessionId, callId: event.callId, name: event.name ?? '?' });
      if (!this.modes.has(event.sessionId)) this.modes.set(event.sessionId, this.mode(DEFAULT_SESSION));
      return true;
    }
    return event.kind === 'complete' && this.calls.delete(key);
  }

  setMode(sessionId: string, mode: Mode): void {
    this.modes.set(sessionId, mode);
  }

  /** The mode of a session; where none is known, the one that a session has by itself. */
  mode(sessionId: string): Mode {
    return this.modes.get(sessionId) ?? 'build';
  }

  /** The sessions that were heard of, the default one first, then by name. */
  sessions(): string[] {
    const others = [...this.modes.keys()].filter((name) => name !== DEFAULT_SESSION).sort();
    return [DEFAULT_SESSION, ...others];
  }

  /** The calls that run. */
  running(): readonly { readonly sessionId: string; readonly callId: string; readonly name: string }[] {
    return [...this.calls.values()];
  }

  /** The sidecar is another one: nothing runs any more. */
  reset(): void {
    this.calls.clear();
    this.modes.clear();
  }
}

/** What the status bar says. */
export interface Shown {
  readonly text: string;
  readonly tooltip: string;
  readonly look: 'plain' | 'warning' | 'error';
}

/** The item of the status bar. */
export function shown(
  state: string,
  trouble: string | undefined,
  trusted: boolean,
  activity: Activity,
  waiting: number,
): Shown {
  if (state === 'starting') return { text: '$(sync~spin) Ropewalk', tooltip: 'The sidecar starts', look: 'plain' };
  if (state === 'crashed') return { text: '$(error) Ropewalk', tooltip: trouble ?? 'The sidecar ended', look: 'error' };
  if (state !== 'running')
    return {
      text: '$(circle-slash) Ropewalk',
      tooltip: trouble ?? 'The sidecar is stopped',
      look: trouble ? 'error' : 'plain',
    };
  const mode = activity.mode(DEFAULT_SESSION);
  const calls = activity.running();
  const parts = [
    waiting > 0 ? `$(bell-dot) ${waiting}` : '',
    calls.length > 0 ? `$(loading~spin) ${calls.length}` : '',
    `Ropewalk: ${mode}`,
  ];
  const lines = [
    `Mode: ${mode}`,
    calls.length === 0 ? 'No call runs' : `Running: ${calls.map((call) => call.name).join(', ')}`,
    waiting === 0
      ? 'Nothing waits for your answer'
      : `${waiting} ${waiting === 1 ? 'question waits' : 'questions wait'} for your answer`,
    trusted ? 'The window is trusted' : 'The window is not trusted: nothing of it is run',
  ];
  const look = waiting > 0 || mode === 'danger' ? 'warning' : 'plain';
  return { text: parts.filter(Boolean).join(' '), tooltip: lines.join('\n'), look };
}
