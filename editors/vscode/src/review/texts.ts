// Texts of our own for VS Code's diff editor: a document as it was before the changes under review, as a session
// proposes it, and a proposed text that the person edits before they accept it.
import * as vscode from 'vscode';
import { key, parsed } from '../named';
import type { Sidecar } from '../sidecar';
import { baseText } from './model';
import type { ReviewStore } from './store';

/** A document before the changes under review. */
export const BASE = 'ropewalk-base';
/** A document as a session proposes it; without a session, an empty text. */
export const PROPOSED = 'ropewalk-proposed';
/** A proposed text that can be edited. */
export const EDITED = 'ropewalk-edit';

/** What one of our URIs is about. */
export interface About {
  uri: string;
  sessionId?: string;
  /** Nothing is there: the text is empty. */
  empty?: boolean;
}

/**
 * One of our URIs. It keeps the path of what it is about, so that its language is recognised and its tab has its
 * name.
 */
export function ours(scheme: string, about: About): vscode.Uri {
  return vscode.Uri.from({
    scheme,
    path: parsed(about.uri).path.replace(/^(?!\/)/, '/'),
    query: JSON.stringify(about),
  });
}

export function aboutOf(uri: vscode.Uri): About | undefined {
  try {
    const about = JSON.parse(uri.query) as Partial<About>;
    return typeof about.uri === 'string' ? (about as About) : undefined;
  } catch {
    return undefined;
  }
}

/** The document's text as the editor has it, or as the sidecar reads it where it is not open. */
async function textOf(sidecar: Sidecar, uri: string): Promise<string> {
  const open = vscode.workspace.textDocuments.find((it) => key(it.uri) === uri);
  return open ? open.getText() : (await sidecar.request('ropewalk/documentText', { uri })).text;
}

/** The read-only texts. */
export class Texts implements vscode.Disposable, vscode.TextDocumentContentProvider {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly parts: vscode.Disposable[];

  constructor(
    private readonly sidecar: Sidecar,
    private readonly store: ReviewStore,
  ) {
    this.parts = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(BASE, this),
      vscode.workspace.registerTextDocumentContentProvider(PROPOSED, this),
      store.onDidChange(() => {
        for (const { uri } of vscode.workspace.textDocuments) {
          if (uri.scheme === BASE || uri.scheme === PROPOSED) this.changed.fire(uri);
        }
      }),
    ];
  }

  dispose(): void {
    for (const part of this.parts) part.dispose();
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const about = aboutOf(uri);
    if (!about || about.empty) return '';
    if (uri.scheme === PROPOSED) {
      const { text } = await this.sidecar.request('ropewalk/documentText', {
        uri: about.uri,
        ...(about.sessionId === undefined ? {} : { sessionId: about.sessionId }),
      });
      return text;
    }
    await this.store.settled();
    const changes = this.store.changesOf(key(about.uri));
    const gone = changes.find(({ info }) => info.kind === 'deleted');
    if (gone) return gone.info.before;
    return baseText(await textOf(this.sidecar, key(about.uri)), changes);
  }
}

/** Proposed texts under the person's hands: files in memory that VS Code can open, change and save. */
export class Edited implements vscode.Disposable, vscode.FileSystemProvider {
  private readonly files = new Map<string, { bytes: Uint8Array; mtime: number; ctime: number }>();
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changed.event;
  private readonly registration: vscode.Disposable;
  private clock = 1;

  constructor() {
    this.registration = vscode.workspace.registerFileSystemProvider(EDITED, this, { isCaseSensitive: true });
  }

  dispose(): void {
    this.registration.dispose();
    this.changed.dispose();
  }

  /** Puts a text there to be edited. */
  put(uri: vscode.Uri, text: string): void {
    this.writeFile(uri, new TextEncoder().encode(text));
  }

  drop(uri: vscode.Uri): void {
    this.files.delete(uri.toString());
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => {});
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const file = this.files.get(uri.toString());
    if (!file) throw vscode.FileSystemError.FileNotFound(uri);
    return { type: vscode.FileType.File, ctime: file.ctime, mtime: file.mtime, size: file.bytes.length };
  }

  readFile(uri: vscode.Uri): Uint8Array {
    const file = this.files.get(uri.toString());
    if (!file) throw vscode.FileSystemError.FileNotFound(uri);
    return file.bytes;
  }

  writeFile(uri: vscode.Uri, bytes: Uint8Array): void {
    // Times only have to grow; the wall clock may stand still between two saves.
    const before = this.files.get(uri.toString());
    this.clock += 1;
    this.files.set(uri.toString(), { bytes, mtime: this.clock, ctime: before?.ctime ?? this.clock });
    this.changed.fire([{ type: before ? vscode.FileChangeType.Changed : vscode.FileChangeType.Created, uri }]);
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): void {
    this.files.delete(uri.toString());
    this.changed.fire([{ type: vscode.FileChangeType.Deleted, uri }]);
  }

  rename(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }
}
