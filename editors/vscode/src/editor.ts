// What the sidecar asks of the editor itself: saving and formatting; and what the person looks at, which it is told.
import * as vscode from 'vscode';
import { isServed, findDocument, openDocument } from './documents';
import type {
  DidChangeContextParams,
  FormatParams,
  FormatResult,
  Range,
  SaveFailure,
  SaveParams,
  SaveResult,
  TextEdit,
} from './protocol';
import type { Sidecar } from './sidecar';

/** What the person looks at is told when it has stayed so for this long (ms). */
const CONTEXT_MS = 150;

const rangeOf = (range: vscode.Range): Range => ({
  start: { line: range.start.line, character: range.start.character },
  end: { line: range.end.line, character: range.end.character },
});

/** Lets all that VS Code has told so far reach the sidecar before the answer does. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

async function saveOne(uri: string): Promise<string | undefined> {
  const document = findDocument(uri);
  if (!document) return 'the document is not open';
  if (document.isUntitled) return 'the document has no file yet: the person has to choose its name';
  if (!document.isDirty) return undefined;
  const notebook = vscode.workspace.notebookDocuments.find((candidate) =>
    candidate.getCells().some((cell) => cell.document === document),
  );
  if (notebook?.isUntitled) return 'the notebook has no file yet: the person has to choose its name';
  const saved = await (notebook ?? document).save();
  if (saved && !document.isDirty) return undefined;
  return saved ? 'the document was changed again while it was saved' : 'VS Code did not save the document';
}

/** `ropewalk/save` */
export async function save(params: SaveParams): Promise<SaveResult> {
  const failed: SaveFailure[] = [];
  for (const uri of params.uris) {
    let reason: string | undefined;
    try {
      reason = await saveOne(uri);
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    }
    if (reason !== undefined) failed.push({ uri, reason });
  }
  await settled();
  return { failed };
}

/** The settings of the document's language, as its editors have them. */
function formattingOptions(document: vscode.TextDocument): vscode.FormattingOptions {
  const shown = vscode.window.visibleTextEditors.find((editor) => editor.document === document)?.options;
  const settings = vscode.workspace.getConfiguration('editor', document);
  const size = shown?.tabSize ?? settings.get<number>('tabSize');
  const spaces = shown?.insertSpaces ?? settings.get<boolean>('insertSpaces');
  return {
    tabSize: typeof size === 'number' ? size : 4,
    insertSpaces: typeof spaces === 'boolean' ? spaces : true,
  };
}

/** Languages that a formatter has been seen at work for. */
const formatted = new Set<string>();

/** Whether somebody formats documents of this language: VS Code gives the same answer for "nobody" and "nothing to do". */
function hasFormatter(document: vscode.TextDocument): boolean {
  const chosen = vscode.workspace.getConfiguration('editor', document).get<string | null>('defaultFormatter');
  return formatted.has(document.languageId) || (!!chosen && vscode.extensions.getExtension(chosen) !== undefined);
}

/** `ropewalk/format` */
export async function format(params: FormatParams): Promise<FormatResult | null> {
  const document = openDocument(params.uri);
  const passed = () => new Error(`the document is at version ${document.version}, not ${params.version}`);
  if (document.version !== params.version) throw passed();
  const edits = await vscode.commands.executeCommand<vscode.TextEdit[] | undefined>(
    'vscode.executeFormatDocumentProvider',
    document.uri,
    formattingOptions(document),
  );
  if (document.isClosed || document.version !== params.version) throw passed();
  if (!edits || edits.length === 0) return hasFormatter(document) ? { edits: [] } : null;
  formatted.add(document.languageId);
  return { edits: edits.map((edit): TextEdit => ({ range: rangeOf(edit.range), newText: edit.newText })) };
}

/** The URIs of the documents that have a tab, each once, in the order of the tabs. */
function openEditors(): string[] {
  const uris = vscode.window.tabGroups.all.flatMap((group) =>
    group.tabs.flatMap(({ input }) => {
      if (input instanceof vscode.TabInputText || input instanceof vscode.TabInputNotebook)
        return [input.uri.toString()];
      if (input instanceof vscode.TabInputTextDiff) return [input.modified.toString()];
      return [];
    }),
  );
  return [...new Set(uris)];
}

/** What the person looks at now. */
export function context(): DidChangeContextParams {
  const editor = vscode.window.activeTextEditor;
  const shown = editor && isServed(editor.document.uri) ? editor : undefined;
  const visible = shown?.visibleRanges;
  const first = visible?.[0];
  const last = visible?.at(-1);
  return {
    uri: shown?.document.uri.toString() ?? null,
    selections: shown?.selections.map(rangeOf) ?? [],
    visibleRange: first && last ? rangeOf(first.union(last)) : null,
    openEditors: openEditors(),
  };
}

/** Answers requests to save and to format, and tells what the person looks at. */
export function serveEditor(sidecar: Sidecar): vscode.Disposable {
  sidecar.registerBeforeStart((capabilities) => {
    capabilities.save = true;
    capabilities.format = true;
  });
  sidecar.onRequest('ropewalk/save', save);
  sidecar.onRequest('ropewalk/format', format);
  let timer: NodeJS.Timeout | undefined;
  let told = '';
  const tell = () => {
    const now = context();
    const text = JSON.stringify(now);
    if (text === told || sidecar.state !== 'running') return;
    told = text;
    sidecar.notify('ropewalk/didChangeContext', now);
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(tell, CONTEXT_MS);
  };
  return vscode.Disposable.from(
    vscode.window.onDidChangeActiveTextEditor(soon),
    vscode.window.onDidChangeTextEditorSelection(soon),
    vscode.window.onDidChangeTextEditorVisibleRanges(soon),
    vscode.window.tabGroups.onDidChangeTabs(soon),
    sidecar.onDidChangeState((state) => {
      told = '';
      if (state === 'running') soon();
    }),
    { dispose: () => clearTimeout(timer) },
  );
}
