// Questions as steps: each is a choice or a text, one after the other, forth and back. Pure: a port shows the steps.
import type { AskAnswer, AskParams, AskResult } from '../protocol';

/** One step. */
export interface Step {
  /** A few words. */
  readonly title: string;
  /** The whole question. */
  readonly question: string;
  readonly options: readonly { readonly label: string; readonly description?: string }[];
  /** More than one option may be chosen. */
  readonly multiple: boolean;
  /** A text of the person's own is an answer, too. */
  readonly custom: boolean;
  /** The step can be passed over. */
  readonly optional: boolean;
  /** What the text is to begin with. */
  readonly initial?: string;
  /** Why a text or a choice is no answer. */
  readonly fault?: (answer: Answer) => string | undefined;
}

/** What the person answered in a step. */
export interface Answer {
  /** The options, by their 0-based place. */
  readonly selected: readonly number[];
  readonly text?: string;
}

/** How a step ended: with an answer, passed over, back to the one before, or all of it closed. */
export type Ended =
  { readonly kind: 'answer'; readonly answer: Answer } | { readonly kind: 'skip' | 'back' | 'cancel' };

/** Shows a step: its 0-based place, and what was answered in it before. */
export type Show = (step: Step, place: number, total: number, before: Answer | undefined) => Promise<Ended>;

/** Goes through all steps. Null stands for no answer. */
export async function walk(
  steps: readonly Step[],
  show: Show,
): Promise<{ answers: (Answer | null)[]; cancelled: boolean }> {
  const answers: (Answer | null)[] = steps.map(() => null);
  let place = 0;
  for (;;) {
    const step = steps[place];
    if (!step) return { answers, cancelled: false };
    const ended = await show(step, place, steps.length, answers[place] ?? undefined);
    switch (ended.kind) {
      case 'cancel':
        return { answers, cancelled: true };
      case 'back':
        place = Math.max(0, place - 1);
        break;
      case 'skip':
        answers[place] = null;
        place += 1;
        break;
      case 'answer':
        answers[place] = ended.answer;
        place += 1;
    }
  }
}

/** The steps of `ropewalk/ask`. */
export function askSteps(params: AskParams): Step[] {
  return params.questions.map((question) => ({
    title: question.header || 'An agent asks',
    question: question.question,
    options: question.options.map(({ label, description }) => (description ? { label, description } : { label })),
    multiple: question.multiple,
    custom: question.custom || question.options.length === 0,
    optional: true,
  }));
}

/** The answer to `ropewalk/ask`. An empty choice or text that was sent is an answer; none is none. */
export function askResult(result: { answers: (Answer | null)[]; cancelled: boolean }): AskResult {
  const answers = result.answers.map((answer): AskAnswer | null =>
    answer ? { selected: [...answer.selected], ...(answer.text === undefined ? {} : { text: answer.text }) } : null,
  );
  return result.cancelled ? { answers, cancelled: true } : { answers };
}
