// `ropewalk/ask` and `ropewalk/elicit`: asks the person what a model or an MCP server wants to know, step by step.
//
// Such a question takes the keyboard. So it waits until the person has stopped typing for a moment, or asks for it; and
// a key that was meant for the text counts for nothing.
import * as vscode from 'vscode';
import type { AskParams, AskResult, ElicitAnswer, ElicitParams } from '../protocol';
import type { Sidecar } from '../sidecar';
import { oneLine, visible, wrapped } from '../text';
import { GUARD_MS, Queue } from './answers';
import { content, fields } from './form';
import { type Answer, askResult, askSteps, type Ended, type Show, type Step, walk } from './steps';
import type { Waiting } from './waiting';

/** The person has stopped typing when nothing was typed for so long (ms). */
const PAUSE_MS = 1200;
/** Questions longer than this are shown in lines above the options (UTF-16 units). */
const LINE = 88;

interface Item extends vscode.QuickPickItem {
  /** The option, or -1 for an answer in the person's own words. */
  readonly place?: number;
}

/** An answer within this time after it was asked for (ms) was meant for something else; it takes a while to be shown. */
const EARLY_MS = GUARD_MS + 300;

/** A line of the question itself above the options; choosing it does nothing. */
const lineItem = (label: string): Item => ({ label, alwaysShow: true });

interface Turn {
  readonly token: vscode.CancellationToken;
  readonly go: () => void;
}

export class Questions implements vscode.Disposable {
  private readonly queue = new Queue<Turn>();
  private readonly parts: vscode.Disposable[] = [];
  private typed = 0;
  private timer: NodeJS.Timeout | undefined;
  private busy: Turn | undefined;
  private reveal: (() => void) | undefined;

