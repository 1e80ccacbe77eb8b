// VS Code's own TypeScript server can be asked about exactly the text of now, which nothing else in VS Code can. What it
// answers, as raw diagnostics.
import type { RawProblem } from './problems';
import type { Range } from './protocol';

/** The command of the built-in extension that passes a question on. */
export const COMMAND = 'typescript.tsserverRequest';
/** That extension. */
export const EXTENSION = 'vscode.typescript-language-features';
/** Together they are what the extension itself asks for. */
export const QUESTIONS = ['syntacticDiagnosticsSync', 'semanticDiagnosticsSync', 'suggestionDiagnosticsSync'] as const;

/** The source under which the extension shows all problems. */
export const SOURCE = 'ts';

/** The section of the settings for a language that the extension checks; undefined for others. */
export function sectionOf(language: string): 'typescript' | 'javascript' | undefined {
  switch (language) {
    case 'typescript':
    case 'typescriptreact':
      return 'typescript';
    case 'javascript':
    case 'javascriptreact':
      return 'javascript';
    default:
      return undefined;
  }
}

interface Spot {
  line: number;
  offset: number;
}

const isSpot = (value: unknown): value is Spot => {
  const spot = value as Partial<Spot> | null | undefined;
  return typeof spot?.line === 'number' && typeof spot.offset === 'number';
};

/** The server counts lines and UTF-16 units from 1. */
const rangeOf = (start: Spot, end: Spot): Range => ({
  start: { line: start.line - 1, character: start.offset - 1 },
  end: { line: end.line - 1, character: end.offset - 1 },
});

function severityOf(category: unknown): number {
  switch (category) {
    case 'error':
      return 1;
    case 'warning':
      return 2;
    default:
      return 4;
  }
}

/** Reads one answer; undefined where it is none. `uriOf` turns the server's file names into URIs. */
export function readAnswer(answer: unknown, uriOf: (file: string) => string): RawProblem[] | undefined {
  const { type, success, body } = (answer ?? {}) as { type?: unknown; success?: unknown; body?: unknown };
  if (type !== 'response' || success === false || !Array.isArray(body)) return undefined;
  const problems: RawProblem[] = [];
  for (const item of body as Record<string, unknown>[]) {
    const { start, end, text, code, category, reportsUnnecessary, reportsDeprecated, relatedInformation } = item;
    if (!isSpot(start) || !isSpot(end) || typeof text !== 'string') return undefined;
    const own = typeof item['source'] === 'string' ? item['source'] : SOURCE;
    const problem: RawProblem = {
      range: rangeOf(start, end),
      severity: severityOf(category),
      message: text,
      source: own,
    };
    if (typeof code === 'number') problem.code = code;
    const tags = [...(reportsUnnecessary ? [1] : []), ...(reportsDeprecated ? [2] : [])];
    if (tags.length > 0) problem.tags = tags;
    const related = Array.isArray(relatedInformation) ? (relatedInformation as Record<string, unknown>[]) : [];
    const found = related.flatMap(({ span, message }) => {
      const place = span as { file?: unknown; start?: unknown; end?: unknown } | undefined;
      if (typeof place?.file !== 'string' || !isSpot(place.start) || !isSpot(place.end)) return [];
      return [
        { location: { uri: uriOf(place.file), range: rangeOf(place.start, place.end) }, message: String(message) },
      ];
    });
    if (found.length > 0) problem.relatedInformation = found;
    problems.push(problem);
  }
  return problems;
}
