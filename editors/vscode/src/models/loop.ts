// An agent: a model that is asked, calls tools, sees their results, and is asked again until it answers in words.
// Model and tools are ports; nothing here knows an editor.
import type { Content } from '../protocol';

/** A tool as a model is told of it. */
export interface Tool {
  name: string;
  description: string;
  inputSchema?: object;
}

/** What a model wants to be run. */
export interface Wanted {
  callId: string;
  name: string;
  input: object;
}

export interface Ran {
  callId: string;
  content: Content[];
  isError: boolean;
}

/** One turn of a conversation. */
export type Turn =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text: string; calls: Wanted[] }
  | { role: 'results'; results: Ran[] };

/** A piece of what a model says. */
export type Piece = { kind: 'text'; text: string } | { kind: 'call'; call: Wanted };

export interface Model {
  /** Asks the model; its answer comes in pieces. */
  ask(turns: readonly Turn[], tools: readonly Tool[]): AsyncIterable<Piece>;
}

export interface Tools {
  /** The tools that there are now; asked before each round, for they may change. */
  list(): Promise<Tool[]>;
  /** Runs calls, and gives their results in the order of the calls. */
  run(calls: readonly Wanted[]): Promise<Ran[]>;
}

export interface Ended {
  output: string;
  status: 'completed' | 'failed' | 'cancelled';
}

export interface Task {
  model: Model;
  tools: Tools;
  /** The conversation so far; what is said goes on in it. It ends with what the model is to answer. */
  turns: Turn[];
  /** The model is asked at most so often. */
  rounds: number;
  cancelled(): boolean;
  /** What the model says, as it says it. */
  said?(text: string): void;
}

const message = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Runs an agent to its end. Never throws: what goes wrong is how it ended. */
export async function run(task: Task): Promise<Ended> {
  let spoken = '';
  for (let round = 0; round < task.rounds; round += 1) {
    if (task.cancelled()) return { output: spoken, status: 'cancelled' };
    let text = '';
    const calls: Wanted[] = [];
    try {
      const tools = await task.tools.list();
      for await (const piece of task.model.ask(task.turns, tools)) {
        if (task.cancelled()) return { output: spoken + text, status: 'cancelled' };
        if (piece.kind === 'text') {
          text += piece.text;
          task.said?.(piece.text);
        } else calls.push(piece.call);
      }
    } catch (error) {
      if (task.cancelled()) return { output: spoken + text, status: 'cancelled' };
      return { output: joined(spoken, text, `The model could not be asked: ${message(error)}`), status: 'failed' };
    }
    task.turns.push({ role: 'assistant', text, calls });
    if (calls.length === 0) {
      // What it says in the end is the answer; what it said on its way was for itself.
      return text.trim() === ''
        ? { output: joined(spoken, '', 'The model ended without an answer.'), status: 'failed' }
        : { output: text, status: 'completed' };
    }
    spoken = joined(spoken, text);
    try {
      const results = await task.tools.run(calls);
      task.turns.push({ role: 'results', results });
    } catch (error) {
      // A conversation in which a call has no result cannot be gone on with: each gets the reason for one.
      const reason: Content = { type: 'text', text: `The call was not run: ${message(error)}` };
      task.turns.push({
        role: 'results',
        results: calls.map(({ callId }) => ({ callId, content: [reason], isError: true })),
      });
      if (task.cancelled()) return { output: spoken, status: 'cancelled' };
      return { output: joined(spoken, '', `Its calls could not be run: ${message(error)}`), status: 'failed' };
    }
  }
  if (task.cancelled()) return { output: spoken, status: 'cancelled' };
  return {
    output: joined(spoken, '', `It was stopped after ${task.rounds} rounds without an answer.`),
    status: 'failed',
  };
}

function joined(...parts: string[]): string {
  return parts
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join('\n\n');
}
