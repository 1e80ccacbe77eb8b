// Where hunks are while the person types: spans of lines that move with edits, and the way from one to the next.
// Plain functions over data; nothing here knows an editor.

/** Lines of a text: `start` is 1-based; with `count` 0 it is the place before that line. */
export interface Span {
  start: number;
  count: number;
}

/** One edit of a text: 0-based lines and characters of what it replaced, and the text that stands there now. */
export interface Edit {
  start: { line: number; character: number };
  end: { line: number; character: number };
  text: string;
}

/** How many line breaks a text holds; CRLF is one. */
export function breaks(text: string): number {
  return (text.match(/\r\n|\r|\n/g) ?? []).length;
}

/** Where a span is after an edit. What is typed inside of it, or across its edges, belongs to it. */
export function moved(span: Span, edit: Edit): Span {
  const first = span.start - 1;
  const added = breaks(edit.text);
  const delta = added - (edit.end.line - edit.start.line);
  const endsBefore = edit.end.line < first || (edit.end.line === first && edit.end.character === 0);
  if (span.count === 0) {
    // A place: it goes along with what comes before it, and to the end of an edit that covers it.
    if (endsBefore) return { start: span.start + delta, count: 0 };
    if (edit.start.line >= first) return span;
    return { start: edit.start.line + added + 1, count: 0 };
  }
  const last = first + span.count - 1;
  if (edit.start.line > last) return span;
  // Text put in at the very beginning of a line pushes that line down, if it ends with a line break.
  const pushes = edit.start.line < first || edit.start.character === 0;
  if (endsBefore && pushes && (edit.start.line < first || /[\r\n]$/.test(edit.text) || edit.text === '')) {
    return { start: span.start + delta, count: span.count };
  }
  const from = Math.min(first, edit.start.line);
  const to = Math.max(last, edit.end.line) + delta;
  return { start: from + 1, count: Math.max(0, to - from + 1) };
}

/** Where a span is after the edits of one event, as an editor reports them: each in terms of the text before all. */
export function movedBy(span: Span, edits: readonly Edit[]): Span {
  const fromTheEnd = [...edits].sort((a, b) => b.start.line - a.start.line || b.start.character - a.start.character);
  return fromTheEnd.reduce(moved, span);
}

/** The line (0-based) at which a span is shown, in a text of `lines` lines. */
export function shownAt(span: Span, lines: number): number {
  return Math.max(0, Math.min(span.start - 1, lines - 1));
}

/** A place to go to: `line` is 0-based. */
export interface Place {
  uri: string;
  line: number;
}

function order(a: Place, b: Place): number {
  if (a.uri !== b.uri) return a.uri < b.uri ? -1 : 1;
  return a.line - b.line;
}

/**
 * The place after (`step` 1) or before (-1) the one where the person is, over all files by name; behind the last comes
 * the first. Without `at`, the first or the last.
 */
export function neighbour<P extends Place>(places: readonly P[], at: Place | undefined, step: 1 | -1): P | undefined {
  const sorted = [...places].sort(order);
  if (sorted.length === 0) return undefined;
  if (!at) return step === 1 ? sorted[0] : sorted[sorted.length - 1];
  if (step === 1) return sorted.find((place) => order(place, at) > 0) ?? sorted[0];
  return sorted.reverse().find((place) => order(place, at) < 0) ?? sorted[0];
}
