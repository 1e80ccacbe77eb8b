// An agent in a terminal, by the official TypeScript SDK of MCP: it joins the editor that has a folder open, reads and
// edits a file there, and prints what it got as JSON.
//
// usage: node mcp-client.cjs TOOLS SIDECAR FOLDER FILE OLD NEW

const { createRequire } = require('node:module');
const path = require('node:path');

const [tools, sidecar, folder, file, old, now] = process.argv.slice(2);
const sdk = createRequire(path.join(tools, 'mcp-client', 'package.json'));
const { Client } = sdk('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = sdk('@modelcontextprotocol/sdk/client/stdio.js');

async function main() {
  const transport = new StdioClientTransport({
    command: sidecar,
    args: ['mcp', '--connect', '--root', folder],
    env: { ...process.env },
    stderr: 'inherit',
  });
  const client = new Client({ name: 'terminal-agent', version: '1.0.0' });
  await client.connect(transport);
  const listed = await client.listTools();
  const progress = [];
  const call = (name, args) =>
    client.callTool({ name, arguments: args }, undefined, { onprogress: (step) => progress.push(step.progress) });
  const read = await call('read', { file_path: file });
  const edit = await call('edit', { file_path: file, old_string: old, new_string: now });
  const resources = await client.listResources();
  const uri = resources.resources.map((one) => one.uri).find((one) => one.endsWith(path.basename(file)));
  const text = await client.readResource({ uri });
  await client.close();
  process.stdout.write(
    JSON.stringify({
      server: client.getServerVersion().name,
      tools: listed.tools.map((tool) => tool.name),
      read,
      edit,
      progress: progress.length,
      text: text.contents[0].text,
    }),
  );
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
