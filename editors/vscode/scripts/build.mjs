// Bundles the extension into dist/. `--minify` for packages, `--watch` while working on it.
import { build, context } from 'esbuild';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** How the extension is bundled into a folder. */
const options = (minify, folder) => ({
  absWorkingDir: root,
  entryPoints: ['src/extension.ts'],
  outfile: `${folder}/extension.js`,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  external: ['vscode'],
  // The UMD builds that `main` names hide their own imports from the bundler.
  mainFields: ['module', 'main'],
  // The licences of what is bundled go to a file of their own.
  legalComments: 'none',
  minify,
  sourcemap: minify ? false : 'linked',
  logLevel: 'warning',
  metafile: true,
});

/** The licence texts of the packages that are in the bundle. */
function notices(metafile) {
  const packages = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) packages.add(found[1]);
  }
  const texts = [...packages].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(`${root}/${folder}/package.json`, 'utf8'));
    const file = readdirSync(`${root}/${folder}`).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${folder} has no licence text`);
    return `${name} ${version} (${license})\n\n${readFileSync(`${root}/${folder}/${file}`, 'utf8').trim()}\n`;
  });
  return `This extension contains these packages:\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

/** Builds once. */
export async function bundle(minify, folder) {
  const { metafile } = await build(options(minify, folder));
  writeFileSync(`${folder}/NOTICES.txt`, notices(metafile));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('--watch')) await (await context(options(false, `${root}/dist`))).watch();
  else await bundle(process.argv.includes('--minify'), `${root}/dist`);
}
