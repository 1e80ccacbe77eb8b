// `ropewalk/approve`: asks the person for consent, on a page beside what they do. The page never takes the keyboard.
import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { ApproveParams, ApproveResult } from '../protocol';
import type { Sidecar } from '../sidecar';
import { oneLine } from '../text';
import { counts, decided, denied, Queue } from './answers';
import { page } from './page';
import type { Waiting } from './waiting';

interface Question {
  readonly params: ApproveParams;
  readonly answer: (result: ApproveResult) => void;
}

/** Asks one request after the other on one page. */
export class Approvals implements vscode.Disposable {
  private readonly queue = new Queue<Question>();
  private panel: vscode.WebviewPanel | undefined;
  private shown: Question | undefined;
  private shownAt = 0;
  private id = '';

  constructor(
    private readonly extensionUri: vscode.Uri,
    private readonly waiting: Waiting,
  ) {}

  /** The handler. */
  ask(params: ApproveParams, token: vscode.CancellationToken): Promise<ApproveResult> {
    if (params.calls.length === 0 || token.isCancellationRequested) return Promise.resolve(denied(params));
    return new Promise((resolve) => {
      const question: Question = {
        params,
        answer: (result) => {
          taken.dispose();
          this.queue.remove(question);
          resolve(result);
          this.update();
        },
      };
      const taken = token.onCancellationRequested(() => question.answer(denied(params)));
      this.queue.add(question);
      this.update();
    });
  }

  /** Shows the page, and gives it the keyboard. Whether there is one. */
  focus(): boolean {
    this.panel?.reveal(undefined, false);
    return this.panel !== undefined;
  }

  dispose(): void {
    for (const question of this.queue.clear()) question.answer(denied(question.params, 'the editor was closed'));
    this.panel?.dispose();
  }

  /** Shows the first question that waits, or closes the page. */
  private update(): void {
    this.waiting.set('approve', this.queue.length);
    const { first } = this.queue;
    if (!first) {
      this.shown = undefined;
      this.panel?.dispose();
      return;
    }
    if (first === this.shown) return;
    this.shown = first;
    const panel = this.panel ?? this.open();
    const names = [...new Set(first.params.calls.map((call) => oneLine(call.name)))].join(', ');
    panel.title = `Ropewalk asks: ${names}`;
    const media = vscode.Uri.joinPath(this.extensionUri, 'media');
    this.id = randomBytes(18).toString('base64url');
    panel.webview.html = page(first.params, this.queue.length - 1, {
      id: this.id,
      cspSource: panel.webview.cspSource,
      nonce: randomBytes(18).toString('base64url'),
      styleUri: panel.webview.asWebviewUri(vscode.Uri.joinPath(media, 'approve.css')).toString(),
      scriptUri: panel.webview.asWebviewUri(vscode.Uri.joinPath(media, 'approve.js')).toString(),
    });
    this.shownAt = Date.now();
    if (panel.visible) return;
    // Where the person works it would come before what they type into, and the keys would go nowhere.
    const isInTheWay = panel.viewColumn === vscode.window.tabGroups.activeTabGroup.viewColumn;
    panel.reveal(isInTheWay ? vscode.ViewColumn.Beside : undefined, true);
  }

  private open(): vscode.WebviewPanel {
    const media = vscode.Uri.joinPath(this.extensionUri, 'media');
    const panel = vscode.window.createWebviewPanel(
      'ropewalk.approve',
      'Ropewalk asks',
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      { enableScripts: true, localResourceRoots: [media], retainContextWhenHidden: true, enableFindWidget: true },
    );
    panel.webview.onDidReceiveMessage((message: unknown) => this.heard(message));
    panel.onDidDispose(() => {
      if (this.panel !== panel) return;
      this.panel = undefined;
      const { shown } = this;
      this.shown = undefined;
      shown?.answer(denied(shown.params));
    });
    this.panel = panel;
    return panel;
  }

  private heard(message: unknown): void {
    const { kind, id, text } = (message ?? {}) as { kind?: unknown; id?: unknown; text?: unknown };
    if (kind === 'copy' && typeof text === 'string') void vscode.env.clipboard.writeText(text);
    const { shown } = this;
    // An answer to a question that was taken back is none to the one that came in its place.
    if (kind !== 'answer' || !shown || id !== this.id) return;
    const result = decided(shown.params, message);
    // The page guards itself; this is for one that cannot.
    if (counts(result, this.shownAt, Date.now())) shown.answer(result);
  }
}

/** Lets the sidecar ask for consent. */
export function serveApprovals(sidecar: Sidecar, extensionUri: vscode.Uri, waiting: Waiting): Approvals {
  const approvals = new Approvals(extensionUri, waiting);
  sidecar.registerBeforeStart((capabilities) => {
    capabilities.approve = true;
  });
  sidecar.onRequest('ropewalk/approve', (params, token) => approvals.ask(params, token));
  return approvals;
}
