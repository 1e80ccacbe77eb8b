// The interface of the extension Ropewalk for other extensions: copy this file. Made by `npm run declarations`: do not edit.

import type { CancellationToken, Disposable, Event } from 'vscode';

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

/** `ropewalk/accept`: what is absent does not restrict; one of `hunkId`, `callId` and `uri` must be there. */
export interface AcceptParams {
  /** All that a call proposed. */
  callId?: string | null;
  /** How long to wait for diagnostics of what is applied. */
  diagnostics?: Wait;
  /** What is to be applied instead: with `uri` the whole text of the file, with `hunkId` the lines of the hunk. */
  editedText?: string | null;
  /** One hunk, by its name in the session, for instance `p1.2`. */
  hunkId?: string | null;
  /** The session that proposed it; absent: the default one. */
  sessionId?: string | null;
  /** All that is proposed for a file. */
  uri?: string | null;
}

/** The answer to `ropewalk/accept`. */
export interface AcceptResult {
  /** What is applied now, file by file: all that was named, or nothing. */
  accepted: AcceptedFile[];
  /** What is known of problems afterwards; what comes later is told to the model with its next result. */
  diagnostics?: DiagnosticsReport | null;
  /** What a formatter, or the editor on saving, made of it. */
  followed?: EditResult[];
  /** Remarks for the person: what was formatted, or could not be saved. */
  notes?: string[];
  /** Why nothing was applied, or not all of it could be taken back. */
  refused?: Refused | null;
}

/** A file with accepted hunks in it. */
export interface AcceptedFile {
  /** The names under which `ropewalk/undo` takes them back, as `hunkId`. */
  changeIds?: string[];
  /** What happened to the file. */
  edit: EditResult;
  /** The names of the hunks that are applied; also of those that others stood on. */
  hunkIds: string[];
}

/** What a call would reach. */
export interface AccessInfo {
  /** Command lines it runs. */
  commands: string[];
  /** Hosts it talks to. */
  hosts: string[];
  /** URIs it reads. */
  reads: string[];
  /** URIs it changes. */
  writes: string[];
}

/** MCP's hints, derived from the capabilities. */
export interface Annotations {
  /** It may destroy something. */
  destructiveHint: boolean;
  /** Twice is as good as once. */
  idempotentHint: boolean;
  /** It reaches beyond this machine. */
  openWorldHint: boolean;
  /** It changes nothing. */
  readOnlyHint: boolean;
}

/** How much of a change was made. */
export type AppliedPart = 'none' | 'some' | 'all';

/** What becomes of a session's edits. */
export type Apply = 'now' | 'propose';

/** Whether a call would be asked about. */
export interface ApprovalInfo {
  /** This call. */
  decision: DecisionKind;
  /** Why. */
  reason: string;
  /** In general. */
  requirement: Requirement;
  /** How much can go wrong. */
  risk: Risk;
}

/**
 * How many calls of a session wait for a person: for their consent, or for their answer to a question.
 * `ropewalk/approvalsChanged`
 */
export interface ApprovalsChanged {
  /** The session. */
  sessionId: string;
  /** How many calls wait now. */
  waiting: number;
}

/** Whether a source had spoken about the text before the edit. */
export type Baseline = 'known' | 'none';

/** `ropewalk/callTools` */
export interface BatchParams {
  /** The calls, in the order of the model. */
  calls?: CallParams[];
  /** The session of the calls that name none; absent: the default one. */
  sessionId?: string | null;
  /** The turn of the calls that name none. */
  turnId?: string | null;
}

/** The answer to `ropewalk/callTools`. */
export interface BatchResult {
  /** One result for each call, in the order of the calls. */
  results: CallResult[];
}

/** A session's share of what is limited. */
export interface Budgets {
  /** At most so many bytes of text in one answer. */
  maxBytes?: number | null;
}

/** What went wrong. */
export interface CallError {
  /** The details as data: candidates, lines, faults. */
  data?: unknown;
  /** What kind. */
  kind: ErrorKind;
}

