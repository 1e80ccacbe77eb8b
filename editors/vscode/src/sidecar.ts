// The sidecar of a window: one process of `ropewalk` for all its workspace folders, and the language client that speaks
// to it. It is started again when it ends by itself; everything that was open is opened anew by the new client.
import { type ChildProcess, spawn } from 'node:child_process';
import { constants, accessSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  type StaticFeature,
} from 'vscode-languageclient/node';
import { type Crashes, crashed } from './backoff';
import { findBinary } from './binary';
import { lineReader } from './lines';
import type { EditorNotifications, EditorRequests, Notifications, Requests } from './protocol';
import type { OwnSettings } from './settings';

/** `crashed`: it ended by itself, and is started again after a while, or (where `givenUp`) by the person alone. */
export type SidecarState = 'starting' | 'running' | 'crashed' | 'stopped';

/** What the editor declares beyond the standard: `capabilities.experimental.ropewalk`. */
export interface RopewalkCapabilities {
  approve?: boolean;
  ask?: boolean;
  resync?: boolean;
  diagnostics?: boolean;
  events?: boolean;
  images?: boolean;
  runAgent?: boolean;
  runTool?: boolean;
  elicit?: boolean;
  sample?: boolean;
  format?: boolean;
  save?: boolean;
  lineBreaks?: 'lf' | 'lsp';
  review?: 'lens' | 'none';
  ownsCommands?: boolean;
}

/** Names of events: the notification `ropewalk/NAME`. */
export type EventName = keyof EditorNotifications extends `ropewalk/${infer Name}` ? Name : never;
type EventOf<Name extends EventName> = EditorNotifications[`ropewalk/${Name}` & keyof EditorNotifications];

/** A handler of a request of the sidecar. What it throws is answered as an error. */
export type Handler<P, R> = (params: P, token: vscode.CancellationToken) => R | Promise<R>;

/** What the sidecar gets to know of the window when it starts. */
export interface Surroundings {
  /** The extension's own settings as they are now. */
  settings(): OwnSettings;
  /** `initializationOptions` as they are now. */
  initializationOptions(): Record<string, unknown>;
  /** The folder of the extension. */
  readonly extensionPath: string;
}

/** The URI schemes of the documents that are served. */
export const SCHEMES = ['file', 'untitled', 'vscode-notebook-cell'] as const;

/** How long a sidecar may take to answer `initialize` (ms). */
const START_MS = 60_000;
/** How long a sidecar may take to end by itself once it has been asked to (ms). */
const END_MS = 3000;

