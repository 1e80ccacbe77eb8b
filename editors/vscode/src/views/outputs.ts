// Whole outputs in read-only documents: what a call gave back, page by page from the sidecar, and what a job has put
// out.
import * as vscode from 'vscode';
import { printable } from './calls';
import type { Sidecar } from '../sidecar';

/** The scheme of these documents. */
export const OUTPUT = 'ropewalk-output';
/** A document gets at most so many characters; of a longer output it says how to get the rest. */
const MOST = 5_000_000;

interface About {
  sessionId: string;
  callId?: string;
  jobId?: string;
}

function uriOf(about: About, title: string): vscode.Uri {
  return vscode.Uri.from({
    scheme: OUTPUT,
    path: `/${title
      .replace(/[\\/:*?"<>|\r\n]+/g, ' ')
      .slice(0, 60)
      .trim()}`,
    query: JSON.stringify(about),
  });
}

export class Outputs implements vscode.Disposable, vscode.TextDocumentContentProvider {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly parts: vscode.Disposable[];

  constructor(private readonly sidecar: Sidecar) {
    this.parts = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(OUTPUT, this),
      sidecar.onEvent('jobsChanged', ({ sessionId, jobs }) => {
        for (const job of jobs) this.refresh((about) => about.jobId === job.id && about.sessionId === sessionId);
      }),
    ];
  }

  dispose(): void {
    for (const part of this.parts) part.dispose();
  }

  /** Reads the documents again that are of these. */
  refresh(is: (about: About) => boolean): void {
    for (const { uri } of vscode.workspace.textDocuments) {
      if (uri.scheme === OUTPUT && is(JSON.parse(uri.query) as About)) this.changed.fire(uri);
    }
  }

  async showCall(sessionId: string, callId: string, title: string): Promise<void> {
    await this.show(uriOf({ sessionId, callId }, title));
  }

  async showJob(sessionId: string, jobId: string): Promise<void> {
    await this.show(uriOf({ sessionId, jobId }, `job ${jobId} of ${sessionId}`));
  }

  private async show(uri: vscode.Uri): Promise<void> {
    this.changed.fire(uri);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
  }

  async provideTextDocumentContent(uri: vscode.Uri, token: vscode.CancellationToken): Promise<string> {
    const about = JSON.parse(uri.query) as About;
    if (about.jobId !== undefined) {
      const { text, dropped, state } = await this.sidecar.request(
        'ropewalk/jobOutput',
        { sessionId: about.sessionId, id: about.jobId, cursor: 0 },
        token,
      );
      const gone = dropped > 0 ? `[${dropped} bytes before this are not kept any more]\n` : '';
      return `${gone}${text.split('\n').map(printable).join('\n')}${state === 'running' ? '\n[it still runs; "Refresh" shows what comes]\n' : ''}`;
    }
    return this.whole(about.sessionId, about.callId ?? '', token);
  }

  private async whole(sessionId: string, callId: string, token: vscode.CancellationToken): Promise<string> {
    const parts: string[] = [];
    let length = 0;
    let at: { offset?: number; column?: number } = {};
    while (!token.isCancellationRequested) {
      const page = await this.sidecar.request('ropewalk/output', { sessionId, callId, ...at }, token);
      if (!page.found) return page.remark || 'This output is not kept any more.';
      if (parts.length === 0 && page.external) parts.push(`[from ${page.external}]\n`);
      parts.push(page.text);
      length += page.text.length;
      const offset = page.nextOffset ?? undefined;
      if (offset === undefined) break;
      const column = page.nextColumn ?? undefined;
      // A page that does not lead on would be asked for for ever.
      if (offset === at.offset && column === at.column) break;
      if (column === undefined && !page.text.endsWith('\n')) parts.push('\n');
      if (length > MOST) {
        parts.push(`\n[${page.totalBytes} bytes in all; the rest from line ${offset} on by ropewalk/output]\n`);
        break;
      }
      at = { offset, ...(column === undefined ? {} : { column }) };
    }
    return parts.join('');
  }
}
