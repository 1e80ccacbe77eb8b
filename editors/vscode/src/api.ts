// What the extension gives to other extensions, over the window's sidecar.
import type * as vscode from 'vscode';
import type { RopewalkApi, RopewalkRegistration, RopewalkTool } from './interface';
import type { CallParams, Registered, RunToolParams, RunToolResult } from './protocol';
import { answerOf, type Batch, failureOf, owned, refused, Registry, sendable } from './registry';
import type { Sidecar } from './sidecar';
import { followed, type Views } from './views';

export type { RopewalkApi } from './interface';

/** Makes the API. To be called before the sidecar starts: it declares that tools of others can be run. */
export function makeApi(sidecar: Sidecar, views: Views): RopewalkApi {
  const tools = new ClientTools(sidecar);
  let calls = 0;
  const named = (params: CallParams): CallParams => ({ ...params, callId: params.callId ?? `api-${(calls += 1)}` });
  return {
    version: 1,
    get state() {
      return sidecar.state;
    },
    onDidChangeState: sidecar.onDidChangeState,
    on: (event, listener) => sidecar.onEvent(event, listener as never),
    openSession: (params) => sidecar.request('ropewalk/openSession', params),
    closeSession: async (sessionId) => {
      await sidecar.request('ropewalk/closeSession', { sessionId });
    },
    listTools: async (params = {}) => (await sidecar.request('ropewalk/listTools', params)).tools,
    call: (params, token) => {
      const call = named(params);
      return followed(views, 'default', [call], () => sidecar.request('ropewalk/callTool', call, token));
    },
    callMany: (params, token) => {
      const batch = { ...params, calls: (params.calls ?? []).map(named) };
      const send = async () => (await sidecar.request('ropewalk/callTools', batch, token)).results;
      return followed(views, params.sessionId ?? 'default', batch.calls, send);
    },
    previewCall: (params, token) => sidecar.request('ropewalk/previewCall', params, token),
    registerTools: (given) => tools.register(given),
    changes: (params = {}) => sidecar.request('ropewalk/changes', params),
    keep: (params) => sidecar.request('ropewalk/keep', params),
    undo: (params) => sidecar.request('ropewalk/undo', params),
    accept: (params) => sidecar.request('ropewalk/accept', params),
    reject: (params) => sidecar.request('ropewalk/reject', params),
    jobs: async (sessionId) => (await sidecar.request('ropewalk/jobs', { sessionId: sessionId ?? null })).jobs,
    jobOutput: (params) => sidecar.request('ropewalk/jobOutput', params),
    stopJob: async (params) => (await sidecar.request('ropewalk/stopJob', params)).stopped,
    request: (method, params, token) => sidecar.request(method, params, token),
  };
}

/** Tools of other extensions: registered with each sidecar, and run when it asks. */
class ClientTools {
  private readonly registry = new Registry<RopewalkTool['run']>();

  constructor(private readonly sidecar: Sidecar) {
    sidecar.registerBeforeStart((capabilities) => {
      capabilities.runTool = true;
    });
    sidecar.onRequest('ropewalk/runTool', (params, token) => this.run(params, token));
    sidecar.onDidChangeState((state) => {
      if (state !== 'running') return;
      for (const batch of this.registry.all()) {
        this.tell(batch).catch((error: unknown) =>
          sidecar.log.warn(`Tools were not registered again: ${String(error)}`),
        );
      }
    });
  }

  register(given: readonly RopewalkTool[]): RopewalkRegistration {
    const batch = this.registry.add(owned(given));
    const told = this.sidecar.state === 'running' ? this.tell(batch) : this.whenRunning(batch);
    // Who does not look at what became of them is told in the log.
    told.catch((error: unknown) => this.sidecar.log.warn(`Tools were not registered: ${String(error)}`));
    return {
      tools: told,
      dispose: () => {
        const names = this.registry.remove(batch);
        if (names.length === 0 || this.sidecar.state !== 'running') return;
        this.sidecar.request('ropewalk/unregisterTools', { names }).catch((error: unknown) => {
          this.sidecar.log.warn(`Tools were not unregistered: ${String(error)}`);
        });
      },
    };
  }

  /** The registration with the next sidecar, which the listener above makes as well: the sidecar answers both alike. */
  private whenRunning(batch: Batch<RopewalkTool['run']>): Promise<Registered[]> {
    return new Promise((resolve, reject) => {
      const listening = this.sidecar.onDidChangeState((state) => {
        if (state !== 'running') return;
        listening.dispose();
        (this.telling.get(batch) ?? this.tell(batch)).then(resolve, reject);
      });
    });
  }

  /** What is being told to this sidecar, by batch. */
  private readonly telling = new Map<Batch<RopewalkTool['run']>, Promise<Registered[]>>();

  private tell(batch: Batch<RopewalkTool['run']>): Promise<Registered[]> {
    const definitions = batch.tools.map((it) => it.definition);
    const told = this.sidecar.request('ropewalk/registerTools', { tools: definitions }).then(({ tools }) => {
      for (const line of refused(tools))
        this.sidecar.log.warn(`A tool of another extension was not registered: ${line}`);
      return tools;
    });
    this.telling.set(batch, told);
    const over = () => {
      if (this.telling.get(batch) === told) this.telling.delete(batch);
    };
    told.then(over, over);
    return told;
  }

  private async run(
    { name, arguments: args, sessionId, callId }: RunToolParams,
    token: vscode.CancellationToken,
  ): Promise<RunToolResult> {
    const run = this.registry.find(name);
    if (!run) return failureOf(`The tool ${name} has left.`);
    try {
      return sendable(answerOf(await run((args ?? {}) as Record<string, unknown>, { sessionId, callId }, token)));
    } catch (error) {
      return failureOf(error);
    }
  }
}