function runs(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** A client that says what goes wrong in the log alone: the status bar tells it, and `trouble`. */
class Client extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** The sidecar ended while it was asked: how the client puts that. */
const GONE: readonly number[] = [-32097, -32099];

/** A run of the program. */
interface Run {
  readonly client: LanguageClient;
  process?: ChildProcess;
  /** How it ended, once it has. */
  ended?: string;
  readonly parts: vscode.Disposable[];
  /** What it asks and has no answer to yet: taken back when it ends. */
  readonly asked: Set<vscode.CancellationTokenSource>;
}

export class Sidecar implements vscode.Disposable {
  readonly log: vscode.LogOutputChannel;
  private readonly stateChanged = new vscode.EventEmitter<SidecarState>();
  /** Fires after `state` has changed. */
  readonly onDidChangeState = this.stateChanged.event;
  private readonly opened = new vscode.EventEmitter<vscode.TextDocument>();
  /** Fires when the sidecar has been told that a document is open: in each run once for those that are already. */
  readonly onDidOpen = this.opened.event;
  private readonly closed = new vscode.EventEmitter<vscode.TextDocument>();
  /** Fires when the sidecar has been told that a document is closed. */
  readonly onDidClose = this.closed.event;
  private now: SidecarState = 'stopped';
  private run: Run | undefined;
  private crashes: Crashes = { at: [] };
  private revival: NodeJS.Timeout | undefined;
  private chain: Promise<void> = Promise.resolve();
  private disposed = false;
  /** A restart on its way: requests that come between the two sidecars wait for it. */
  private restarting: Promise<void> | undefined;
  private readonly contributions: ((capabilities: RopewalkCapabilities) => void)[] = [];
  private readonly handlers = new Map<string, Handler<never, unknown>>();
  private readonly events = new Map<string, vscode.EventEmitter<unknown>>();

  constructor(private readonly around: Surroundings) {
    this.log = vscode.window.createOutputChannel('Ropewalk', { log: true });
  }

  get state(): SidecarState {
    return this.now;
  }

  /** Why there is no sidecar, for a person; undefined while there is one. */
  trouble: string | undefined;

  /** The version of the sidecar that runs. */
  get version(): string | undefined {
    return this.run?.client.initializeResult?.serverInfo?.version;
  }

  /** The process of the sidecar that runs. */
  get pid(): number | undefined {
    return this.run?.process?.pid;
  }

  /** The program of the sidecar, or undefined where there is none. */
  get program(): string | undefined {
    const found = this.find();
    return 'program' in found ? found.program : undefined;
  }

  /** Lets a part add to what is declared at each start. To be called before `start`. */
  registerBeforeStart(contribute: (capabilities: RopewalkCapabilities) => void): void {
    this.contributions.push(contribute);
  }

  /** Answers a request of the sidecar, in this and every later run. There is one handler for each method. */
  onRequest<M extends keyof EditorRequests>(
    method: M,
    handler: Handler<EditorRequests[M]['params'], EditorRequests[M]['result']>,
  ): void;
  onRequest<P, R>(method: string, handler: Handler<P, R>): void;
  onRequest(method: string, handler: Handler<never, unknown>): void {
    this.handlers.set(method, handler);
    if (this.run) this.answer(this.run, method, handler);
  }

  /** Listens to an event of the sidecar, in this and every later run: `onEvent('toolEvent', ...)`. */
  onEvent<Name extends EventName>(name: Name, listener: (params: EventOf<Name>) => void): vscode.Disposable {
    let emitter = this.events.get(name);
    if (!emitter) {
      emitter = new vscode.EventEmitter<unknown>();
      this.events.set(name, emitter);
      if (this.run) this.forward(this.run, name, emitter);
    }
    return emitter.event((params) => listener(params as EventOf<Name>));
  }

  /**
   * Sends a request. Waits while the sidecar is starting. Rejects where it does not run, when it ends before it has
   * answered, and where it answers with an error.
   */
  async request<M extends keyof Requests>(
    method: M,
    params: Requests[M]['params'],
    token?: vscode.CancellationToken,
  ): Promise<Requests[M]['result']>;
  async request<R = unknown>(method: string, params: unknown, token?: vscode.CancellationToken): Promise<R>;
  async request(method: string, params: unknown, token?: vscode.CancellationToken): Promise<unknown> {
    if (this.restarting && !this.run) await this.restarting;
    const { client } = this.running();
    try {
      return await (token ? client.sendRequest(method, params, token) : client.sendRequest(method, params));
    } catch (error) {
      if (!GONE.includes((error as { code?: number }).code ?? 0)) throw error;
      throw new Error(`The sidecar ended before it had answered ${method}.`, { cause: error });
    }
  }

  /** Sends a notification, after all that was sent before it. Does nothing where the sidecar does not run. */
  notify<M extends keyof Notifications>(method: M, params: Notifications[M]): void;
  notify(method: string, params: unknown): void;
  notify(method: string, params: unknown): void {
    // The client runs a little earlier than `state` says so: from when it opens the documents.
    if (!this.run?.client.isRunning()) return;
    this.run.client.sendNotification(method, params).catch((error: unknown) => {
      this.log.warn(`${method} was not sent: ${String(error)}`);
    });
  }

  /** How URIs and ranges are written on the wire. */
  get converter(): LanguageClient['code2ProtocolConverter'] | undefined {
    return this.run?.client.code2ProtocolConverter;
  }

  /** Starts the sidecar where none runs. Never rejects: `state` and `trouble` say what came of it. */
  start(): Promise<void> {
    return this.queue(async () => {
      if (this.disposed || this.now === 'running') return;
      this.crashes = { at: [] };
      await this.launch();
    });
  }

  /** Stops the sidecar, and leaves it stopped. */
  stop(): Promise<void> {
    this.giveUpStart();
    return this.queue(() => this.end());
  }

  /** Stops the sidecar, if it runs, and starts it. */
  restart(): Promise<void> {
    this.giveUpStart();
    const restarted = this.queue(async () => {
      await this.end();
      if (this.disposed) return;
      this.crashes = { at: [] };
      await this.launch();
    });
    this.restarting = restarted;
    return restarted.finally(() => {
      if (this.restarting === restarted) this.restarting = undefined;
    });
  }

  dispose(): void {
    void this.shutdown();
  }

  /** Ends the sidecar for good; resolves once its process has ended. */
  async shutdown(): Promise<void> {
    this.disposed = true;
    await this.stop();
    for (const emitter of [this.stateChanged, this.opened, this.closed]) emitter.dispose();
    for (const emitter of this.events.values()) emitter.dispose();
    this.log.dispose();
  }

  /** A program that is started and does not answer holds nobody up: what is wanted next comes at once. */
  private giveUpStart(): void {
    if (this.now === 'starting') this.run?.process?.kill('SIGKILL');
  }

  /** Starts and stops come one after the other. */
  private queue(step: () => Promise<void>): Promise<void> {
    const next = this.chain.then(step);
    this.chain = next.catch((error: unknown) => this.log.error(String(error)));
    return this.chain;
  }

  private become(state: SidecarState, trouble?: string): void {
    this.trouble = trouble;
    if (this.now === state && state !== 'crashed') return;
    this.now = state;
    this.stateChanged.fire(state);
  }

  private running(): Run {
    if (!this.run || (this.now !== 'running' && this.now !== 'starting'))
      throw new Error(
        this.trouble ?? 'The sidecar does not run. The command "Ropewalk: Restart the Sidecar" starts it.',
      );
    return this.run;
  }

  private find() {
    const settings = this.around.settings();
    return findBinary({
      setting: settings.path,
      extension: this.around.extensionPath,
      path: process.env['PATH'] ?? '',
      home: homedir(),
      windows: process.platform === 'win32',
      runs,
    });
  }

  private async launch(): Promise<void> {
    clearTimeout(this.revival);
    const found = this.find();
    if ('missing' in found) {
      this.log.error(found.missing);
      this.become('stopped', found.missing);
      return;
    }
    const settings = this.around.settings();
    const run: Run = {
      client: this.client(() => this.spawn(run, found.program, settings)),
      parts: [],
      asked: new Set(),
    };
    this.run = run;
    for (const [method, handler] of this.handlers) this.answer(run, method, handler);
    for (const [name, emitter] of this.events) this.forward(run, name, emitter);
    this.become('starting');
    const late = setTimeout(() => {
      this.log.error(`${found.program} did not answer within ${START_MS / 1000} s. Is it a sidecar?`);
      this.giveUpStart();
    }, START_MS);
    try {
      await run.client.start();
    } catch (error) {
      this.lost(run, `It did not start: ${error instanceof Error ? error.message : String(error)}`);
      return;
    } finally {
      clearTimeout(late);
    }
    if (this.run !== run || run.ended !== undefined) return;
    this.log.info(`Sidecar ${this.version ?? ''} runs (${found.program}, process ${String(run.process?.pid)})`);
    this.become('running');
  }

  private spawn(run: Run, program: string, settings: OwnSettings) {
    const cwd = vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === 'file')?.uri.fsPath;
    const child = spawn(program, [...settings.arguments], {
      // The process must not sit in a folder that is about to go away, nor in the one of the editor's program.
      cwd: cwd ?? homedir(),
      env: { ...process.env, ...settings.environment },
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
    });
    run.process = child;
    child.stderr.on(
      'data',
      lineReader((line) => this.log.info(`[sidecar] ${line}`)),
    );
    // Its end is seen by `exit` and by the closed pipes; a pipe that breaks while we write is neither news nor a fault.
    child.stdin.on('error', () => {});
    child.on('error', () => {});
    child.on('exit', (code, signal) => {
      run.ended = signal ? `It was ended by ${signal}.` : `It ended with exit code ${String(code)}.`;
      if (this.run === run) this.lost(run, run.ended);
    });
    return new Promise<{ reader: NodeJS.ReadableStream; writer: NodeJS.WritableStream }>((resolve, reject) => {
      child.once('error', reject);
      child.once('spawn', () => resolve({ reader: child.stdout, writer: child.stdin }));
    });
  }

  private client(
    server: () => Promise<{ reader: NodeJS.ReadableStream; writer: NodeJS.WritableStream }>,
  ): LanguageClient {
    const options: LanguageClientOptions = {
      documentSelector: SCHEMES.map((scheme) => ({ scheme })),
      outputChannel: this.log,
      initializationOptions: () => this.around.initializationOptions(),
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({
          action: CloseAction.DoNotRestart,
          handled: true,
          message: 'The connection to the sidecar is closed.',
        }),
      },
      middleware: {
        didOpen: async (document, next) => {
          await next(document);
          this.opened.fire(document);
        },
        didClose: async (document, next) => {
          await next(document);
          this.closed.fire(document);
        },
        // What VS Code merges from a project's settings is never handed out; see settings.ts.
        workspace: { configuration: (params) => params.items.map(() => null) },
      },
    };
    const client = new Client('ropewalk', 'Ropewalk', server, options);
    client.registerFeature(this.declaration());
    return client;
  }

  /** Declares what the parts of the extension can do. */
  private declaration(): StaticFeature {
    return {
      fillClientCapabilities: (capabilities) => {
        const ropewalk: RopewalkCapabilities = { events: true, ownsCommands: true, lineBreaks: 'lsp' };
        for (const contribute of this.contributions) contribute(ropewalk);
        capabilities.experimental = { ...(capabilities.experimental as object | undefined), ropewalk };
        // Settings are sent, so that they are the person's alone; asked for, they would be mixed with a project's.
        capabilities.workspace = {
          ...capabilities.workspace,
          configuration: false,
          didChangeConfiguration: { dynamicRegistration: false },
        };
      },
      initialize: () => {},
      getState: () => ({ kind: 'static' }),
      clear: () => {},
    };
  }

  private answer(run: Run, method: string, handler: Handler<never, unknown>): void {
    const answer = async (params: unknown, token: vscode.CancellationToken) => {
      const asked = new vscode.CancellationTokenSource();
      const taken = token.onCancellationRequested(() => asked.cancel());
      run.asked.add(asked);
      try {
        return await handler(params as never, asked.token);
      } finally {
        run.asked.delete(asked);
        taken.dispose();
        asked.dispose();
      }
    };
    run.parts.push(run.client.onRequest(method, answer));
  }

  private forward(run: Run, name: string, emitter: vscode.EventEmitter<unknown>): void {
    run.parts.push(run.client.onNotification(`ropewalk/${name}`, (params: unknown) => emitter.fire(params)));
  }

  /** A run ended without having been asked to. */
  private lost(run: Run, why: string): void {
    if (this.run !== run) return;
    this.run = undefined;
    this.discard(run);
    const { crashes, revival } = crashed(this.crashes, Date.now());
    this.crashes = crashes;
    if (revival.kind === 'giveUp' || this.disposed) {
      this.log.error(`The sidecar ended again. ${why} It is not started any more.`);
      this.become('crashed', `The sidecar ended again and again. ${why}`);
      void this.offerRestart(why);
      return;
    }
    this.log.warn(`The sidecar ended. ${why} It is started again in ${revival.delayMs} ms.`);
    this.become('crashed', `The sidecar ended. ${why} It is being started again.`);
    this.revival = setTimeout(() => {
      void this.queue(async () => {
        if (!this.disposed && this.now === 'crashed') await this.launch();
      });
    }, revival.delayMs);
  }

  private async offerRestart(why: string): Promise<void> {
    const again = 'Start again';
    const show = 'Show the log';
    const chosen = await vscode.window.showErrorMessage(
      `Ropewalk's sidecar ended again and again. ${why}`,
      again,
      show,
    );
    if (chosen === again) await this.restart();
    else if (chosen === show) this.log.show();
  }

  private discard(run: Run): void {
    this.release(run);
    run.client
      .dispose(END_MS)
      .catch(() => {
        // It is gone already.
      })
      // One that did not answer as it should may still be there.
      .finally(() => ended(run.process));
  }

  /** Nobody waits any more for what a run asked. */
  private release(run: Run): void {
    for (const asked of [...run.asked]) asked.cancel();
    for (const part of run.parts.splice(0)) part.dispose();
  }

  private async end(): Promise<void> {
    clearTimeout(this.revival);
    const { run } = this;
    this.run = undefined;
    if (run) {
      this.release(run);
      // The end of its input ends the sidecar too; nobody waits longer for the polite way.
      await run.client.dispose(END_MS).catch(() => {});
      await ended(run.process);
    }
    this.become('stopped');
  }
}

/** Waits for the end of a process, and makes it end where it does not by itself. */
async function ended(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.stdin?.end();
  const force = setTimeout(() => child.kill('SIGKILL'), END_MS);
  await gone;
  clearTimeout(force);
}