/** `ropewalk/callTool` */
export interface CallParams {
  /**
   * What becomes of its changes: `propose` lets a person accept or reject them, also where the session makes its
   * changes at once; `now` does not make them at once where the session proposes.
   */
  apply?: Apply | null;
  /** The `previewId` of a preview a person consented to. */
  approvedBy?: string | null;
  /** The arguments: an object, or the raw text the model wrote. */
  arguments?: unknown;
  /** The caller's name for the call; absent: one is given. */
  callId?: string | null;
  /** How long to wait for diagnostics. */
  diagnostics?: Wait;
  /** At most so many bytes of text in the answer, below the settings' limit. */
  maxBytes?: number | null;
  /** The tool. */
  name?: string;
  /** The session; absent: the default one. */
  sessionId?: string | null;
  /** The model's output limit cut the call off. */
  truncated?: boolean;
  /** The turn of the model the call belongs to. */
  turnId?: string | null;
  /** Where progress is reported (LSP `workDoneToken`). */
  workDoneToken?: unknown;
}

/** The one result of a call. */
export interface CallResult {
  /** How much of a change was made; absent for calls that change nothing. */
  applied?: AppliedPart | null;
  /** The call. */
  callId: string;
  /** The complete answer for the model. */
  content: Content[];
  /** What is known of problems afterwards. */
  diagnostics?: DiagnosticsReport | null;
  /** What was changed. */
  edits?: EditResult[] | null;
  /** What went wrong. */
  error?: CallError | null;
  /** Whether the model should take it for an error. */
  isError: boolean;
  /** The tool that ran, by its real name. */
  name: string;
  /** Where the whole output is. */
  output?: OutputInfo | null;
  /** Nothing was applied: `edits` is what the call proposes, for a person to accept or reject. */
  proposed?: boolean;
  /** How it ended. */
  status: Status;
  /** The same as data. */
  structuredContent?: unknown;
  /** How long the stages took. */
  timing: Timing;
}

/** What a tool can do to the world. Approval and annotations derive from it. */
export type Capability = 'readsFiles' | 'writesFiles' | 'executesCode' | 'network';

/** A document or file with changes that nobody has judged yet. */
export interface ChangedFile {
  /** The hunks, by their places. */
  hunks: HunkInfo[];
  /** Its URI; the editor's spelling where it is open. */
  uri: string;
  /** The editor's version that the lines are of; null where it is not open. */
  version?: number | null;
}

/** There are other changes to review now: `ropewalk/changesChanged`. Typing alone never causes it. */
export interface ChangesChanged {
  /** The documents and files whose changes are others now, sorted. */
  uris: string[];
}

/**
 * Which changes are meant: `ropewalk/keep`, and those below. All that fit everything that is given; without anything,
 * all there are.
 */
export interface ChangesParams {
  /** Those of this call. */
  callId?: string | null;
  /** This one, as `ropewalk/changes` names it. */
  hunkId?: string | null;
  /** Those of this session; absent: of every session. */
  sessionId?: string | null;
  /** Those of this turn. */
  turnId?: string | null;
  /** Those in this document or file. */
  uri?: string | null;
}

/** The answer to [`ListChangesParams`]: what nobody has judged yet. */
export interface ChangesResult {
  /** The files with such changes, by name. */
  files?: ChangedFile[];
  /**
   * What is proposed and not made: the files that would be changed, by name, each once for every session that
   * proposes something for it.
   */
  proposals?: ProposedFile[];
  /** The undos that can be undone, the oldest first, whatever was asked for. */
  undos?: UndoInfo[];
}

/** One piece of an answer. */
export type Content = {
  /** The text. */
  text: string;
  type: 'text';
} | {
  /** Base64. */
  data: string;
  /** For instance `image/png`. */
  mimeType: string;
  type: 'image';
};

/** What the rules say of a call. */
export type DecisionKind = 'allow' | 'ask' | 'deny';

