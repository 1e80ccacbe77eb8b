/** Does the steps of a scenario with the client in TypeScript, and prints what came of each, as JSON. */
import { start, type Edit } from './ropewalk.ts'

const [command, answers, steps] = process.argv.slice(2).map((word) => JSON.parse(word))
const events: [string, any][] = []
const handlers = Object.fromEntries(Object.entries(answers).map(([name, value]) => [name, () => value]))
const client = await start({ command, handlers, onEvent: (method, params) => events.push([method, params]) })
let started: Promise<unknown> = Promise.resolve()

const does: Record<string, (...words: any[]) => unknown> = {
  text: (uri: string) => client.documents.get(uri),
  start: (name: string, args: unknown) => {
    started = client.call(name, args)
    started.catch(() => {})
    return 1
  },
  result: () => started,
  events: () => events.map(([method, params]) => [method, method === 'huge' ? params.text.length : params]),
  call: (name: string, args: unknown) => client.call(name, args),
  cancel: async (callId?: string) => (await client.cancel(callId)).cancelled,
  open: (uri: string, text: string) => client.open(uri, text),
  change: (uri: string, edits: Edit[]) => client.change(uri, edits),
  closeDocument: (uri: string) => client.closeDocument(uri),
  request: (method: string, params: unknown) => client.request(method, params),
  close: (timeout?: number) => client.close(timeout),
}

const said: unknown[] = []
for (const [step, ...words] of steps) {
  try {
    said.push((await does[step]!(...words)) ?? null)
  } catch (fault) {
    const { message, code = null } = fault as Error & { code?: number | null }
    said.push({ error: message, code })
  }
}
// The sidecar may still run, and Node would wait for it.
process.stdout.write(JSON.stringify(said) + '\n', () => process.exit(0))