  constructor(private readonly waiting: Waiting) {
    this.parts.push(
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0 && document === vscode.window.activeTextEditor?.document) this.typed = Date.now();
      }),
    );
  }

  /** Shows the question that waits, now. Whether there is one. */
  focus(): boolean {
    this.typed = 0;
    this.next();
    this.reveal?.();
    return this.queue.length > 0;
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const part of this.parts) part.dispose();
  }

  /** The handler of `ropewalk/ask`. */
  async ask(params: AskParams, token: vscode.CancellationToken): Promise<AskResult> {
    return this.inTurn(token, { answers: [], cancelled: true }, async () =>
      askResult(await walk(askSteps(params), this.show(token))),
    );
  }

  /** The handler of `ropewalk/elicit`. */
  async elicit(params: ElicitParams, token: vscode.CancellationToken): Promise<ElicitAnswer> {
    return this.inTurn(token, { action: 'cancel' }, () =>
      params.mode === 'url' ? this.showPage(params, token) : this.fillIn(params, token),
    );
  }

  /** Asks whether something may be done: everything but a clear yes is a no. */
  async agree(title: string, question: string, yes: string, token: vscode.CancellationToken): Promise<boolean> {
    const options = [{ label: 'No' }, { label: yes }];
    const step: Step = { title, question, options, multiple: false, custom: false, optional: false };
    return this.inTurn(token, false, async () => {
      const { answers, cancelled } = await walk([step], this.show(token));
      return !cancelled && answers[0]?.selected[0] === 1;
    });
  }

  private async showPage(params: ElicitParams, token: vscode.CancellationToken): Promise<ElicitAnswer> {
    const url = params.url ?? '';
    const step: Step = {
      title: `The MCP server ${oneLine(params.server)} wants to show a page`,
      question: `${params.message}\n\n${url}`,
      options: [
        { label: 'Decline', description: 'The page is not opened' },
        { label: 'Open the page', description: 'In the browser' },
      ],
      multiple: false,
      custom: false,
      optional: false,
    };
    const { answers, cancelled } = await walk([step], this.show(token));
    const chosen = answers[0]?.selected[0];
    if (cancelled) return { action: 'cancel' };
    if (chosen !== 1) return { action: 'decline' };
    const opened = /^https?:/i.test(url) && (await vscode.env.openExternal(vscode.Uri.parse(url, true)));
    return { action: opened ? 'accept' : 'cancel' };
  }

  private async fillIn(params: ElicitParams, token: vscode.CancellationToken): Promise<ElicitAnswer> {
    const form = fields(params.requestedSchema);
    if (!form) throw new Error('the schema of the answer is none of plain fields');
    const whose = `The MCP server ${oneLine(params.server)} asks`;
    const begin: Step = {
      title: whose,
      question: params.message,
      options: [
        { label: 'Answer', description: form.length === 1 ? 'One field' : `${form.length} fields` },
        { label: 'Decline', description: 'It is told that you do not answer' },
      ],
      multiple: false,
      custom: false,
      optional: false,
    };
    const steps = [begin, ...form.map(({ step }) => ({ ...step, title: `${whose}: ${step.title}` }))];
    let declined = false;
    const show = this.show(token);
    const { answers, cancelled } = await walk(steps, async (step, place, total, before): Promise<Ended> => {
      const ended = await show(step, place, total, before);
      declined = place === 0 && ended.kind === 'answer' && ended.answer.selected[0] === 1;
      return declined ? { kind: 'cancel' } : ended;
    });
    if (declined) return { action: 'decline' };
    if (cancelled) return { action: 'cancel' };
    return { action: 'accept', content: content(form, answers.slice(1)) };
  }

  /** One question after the other, each when the person does not type. */
  private inTurn<T>(token: vscode.CancellationToken, takenBack: T, run: () => Promise<T>): Promise<T> {
    if (token.isCancellationRequested) return Promise.resolve(takenBack);
    return new Promise((resolve, reject) => {
      const finish = () => {
        taken.dispose();
        this.queue.remove(turn);
        if (this.busy === turn) this.busy = undefined;
        this.waiting.set('ask', this.queue.length);
        this.next();
      };
      const turn: Turn = { token, go: () => void run().then(resolve, reject).finally(finish) };
      const taken = token.onCancellationRequested(() => {
        if (this.busy === turn) return;
        resolve(takenBack);
        finish();
      });
      this.queue.add(turn);
      this.waiting.set('ask', this.queue.length);
      this.next();
    });
  }

  private next(): void {
    clearTimeout(this.timer);
    const { first } = this.queue;
    if (!first || this.busy) return;
    const rest = this.typed + PAUSE_MS - Date.now();
    if (rest > 0) {
      this.timer = setTimeout(() => this.next(), rest);
      return;
    }
    this.busy = first;
    first.go();
  }

  /** Shows steps by VS Code's own means. */
  private show(token: vscode.CancellationToken): Show {
    return async (step, place, total, before) => {
      if (token.isCancellationRequested) return { kind: 'cancel' };
      if (step.options.length === 0) return this.write(step, place, total, before, token);
      const ended = await this.choose(step, place, total, before, token);
      if (ended.kind !== 'answer' || !ended.answer.selected.includes(-1)) return ended;
      const selected = ended.answer.selected.filter((option) => option >= 0);
      const words = await this.write(step, place, total, before, token);
      if (words.kind === 'back') return this.show(token)(step, place, total, { selected });
      if (words.kind !== 'answer') return words;
      return { kind: 'answer', answer: { selected, text: words.answer.text ?? '' } };
    };
  }

  private choose(
    step: Step,
    place: number,
    total: number,
    before: Answer | undefined,
    token: vscode.CancellationToken,
  ): Promise<Ended> {
    const input = vscode.window.createQuickPick<Item>();
    const long = step.question.length > LINE || step.question.includes('\n');
    const options = step.options.map(({ label, description }, index): Item => ({
      label: visible(label),
      ...(description ? { detail: oneLine(description) } : {}),
      place: index,
    }));
    const own: Item[] = step.custom ? [{ label: 'Answer in your own words...', place: -1 }] : [];
    // Since 1.108 VS Code shows a prompt that may be of any length; before, a long question is put above the options.
    const prompted = input as { prompt?: string };
    const above = 'prompt' in input ? [] : long ? wrapped(step.question, LINE).map(lineItem) : [];
    if ('prompt' in input) prompted.prompt = visible(step.question);
    input.items = [...above, ...options, ...own];
    input.canSelectMany = step.multiple;
    input.placeholder =
      'prompt' in input || long ? 'Choose, or press Escape to close the question' : oneLine(step.question);
    input.matchOnDetail = true;
    if (step.multiple)
      input.selectedItems = input.items.filter(
        (item) => item.place !== undefined && before?.selected.includes(item.place),
      );
    input.activeItems = options.slice(0, 1);
    // An option that was clicked and did not count is the list's choice all the same: to be chosen once more, and heard of,
    // it has to be another one.
    const anew = () => {
      if (step.multiple) return;
      const [...items] = input.items;
      input.items = items.map((item) => ({ ...item }));
      input.activeItems = input.items.filter(({ place: option }) => option === 0);
    };
    return this.open(input, step, place, total, token, anew, () => {
      const chosen = (step.multiple ? input.selectedItems : input.selectedItems.slice(0, 1)).flatMap(
        (item) => item.place ?? [],
      );
      if (!step.multiple && chosen.length === 0) return undefined;
      return { selected: chosen };
    });
  }

  private write(
    step: Step,
    place: number,
    total: number,
    before: Answer | undefined,
    token: vscode.CancellationToken,
  ): Promise<Ended> {
    const input = vscode.window.createInputBox();
    input.prompt = visible(step.question);
    input.value = before?.text ?? step.initial ?? '';
    const answer = (): Answer => ({ selected: [], text: input.value });
    const judge = () => {
      input.validationMessage = step.options.length === 0 ? step.fault?.(answer()) : undefined;
    };
    input.onDidChangeValue(judge);
    return this.open(input, step, place, total, token, undefined, answer, judge);
  }

  private open(
    input: vscode.QuickInput & {
      onDidAccept: vscode.Event<void>;
      onDidChangeValue: vscode.Event<string>;
      onDidTriggerButton: vscode.Event<vscode.QuickInputButton>;
      buttons: readonly vscode.QuickInputButton[];
    },
    step: Step,
    place: number,
    total: number,
    token: vscode.CancellationToken,
    anew: (() => void) | undefined,
    answer: () => Answer | undefined,
    judge?: () => void,
  ): Promise<Ended> {
    const skip: vscode.QuickInputButton = {
      iconPath: new vscode.ThemeIcon('debug-step-over'),
      tooltip: 'Leave this one unanswered',
    };
    input.title = oneLine(step.title);
    if (total > 1) {
      input.step = place + 1;
      input.totalSteps = total;
    }
    input.ignoreFocusOut = true;
    const asks = step.options.length > 0 && judge !== undefined;
    input.buttons = [...(place > 0 || asks ? [vscode.QuickInputButtons.Back] : []), ...(step.optional ? [skip] : [])];
    return new Promise((resolve) => {
      let from = Date.now() + EARLY_MS;
      // Who types into something else goes on for a moment: what is typed then is no answer before it has paused.
      input.onDidChangeValue(() => {
        if (Date.now() < from) from = Date.now() + EARLY_MS;
      });
      const end = (ended: Ended) => {
        taken.dispose();
        this.reveal = undefined;
        resolve(ended);
        input.dispose();
      };
      const taken = token.onCancellationRequested(() => end({ kind: 'cancel' }));
      input.onDidAccept(() => {
        if (Date.now() < from) return anew?.();
        const given = answer();
        const fault = given && step.fault?.(given);
        if (fault !== undefined) {
          if (judge) judge();
          else input.title = `${oneLine(step.title)}: ${fault}`;
          anew?.();
        } else if (given) end({ kind: 'answer', answer: given });
      });
      input.onDidTriggerButton((button) => end({ kind: button === vscode.QuickInputButtons.Back ? 'back' : 'skip' }));
      input.onDidHide(() => end({ kind: 'cancel' }));
      this.reveal = () => input.show();
      input.show();
    });
  }
}

/** Lets the sidecar ask questions. */
export function serveQuestions(sidecar: Sidecar, waiting: Waiting): Questions {
  const questions = new Questions(waiting);
  sidecar.registerBeforeStart((capabilities) => {
    capabilities.ask = true;
    capabilities.elicit = true;
  });
  sidecar.onRequest('ropewalk/ask', (params, token) => questions.ask(params, token));
  sidecar.onRequest('ropewalk/elicit', (params, token) => questions.elicit(params, token));
  return questions;
}