/** What a tool is declared to do, in MCP's words. */
export interface DeclaredAnnotations {
  /** It may destroy something. */
  destructiveHint?: boolean | null;
  /** Twice is as good as once. */
  idempotentHint?: boolean | null;
  /** It reaches beyond this machine. */
  openWorldHint?: boolean | null;
  /** It changes nothing. */
  readOnlyHint?: boolean;
}

/** What is known after some edits. */
export interface DiagnosticsReport {
  /** The edited documents, in the order of the edits. */
  documents?: DocumentReport[];
  /** Other files in which errors appeared; at most five. */
  otherFiles?: FileReport[];
  /** In how many more files errors appeared. */
  otherFilesCut?: number;
}

/** For which API tools are wanted. */
export type Dialect = 'plain' | 'anthropic' | 'openai' | 'openaiStrict' | 'gemini' | 'vscode' | 'mcp';

/** What is known of one document. */
export interface DocumentReport {
  /**
   * In a batch: the later call that edited the document too, whose result has what is known; then `sources` is empty.
   */
  reportIn?: string | null;
  /** One entry a source, sorted by id. */
  sources: SourceReport[];
  /** The document. */
  uri: string;
  /** The version the report is about; null for a file on the disk. */
  version?: number | null;
}

/** What happened to one file or document. */
export interface EditResult {
  /** Whether the file is deleted. */
  deleted?: boolean;
  /** Where it is only proposed: the names of its hunks, for `accept` and `reject`. */
  hunkIds?: string[];
  /** The places. */
  hunks: Hunk[];
  /** Where the file was moved to; absent when it stays where it is. */
  movedTo?: string | null;
  /** The change. */
  unifiedDiff: string;
  /** Whether the edit is in a buffer and not on the disk. */
  unsaved: boolean;
  /** Which one. */
  uri: string;
  /** The editor's version that completed it; null on the disk. */
  versionAfter?: number | null;
  /** The editor's version the edit was computed against; null on the disk. */
  versionBefore?: number | null;
}

/** What holds for a session, and what it asked for and did not get. */
export interface Effective {
  /** What becomes of its edits. */
  apply: Apply;
  /** Its share of what is limited. */
  budgets: Budgets;
  /** Which guards are on. */
  guards: GuardSettings;
  /** Its name for people. */
  label?: string | null;
  /** Its mode. */
  mode: Mode;
  /** What it asked for and did not get. */
  notGranted: NotGranted[];
  /** Whether something of it was kept from an earlier run. */
  restored: boolean;
  /** Its folders, as URIs; absent: all that are open. */
  roots?: string[] | null;
  /** Its own rules, beside the user's. */
  rules: RuleLists;
  /** Whether edited documents are saved. */
  save: Save;
  /** The session. */
  sessionId: string;
  /** Which tools it has. */
  tools: ToolSwitches;
}

/** Why a call failed: `error.kind` of the protocol. */
export type ErrorKind = 'unknownTool' | 'invalidArguments' | 'truncated' | 'ambiguous' | 'notFound' | 'stale' | 'conflict' | 'unknown' | 'denied' | 'cancelled' | 'timeout' | 'unavailable' | 'failed';

/** What happened to a file. */
export type FileChangeKind = 'created' | 'changed' | 'deleted';

/** A file that was made, changed or removed on the disk. */
export interface FileChanged {
  /** Who did it. */
  by: Origin;
  /** What happened. */
  type: FileChangeKind;
  /** The file. */
  uri: string;
}

/** New errors in a file that was not edited. */
export interface FileReport {
  /** How many more appeared that are not listed. */
  cut?: number;
  /**
   * Told late: the URIs of the documents whose edit was followed by this. It takes the place of what was told late of
   * this file and source before; an empty `new` takes that back.
   */
  edited?: string[];
  /** The errors that appeared. */
  new: Problem[];
  /** Who says so. */
  source: string;
  /** The file. */
  uri: string;
}

/** `ropewalk/filesChanged` */
export interface FilesChangedParams {
  /** What changed on the disk. */
  changes: FileChanged[];
}

