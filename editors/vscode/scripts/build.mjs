// Bundles the extension into dist/extension.js. `--minify` for packages, `--watch` while working on it.
import { build, context } from 'esbuild';
import { fileURLToPath } from 'node:url';

const options = {
  absWorkingDir: fileURLToPath(new URL('..', import.meta.url)),
  entryPoints: ['src/extension.ts'],
  outfile: 'dist/extension.js',
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  external: ['vscode'],
  // The UMD builds that `main` names hide their own imports from the bundler.
  mainFields: ['module', 'main'],
  legalComments: 'linked',
  minify: process.argv.includes('--minify'),
  sourcemap: process.argv.includes('--minify') ? false : 'linked',
  logLevel: 'warning',
};

if (process.argv.includes('--watch')) await (await context(options)).watch();
else await build(options);
