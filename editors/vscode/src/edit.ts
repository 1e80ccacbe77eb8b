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

/**
 * The same edits, so that VS Code leaves every caret before what comes right behind it: one where something is inserted
 * would go along with it, one before something that is replaced stays. So the character behind such a place becomes a
 * part of the edit. Where whole lines come above a line, the carets in it go along with their line. At the very end of
 * the document there is no such character.
 */
export function withCaretsLeft(edits: readonly TextEdit[], document: EditedDocument, eol: string): TextEdit[] {
  const sorted = inOrder(edits);
  return sorted.map((edit, index) => {
    const { start, end } = edit.range;
    if (!isSame(start, end) || edit.newText === '') return edit;
    if (start.character === 0 && /[\r\n]$/.test(edit.newText)) return edit;
    const character = document.lineText(start.line).codePointAt(start.character);
    if (character === undefined && start.line + 1 >= document.lineCount) return edit;
    const text = character === undefined ? eol : String.fromCodePoint(character);
    const next =
      character === undefined
        ? { line: start.line + 1, character: 0 }
        : { line: start.line, character: start.character + text.length };
    const [before, after] = [sorted[index - 1], sorted[index + 1]];
    const isFree = (!before || isAfter(start, before.range.end)) && (!after || isAfter(after.range.start, next));
    return isFree && !HALF.test(text) ? { range: { start, end: next }, newText: edit.newText + text } : edit;
  });
}