/** Guards against going round in circles, within one turn of the model. */
export interface GuardSettings {
  /** Warns after three failures of one tool in a row, and stops it after eight. */
  failures?: boolean;
  /** Refuses the same read a third time with nothing changed between, and the edit that failed on the same text. */
  repeats?: boolean;
  /** Tells of edits that undo each other. */
  undone?: boolean;
}

/** Guards that a session wants on; what is off in the settings can be turned on, and nothing off. */
export interface GuardSwitches {
  /** See [`GuardSettings::failures`]. */
  failures?: boolean | null;
  /** See [`GuardSettings::repeats`]. */
  repeats?: boolean | null;
  /** See [`GuardSettings::undone`]. */
  undone?: boolean | null;
}

/** One place of a change and how it was found. */
export interface Hunk {
  /** The lines after it. */
  after: LineSpan;
  /** The lines before the change. */
  before: LineSpan;
  /** How alike the place and the text asked for are, 0 to 1; 1 is exact. */
  similarity: number;
  /** The strategy of the cascade, or `write`, `patch`. */
  strategy: string;
}

/** A change that nobody has judged yet. */
export interface HunkInfo {
  /** A person accepted it before it was made. */
  accepted?: boolean;
  /** What the call left there. */
  after: string;
  /** What stood there before; of a deleted file, its text. */
  before: string;
  /** The call that made it. */
  callId: string;
  /** Names it, for as long as it is there. */
  hunkId: string;
  /** What it is. */
  kind: HunkKind;
  /** Where it is now. Of one that a later call changed once more, the lines of that change. */
  lines: LineSpan;
  /** Of a file that was moved, where it was. */
  movedFrom?: string | null;
  /** What is there now, with what the person has put in. */
  now: string;
  /** The session that made it. */
  sessionId: string;
  /** Whether the person has changed something among its lines. */
  touched: boolean;
  /** Its turn, where the caller named one. */
  turnId?: string | null;
  /** The call that changed the same lines once more: it has to be undone first. */
  under?: Maker | null;
}

/** What a change is. */
export type HunkKind = 'changed' | 'created' | 'deleted' | 'moved' | 'mode';

/** A piece of background work. */
export interface JobInfo {
  /** How it ended, in words. */
  detail?: string | null;
  /** Of that, from its beginning, so much is not kept any more (bytes). */
  droppedBytes: number;
  /** Names it in its session: `j1`, `j2` and so on. */
  id: string;
  /** What it is, for people. */
  label: string;
  /** How much it has put out so far (bytes), also what is not kept any more. */
  outputBytes: number;
  /** How it is doing. */
  state: JobState;
}

/** What a job has put out since a cursor. */
export interface JobOutput {
  /** Where the next text begins (bytes from the beginning of all output), for the next question. */
  cursor: number;
  /** So many bytes between the cursor that was asked for and `text` are not kept any more. */
  dropped: number;
  /** How the job is doing. */
  state: JobState;
  /** The text. Bytes that are not UTF-8 are replaced. */
  text: string;
}

/** How a piece of background work is doing. */
export type JobState = 'running' | 'exited' | 'failed' | 'stopped';

/** The jobs of a session changed: `ropewalk/jobsChanged`. */
export interface JobsChanged {
  /** All its jobs, in the order in which they were started. */
  jobs: JobInfo[];
  /** The session. */
  sessionId: string;
}

/** The answer to `ropewalk/keep`. */
export interface KeepResult {
  /** The hunks that are kept, and are no changes any more; with one, those that lie under it. */
  kept: string[];
}

/** A part of a result that is not sent whole. */
export interface LeftOut {
  /** How many bytes of it are left out (of what is no text: as JSON). */
  bytes: number;
  /**
   * Which one, for instance `edits[0].unifiedDiff`. A diff or a list is cut at its end; `structuredContent` is
   * absent.
   */
  field: string;
  /** The output that has all of it, for the `output` method; absent when none has. */
  output?: string | null;
}

/** Some lines of a text. */
export interface LineSpan {
  /** How many lines; 0 means a place before `start`. */
  count: number;
  /** The first line, 1-based. */
  start: number;
}

