// What becomes of a `workspace/applyEdit`: applied to exactly the version it is for, or refused with a reason.
import type { TextEdit } from './protocol';

/** An open document, as far as an edit must know it. */
export interface EditedDocument {
  readonly version: number;
  readonly lineCount: number;
  /** The length of a line without its end (UTF-16 units). */
  lineLength(line: number): number;
}

/** What is to be done, or why nothing is. */
export type Plan =
  | { readonly uri: string; readonly version: number; readonly edits: readonly TextEdit[] }
  | { readonly refused: string };

interface Place {
  line: number;
  character: number;
}

const isWhole = (value: unknown): value is number => typeof value === 'number' && Number.isInteger(value) && value >= 0;

function placeOf(value: unknown): Place | undefined {
  const place = value as Partial<Place> | null | undefined;
  return isWhole(place?.line) && isWhole(place.character)
    ? { line: place.line, character: place.character }
    : undefined;
}

const isAfter = (a: Place, b: Place) => a.line > b.line || (a.line === b.line && a.character > b.character);

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

/**
 * Whether a plan fits the document as it is at this moment. VS Code would move a place outside of the text to its
 * nearest one, and so edit another one than was meant.
 */
export function refusal(
  plan: { version: number; edits: readonly TextEdit[] },
  document: EditedDocument,
): string | undefined {
  if (plan.version !== document.version)
    return `the edit is for version ${plan.version}, the document is at version ${document.version}`;
  const sorted = plan.edits
    .map((edit) => edit.range)
    .sort((a, b) => (isAfter(a.start, b.start) ? 1 : isAfter(b.start, a.start) ? -1 : isAfter(a.end, b.end) ? 1 : -1));
  let before: Place | undefined;
  for (const { start, end } of sorted) {
    if (isAfter(start, end)) return `the range ${written(start)}-${written(end)} is reversed`;
    for (const place of [start, end])
      if (place.line >= document.lineCount || place.character > document.lineLength(place.line))
        return `the place ${written(place)} is outside of the document`;
    if (before && isAfter(before, start)) return `two replacements overlap at ${written(start)}`;
    before = end;
  }
  return undefined;
}

const HALF = /[\uD800-\uDFFF]/;

/**
 * Whether VS Code could cut a character in two where one text takes the place of the other. It looks for what both have in
 * common by UTF-16 units, and does not see that two halves which are the same belong to different characters.
 */
export function mayCutCharacters(before: string, after: string): boolean {
  return HALF.test(before) && HALF.test(after);
}
