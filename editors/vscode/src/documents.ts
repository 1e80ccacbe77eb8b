// The documents that the sidecar has: which they are, edits of them, and their texts where they are asked for. They are
// synchronised by the language client's own didOpen, didChange, didSave and didClose; cells of notebooks are documents
// of their own.
import * as vscode from 'vscode';
import { type EditedDocument, readEdit, refusal, withCaretsLeft } from './edit';
import type { DocumentParams, Resync, TextEdit } from './protocol';
import { readOnlyBy } from './readonly';
import { SCHEMES, type Sidecar } from './sidecar';

/** VS Code gives extensions no document above this size (bytes). */
const LARGEST = 50 * 1024 * 1024;

/** Whether a document of this URI is synchronised. */
export function isServed(uri: vscode.Uri): boolean {
  return SCHEMES.some((scheme) => scheme === uri.scheme);
}

/** The open document that the sidecar calls so. */
export function findDocument(uri: string): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find((document) => !document.isClosed && document.uri.toString() === uri);
}

/** The same, for handlers of requests: throws where there is none. */
export function openDocument(uri: string): vscode.TextDocument {
  const document = findDocument(uri);
  if (!document) throw new Error(`not open: ${uri}`);
  return document;
}

/** The answer to `workspace/applyEdit`. */
export interface EditAnswer {
  applied: boolean;
  failureReason?: string;
}

const refuse = (failureReason: string): EditAnswer => ({ applied: false, failureReason });

/** What is applied: edits of exactly one version of a document. */
interface Edits {
  readonly version: number;
  readonly edits: readonly TextEdit[];
}

const rangeOf = ({ range: { start, end } }: TextEdit) =>
  new vscode.Range(start.line, start.character, end.line, end.character);

const asEdited = (document: vscode.TextDocument): EditedDocument => ({
  version: document.version,
  lineCount: document.lineCount,
  lineText: (line) => document.lineAt(line).text,
});

/**
 * Edits through an editor that shows the document. VS Code compares the version at the moment of the edit, makes of it
 * one step of undo, and lets the carets stay before what takes the place of the text behind them. An editor that nobody
 * may write in says that it has done so, and leaves the text as it is; one that was closed meanwhile does nothing.
 */
async function editShown(
  document: vscode.TextDocument,
  { version, edits }: Edits,
): Promise<'edited' | 'readOnly' | 'nothing'> {
  const editors = vscode.window.visibleTextEditors.filter((shown) => shown.document === document);
  const editor = editors.find((shown) => shown === vscode.window.activeTextEditor) ?? editors[0];
  if (!editor) return 'nothing';
  const eol = document.eol === vscode.EndOfLine.CRLF ? '\r\n' : '\n';
  const exact = withCaretsLeft(edits, asEdited(document), eol);
  const edited = editor.edit(
    (builder) => {
      for (const edit of exact) builder.replace(rangeOf(edit), edit.newText);
    },
    { undoStopBefore: true, undoStopAfter: true },
  );
  const applied = await edited.then(
    (done) => done,
    () => false,
  );
  if (!applied) return 'nothing';
  return document.version === version ? 'readOnly' : 'edited';
}

/** Edits a document that no editor shows. */
function editHidden(document: vscode.TextDocument, { edits }: Edits): Thenable<boolean> {
  const edit = new vscode.WorkspaceEdit();
  // An edit of the active editor's document is reduced to the UTF-16 units that differ, which may be half a character
  // of each of its two, and then does damage. One that has a description of its own is applied as it is.
  const description = { label: 'Ropewalk', needsConfirmation: false };
  for (const one of edits) edit.replace(document.uri, rangeOf(one), one.newText, description);
  return vscode.workspace.applyEdit(edit);
}

/**
 * Applies an edit of one open document, as one step of undo. No document is opened for it: the sidecar changes files
 * that are not open on the disk.
 */
export async function applyEdit(params: unknown): Promise<EditAnswer> {
  const plan = readEdit(params);
  if ('refused' in plan) return refuse(plan.refused);
  const document = findDocument(plan.uri);
  if (!document) return refuse(`the document is not open: ${plan.uri}`);
  const reason = refusal(plan, asEdited(document));
  if (reason !== undefined) return refuse(reason);
  if (plan.edits.length === 0) return { applied: true };
  const setting = readOnlyBy(document);
  if (setting !== undefined) return refuse(`the document is read-only by the setting ${setting}`);
  // Nothing may be awaited between a look at the version and the call that edits: VS Code notes the version it is made
  // at, and refuses the edit where the text has changed on its way to the buffer.
  const shown = await editShown(document, plan);
  if (shown === 'edited') return { applied: true };
  if (shown === 'readOnly') return refuse('VS Code shows the document as read-only');
  if (document.isClosed) return refuse(`the document is not open: ${plan.uri}`);
  if (document.version === plan.version && (await editHidden(document, plan))) return { applied: true };
  return refuse(
    document.version === plan.version
      ? 'VS Code did not apply the edit'
      : 'the document changed while the edit was on its way: ' +
          `it was for version ${plan.version}, and is at ${document.version}`,
  );
}

/** `ropewalk/resync` */
export function resync(params: DocumentParams): Resync {
  const document = openDocument(params.uri);
  return { version: document.version, text: document.getText() };
}

/** Answers what the sidecar asks about documents, and tells the person of those that it cannot see. */
export function serveDocuments(sidecar: Sidecar): vscode.Disposable {
  sidecar.registerBeforeStart((capabilities) => {
    capabilities.resync = true;
  });
  sidecar.onRequest('workspace/applyEdit', applyEdit);
  sidecar.onRequest('ropewalk/resync', resync);
  return watchLargeOnes(sidecar);
}

/** Says once of each tab whose document is too large for extensions that its unsaved text is not seen. */
function watchLargeOnes(sidecar: Sidecar): vscode.Disposable {
  const told = new Set<string>();
  const look = async () => {
    const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    if (!(input instanceof vscode.TabInputText) || input.uri.scheme !== 'file') return;
    const uri = input.uri.toString();
    if (told.has(uri) || findDocument(uri)) return;
    const size = await Promise.resolve(vscode.workspace.fs.stat(input.uri)).then(
      (stat) => stat.size,
      () => 0,
    );
    if (size <= LARGEST || told.has(uri) || findDocument(uri)) return;
    told.add(uri);
    const message =
      `${vscode.workspace.asRelativePath(input.uri)} is larger than 50 MB. VS Code shows such documents to no extension: ` +
      'agents see the file as it is on the disk, not what you type.';
    sidecar.log.warn(message);
    void vscode.window.showWarningMessage(`Ropewalk: ${message}`);
  };
  void look();
  return vscode.window.tabGroups.onDidChangeTabs(() => void look());
}
