// What becomes of a `workspace/applyEdit`: applied to exactly the version it is for, or refused with a reason.
import type { TextEdit } from './protocol';

/** An open document, as far as an edit must know it. */
export interface EditedDocument {
  readonly version: number;
  readonly lineCount: number;
  /** A line without its end. */
  lineText(line: number): string;
}

/** What is to be done, or why nothing is. */
export type Plan =
  | { readonly uri: string; readonly version: number; readonly edits: readonly TextEdit[] }
  | { readonly refused: string };

/** A place: its line, and the UTF-16 units before it in that line; both count from 0. */
export interface Place {
  readonly line: number;
  readonly character: number;
}

const isWhole = (value: unknown): value is number => typeof value === 'number' && Number.isInteger(value) && value >= 0;

function placeOf(value: unknown): Place | undefined {
  const place = value as Partial<Place> | null | undefined;
  return isWhole(place?.line) && isWhole(place.character)
    ? { line: place.line, character: place.character }
    : undefined;
}

const isAfter = (a: Place, b: Place) => a.line > b.line || (a.line === b.line && a.character > b.character);
const isSame = (a: Place, b: Place) => a.line === b.line && a.character === b.character;

const written = (place: Place) => `${place.line}:${place.character}`;

/** Reads the one edit of one document that the params must hold. */
export function readEdit(params: unknown): Plan {
  const edit = (params as { edit?: { changes?: object; documentChanges?: unknown[] } } | null)?.edit;
  const changes = edit?.documentChanges;
  if (!edit || !Array.isArray(changes) || (edit.changes && Object.keys(edit.changes).length > 0))
    return { refused: 'only edits with versions (documentChanges) are applied' };
  const change = changes[0] as
    { kind?: unknown; textDocument?: { uri?: unknown; version?: unknown }; edits?: unknown } | undefined;
  if (changes.length !== 1 || !change || change.kind !== undefined || typeof change.textDocument?.uri !== 'string')
    return { refused: 'only edits of exactly one document are applied' };
  const { uri, version } = change.textDocument;
  if (typeof version !== 'number') return { refused: 'the edit names no version' };
  const edits: TextEdit[] = [];
  for (const one of Array.isArray(change.edits) ? (change.edits as unknown[]) : [undefined]) {
    const { range, newText } = (one ?? {}) as { range?: { start?: unknown; end?: unknown }; newText?: unknown };
    const start = placeOf(range?.start);
    const end = placeOf(range?.end);
    if (!start || !end || typeof newText !== 'string') return { refused: 'the edit cannot be read' };
    edits.push({ range: { start, end }, newText });
  }
  return { uri, version, edits };
}

/** Whether a place is between the two halves of one character. */
function isWithinCharacter(text: string, character: number): boolean {
  return (text.codePointAt(character - 1) ?? 0) > 0xffff;
}

const HALF = /\p{Surrogate}/u;

/** The edits in the order of their places; those at one place stay in the order in which they are given. */
function inOrder(edits: readonly TextEdit[]): TextEdit[] {
  return [...edits].sort(({ range: a }, { range: b }) => {
    if (!isSame(a.start, b.start)) return isAfter(a.start, b.start) ? 1 : -1;
    return isSame(a.end, b.end) ? 0 : isAfter(a.end, b.end) ? 1 : -1;
  });
}

/**
 * Whether a plan fits the document as it is at this moment. VS Code would move a place outside of the text, or within a
 * character, to its nearest one, and so edit another one than was meant.
 */
export function refusal(
  plan: { version: number; edits: readonly TextEdit[] },
  document: EditedDocument,
): string | undefined {
  if (plan.version !== document.version)
    return `the edit is for version ${plan.version}, the document is at version ${document.version}`;
  let before: Place | undefined;
  for (const { range, newText } of inOrder(plan.edits)) {
    const { start, end } = range;
    if (isAfter(start, end)) return `the range ${written(start)}-${written(end)} is reversed`;
    for (const place of [start, end]) {
      if (place.line >= document.lineCount) return `the place ${written(place)} is outside of the document`;
      const text = document.lineText(place.line);
      if (place.character > text.length) return `the place ${written(place)} is outside of the document`;
      if (isWithinCharacter(text, place.character)) return `the place ${written(place)} is within a character`;
    }
    if (HALF.test(newText)) return `the new text at ${written(start)} has half a character`;
    if (before && isAfter(before, start)) return `two replacements overlap at ${written(start)}`;
    before = end;
  }
  return undefined;
}

/** Where a place is after the edits; whether what is inserted exactly there comes before it. */
function afterEdits(place: Place, edits: readonly TextEdit[], alongWithInserted: boolean): Place {
  let lines = 0;
  // How far what follows the last edit in its line has moved.
  let last = { line: -1, units: 0 };
  for (const { range, newText } of inOrder(edits)) {
    const { start, end } = range;
    if (isAfter(end, place) || (isSame(start, place) && !alongWithInserted)) break;
    const pieces = newText.split(/\r\n|\r|\n/);
    const newEnd = (pieces.at(-1) ?? '').length;
    const before = pieces.length > 1 ? 0 : start.character + (start.line === last.line ? last.units : 0);
    lines += start.line - end.line + pieces.length - 1;
    last = { line: end.line, units: before + newEnd - end.character };
  }
  return { line: place.line + lines, character: place.character + (place.line === last.line ? last.units : 0) };
}

/**
 * Where VS Code takes a caret that stands exactly where something is inserted, and where it belongs: before what comes
 * after the text that the person was at. Undefined where it is left as it is. A caret at the begin of its line goes
 * along with that line, when whole lines come above it.
 */
export function takenAlong(caret: Place, edits: readonly TextEdit[]): { to: Place; from: Place } | undefined {
  const inserted = edits.filter(({ range }) => isSame(range.start, caret) && isSame(range.end, caret));
  const text = inserted.map(({ newText }) => newText).join('');
  if (text === '' || (caret.character === 0 && /[\r\n]$/.test(text))) return undefined;
  return { to: afterEdits(caret, edits, true), from: afterEdits(caret, edits, false) };
}
