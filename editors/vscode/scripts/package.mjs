// Makes a package for one platform, with the sidecar's program inside, so that nothing is downloaded at run time:
//   npm run package -- --target linux-x64 --binary ../../target/release/ropewalk [--out FILE]
// With SOURCE_DATE_EPOCH set (or of a commit, which is then taken), two runs make the same bytes.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundle } from './build.mjs';

/** What Ropewalk runs on: it is not built for Windows. */
const TARGETS = ['linux-x64', 'linux-arm64', 'linux-armhf', 'alpine-x64', 'alpine-arm64', 'darwin-x64', 'darwin-arm64'];

/** Says what is wrong with the arguments, and ends. */
function misused(why) {
  console.error(`${why}\nusage: npm run package -- --target TARGET --binary PROGRAM [--out FILE]`);
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({ options: { target: { type: 'string' }, binary: { type: 'string' }, out: { type: 'string' } } });
  } catch (error) {
    return misused(error.message);
  }
}

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = readArguments();
const { target, binary } = values;
if (!TARGETS.includes(target)) misused(`--target has to be one of ${TARGETS.join(', ')}`);
if (!binary) misused(`--binary has to name the program for ${target}`);
if (!existsSync(binary) || !statSync(binary).isFile()) misused(`--binary: ${binary} is no file`);

/** When the sources were last changed, as far as that is known (s). */
function epoch() {
  if (process.env.SOURCE_DATE_EPOCH) return process.env.SOURCE_DATE_EPOCH;
  try {
    return execFileSync('git', ['log', '-1', '--format=%ct'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return '315532800';
  }
}

const manifest = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));
const out = path.resolve(values.out ?? `${root}/${manifest.name}-${target}-${manifest.version}.vsix`);
const stage = `${root}/out/package-${target}`;
rmSync(stage, { recursive: true, force: true });
mkdirSync(`${stage}/bin`, { recursive: true });
await bundle(true, `${stage}/dist`);

// What goes in is named here, one by one: nothing gets in by being there.
cpSync(`${root}/../../THIRD-PARTY.txt`, `${stage}/THIRD-PARTY.txt`);
for (const name of ['media', 'README.md', 'CHANGELOG.md', 'ropewalk.d.ts'])
  if (existsSync(`${root}/${name}`)) cpSync(`${root}/${name}`, `${stage}/${name}`, { recursive: true });
const licence = (name) => readFileSync(`${root}/../../LICENSE-${name}`, 'utf8').trim();
writeFileSync(
  `${stage}/LICENSE.txt`,
  `Ropewalk is licensed under either of these licences, at your choice.\n\n${licence('MIT')}\n\n${'-'.repeat(80)}\n\n${licence('APACHE')}\n`,
);
const { scripts: _scripts, devDependencies: _tools, dependencies: _bundled, private: _private, ...shipped } = manifest;
shipped.files = ['**'];
writeFileSync(`${stage}/package.json`, `${JSON.stringify(shipped, null, 2)}\n`);
const program = `${stage}/bin/ropewalk`;
cpSync(binary, program);
for (const file of execFileSync('find', [stage, '-type', 'f'], { encoding: 'utf8' }).trim().split('\n'))
  chmodSync(file, file === program ? 0o755 : 0o644);

execFileSync(
  process.execPath,
  [
    `${root}/node_modules/@vscode/vsce/vsce`,
    'package',
    '--target',
    target,
    '--no-dependencies',
    '--allow-missing-repository',
    '--skip-license',
    '--out',
    out,
  ],
  // Times in archives are local ones, and entries are sorted as is usual in the language.
  { cwd: stage, stdio: 'inherit', env: { ...process.env, SOURCE_DATE_EPOCH: epoch(), TZ: 'UTC', LC_ALL: 'C' } },
);
