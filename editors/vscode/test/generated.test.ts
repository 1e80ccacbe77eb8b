// What is made by scripts is what they make; what the sidecar has to say to it, where ROPEWALK_BIN names one.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

function check(...args: string[]): void {
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 });
  assert.equal(status, 0, stderr);
}

test('the manifest has the commands, menus, views and settings of the review and the models', () => {
  check('scripts/contributes.mjs', '--check');
});

test('the declarations for other extensions are those of the interface', () => {
  check('scripts/declarations.mjs', '--check');
});

const sidecar = process.env.ROPEWALK_BIN ?? process.env.ROPEWALK ?? '';

test(
  'the manifest declares the tools that the sidecar lists',
  { skip: sidecar === '' && 'ROPEWALK_BIN names no sidecar' },
  () => {
    check('scripts/tools.mjs', sidecar, '--check');
  },
);
