// Review: what agents changed or propose, judged hunk by hunk. Puts the parts together and gives them commands.
import * as vscode from 'vscode';
import { key, named, parsed, words } from '../named';
import type { Sidecar } from '../sidecar';
import { summary } from './model';
import { ReviewScreen } from './screen';
import { neighbour, shownAt } from './spans';
import { ReviewStore } from './store';
import { aboutOf, BASE, Edited, EDITED, ours, PROPOSED, Texts } from './texts';
import { here, type Reach, Verdicts, which } from './verdicts';

/** What other parts use of it. */
export interface Review {
  readonly store: ReviewStore;
  readonly verdicts: Verdicts;
}

export function registerReview(context: vscode.ExtensionContext, sidecar: Sidecar): Review {
  const store = new ReviewStore(sidecar);
  const verdicts = new Verdicts(sidecar, store);
  const edited = new Edited();
  context.subscriptions.push(
    store,
    edited,
    new ReviewScreen(store, vscode.Uri.joinPath(context.extensionUri, 'media')),
    new Texts(sidecar, store),
    store.onDidChange(() => setContext(store)),
    vscode.window.onDidChangeActiveTextEditor(() => setContext(store)),
    ...commands(sidecar, store, verdicts, edited),
  );
  setContext(store);
  return { store, verdicts };
}

/** For the `when` clauses of commands and menus: what there is to judge, at all and in the file that is looked at. */
function setContext(store: ReviewStore): void {
  const uri = here()?.uri;
  const set = (name: string, value: boolean) =>
    void vscode.commands.executeCommand('setContext', `ropewalk.${name}`, value);
  set('hasChanges', store.waiting.changes.length > 0);
  set('hasProposals', store.waiting.proposals.length > 0);
  set('hasUndos', store.waiting.undos.length > 0);
  set('fileHasChanges', uri !== undefined && store.changesOf(uri).length > 0);
  set('fileHasProposals', uri !== undefined && store.proposalsOf(uri).length > 0);
}

/** What can be said of hunks, and of which. */
const JUDGEMENTS = [
  ['keep', 'changes'],
  ['undo', 'changes'],
  ['accept', 'proposals'],
  ['reject', 'proposals'],
] as const;

const NOTHING_HERE = 'Ropewalk: nothing of that waits at the cursor.';
const say = (text: string) => vscode.window.setStatusBarMessage(text, 4000);

function commands(sidecar: Sidecar, store: ReviewStore, verdicts: Verdicts, edited: Edited): vscode.Disposable[] {
  const on = (name: string, run: (argument: unknown) => unknown) =>
    vscode.commands.registerCommand(`ropewalk.${name}`, run);
  const reaches: [string, Reach][] = [
    ['', 'hunk'],
    ['File', 'file'],
    ['Call', 'call'],
    ['Session', 'session'],
  ];
  return [
    ...reaches.flatMap(([suffix, reach]) =>
      JUDGEMENTS.map(([verb, kind]) =>
        on(`${verb}${suffix}`, async (argument) => {
          const what = which(argument) ?? verdicts.at(kind, reach);
          return what ? verdicts[verb](what) : say(NOTHING_HERE);
        }),
      ),
    ),
    on('keepAll', () => verdicts.keep({})),
    on('undoAll', async () => {
      const count = store.waiting.changes.length;
      const undo = 'Undo';
      const question = `Undo all ${count} changes of agents, in all files?`;
      if ((await vscode.window.showWarningMessage(question, { modal: true }, undo)) === undo) await verdicts.undo({});
    }),
    on('restoreUndone', () => restore(store, verdicts)),
    on('rejectWithWords', async (argument) => {
      const what = which(argument) ?? verdicts.at('proposals', 'hunk');
      if (!what) return say(NOTHING_HERE);
      const feedback = await vscode.window.showInputBox({
        title: 'Reject the proposal',
        prompt: 'What the model is to be told',
        placeHolder: 'Keep the names as they are.',
        ignoreFocusOut: true,
      });
      return feedback === undefined ? undefined : verdicts.reject(what, feedback === '' ? undefined : feedback);
    }),
    on('nextChange', () => go(store, verdicts, 1)),
    on('previousChange', () => go(store, verdicts, -1)),
    on('showDiff', (argument) => showDiff(store, which(argument)?.uri ?? here()?.uri)),
    on('showProposal', (argument) => {
      const what = which(argument) ?? verdicts.at('proposals', 'file');
      return what?.uri === undefined ? say(NOTHING_HERE) : showProposal(store, what.uri, what.sessionId);
    }),
    on('editProposal', (argument) => {
      const what = which(argument) ?? verdicts.at('proposals', 'file');
      return what?.uri === undefined ? say(NOTHING_HERE) : editProposal(sidecar, edited, what.uri, what.sessionId);
    }),
    on('acceptEdited', () => acceptEdited(edited, verdicts)),
    on('reveal', (argument) => {
      const what = which(argument);
      return what?.uri === undefined ? undefined : verdicts.reveal(what.uri, what.hunkId);
    }),
  ];
}

