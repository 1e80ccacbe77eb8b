// Changes and proposals on the screen: colours and signs beside the lines, the overview ruler, what was removed or
// would come instead as words behind the line and whole on hover, and code lenses.
import * as vscode from 'vscode';
import { key } from '../named';
import { asDiff, type Change, escaped, fenced, type Lens, lenses, lines, type Proposed, summary } from './model';
import { shownAt } from './spans';
import type { ReviewStore } from './store';

/** Words behind a line are cut at so many characters. */
const BEHIND = 80;

/**
 * VS Code forgets to ask for new lenses when the keyboard leaves the editor in the moments between its being told of them
 * and its asking. So it is told again where what it was given is not what there is: after so long (ms), and then each time
 * after twice as long, for one that is slow begins to wait anew with each telling.
 */
const AGAIN_MS = 1000;
/** The longest such wait (ms): one that has not asked by then shows no lenses, or has others to ask. */
const LAST_MS = 32_000;
/** What it was given it can drop, too, unseen by us; so it is told so many times in any case where there are lenses. */
const IN_ANY_CASE = 4;

function behind(text: string): string {
  const line = (lines(text).find((it) => it.trim() !== '') ?? '').replace(/[\r\n]+$/, '').trim();
  return line.length > BEHIND ? `${line.slice(0, BEHIND - 1)}…` : line;
}

function hover(head: string, before: string, after: string): vscode.MarkdownString {
  const text = new vscode.MarkdownString(`${escaped(head)}\n\n${fenced(asDiff(before, after), 'diff')}`);
  text.isTrusted = false;
  text.supportHtml = false;
  return text;
}

function rangeOf(document: vscode.TextDocument, span: { start: number; count: number }): vscode.Range {
  const first = shownAt(span, document.lineCount);
  const last = Math.min(document.lineCount - 1, Math.max(first, span.start - 1 + span.count - 1));
  return new vscode.Range(first, 0, last, document.lineAt(last).text.length);
}

/** What has lenses. */
const SELECTOR: vscode.DocumentSelector = [{ scheme: 'file' }, { scheme: 'untitled' }, { scheme: 'vscode-notebook-cell' }];

/** The setting of `ropewalk.review`, for the whole window. */
function wants(name: 'codeLens' | 'removedText'): boolean {
  return vscode.workspace.getConfiguration('ropewalk.review').get<boolean>(name, true);
}

export class ReviewScreen implements vscode.Disposable, vscode.CodeLensProvider {
  private readonly parts: vscode.Disposable[] = [];
  private readonly lensesChanged = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.lensesChanged.event;
  /** The lenses that VS Code was given last. */
  private readonly given = new WeakMap<vscode.TextDocument, string>();
  private again: NodeJS.Timeout | undefined;
  private readonly changed: vscode.TextEditorDecorationType;
  private readonly removed: vscode.TextEditorDecorationType;
  private readonly proposed: vscode.TextEditorDecorationType;

