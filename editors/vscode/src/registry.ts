// Tools of other extensions: which there are, who runs them, and what is to be registered with a new sidecar. Plain
// data; nothing here knows an editor.
import type { Registered, RunToolResult, ToolDefinition } from './protocol';

/** A tool with what runs it. */
export interface Owned<Run> {
  definition: ToolDefinition;
  run: Run;
}

/** One registration: tools that came together and go together. */
export interface Batch<Run> {
  tools: Owned<Run>[];
}

/** All registrations, in their order. */
export class Registry<Run> {
  private readonly batches: Batch<Run>[] = [];

  add(tools: readonly Owned<Run>[]): Batch<Run> {
    const batch = { tools: [...tools] };
    this.batches.push(batch);
    return batch;
  }

  /** The names that are to be unregistered with a batch: those that no other one has. */
  remove(batch: Batch<Run>): string[] {
    const at = this.batches.indexOf(batch);
    if (at < 0) return [];
    this.batches.splice(at, 1);
    return batch.tools.map((it) => it.definition.name).filter((name) => this.find(name) === undefined);
  }

  /** What runs a tool: of two with the same name the one that came first, as the sidecar has it. */
  find(name: string): Run | undefined {
    for (const batch of this.batches) {
      const found = batch.tools.find((it) => it.definition.name === name);
      if (found) return found.run;
    }
    return undefined;
  }

  all(): readonly Batch<Run>[] {
    return this.batches;
  }
}

/** Splits tools into what the sidecar is told and what runs them. */
export function owned<Args extends unknown[], Result>(
  tools: readonly (ToolDefinition & { run(...args: Args): Result })[],
): Owned<(...args: Args) => Result>[] {
  return tools.map((tool) => {
    const { run, ...definition } = tool;
    return { definition, run: (...args) => run.apply(tool, args) };
  });
}

/** What a handler gave as an answer of `ropewalk/runTool`. */
export function answerOf(given: RunToolResult | string): RunToolResult {
  return typeof given === 'string' ? { content: [{ type: 'text', text: given }] } : given;
}

/**
 * The same answer, where it is one that can be sent. Throws where it is not: one that the connection cannot write as
 * JSON would never arrive, and its call would wait for it.
 */
export function sendable(answer: RunToolResult): RunToolResult {
  if (JSON.stringify(answer) === undefined) throw new Error('The tool gave no answer.');
  return answer;
}

/** What a handler threw as an answer: the model is told, the call has failed. */
export function failureOf(error: unknown): RunToolResult {
  return { content: [{ type: 'text', text: error instanceof Error ? error.message : String(error) }], isError: true };
}

/** What is to be told to the person of tools that did not get in. */
export function refused(registered: readonly Registered[]): string[] {
  return registered.filter((it) => it.status !== 'registered').map((it) => `${it.name}: ${it.reason ?? it.status}`);
}