/** The next or the previous change or proposal, over all files. */
async function go(store: ReviewStore, verdicts: Verdicts, step: 1 | -1): Promise<void> {
  const { changes, proposals } = store.waiting;
  const places = [...changes.filter(({ info }) => !info.under && info.kind !== 'deleted'), ...proposals].map((it) => ({
    uri: it.uri,
    line: shownAt(it.span, Number.MAX_SAFE_INTEGER),
    hunkId: it.info.hunkId,
  }));
  const to = neighbour(places, here(), step);
  if (!to) say('Ropewalk: no change waits.');
  else await verdicts.reveal(to.uri, to.hunkId);
}

async function restore(store: ReviewStore, verdicts: Verdicts): Promise<void> {
  store.refresh();
  await store.settled();
  const items = [...store.waiting.undos].reverse().map(({ undoId, uris }) => ({
    label: uris.map(named).join(', '),
    description: undoId,
    undoId,
  }));
  if (items.length === 0) return void say('Ropewalk: there is no undo to take back.');
  const chosen =
    items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { title: 'Bring back what was undone' });
  if (chosen) await verdicts.undo({ undoId: chosen.undoId });
}

async function diff(left: vscode.Uri, right: vscode.Uri, title: string): Promise<void> {
  await vscode.commands.executeCommand('vscode.diff', left, right, title, { preview: true });
}

/** A document beside its text before the changes under review. */
async function showDiff(store: ReviewStore, uri: string | undefined): Promise<void> {
  const changes = uri === undefined ? [] : store.changesOf(key(uri));
  if (uri === undefined || changes.length === 0) return void say('Ropewalk: nothing was changed here.');
  const gone = changes.some(({ info }) => info.kind === 'deleted');
  const right = gone ? ours(PROPOSED, { uri, empty: true }) : parsed(uri);
  const counted = changes.length === 1 ? '1 change' : `${changes.length} changes`;
  await diff(ours(BASE, { uri }), right, `${named(uri)} (${counted} by agents)`);
}

/** A document beside what a session proposes for it. */
async function showProposal(store: ReviewStore, uri: string, sessionId: string | undefined): Promise<void> {
  const proposals = store.proposalsOf(key(uri), sessionId);
  const first = proposals[0];
  if (!first) return void say('Ropewalk: nothing is proposed here.');
  const kinds = proposals.map(({ info }) => info.kind);
  const left = kinds.includes('created') ? ours(BASE, { uri, empty: true }) : parsed(uri);
  const right = kinds.includes('deleted')
    ? ours(PROPOSED, { uri, empty: true })
    : ours(PROPOSED, { uri: first.movedTo ?? uri, sessionId: first.sessionId });
  const what =
    proposals.length === 1
      ? summary(first.info.kind, first.info.before, first.info.after)
      : `${proposals.length} hunks`;
  await diff(left, right, `${named(uri)} (proposed: ${what})`);
}

/** A document beside a copy of what is proposed, to be changed and then accepted. */
async function editProposal(
  sidecar: Sidecar,
  edited: Edited,
  uri: string,
  sessionId: string | undefined,
): Promise<void> {
  try {
    const session = sessionId === undefined ? {} : { sessionId };
    const { text } = await sidecar.request('ropewalk/documentText', { uri, ...session });
    const copy = ours(EDITED, { uri, ...session });
    edited.put(copy, text);
    const left = await vscode.workspace.fs.stat(parsed(uri)).then(
      () => parsed(uri),
      () => ours(BASE, { uri, empty: true }),
    );
    const open = vscode.workspace.textDocuments.some((it) => key(it.uri) === key(uri));
    await diff(open ? parsed(uri) : left, copy, `${named(uri)} (edit, then accept)`);
  } catch (error) {
    void vscode.window.showErrorMessage(`Ropewalk: ${words(error)}`);
  }
}

/** Accepts the proposal with the text of the copy that is looked at. */
async function acceptEdited(edited: Edited, verdicts: Verdicts): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  const about = document?.uri.scheme === EDITED ? aboutOf(document.uri) : undefined;
  if (!document || !about) return void say('Ropewalk: this is no proposal that is being edited.');
  const what = { uri: about.uri, ...(about.sessionId === undefined ? {} : { sessionId: about.sessionId }) };
  if (!(await verdicts.accept(what, document.getText()))) return;
  await document.save();
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  await vscode.window.tabGroups.close(
    tabs.filter(({ input }) => {
      const uri =
        input instanceof vscode.TabInputTextDiff
          ? input.modified
          : input instanceof vscode.TabInputText
            ? input.uri
            : undefined;
      return uri?.toString() === document.uri.toString();
    }),
  );
  edited.drop(document.uri);
}
