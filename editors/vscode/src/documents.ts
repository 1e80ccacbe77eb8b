// The documents that the sidecar has: which they are, edits of them, and their texts where they are asked for. They are
// synchronised by the language client's own didOpen, didChange, didSave and didClose; cells of notebooks are documents
// of their own.
import * as vscode from 'vscode';
import { mayCutCharacters, readEdit, refusal } from './edit';
import type { DocumentParams, Resync } from './protocol';
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

/**
 * Applies an edit of one open document, as one step of undo. No document is opened for it: the sidecar changes files
 * that are not open on the disk.
 */
export async function applyEdit(params: unknown): Promise<EditAnswer> {
  const plan = readEdit(params);
  if ('refused' in plan) return refuse(plan.refused);
  const document = findDocument(plan.uri);
  if (!document) return refuse(`the document is not open: ${plan.uri}`);
  const reason = refusal(plan, {
    version: document.version,
    lineCount: document.lineCount,
    lineLength: (line) => document.lineAt(line).text.length,
  });
  if (reason !== undefined) return refuse(reason);
  if (plan.edits.length === 0) return { applied: true };
  const edits = plan.edits.map(({ range: { start, end }, newText }) =>
    vscode.TextEdit.replace(new vscode.Range(start.line, start.character, end.line, end.character), newText),
  );
  // Nothing may be awaited between the look at the version and this call: VS Code notes the version it is made at, and
  // refuses the edit where the text has changed on its way to the buffer.
  const applied = await makeEdits(document, edits);
  if (applied) return { applied };
  return refuse(
    document.version === plan.version
      ? 'VS Code did not apply the edit'
      : 'the document changed while the edit was on its way: ' +
          `it was for version ${plan.version}, and is at ${document.version}`,
  );
}

/**
 * Makes edits of the version that a document has now. Of a document in the active editor VS Code makes what it is given
 * smaller, and so would put half an emoji in the place of another one; what an editor is told itself it takes as it is.
 */
async function makeEdits(document: vscode.TextDocument, edits: vscode.TextEdit[]): Promise<boolean> {
  const editor = vscode.window.visibleTextEditors.find((visible) => visible.document === document);
  if (editor && edits.some(({ range, newText }) => mayCutCharacters(document.getText(range), newText))) {
    const { version } = document;
    const made = await editor.edit((builder) => {
      for (const { range, newText } of edits) builder.replace(range, newText);
    });
    // An editor that is read-only says yes and does nothing.
    return made && document.version !== version;
  }
  const edit = new vscode.WorkspaceEdit();
  edit.set(document.uri, edits);
  return vscode.workspace.applyEdit(edit);
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
  return vscode.window.tabGroups.onDidChangeTabs(() => void look());
}