/** What to list: `ropewalk/changes`. */
export interface ListChangesParams {
  /** Those of this call. */
  callId?: string | null;
  /** This one, as `ropewalk/changes` names it. */
  hunkId?: string | null;
  /** Also those that a person accepted before they were made, and that can be undone still. */
  includeAccepted?: boolean;
  /** Those of this session; absent: of every session. */
  sessionId?: string | null;
  /** Those of this turn. */
  turnId?: string | null;
  /** Those in this document or file. */
  uri?: string | null;
}

/** `ropewalk/listTools` */
export interface ListToolsParams {
  /** For which API the tools are wanted. */
  dialect?: Dialect;
  /** Also the deferred tools that the session has not called yet. */
  includeDeferred?: boolean;
  /** The session; absent: the default one. */
  sessionId?: string | null;
}

/** The answer to `ropewalk/listTools`. */
export interface ListToolsResult {
  /**
   * The tools: the built-in ones by name, then the client's own by name, then the deferred ones that the session has
   * called, in the order of their first calls.
   */
  tools: ListedTool[];
}

/** A tool in a list. */
export type ListedTool = ToolInfo | Record<string, unknown>;

/** Who made a change. */
export interface Maker {
  /** The call. */
  callId: string;
  /** The session. */
  sessionId: string;
}

/** What a session's calls may do, in general. */
export type Mode = 'danger' | 'build' | 'review' | 'plan' | 'explore';

/** `ropewalk/modeChanged` */
export interface ModeChanged {
  /** The mode that holds from now on. */
  mode: Mode;
  /** The session. */
  sessionId: string;
}

/** Something that a session asked for and did not get. */
export interface NotGranted {
  /** What was asked for. */
  asked: string;
  /** What it is about: a field of the params, with an entry's index where it is a list. */
  field: string;
  /** Why it was not granted, or what it does instead. */
  reason: string;
}

/** Who made a change. */
export type Origin = 'agent' | 'user' | 'editor';

/** What became of a hunk. */
export type Outcome = 'undone' | 'partly' | 'left' | 'restored';

/** Where the whole of a cut output is. */
export interface OutputInfo {
  /** Its name for the `output` method. */
  id: string;
  /** What sort of text it is, where that is known. */
  kind?: OutputKind | null;
  /** Parts of this result, other than `content`, that are too long to be sent whole. */
  leftOut?: LeftOut[];
  /** Its length in bytes. */
  totalBytes: number;
  /** Whether `content` has less. */
  truncated: boolean;
}

/** What sort of text an output is: it decides how the output may be made shorter. */
export type OutputKind = 'source' | 'search' | 'log' | 'other';

/** A place between two characters: 0-based line, 0-based offset in units of an [`Encoding`]. */
export interface Position {
  /** 0-based offset in the line, in units of the encoding in force. */
  character: number;
  /** 0-based line. */
  line: number;
}

/** `ropewalk/previewCall` */
export interface PreviewResult {
  /** What it would reach, resolved. */
  access: AccessInfo;
  /** Whether it would be asked about. */
  approval: ApprovalInfo;
  /** The arguments as they would be used. */
  arguments: unknown;
  /** The change as a unified diff. */
  diff?: string | null;
  /** The tool, by its real name. */
  name: string;
  /** What `approvedBy` takes. */
  previewId: string;
  /** Why not. */
  problems: string[];
  /** What was mended in them. */
  repairs: string[];
  /** Whether mending invented structure. */
  synthesized: boolean;
  /** Whether the call could run. */
  valid: boolean;
}

/** One diagnostic. */
export interface Problem {
  /** Its code, as text. */
  code?: string | null;
  /** What it says; bounded, lines ended by LF, no other control characters. */
  message: string;
  /** Where, 0-based, in the negotiated counting of the editor. */
  range: Range;
  /** How bad. */
  severity: Severity;
  /** The tool that found it, as the server names it (a server can speak for several). */
  source?: string | null;
}

