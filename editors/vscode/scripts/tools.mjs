// Writes `languageModelTools` of package.json from the tools that the sidecar lists (dialect `vscode`), for VS Code
// wants them declared. `node scripts/tools.mjs PATH_TO_ROPEWALK [--check]`; with --check nothing is written, and the
// exit code is 1 where something would change.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PREFIX = 'ropewalk_';

/** Tools that make no sense as declared ones: what is declared need not be searched for. */
const LEFT_OUT = new Set(['tool_search']);

const ICONS = {
  agent: 'robot',
  apply_patch: 'diff',
  bash: 'terminal',
  edit: 'edit',
  file_search: 'go-to-file',
  glob: 'files',
  grep: 'search',
  ls: 'list-tree',
  lsp: 'symbol-misc',
  memory: 'bookmark',
  monitor: 'pulse',
  multi_edit: 'edit',
  output: 'output',
  plan_enter: 'checklist',
  plan_exit: 'checklist',
  question: 'question',
  read: 'file',
  skill: 'mortar-board',
  todowrite: 'checklist',
  webfetch: 'globe',
  websearch: 'globe',
  write: 'new-file',
};

/** Asks a sidecar for its tools in a dialect. */
async function ask(program, dialect) {
  // A tool that needs a key is listed with any; nothing is asked of the engine here.
  const env = { ...process.env, BRAVE_API_KEY: 'none' };
  const child = spawn(program, ['serve', '--ephemeral'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = new Map();
  let bytes = Buffer.alloc(0);
  child.stdout.on('data', (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (;;) {
      const head = bytes.indexOf('\r\n\r\n');
      if (head < 0) return;
      const length = Number(/Content-Length: (\d+)/i.exec(bytes.subarray(0, head).toString())?.[1]);
      if (bytes.length < head + 4 + length) return;
      const message = JSON.parse(bytes.subarray(head + 4, head + 4 + length).toString());
      bytes = bytes.subarray(head + 4 + length);
      answers.get(message.id)?.(message);
    }
  });
  const send = (message) => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
    child.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    child.stdin.write(body);
  };
  const request = (id, method, params) =>
    new Promise((resolve, reject) => {
      answers.set(id, ({ result, error }) => (error ? reject(new Error(error.message)) : resolve(result)));
      child.once('exit', () => reject(new Error('the sidecar ended')));
      send({ id, method, params });
    });
  try {
    // The tool `agent` is listed for those who run agents, as the extension does once a model is there.
    const capabilities = { experimental: { ropewalk: { runAgent: true } } };
    await request(1, 'initialize', { processId: process.pid, rootUri: null, capabilities });
    send({ method: 'initialized', params: {} });
    const { tools } = await request(2, 'ropewalk/listTools', { dialect, includeDeferred: true });
    return tools;
  } finally {
    child.stdin.end();
  }
}

/** The first sentence of a description, for people. */
function sentence(text) {
  return /^[\s\S]*?[.:](?=\s|$)/.exec(text.replaceAll('\n', ' '))?.[0].replace(/:$/, '.') ?? text;
}

/** The tools as package.json declares them. `plain` has their titles. */
export function declared(tools, plain) {
  const titles = new Map(plain.map((tool) => [tool.name, tool.title]));
  const names = new Set(tools.map((tool) => tool.name));
  // In descriptions the others are called by the names that VS Code knows them by.
  const renamed = (text) =>
    text.replace(/`([a-z_]+)`/g, (whole, name) => (names.has(name) ? `\`${PREFIX}${name}\`` : whole));
  return tools
    .filter(({ name }) => !LEFT_OUT.has(name))
    .map(({ name, description, inputSchema, tags }) => ({
      name: PREFIX + name,
      displayName: titles.get(name) ?? name,
      toolReferenceName: PREFIX + name,
      canBeReferencedInPrompt: true,
      // VS Code lists what is declared, whether anybody runs it or not; src/models/tools.ts says which are there.
      when: `ropewalk.tool.${name}`,
      icon: `$(${ICONS[name] ?? 'tools'})`,
      userDescription: sentence(description),
      modelDescription: renamed(description),
      inputSchema,
      tags: ['ropewalk', ...(tags ?? [])],
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function main() {
  const [program, check] = process.argv.slice(2);
  if (!program) throw new Error('usage: node scripts/tools.mjs PATH_TO_ROPEWALK [--check]');
  const file = fileURLToPath(new URL('../package.json', import.meta.url));
  const now = readFileSync(file, 'utf8');
  const manifest = JSON.parse(now);
  manifest.contributes.languageModelTools = declared(await ask(program, 'vscode'), await ask(program, 'plain'));
  const wanted = `${JSON.stringify(manifest, null, 2)}\n`;
  if (now === wanted) return;
  if (check) {
    console.error('package.json has other tools than the sidecar: run `npm run tools -- PATH_TO_ROPEWALK`');
    process.exitCode = 1;
  } else writeFileSync(file, wanted);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
