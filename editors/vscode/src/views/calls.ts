// The calls of all sessions, as far as a person wants to look back: what runs, and the last that have ended. Plain
// functions over data; nothing here knows an editor.
import type { CallResult, Status, ToolEvent } from '../protocol';

/** So many calls that have ended are kept. */
export const ENDED = 200;

export interface Call {
  sessionId: string;
  callId: string;
  name: string;
  /** What it is about, for people: a file, a command line. Empty where that is not known. */
  subject: string;
  status: 'running' | Status;
  /** How long it ran, with its waits (ms); known once it has ended. */
  tookMs?: number;
  /** Under which name its whole output is kept. */
  outputId?: string;
  /** What it has said last, while it runs. */
  said?: string;
  /** Whether what it changes is only proposed. */
  proposed?: boolean;
}

/** Running calls first, in the order of their beginning; then those that have ended, the newest first. */
export interface Calls {
  running: Call[];
  ended: Call[];
}

export const NONE: Calls = { running: [], ended: [] };

const same = (event: { sessionId: string; callId: string }) => (call: Call) =>
  call.sessionId === event.sessionId && call.callId === event.callId;

/** Of what a call is about, what its arguments say; nothing where they are none of the usual ones. */
export function subjectOf(args: unknown): string {
  if (typeof args !== 'object' || args === null) return '';
  const record = args as Record<string, unknown>;
  const key = ['file_path', 'command', 'pattern', 'query', 'url', 'path', 'description', 'symbol', 'id'].find(
    (name) => typeof record[name] === 'string' && record[name] !== '',
  );
  return key === undefined ? '' : oneLine(record[key] as string);
}

function oneLine(text: string): string {
  const line = text.split(/[\r\n]/, 1)[0] ?? '';
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}

/** What a result says it was about: the files it changed, else its first words. */
function subjectOfResult(result: CallResult, named: (uri: string) => string): string {
  const files = (result.edits ?? []).map((edit) => named(edit.uri));
  if (files.length > 0)
    return files.length > 3 ? `${files.slice(0, 3).join(', ')} and ${files.length - 3} more` : files.join(', ');
  const text = result.content.find((part) => part.type === 'text');
  return text && text.type === 'text' ? oneLine(text.text) : '';
}

function isResult(detail: unknown): detail is CallResult {
  return typeof detail === 'object' && detail !== null && Array.isArray((detail as CallResult).content);
}

/** What a call says on its way, in one line. */
function spoken(detail: unknown): string | undefined {
  if (typeof detail !== 'object' || detail === null) return undefined;
  const { text, message, percentage } = detail as { text?: unknown; message?: unknown; percentage?: unknown };
  const words = typeof message === 'string' && message !== '' ? message : undefined;
  const last =
    typeof text === 'string'
      ? text
          .split(/[\r\n]+/)
          .filter((line) => line.trim() !== '')
          .pop()
      : undefined;
  const percent = typeof percentage === 'number' ? `${Math.round(percentage)} %` : undefined;
  const said = [percent, words ?? (last === undefined ? undefined : printable(last))]
    .filter((it) => it !== undefined)
    .join(' ');
  return said === '' ? undefined : oneLine(said);
}

/** A line as it can be shown: without control sequences. */
export function printable(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/\u001b\[[0-?]*[ -/]*[@-~]|\u001b[@-_]|[\u0000-\u0008\u000b-\u001f\u007f]/g, '');
}

/** The calls after an event. The same object comes back where nothing is another one. */
export function after(calls: Calls, event: ToolEvent, named: (uri: string) => string = (uri) => uri): Calls {
  const at = calls.running.findIndex(same(event));
  const known = calls.running[at];
  const replaced = (call: Call) => ({ ...calls, running: calls.running.map((it, i) => (i === at ? call : it)) });
  switch (event.kind) {
    case 'start': {
      const name = event.name ?? known?.name ?? '';
      if (known) return replaced({ ...known, name });
      const call: Call = { sessionId: event.sessionId, callId: event.callId, name, subject: '', status: 'running' };
      return { ...calls, running: [...calls.running, call] };
    }
    case 'preview': {
      const subject = subjectOf((event.detail as { arguments?: unknown } | undefined)?.arguments);
      if (!known || subject === '' || subject === known.subject) return calls;
      return replaced({ ...known, subject });
    }
    case 'output': {
      const said = spoken(event.detail);
      if (!known || said === undefined || said === known.said) return calls;
      return replaced({ ...known, said });
    }
    case 'complete': {
      const begun = known ?? {
        sessionId: event.sessionId,
        callId: event.callId,
        name: event.name ?? '',
        subject: '',
        status: 'running' as const,
      };
      const running = calls.running.filter((_, i) => i !== at);
      const call = ended(begun, event.detail, named);
      return { running, ended: [call, ...calls.ended].slice(0, ENDED) };
    }
    default:
      return calls;
  }
}

function ended(call: Call, detail: unknown, named: (uri: string) => string): Call {
  const { said: _said, ...rest } = call;
  if (!isResult(detail)) return { ...rest, status: 'ok' };
  const { queuedMs, approvalMs, runMs, applyMs, diagnosticsMs } = detail.timing;
  return {
    ...rest,
    name: detail.name || rest.name,
    subject: rest.subject || subjectOfResult(detail, named),
    status: detail.isError && detail.status === 'ok' ? 'error' : detail.status,
    tookMs: queuedMs + approvalMs + runMs + applyMs + diagnosticsMs,
    ...(detail.output ? { outputId: detail.output.id } : {}),
    ...(detail.proposed ? { proposed: true } : {}),
  };
}

/** What a caller knows of a call before the sidecar tells of it: its subject. */
export function announced(calls: Calls, sessionId: string, callId: string, name: string, args: unknown): Calls {
  if (calls.running.some(same({ sessionId, callId }))) return calls;
  const call: Call = { sessionId, callId, name, subject: subjectOf(args), status: 'running' };
  return { ...calls, running: [...calls.running, call] };
}

/** A caller has its answer. A call that was refused before it began is never told of as ended. */
export function answered(
  calls: Calls,
  sessionId: string,
  callId: string,
  result: CallResult | undefined,
  named?: (uri: string) => string,
): Calls {
  const known = calls.running.find(same({ sessionId, callId }));
  if (!known) return calls;
  if (result) return after(calls, { sessionId, callId, kind: 'complete', detail: result }, named);
  const { said: _said, ...call } = known;
  const gone: Call = { ...call, status: 'cancelled' };
  return { running: calls.running.filter((it) => it !== known), ended: [gone, ...calls.ended].slice(0, ENDED) };
}

/** The sidecar has ended: nothing runs any more, and outputs are gone. */
export function lost(calls: Calls): Calls {
  const gone = calls.running.map((call) => ({ ...call, status: 'cancelled' as const }));
  return {
    running: [],
    ended: [...gone.reverse(), ...calls.ended].slice(0, ENDED).map(({ outputId: _gone, ...call }) => call),
  };
}

/** A duration for people. */
export function duration(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** The icon (a codicon) and the word for how a call is doing. */
export function look(status: Call['status']): { icon: string; word: string } {
  switch (status) {
    case 'running':
      return { icon: 'loading~spin', word: 'running' };
    case 'ok':
      return { icon: 'check', word: 'done' };
    case 'error':
      return { icon: 'error', word: 'failed' };
    case 'denied':
      return { icon: 'circle-slash', word: 'denied' };
    case 'cancelled':
      return { icon: 'debug-stop', word: 'cancelled' };
    case 'superseded':
      return { icon: 'history', word: 'superseded' };
  }
}
