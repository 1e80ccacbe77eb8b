// Bundles each test/*.test.ts and runs them with node's own test runner: `npm test [-- names]`.
import { build } from 'esbuild';
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const names = process.argv.slice(2);
const files = readdirSync(`${root}/test`)
  .filter((name) => name.endsWith('.test.ts') && (names.length === 0 || names.some((wanted) => name.includes(wanted))))
  .sort();
rmSync(`${root}/out/test`, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: files.map((name) => `test/${name}`),
  outdir: 'out/test',
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  external: ['vscode'],
  sourcemap: 'inline',
  logLevel: 'warning',
});
const run = spawnSync(
  process.execPath,
  ['--enable-source-maps', '--test', ...files.map((name) => `out/test/${name.replace(/\.ts$/, '.cjs')}`)],
  { cwd: root, stdio: 'inherit' },
);
process.exitCode = run.status ?? 1;
