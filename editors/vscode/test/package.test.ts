// Packages: what is in them, and that two of the same sources are the same.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

test('two packages are the same to the byte, whenever and wherever they are made', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'ropewalk-package-'));
  try {
    const binary = path.join(folder, 'program');
    writeFileSync(binary, '#!/bin/sh\n');
    const make = (name: string, mode: number, zone: string) => {
      const out = path.join(folder, name);
      chmodSync(binary, mode);
      utimesSync(binary, new Date(mode * 1e6), new Date(mode * 1e6));
      const args = ['scripts/package.mjs', '--target', 'linux-x64', '--binary', binary, '--out', out];
      execFileSync(process.execPath, args, {
        stdio: 'pipe',
        env: { ...process.env, SOURCE_DATE_EPOCH: '1700000000', TZ: zone },
      });
      return readFileSync(out);
    };
    const [first, second] = [make('a.vsix', 0o700, 'UTC'), make('b.vsix', 0o644, 'Asia/Tokyo')];
    assert.equal(createHash('sha256').update(first).digest('hex'), createHash('sha256').update(second).digest('hex'));
    for (const name of [
      'extension/bin/ropewalk',
      'extension/dist/extension.js',
      'extension/dist/NOTICES.txt',
      'extension/LICENSE.txt',
      'extension/media/approve.js',
      'extension/package.json',
    ])
      assert.ok(first.includes(name), name);
    for (const name of ['node_modules', 'tsconfig', 'extension/src', 'extension.js.map', 'extension/test'])
      assert.ok(!first.includes(name), name);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('whoever calls it amiss is told why and how, without a trace of the script', () => {
  const cases: [string[], RegExp][] = [
    [[], /^--target has to be one of linux-x64, /],
    [['--target', 'win32-x64', '--binary', process.execPath], /^--target has to be one of linux-x64, /],
    [['--target', 'linux-x64'], /^--binary has to name the program for linux-x64$/m],
    [['--target', 'linux-x64', '--binary', 'no/such/program'], /^--binary: no\/such\/program is no file$/m],
    [['--target', 'linux-x64', '--binary', 'scripts'], /^--binary: scripts is no file$/m],
    [['--traget', 'linux-x64'], /--traget/],
  ];
  for (const [given, why] of cases) {
    const run = spawnSync(process.execPath, ['scripts/package.mjs', ...given], { encoding: 'utf8' });
    assert.equal(run.status, 2, given.join(' '));
    assert.match(run.stderr, why);
    assert.match(run.stderr, /^usage: npm run package -- /m);
    assert.doesNotMatch(run.stderr, /^ {4}at /m, run.stderr);
  }
});
