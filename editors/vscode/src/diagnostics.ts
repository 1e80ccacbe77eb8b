// Forwards what VS Code's extensions report of documents, by source. VS Code tells neither the version of the text that
// diagnostics are about nor who reported; so they bear the version at their receipt, as such, and only what changed is
// passed on. TypeScript and JavaScript are the exception: their server can be asked about the text of now.
import * as vscode from 'vscode';
import { checkersOf, SECTIONS } from './builtin';
import { findDocument, isServed, openDocument } from './documents';
import { bySource, Ledger, type RawProblem, Sources } from './problems';
import type { DocumentParams, Forwarded } from './protocol';
import type { Sidecar } from './sidecar';
import { COMMAND, EXTENSION, QUESTIONS, readAnswer, sectionOf, SOURCE } from './tsserver';

/** Of so many files that are not open is told what is known of them when the sidecar starts. */
const FILES = 2000;
/** So many other open documents are looked at after an edit, for what it broke there. */
const OTHERS = 6;
/** A question is asked anew this often where the text has changed before the answer came. */
const ATTEMPTS = 3;

/** The URIs of the documents that have a tab: those on the screen first. */
function openTabs(): string[] {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const sorted = [...tabs.filter((tab) => tab.isActive), ...tabs];
  return [
    ...new Set(sorted.flatMap(({ input }) => (input instanceof vscode.TabInputText ? input.uri.toString() : []))),
  ];
}

/** Whether there is a server that can be asked about a document. */
function isAskable(document: vscode.TextDocument): boolean {
  const section = sectionOf(document.languageId);
  if (!section || !vscode.extensions.getExtension(EXTENSION)) return false;
  return vscode.workspace.getConfiguration(section, document).get<boolean>('validate.enable') !== false;
}

/** The sources of VS Code's own extensions that look at a document, whether or not they have found anything in it. */
function builtinSources(document: vscode.TextDocument): string[] {
  return checkersOf(document.languageId, () => document.getText())
    .filter(
      ({ extension, setting }) =>
        vscode.extensions.getExtension(extension) !== undefined &&
        vscode.workspace.getConfiguration(undefined, document).get<boolean>(setting) !== false,
    )
    .map(({ source }) => source);
}

/** Asks VS Code's TypeScript server; undefined where it gives no answer about the text of now. */
async function ask(document: vscode.TextDocument): Promise<{ version: number; problems: RawProblem[] } | undefined> {
  await vscode.extensions.getExtension(EXTENSION)?.activate();
  const uriOf = (file: string) => (file.startsWith('^') ? document.uri : vscode.Uri.file(file)).toString();
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { version } = document;
    const answers = await Promise.all(
      QUESTIONS.map((question) => vscode.commands.executeCommand<unknown>(COMMAND, question, { file: document.uri })),
    );
    if (document.isClosed) return undefined;
    if (document.version !== version) continue;
    const read = answers.map((answer) => readAnswer(answer, uriOf));
    return read.every((problems) => problems !== undefined) ? { version, problems: read.flat() } : undefined;
  }
  return undefined;
}

