// How the sidecar is found, started again and configured.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CRASHES, crashed, type Crashes, WINDOW_MS } from '../src/backoff';
import { findBinary, type Surroundings } from '../src/binary';
import { lineReader } from '../src/lines';
import { isStartedAlike, OWN_KEYS, ownSettings, sidecarKeys, sidecarSettings } from '../src/settings';

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));

test('a crash is followed by a start, each time later, until there were too many', () => {
  let crashes: Crashes = { at: [] };
  const delays: (number | string)[] = [];
  for (let i = 0; i < CRASHES + 1; i++) {
    const after = crashed(crashes, 1000 * i);
    crashes = after.crashes;
    delays.push(after.revival.kind === 'again' ? after.revival.delayMs : after.revival.kind);
  }
  assert.deepEqual(delays, [500, 1000, 2000, 4000, 8000, 'giveUp']);
});

test('crashes of long ago count no more', () => {
  const { crashes, revival } = crashed({ at: [0, 1, 2, 3, 4, 5] }, WINDOW_MS + 3);
  assert.deepEqual(crashes.at, [4, 5, WINDOW_MS + 3]);
  assert.deepEqual(revival, { kind: 'again', delayMs: 2000 });
});

test('the program is the one of the settings, else the bundled one, else the one on the PATH', () => {
  const base: Omit<Surroundings, 'runs'> = {
    setting: '',
    extension: '/ext',
    path: '/usr/bin::rel:/opt/bin',
    home: '/home/me',
    windows: false,
  };
  const check = (change: Partial<Surroundings>, there: string[], expected: string) => {
    const found = findBinary({ ...base, ...change, runs: (file) => there.includes(file) });
    assert.equal('program' in found ? found.program : found.missing, expected);
  };
  check({ setting: '/a/ropewalk' }, ['/a/ropewalk', '/ext/bin/ropewalk'], '/a/ropewalk');
  check({ setting: '~/bin/ropewalk' }, ['/home/me/bin/ropewalk'], '/home/me/bin/ropewalk');
  check({ setting: 'ropewalk' }, ['/usr/bin/ropewalk'], 'The setting ropewalk.path is not a full path: ropewalk');
  check(
    { setting: '/a/gone' },
    ['/ext/bin/ropewalk'],
    'The setting ropewalk.path names no program that can be run: /a/gone',
  );
  check({}, ['/ext/bin/ropewalk', '/usr/bin/ropewalk'], '/ext/bin/ropewalk');
  check({}, ['rel/ropewalk', 'ropewalk', '/opt/bin/ropewalk'], '/opt/bin/ropewalk');
  const windows = { windows: true, extension: 'C:\\ext', path: 'C:\\a;D:\\b' };
  check(windows, ['D:\\b\\ropewalk.exe'], 'D:\\b\\ropewalk.exe');
  assert.match(JSON.stringify(findBinary({ ...base, runs: () => false })), /cargo install ropewalk/);
});

test("only the person's own settings go to the sidecar, whatever a workspace says", () => {
  const values: Record<string, object> = {
    bash: { globalValue: { sandbox: true }, workspaceValue: { sandbox: false } },
    hooks: { workspaceValue: { before: [{ tool: '*', command: ['evil'] }] } },
    permissions: { workspaceFolderValue: { allow: ['bash'] }, defaultValue: { allow: [] } },
    web: { globalValue: { allow: ['example.org'] } },
    path: { globalValue: '/evil', workspaceValue: '/more' },
  };
  const keys = ['web', 'permissions', 'hooks', 'bash', 'unknown'];
  assert.equal(
    JSON.stringify(sidecarSettings(keys, (key) => values[key])),
    '{"bash":{"sandbox":true},"web":{"allow":["example.org"]}}',
  );
});

test('own settings of another shape count as not set', () => {
  assert.deepEqual(
    ownSettings((key) => ({ globalValue: { path: 3, arguments: 'x', environment: ['y'], enabled: 'no' }[key] })),
    {
      enabled: true,
      path: '',
      arguments: [],
      environment: {},
    },
  );
  assert.deepEqual(
    ownSettings((key) => ({
      globalValue: { path: ' /a ', arguments: ['--ephemeral'], environment: { A: 'b', C: 1 }, enabled: false }[key],
      workspaceValue: { path: '/evil' }[key],
    })),
    { enabled: false, path: '/a', arguments: ['--ephemeral'], environment: { A: 'b' } },
  );
});

test('only what is about how the program is started starts it anew', () => {
  const own = (more: object = {}) =>
    ownSettings((key) => ({ globalValue: { path: '/a', arguments: ['-v'], environment: { A: '1', B: '2' }, ...more }[key] }));
  const check = (more: object, expected: boolean) => assert.equal(isStartedAlike(own(), own(more)), expected);
  check({}, true);
  check({ environment: { B: '2', A: '1' } }, true);
  check({ path: ' /a ' }, true);
  check({ enabled: false }, true);
  check({ path: '/b' }, false);
  check({ arguments: ['-v', '-v'] }, false);
  check({ environment: { A: '1' } }, false);
});

test('every setting of the program has a description, a default and machine scope: no workspace can set it', () => {
  const groups = manifest.contributes.configuration as { properties: Record<string, Record<string, unknown>> }[];
  const all = groups.slice(0, 2).flatMap((group) => Object.entries(group.properties));
  assert.ok(all.length > 18);
  for (const [name, setting] of all) {
    assert.equal(setting['scope'], 'machine', name);
    assert.ok('default' in setting, name);
    assert.ok(setting['markdownDescription'] ?? setting['description'], name);
  }
  const keys = sidecarKeys(manifest);
  assert.ok(keys.includes('permissions') && keys.includes('hooks'));
  assert.deepEqual(
    keys.filter((key) => OWN_KEYS.some((own) => own === key)),
    [],
  );
});

test('what starts something is restricted in workspaces that are not trusted', () => {
  const { untrustedWorkspaces } = manifest.capabilities;
  assert.equal(untrustedWorkspaces.supported, 'limited');
  assert.deepEqual(
    [...untrustedWorkspaces.restrictedConfigurations].sort(),
    OWN_KEYS.map((key) => `ropewalk.${key}`).sort(),
  );
});

test('commands that the manifest lists are registered, and the other way round', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const source = files.map((name) => readFileSync(`src/${name}`, 'utf8')).join('\n');
  const named = [...source.matchAll(/(?:(?<![.\w])(?:command|on)\(|registerCommand\('ropewalk\.)\s*'?(\w+)'/g)];
  // Those of the review are put together from what is said and of how much.
  const verdicts = ['keep', 'undo', 'accept', 'reject'].flatMap((verb) =>
    ['', 'File', 'Call', 'Session'].map((suffix) => verb + suffix),
  );
  const registered = new Set([...named.map((match) => match[1]), ...verdicts].map((name) => `ropewalk.${name}`));
  const listed: string[] = manifest.contributes.commands.map((command: { command: string }) => command.command);
  assert.deepEqual([...registered].sort(), [...listed].sort());
});

test('lines of a process are cut where they end, not where they come', () => {
  const lines: string[] = [];
  const read = lineReader((line) => lines.push(line));
  const bytes = Buffer.from('grüß\r\n\nzwei\ndr');
  for (const byte of bytes) read(Buffer.from([byte]));
  assert.deepEqual(lines, ['grüß', 'zwei']);
  read(Buffer.from(`${'x'.repeat(20_000)}`));
  assert.equal(lines.length, 3);
});