/** A file for which a session proposes changes, in `ropewalk/changes`. */
export interface ProposedFile {
  /** What is proposed, in the order of the text. */
  hunks: ProposedHunk[];
  /** Where the file would be moved to. */
  movedTo?: string | null;
  /** The session that proposes it. */
  sessionId: string;
  /** The file that would be changed. */
  uri: string;
  /** The editor's version that the lines are of; null where it is not open. */
  version?: number | null;
}

/** A change that is proposed and not made. */
export interface ProposedHunk {
  /** What would stand there instead; of a mode, the one that it would get. */
  after: string;
  /** What stands there; of a mode, the one that the file has, as git names it: `100644` or `100755`. */
  before: string;
  /** The call that proposes it. */
  callId: string;
  /** Its name in its session, for `ropewalk/accept` and `ropewalk/reject`. */
  hunkId: string;
  /** What it is. */
  kind: HunkKind;
  /** The lines of the text as it is that it would replace. */
  lines: LineSpan;
  /** Its lines in the proposed text. */
  proposedLines: LineSpan;
  /** The turn of the call, where the caller named one. */
  turnId?: string | null;
}

/** From `start` up to, not including, `end`. */
export interface Range {
  /** The first position outside. */
  end: Position;
  /** The first position inside. */
  start: Position;
}

/** Why a person's decision could not be followed. */
export interface Refused {
  /** What kind of reason. */
  kind: ErrorKind;
  /** The reason, for the person. */
  message: string;
}

/** What became of one tool. */
export interface Registered {
  /** The name under which the list says that it is unavailable. */
  listedAs?: string | null;
  /** Its name, as it came. */
  name: string;
  /** Why it is not to be called. */
  reason?: string | null;
  /** What became of it. */
  status: Registration;
}

/** What became of a tool that wanted to join. */
export type Registration = 'registered' | 'unavailable' | 'refused';

/** `ropewalk/reject`: as [`AcceptParams`]. */
export interface RejectParams {
  /** All that a call proposed. */
  callId?: string | null;
  /** What the model is told of the reason. */
  feedback?: string | null;
  /** One hunk, by its name in the session, for instance `p1.2`. */
  hunkId?: string | null;
  /** The session that proposed it; absent: the default one. */
  sessionId?: string | null;
  /** All that is proposed for a file. */
  uri?: string | null;
}

/** The answer to `ropewalk/reject`. */
export interface RejectResult {
  /** Why nothing was rejected. */
  refused?: Refused | null;
  /** What is not proposed any more, file by file. */
  rejected: RejectedFile[];
}

/** A file of which hunks were rejected. */
export interface RejectedFile {
  /** The names of the hunks that are gone. */
  hunkIds: string[];
  /** The calls that changed lines of named hunks once more: those stay until these calls are rejected. */
  standUnder: string[];
  /** The file. */
  uri: string;
}

/** Whether a person is asked about a tool's calls, in general. */
export type Requirement = 'auto' | 'suggest' | 'required';

/** How much can go wrong in a call. */
export type Risk = 'low' | 'medium' | 'high';

/** Rules, `Tool` or `Tool(pattern)`. */
export interface RuleLists {
  /** Calls that run without asking, as far as the user's settings let them. */
  allow?: string[];
  /** Calls that a person is asked about. */
  ask?: string[];
  /** Calls that do not run. */
  deny?: string[];
}

/** The answer to [`RunToolParams`]. */
export interface RunToolResult {
  /** The complete answer for the model: `{ type: "text", text }` and `{ type: "image", data, mimeType }`. */
  content?: unknown[];
  /** Whether it failed; `content` says how. */
  isError?: boolean;
  /** The same as data. */
  structuredContent?: unknown;
}

/** Whether edited documents are saved. */
export type Save = 'never' | 'ifClean' | 'always';

