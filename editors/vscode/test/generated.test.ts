// What is made by scripts is what they make; what the sidecar has to say to it, where there is one.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
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

const sidecar = [process.env.ROPEWALK_BIN, '../../target/debug/ropewalk'].find((file) => file && existsSync(file));
const skip = sidecar === undefined && 'no ropewalk (set ROPEWALK_BIN)';

test('the manifest declares the tools that the sidecar lists', { skip }, () => {
  check('scripts/tools.mjs', path.resolve(sidecar ?? ''), '--check');
});

test('the protocol and the settings are those that the sidecar prints', { skip }, () => {
  check('scripts/protocol.mjs', path.resolve(sidecar ?? ''), '--check');
});