/** Forwards diagnostics and their sources, and answers where they are asked for. */
export function forwardDiagnostics(sidecar: Sidecar): vscode.Disposable {
  const ledger = new Ledger();
  const sources = new Sources();
  sidecar.registerBeforeStart((capabilities) => {
    capabilities.diagnostics = true;
  });

  const tellSources = (document: vscode.TextDocument) => {
    const names = new Set([
      ...sources.of(document.languageId),
      ...builtinSources(document),
      ...(isAskable(document) ? [SOURCE] : []),
    ]);
    sidecar.notify('ropewalk/didChangeDiagnosticSources', {
      uri: document.uri.toString(),
      sources: [...names].sort().map((name) => ({ id: name, name })),
    });
  };

  const tellAll = () => {
    for (const document of vscode.workspace.textDocuments) if (isServed(document.uri)) tellSources(document);
  };

  /** What a source says of a document. `exact`: it was asked about this version. */
  const send = (uri: string, source: string, problems: RawProblem[], version: number | null, exact: boolean) => {
    const forwarded: Forwarded = {
      uri,
      version,
      stamp: exact ? 'server' : 'receipt',
      source: { id: source, name: source },
      positionEncoding: 'utf-16',
      // One that can be asked is never held against what it says unasked: that would count as checks of the disk.
      kind: source === SOURCE ? 'pull' : 'push',
      diagnostics: problems,
    };
    sidecar.notify('ropewalk/didChangeDiagnostics', forwarded);
  };

  const forward = (uri: vscode.Uri, document: vscode.TextDocument | undefined) => {
    const changed = ledger.update(uri.toString(), bySource(vscode.languages.getDiagnostics(uri)));
    if (document) {
      let isNew = false;
      for (const [source] of changed) isNew = sources.add(document.languageId, source) || isNew;
      if (isNew)
        for (const other of vscode.workspace.textDocuments)
          if (other.languageId === document.languageId && isServed(other.uri)) tellSources(other);
    }
    for (const [source, problems] of changed) send(uri.toString(), source, problems, document?.version ?? null, false);
  };

  /** Asks about a document, and sends the answer. */
  const pull = async (document: vscode.TextDocument): Promise<void> => {
    if (!isAskable(document)) return;
    const uri = document.uri.toString();
    try {
      const answer = await ask(document);
      if (answer) send(uri, SOURCE, answer.problems, answer.version, true);
    } catch (error) {
      sidecar.log.debug(`The TypeScript server gave no answer about ${uri}: ${String(error)}`);
    }
  };

  /** Counts the questions about edits: only the newest is followed by a look at other documents. */
  let newest = 0;
  /** What an edit broke in other open documents: VS Code looks at those only when they are on the screen. */
  const pullOthers = async (edited: vscode.TextDocument): Promise<void> => {
    const mine = (newest += 1);
    if (!isAskable(edited)) return;
    const tabs = new Map(openTabs().map((uri, index) => [uri, index]));
    const others = vscode.workspace.textDocuments
      .filter((other) => other !== edited && tabs.has(other.uri.toString()) && isAskable(other))
      .sort((a, b) => (tabs.get(a.uri.toString()) ?? 0) - (tabs.get(b.uri.toString()) ?? 0));
    // One after the other, so that what the person asks of the server comes between.
    for (const other of others.slice(0, OTHERS)) {
      if (mine !== newest) return;
      await pull(other);
    }
  };
  sidecar.onRequest('ropewalk/pullDiagnostics', async ({ uri }: DocumentParams) => {
    const document = openDocument(uri);
    await pull(document);
    void pullOthers(document);
    return null;
  });

  /** Documents that were asked about since they came to the screen: what is so before the first edit. */
  let known = new WeakSet<vscode.TextDocument>();
  const pullShown = () => {
    if (sidecar.state !== 'running') return;
    for (const { document } of vscode.window.visibleTextEditors) {
      if (!isServed(document.uri) || known.has(document)) continue;
      known.add(document);
      void pull(document);
    }
  };

  return vscode.Disposable.from(
    vscode.languages.onDidChangeDiagnostics(({ uris }) => {
      if (sidecar.state !== 'running') return;
      for (const uri of uris) {
        const document = findDocument(uri.toString());
        if (document ? isServed(uri) : uri.scheme === 'file') forward(uri, document);
      }
    }),
    sidecar.onDidOpen((document) => {
      // What was known of the file while it was closed is told again, now of the document.
      ledger.forget(document.uri.toString());
      tellSources(document);
      forward(document.uri, document);
      known.delete(document);
      pullShown();
    }),
    vscode.window.onDidChangeVisibleTextEditors(pullShown),
    sidecar.onDidChangeState((state) => {
      // What is known is told while the documents are opened, after that of the files that are not.
      if (state === 'starting') ledger.forget();
      if (state !== 'running') return;
      const closed = vscode.languages
        .getDiagnostics()
        .filter(([uri, found]) => uri.scheme === 'file' && found.length > 0 && !findDocument(uri.toString()));
      for (const [uri] of closed.slice(0, FILES)) forward(uri, undefined);
      known = new WeakSet();
      pullShown();
    }),
    // An extension that was just installed or has just begun may bring a source.
    vscode.extensions.onDidChange(tellAll),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (SECTIONS.some((section) => event.affectsConfiguration(section))) tellAll();
    }),
  );
}
