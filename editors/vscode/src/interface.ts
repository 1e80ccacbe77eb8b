// What the extension gives to other extensions. `ropewalk.d.ts` is made from this file by `npm run declarations`, with
// the types of the protocol that it uses, so that it can be copied.
import type { CancellationToken, Disposable, Event } from 'vscode';
import type {
  AcceptParams,
  AcceptResult,
  ApprovalsChanged,
  BatchParams,
  BatchResult,
  CallParams,
  CallResult,
  ChangesChanged,
  ChangesParams,
  ChangesResult,
  DiagnosticsReport,
  Effective,
  FilesChangedParams,
  JobInfo,
  JobOutput,
  JobsChanged,
  KeepResult,
  ListChangesParams,
  ListToolsParams,
  ListToolsResult,
  ModeChanged,
  PreviewResult,
  Registered,
  RejectParams,
  RejectResult,
  RunToolResult,
  SessionParams,
  TodosChanged,
  ToolDefinition,
  ToolEvent,
  ToolsChanged,
  UndoParams,
  UndoResult,
} from './protocol';

/** How the sidecar of this window is doing. `crashed`: it is started again after a while, or by the person. */
export type RopewalkState = 'starting' | 'running' | 'crashed' | 'stopped';

/** What can be listened to, with what each brings. */
export interface RopewalkEvents {
  approvalsChanged: ApprovalsChanged;
  changesChanged: ChangesChanged;
  filesChanged: FilesChangedParams;
  jobsChanged: JobsChanged;
  lateDiagnostics: DiagnosticsReport;
  modeChanged: ModeChanged;
  todosChanged: TodosChanged;
  toolEvent: ToolEvent;
  toolsChanged: ToolsChanged;
}

/** A tool of your own: how models see it, and what runs it. */
export interface RopewalkTool extends ToolDefinition {
  /**
   * Runs one call. The arguments fit `inputSchema`. What it throws is told to the model as its failure; a text is a
   * whole answer.
   */
  run(
    args: Record<string, unknown>,
    call: { sessionId: string; callId: string },
    token: CancellationToken,
  ): Promise<RunToolResult | string> | RunToolResult | string;
}

/** Tools that were registered. Disposing takes them back. */
export interface RopewalkRegistration extends Disposable {
  /** What became of each, in their order, once the sidecar has answered. Rejects where it ends before it has. */
  readonly tools: Promise<Registered[]>;
}

/**
 * The API: `vscode.extensions.getExtension('ropewalk.ropewalk')?.activate()`. Within a major version, changes only add.
 * What asks the sidecar rejects with an `Error` where the sidecar does not run, ends before it has answered, or answers
 * with an error; a tool that fails is a result with `isError`.
 */
export interface RopewalkApi {
  readonly version: 1;

  /** How the sidecar is doing. */
  readonly state: RopewalkState;
  /** Fires after `state` has changed. A sidecar that runs again has no sessions: open yours again. */
  readonly onDidChangeState: Event<RopewalkState>;
  /** Listens to what the sidecar tells, in this and every later run of it. */
  on<Name extends keyof RopewalkEvents>(event: Name, listener: (params: RopewalkEvents[Name]) => void): Disposable;

  /** Opens a session, or changes it; what it asked for and did not get is in `notGranted`. */
  openSession(params: SessionParams): Promise<Effective>;
  /** Closes a session, and cancels its calls. */
  closeSession(sessionId: string): Promise<void>;

  /** The tools for a model, in the dialect of its API. */
  listTools(params?: ListToolsParams): Promise<ListToolsResult['tools']>;
  /** Runs a call. Cancelling stops it; the result then has the status `cancelled`. */
  call(params: CallParams, token?: CancellationToken): Promise<CallResult>;
  /** Runs calls as a model makes them together. The results are in the order of the calls. */
  callMany(params: BatchParams, token?: CancellationToken): Promise<BatchResult['results']>;
  /** What a call would do. `approvedBy: previewId` in `call` is the person's consent to exactly that, once. */
  previewCall(params: CallParams, token?: CancellationToken): Promise<PreviewResult>;
  /** Adds tools of your own. They are registered again with each new sidecar, until the registration is disposed. */
  registerTools(tools: readonly RopewalkTool[]): RopewalkRegistration;

  /** What agents changed and propose, and nobody has judged yet. */
  changes(params?: ListChangesParams): Promise<ChangesResult>;
  keep(params: ChangesParams): Promise<KeepResult>;
  undo(params: UndoParams): Promise<UndoResult>;
  accept(params: AcceptParams): Promise<AcceptResult>;
  reject(params: RejectParams): Promise<RejectResult>;

  /** The background work of a session. */
  jobs(sessionId?: string): Promise<JobInfo[]>;
  /** What a job has put out since `cursor`, which is that of the answer before, or 0. */
  jobOutput(params: { sessionId?: string; id: string; cursor?: number }): Promise<JobOutput>;
  /** Tells a job to stop; `false` where it had ended. */
  stopJob(params: { sessionId?: string; id: string }): Promise<boolean>;

  /** Any other request of the protocol (docs/PROTOCOL.md), by its name. */
  request<R = unknown>(method: string, params: unknown, token?: CancellationToken): Promise<R>;
}