/** `ropewalk/openSession`, `ropewalk/updateSession` */
export interface SessionParams {
  /** What becomes of its edits. */
  apply?: Apply | null;
  /** Its share of what is limited. */
  budgets?: Budgets | null;
  /** Guards it wants on. */
  guards?: GuardSwitches | null;
  /** Its name for people. */
  label?: string | null;
  /** Its mode. */
  mode?: Mode | null;
  /** The folders it works in, as URIs: what is outside them is asked about. */
  roots?: string[] | null;
  /** Its own rules. */
  rules?: RuleLists | null;
  /** Whether edited documents are saved, by the editor. */
  save?: Save | null;
  /** The session; absent: the default one. */
  sessionId?: string | null;
  /** Which tools it has. */
  tools?: ToolSwitches | null;
}

/** How bad a problem is; the worst compares least. */
export type Severity = 'error' | 'warning' | 'information' | 'hint';

/** What one source says of one document. */
export interface SourceReport {
  /** Whether there was something to compare with. */
  baseline: Baseline;
  /** How many of `new` (or `present`) are not listed. */
  cut: number;
  /** Words: the end of a crashed server's stderr, why it was not started. */
  detail?: string | null;
  /** The source: the server's name, `syntax`, or the name the editor gave. */
  id: string;
  /** What appeared with the edit, worst first. Always empty without a baseline. */
  new: Problem[];
  /** What is there, worst first, when there was no baseline to tell new from old. */
  present?: Problem[];
  /** How many went away with the edit. */
  resolved: number;
  /** How many were there before and still are. */
  unchanged: number;
  /** How many of the unchanged ones are errors. */
  unchangedErrors?: number;
  /** How many more diagnostics it sent that nobody could read, so that nobody knows how bad they are. */
  unread?: number;
  /** How much is known. */
  verdict: Verdict;
  /** How long was waited for it (ms). */
  waitedMs: number;
}

/** How a call ended. */
export type Status = 'ok' | 'error' | 'denied' | 'cancelled' | 'superseded';

/** How long the stages took, in ms. */
export interface Timing {
  /** Being applied by the editor or written. */
  applyMs: number;
  /** Waiting for a person. */
  approvalMs: number;
  /** Waiting for diagnostics. */
  diagnosticsMs: number;
  /** Waiting for its turn. */
  queuedMs: number;
  /** Running. */
  runMs: number;
}

/** One entry of a session's task list. */
export interface Todo {
  /** What is to be done. */
  content: string;
  /** Its name within the list. */
  id: string;
  /** How much it matters. */
  priority?: TodoPriority | null;
  /** How far it is. */
  status: TodoStatus;
}

/** How much an entry of a task list matters. */
export type TodoPriority = 'high' | 'medium' | 'low';

/** How far an entry of a task list is. */
export type TodoStatus = 'pending' | 'in_progress' | 'completed' | 'cancelled';

/** `ropewalk/todosChanged` */
export interface TodosChanged {
  /** The session. */
  sessionId: string;
  /** The whole list. */
  todos: Todo[];
}

/** A tool of the client's own. */
export interface ToolDefinition {
  /** What it does to the world, in MCP's words. Only `readOnlyHint: true` loosens anything. */
  annotations?: DeclaredAnnotations;
  /** What it can do; absent: anything, or only reading where it is declared to change nothing. */
  capabilities?: Capability[] | null;
  /** How long a call may run (ms), at most an hour; absent: 120,000. */
  deadlineMs?: number | null;
  /** Whether it is listed only once it has been called. */
  deferred?: boolean;
  /** What it is for, for the model. */
  description: string;
  /** JSON Schema of its arguments: an object. */
  inputSchema: unknown;
  /** Its name: 1 to 64 of a-z, A-Z, 0-9, _ and -. */
  name: string;
  /** JSON Schema of its structured answer. */
  outputSchema?: unknown;
  /** Whether it may run beside its neighbours. Counts only for a tool that changes nothing. */
  parallel?: boolean;
  /** Its name for people; absent: its name. */
  title?: string | null;
}

