// Diagnostics as VS Code has them, turned back into what language servers say: raw, by source, and only what changed.
import type * as vscode from 'vscode';
import type { Range } from './protocol';

/** A diagnostic of the Language Server Protocol; positions count UTF-16 units. */
export interface RawProblem {
  range: Range;
  severity: number;
  message: string;
  code?: string | number;
  codeDescription?: { href: string };
  source?: string;
  tags?: number[];
  relatedInformation?: { location: { uri: string; range: Range }; message: string }[];
}

/** The name of what names no source of its own. */
export const UNNAMED = 'unnamed';
/** Never sent back to where it came from. */
const OWN = 'ropewalk';
/** Sources that check no code: they are forwarded, but a language is not taken for served because of them. */
const NO_CHECKERS = new Set(['cSpell', 'LTeX', 'LanguageTool', 'Grammarly', 'markdownlint-todo']);

const rangeOf = ({ start, end }: vscode.Range): Range => ({
  start: { line: start.line, character: start.character },
  end: { line: end.line, character: end.character },
});

/** One diagnostic. */
export function raw(diagnostic: vscode.Diagnostic): RawProblem {
  const problem: RawProblem = {
    range: rangeOf(diagnostic.range),
    severity: diagnostic.severity + 1,
    message: diagnostic.message,
  };
  const { code } = diagnostic;
  if (typeof code === 'object') {
    problem.code = code.value;
    problem.codeDescription = { href: code.target.toString() };
  } else if (code !== undefined) problem.code = code;
  if (diagnostic.source !== undefined) problem.source = diagnostic.source;
  if (diagnostic.tags?.length) problem.tags = [...diagnostic.tags];
  if (diagnostic.relatedInformation?.length)
    problem.relatedInformation = diagnostic.relatedInformation.map(({ location, message }) => ({
      location: { uri: location.uri.toString(), range: rangeOf(location.range) },
      message,
    }));
  return problem;
}

/** Diagnostics by their source, each in the order in which they came. */
export function bySource(diagnostics: readonly vscode.Diagnostic[]): Map<string, RawProblem[]> {
  const groups = new Map<string, RawProblem[]>();
  for (const diagnostic of diagnostics) {
    const source = diagnostic.source || UNNAMED;
    if (source === OWN) continue;
    const group = groups.get(source);
    if (group) group.push(raw(diagnostic));
    else groups.set(source, [raw(diagnostic)]);
  }
  return groups;
}

/**
 * What was forwarded of each document. VS Code tells that something was said of a document, neither by whom nor what. A
 * source of which the same is said as before may have said nothing at all: it is not forwarded anew, for that would
 * pass for its word on the text of now. So silence stays silence, and is never taken for "no problems".
 */
export class Ledger {
  private readonly told = new Map<string, Map<string, string>>();

  /** Takes what is said of a document now; gives the sources whose word is another one than before. */
  update(uri: string, groups: ReadonlyMap<string, RawProblem[]>): [source: string, problems: RawProblem[]][] {
    const before = this.told.get(uri) ?? new Map<string, string>();
    const changed: [string, RawProblem[]][] = [];
    for (const source of new Set([...before.keys(), ...groups.keys()])) {
      const problems = groups.get(source) ?? [];
      const text = JSON.stringify(problems);
      if (before.get(source) === text) continue;
      before.set(source, text);
      changed.push([source, problems]);
    }
    if (before.size > 0) this.told.set(uri, before);
    return changed;
  }

  /** Everything counts as not forwarded: of one document, or of all. */
  forget(uri?: string): void {
    if (uri === undefined) this.told.clear();
    else this.told.delete(uri);
  }
}

/** Which sources have spoken of documents of a language. */
export class Sources {
  private readonly seen = new Map<string, Set<string>>();

  /** A source spoke of a document of this language. Whether that is new. */
  add(language: string, source: string): boolean {
    if (NO_CHECKERS.has(source)) return false;
    const known = this.seen.get(language) ?? new Set<string>();
    this.seen.set(language, known);
    if (known.has(source)) return false;
    known.add(source);
    return true;
  }

  /** Those of a language, sorted. */
  of(language: string): string[] {
    return [...(this.seen.get(language) ?? [])].sort();
  }
}
