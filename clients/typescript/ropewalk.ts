/** Ropewalk for Node programs: starts the sidecar, owns documents, runs tool calls. No dependency. */
import { spawn } from 'node:child_process'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** JSON as it comes; `ropewalk schema` prints the types of every method. */
type Json = any
export type Handlers = Record<string, (params: Json) => unknown>
export type Position = { line: number; character: number }
/** As LSP has it, columns in UTF-8. */
export type Edit = { range: { start: Position; end: Position }; newText: string }
/** `handlers` answer requests, by their names without `ropewalk/` ("approve"); `onEvent` hears notifications. */
export type Options = {
  command?: string[]; folder?: string; settings?: Json
  handlers?: Handlers; onEvent?: (method: string, params: Json) => void
}
export type Ropewalk = Awaited<ReturnType<typeof start>>
/** What the sidecar refused, with the code of that; or, without one, why it is gone. */
const failure = (message: string, code?: number) => Object.assign(new Error(message), { code })
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const linesOf = (text: string) => text.split('\n').map((line) => Buffer.from(line))
/** How far a line goes (bytes): there is no place between a CR and its LF. */
const width = (line?: Buffer) => (line ? line.length - (line.at(-1) === 13 ? 1 : 0) : -1)
const rises = (a: Position, b: Position) => a.line < b.line || (a.line === b.line && a.character <= b.character)

export async function start({ command = ['ropewalk'], folder, settings, handlers = {}, onEvent }: Options = {}) {
  const documents = new Map<string, { text: string; version: number }>()
  const waiting = new Map<number, { done: (result: Json) => void; failed: (error: Error) => void }>()
  const answers: Handlers = {
    approve: () => ({ decisions: [] }), ask: () => ({ answers: [], cancelled: true }), ...handlers,
    resync: ({ uri }) => documents.get(uri), 'workspace/applyEdit': apply,
  }
  let [lastId, ended, said] = [0, '', '']
  const child = spawn(command[0] ?? '', command.slice(1))
  const exit = new Promise<number | null>((done) => child.on('close', done)).then((code) => {
    ended = `the sidecar has ended with code ${code}: ${said}`
    for (const { failed } of waiting.values()) failed(failure(ended))
    return code
  })
  child.on('error', (error) => (said += error))
  child.stdin.on('error', () => {}) // Whoever waits hears of its end.
  child.stderr.on('data', (text) => (said = (said + text).slice(-2000)))
  child.stdout.on('end', () => setTimeout(() => child.kill('SIGKILL'), 1000).unref())
  let [chunks, have, need]: [Buffer[], number, number] = [[], 0, 1]
  child.stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    have += chunk.length
    while (have >= need && !child.killed) {
      const all = Buffer.concat(chunks), body = all.indexOf('\r\n\r\n') + 4
      const length = Number(/^content-length: *(\d+)/im.exec(all.toString('latin1', 0, body))?.[1] ?? 0)
      need = body < 4 ? have + 1 : body + length
      if (have < need) return void (chunks = [all])
      chunks = [all.subarray(need)]
      try { receive(JSON.parse(all.toString('utf8', body, need))) }
      catch (fault) { return void (child.kill('SIGKILL') && (said += fault)) }
      have -= need
      need = 1
    }
  })

  function send(message: object) {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  }

  async function receive({ id, method, params, result, error }: any) {
    const answer = answers[String(method).replace('ropewalk/', '')]
    if (!method) {
      error ? waiting.get(id)?.failed(failure(error.message, error.code)) : waiting.get(id)?.done(result)
      waiting.delete(id)
    } else if (id === undefined) queueMicrotask(() => onEvent?.(method, params))
    else if (!answer) send({ id, error: { code: -32601, message: `${method} is not known here` } })
    else {
      try {
        send({ id, result: (await answer(params)) ?? null })
      } catch (fault) {
        send({ id, error: { code: -32603, message: String(fault) } })
      }
    }
  }

  function request(method: string, params?: Json): Promise<Json> {
    send({ id: ++lastId, method, params })
    return new Promise((done, failed) => (ended ? failed(failure(ended)) : waiting.set(lastId, { done, failed })))
  }

  const notify = (method: string, params?: Json) => send({ method, params })
  /** Runs a tool call to its end, cancelled or not; `more` is `callId`, `turnId`, `diagnostics` and so on. */
  const call = (name: string, args: Json, sessionId?: string, more?: object): Promise<Json> =>
    request('ropewalk/callTool', { name, arguments: args, sessionId, ...more })
  const cancel = (callId?: string, sessionId?: string) => request('ropewalk/cancel', { callId, sessionId })

  function open(uri: string, text: string, languageId = 'plaintext') {
    documents.set(uri, { text, version: 1 })
    notify('textDocument/didOpen', { textDocument: { uri, languageId, version: 1, text } })
  }

  /** Makes edits, which rise and lie apart: all of them, or none and an error. */
  function change(uri: string, edits: Edit[], expected?: number) {
    const { text, version } = documents.get(uri) ?? { text: '', version: NaN }
    let [lines, limit, fits] = [linesOf(text), { line: Infinity, character: 0 }, version === (expected ?? version)]
    const changes = [...edits].reverse().map(({ range: { start, end }, newText }) => {
      fits &&= rises(start, end) && rises(end, limit)
      fits &&= start.character <= width(lines[start.line]) && end.character <= width(lines[end.line])
      const head = utf8.decode(lines[start.line]?.subarray(0, start.character))
      const tail = utf8.decode(lines[end.line]?.subarray(end.character))
      lines = lines.slice(0, start.line).concat(linesOf(head + newText + tail), lines.slice(end.line + 1))
      limit = start
      return { range: { start, end }, text: newText }
    })
    if (!fits) throw failure(`the edits do not fit ${uri}, which is at version ${version}`)
    documents.set(uri, { text: lines.join('\n'), version: version + 1 })
    notify('textDocument/didChange', { textDocument: { uri, version: version + 1 }, contentChanges: changes })
  }

  function closeDocument(uri: string) {
    documents.delete(uri)
    notify('textDocument/didClose', { textDocument: { uri } })
  }

  function apply({ edit: { documentChanges } }: Json) {
    try {
      const [{ textDocument, edits }, ...more] = documentChanges
      if (more.length) throw failure('one document at a time')
      change(textDocument.uri, edits, textDocument.version)
      return { applied: true }
    } catch (fault) {
      return { applied: false, failureReason: String(fault) }
    }
  }

  /** Ends the sidecar in good order, or by force after so many milliseconds; its exit code. */
  async function close(timeout = 5000) {
    const force = setTimeout(() => child.kill('SIGKILL'), timeout)
    await request('shutdown').catch(() => {})
    notify('exit')
    return exit.finally(() => clearTimeout(force))
  }

  const able = Object.keys(handlers).map((name) => [name === 'pullDiagnostics' ? 'diagnostics' : name, true])
  const experimental = { ropewalk: { ...Object.fromEntries(able), resync: true, events: onEvent !== undefined } }
  const server = await request('initialize', {
    processId: process.pid, initializationOptions: settings,
    workspaceFolders: folder ? [{ uri: pathToFileURL(resolve(folder)).href, name: basename(folder) }] : null,
    capabilities: { general: { positionEncodings: ['utf-8'] }, workspace: { applyEdit: true }, experimental },
  })
  notify('initialized', {})
  return { documents, server, request, notify, call, cancel, open, change, closeDocument, close }
}