/** A stage in the life of a call, for front ends: `ropewalk/toolEvent`. */
export interface ToolEvent {
  /** The call. */
  callId: string;
  /** Words or data that go with it. */
  detail?: unknown;
  /** What happened. */
  kind: ToolEventKind;
  /** The tool, on `start`. */
  name?: string | null;
  /** The session. */
  sessionId: string;
}

/** The stages a front end hears of. */
export type ToolEventKind = 'start' | 'preview' | 'output' | 'complete';

/** A tool as a client sees it. */
export interface ToolInfo {
  /** MCP's annotations. */
  annotations: Annotations;
  /** Whether a person is asked, in general. */
  approval: Requirement;
  /** What it can do. */
  capabilities: Capability[];
  /** Whether it is listed only once it has been called, or asked for by `includeDeferred`. */
  deferred: boolean;
  /** What it is for. */
  description: string;
  /** JSON Schema of its arguments. */
  inputSchema: unknown;
  /** Its name. */
  name: string;
  /** JSON Schema of its structured answer. */
  outputSchema?: unknown;
  /** Whether neighbours may run beside it. */
  parallel: boolean;
  /** Its name for people. */
  title: string;
  /** Why it cannot be called: its name or schema is broken, and this only stands in for it. */
  unavailable?: string | null;
}

/** Which tools a session has, by any of their names. */
export interface ToolSwitches {
  /** Not these. */
  disable?: string[];
  /** Only these; absent: all. */
  enable?: string[] | null;
}

/** The list of tools is another one now: `ropewalk/toolsChanged`. */
export interface ToolsChanged {
  /** Only that of this session; absent: that of every session. */
  sessionId?: string | null;
}

/** A file that an undo changed. */
export interface UndoEdit {
  /** Whether the file was deleted. */
  deleted?: boolean;
  /** The change as a unified diff. */
  unifiedDiff: string;
  /** Whether it is in the editor's buffer only. */
  unsaved: boolean;
  /** The file; of one that was moved back, where it is now. */
  uri: string;
  /** The editor's version after it; null on the disk. */
  versionAfter?: number | null;
}

/** An undo that can be undone. */
export interface UndoInfo {
  /** Names it. */
  undoId: string;
  /** The files that it was about. */
  uris: string[];
}

/** What to undo: `ropewalk/undo`. */
export interface UndoParams {
  /** Those of this call. */
  callId?: string | null;
  /** This one, as `ropewalk/changes` names it. */
  hunkId?: string | null;
  /** Those of this session; absent: of every session. */
  sessionId?: string | null;
  /** Those of this turn. */
  turnId?: string | null;
  /** Undoes this undo instead; nothing else may be given then. */
  undoId?: string | null;
  /** Those in this document or file. */
  uri?: string | null;
}

/** The answer to `ropewalk/undo`. */
export interface UndoResult {
  /** The files that were changed. */
  edits?: UndoEdit[];
  /** What became of each hunk that was meant. Empty: none was. */
  hunks?: UndoneHunk[];
  /**
   * Names what was done, so that it can be undone in its turn; absent where nothing was, and after the undo of an
   * undo.
   */
  undoId?: string | null;
}

/** What became of a hunk that was to be undone, or brought back. */
export interface UndoneHunk {
  /** The hunk. */
  hunkId: string;
  /** What became of it. */
  outcome: Outcome;
  /** Its document or file. */
  uri: string;
  /** Why something stays, in words for a person. */
  why?: string | null;
}

/** How much is known of a source's opinion on the text after the edit. */
export type Verdict = 'fresh' | 'pending' | 'stale' | 'needsSave' | 'neverReported' | 'crashed' | 'noServer' | 'untrusted' | 'superseded';

/** How long to wait for diagnostics, and for whose. */
export interface Wait {
  /** At most so long (ms), instead of the settings' budgets. */
  deadlineMs?: number | null;
  /** Only for these sources, by their names; of the others it is told what is there. */
  sources?: string[] | null;
  /** Whether to wait at all. */
  wait?: WaitMode;
}

/** Whether to wait for diagnostics. */
export type WaitMode = 'none' | 'auto' | 'fresh';
