// Writes ropewalk.d.ts, the types of the extension's interface for other extensions to copy: src/interface.ts with
// those types of src/protocol.ts that it uses. `node scripts/declarations.mjs [--check]`; with --check nothing is
// written, and the exit code is 1 where something would change.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));

/** The declarations of a text, by name, each with its comment. */
function declarations(text) {
  const found = new Map();
  for (const block of text.split(/\n\n(?=\/\*\*|export )/)) {
    const name = /^export (?:interface|type) (\w+)/m.exec(block)?.[1];
    if (name) found.set(name, block.trim());
  }
  return found;
}

/** The names in a declaration, without those in comments and texts. */
function names(block) {
  return block.replace(/\/\*[\s\S]*?\*\/|'[^']*'/g, '').match(/\b[A-Z]\w*/g) ?? [];
}

export function declared(own, protocol) {
  const known = declarations(protocol);
  const body = own
    .replace(/^\/\/.*\n/gm, '')
    .replace(/import type \{[^}]*\} from '\.\/protocol';\n/, '')
    .trim();
  const wanted = new Set();
  const follow = (block) => {
    for (const name of names(block)) {
      if (!known.has(name) || wanted.has(name)) continue;
      wanted.add(name);
      follow(known.get(name));
    }
  };
  follow(body);
  const head =
    '// The interface of the extension Ropewalk for other extensions: copy this file. Made by `npm run declarations`: do not edit.';
  return `${[head, body, ...[...known].filter(([name]) => wanted.has(name)).map(([, block]) => block)].join('\n\n')}\n`;
}

function main() {
  const wanted = declared(
    readFileSync(file('src/interface.ts'), 'utf8'),
    readFileSync(file('src/protocol.ts'), 'utf8'),
  );
  let now = '';
  try {
    now = readFileSync(file('ropewalk.d.ts'), 'utf8');
  } catch {
    // It is not there yet.
  }
  if (now === wanted) return;
  if (process.argv.includes('--check')) {
    console.error('ropewalk.d.ts is not what src/interface.ts says: run npm run declarations');
    process.exitCode = 1;
  } else writeFileSync(file('ropewalk.d.ts'), wanted);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