  constructor(
    private readonly store: ReviewStore,
    media: vscode.Uri,
  ) {
    const icon = (name: string) => vscode.Uri.joinPath(media, `${name}.svg`);
    const lane = vscode.OverviewRulerLane.Left;
    this.changed = vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      gutterIconPath: icon('changed'),
      gutterIconSize: 'contain',
      overviewRulerLane: lane,
      overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.addedForeground'),
      backgroundColor: new vscode.ThemeColor('diffEditor.insertedLineBackground'),
      rangeBehavior: vscode.DecorationRangeBehavior.ClosedOpen,
    });
    this.removed = vscode.window.createTextEditorDecorationType({
      gutterIconPath: icon('removed'),
      gutterIconSize: 'contain',
      overviewRulerLane: lane,
      overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.deletedForeground'),
    });
    this.proposed = vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      gutterIconPath: icon('proposed'),
      gutterIconSize: 'contain',
      overviewRulerLane: lane,
      overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.modifiedForeground'),
      borderStyle: 'dashed',
      borderWidth: '0 0 0 2px',
      borderColor: new vscode.ThemeColor('editorOverviewRuler.modifiedForeground'),
    });
    this.parts.push(
      this.changed,
      this.removed,
      this.proposed,
      this.lensesChanged,
      vscode.languages.registerCodeLensProvider(SELECTOR, this),
      store.onDidChange(() => this.draw()),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        this.paint();
        this.tellAgain(AGAIN_MS);
      }),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration('ropewalk.review')) this.draw();
      }),
    );
    this.draw();
  }

  dispose(): void {
    clearTimeout(this.again);
    for (const part of this.parts) part.dispose();
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const found = this.lensesOf(document);
    this.given.set(document, JSON.stringify(found));
    return found.map(
      (lens) =>
        new vscode.CodeLens(new vscode.Range(lens.line, 0, lens.line, 0), {
          title: lens.title,
          tooltip: lens.tooltip,
          command: lens.command,
          arguments: lens.arguments,
        }),
    );
  }

  private lensesOf(document: vscode.TextDocument): Lens[] {
    return wants('codeLens') ? lenses(key(document.uri), this.store.waiting, document.lineCount) : [];
  }

  private draw(): void {
    this.lensesChanged.fire();
    this.paint();
    this.tellAgain(AGAIN_MS);
  }

  /** Tells VS Code again of new lenses of what is on the screen, where it has not asked for them by then. */
  private tellAgain(wait: number, inAnyCase = IN_ANY_CASE): void {
    clearTimeout(this.again);
    if (wait > LAST_MS) return;
    this.again = setTimeout(() => {
      const shown = vscode.window.visibleTextEditors
        .map(({ document }) => document)
        .filter((document) => vscode.languages.match(SELECTOR, document) > 0)
        .map((document) => ({ document, there: JSON.stringify(this.lensesOf(document)) }));
      const missed = shown.some(({ document, there }) => (this.given.get(document) ?? '[]') !== there);
      const any = inAnyCase > 0 && shown.some(({ there }) => there !== '[]');
      if (!missed && !any) return;
      this.lensesChanged.fire();
      this.tellAgain(2 * wait, inAnyCase - 1);
    }, wait);
  }

  private paint(): void {
    for (const editor of vscode.window.visibleTextEditors) this.paintOne(editor);
  }

  private paintOne(editor: vscode.TextEditor): void {
    const uri = key(editor.document.uri);
    const changes = this.store.changesOf(uri).filter(({ info }) => !info.under);
    const [there, gone] = [
      changes.filter(({ span }) => span.count > 0),
      changes.filter(({ span }) => span.count === 0),
    ];
    editor.setDecorations(
      this.changed,
      there.map((change) => this.decoration(editor.document, change)),
    );
    editor.setDecorations(
      this.removed,
      gone.map((change) => this.decoration(editor.document, change)),
    );
    editor.setDecorations(
      this.proposed,
      this.store.proposalsOf(uri).map((it) => this.proposal(editor.document, it)),
    );
  }

  private decoration(document: vscode.TextDocument, { span, info }: Change): vscode.DecorationOptions {
    const what = summary(info.kind, info.before, info.after);
    const head = `Changed by the call ${info.callId} of ${info.sessionId}: ${what}`;
    const was = wants('removedText') && info.kind === 'changed' ? behind(info.before) : '';
    const count = lines(info.before).length;
    const more = count > 1 ? ` (${count} lines)` : '';
    return {
      range: rangeOf(document, span),
      hoverMessage: hover(head, info.before, info.now),
      ...(was === '' ? {} : { renderOptions: { after: note(`− ${was}${more}`) } }),
    };
  }

  private proposal(document: vscode.TextDocument, { span, info, sessionId }: Proposed): vscode.DecorationOptions {
    const what = summary(info.kind, info.before, info.after);
    const comes = behind(info.after);
    return {
      range: rangeOf(document, span),
      hoverMessage: hover(`Proposed by the call ${info.callId} of ${sessionId}: ${what}`, info.before, info.after),
      renderOptions: { after: note(info.kind === 'changed' && comes !== '' ? `→ ${comes} (${what})` : `→ ${what}`) },
    };
  }
}

function note(contentText: string): vscode.ThemableDecorationAttachmentRenderOptions {
  return {
    contentText,
    color: new vscode.ThemeColor('editorCodeLens.foreground'),
    fontStyle: 'italic',
    margin: '0 0 0 2em',
  };
}
