// The rows of docs/CONFORMANCE.md that no other file shows. All of them share a window.

import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { begin, call, ended, text } from '../agent.mjs';

const SHELF = 'alpha\nbeta\ngamma\n';

/** Lets the agent replace a text in a file of the scenario. */
function edit(code, play, name, old, replacement) {
  return call(code, 'edit', { file_path: play.file(name), old_string: old, new_string: replacement });
}

function done(result) {
  assert.equal(result.status, 'ok', text(result));
  assert.equal(result.applied, 'all');
  return result;
}

/** An error that tells the model why, after which nothing is changed. */
function refused(result, kind, words) {
  assert.equal(result.status, 'error', text(result));
  assert.equal(result.error.kind, kind, text(result));
  assert.equal(result.applied ?? 'none', 'none');
  assert.match(text(result), words);
}

/** What the sidecar has of a document. */
function mirror(code, uri) {
  return code.run(async (_vscode, pane, uri) => (await pane.api()).request('ropewalk/documentText', { uri }), uri);
}

/** The document comes to hold a text, with the line ends that it has, and the sidecar has the same. */
async function holds(code, uri, expected) {
  const text = async () => (await code.document(uri))?.text;
  const what = `the document to hold ${JSON.stringify(expected)}`;
  await code.until(what, async () => (await text()) === expected).catch(async (error) => {
    throw new Error(`${error.message}; it holds ${JSON.stringify(await text())}`);
  });
  assert.equal((await mirror(code, uri)).text, expected);
}

/** Saves by the key, and waits for the bytes on the disk. */
async function save(code, play, name, expected) {
  await code.press('Control+s');
  await code.until(`${JSON.stringify(expected)} on the disk`, () => play.saved(name) === expected);
  await code.until('the document to count as saved', async () => !(await code.document(play.uri(name))).dirty);
}

/** Opens a file of the scenario alone and takes the cursor to its beginning. */
async function show(code, play, name) {
  await code.open(play.file(name));
  await code.press('Control+Home');
}

/** How many bytes a process has written since it began; only Linux tells. */
function written(pid) {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))[1]);
}

/**
 * Types while an edit is on its way: the sidecar sends it to an extension host that stands still, which hears of the
 * typing and of the edit only once it goes on.
 */
async function typedOnTheWay(code, play, args, type) {
  const sidecar = code.sidecar();
  const { pid } = code.host;
  process.kill(sidecar, 'SIGSTOP');
  try {
    await begin(code, play.name, 'edit', args);
    // What is asked of the host later than the call is answered later than the call is written.
    for (let round = 0; round < 5; round++) await code.run(() => new Promise((resolve) => setImmediate(resolve)));
    process.kill(pid, 'SIGSTOP');
    const before = written(sidecar);
    process.kill(sidecar, 'SIGCONT');
    let last = before;
    let same = 0;
    await code.until('the sidecar to have sent the edit', () => {
      const now = written(sidecar);
      same = now > before && now === last ? same + 1 : 0;
      last = now;
      return same > 4;
    });
    await type();
  } finally {
    process.kill(sidecar, 'SIGCONT');
    process.kill(pid, 'SIGCONT');
  }
  return ended(code, play.name);
}

export async function a_stale_edit_is_refused_and_computed_anew(play) {
  const code = await play.share({ 'stale.txt': SHELF });
  await show(code, play, 'stale.txt');
  const args = { file_path: play.file('stale.txt'), old_string: 'beta', new_string: 'BETA' };
  const result = await typedOnTheWay(code, play, args, async () => {
    await code.type('top\n');
    await code.until('the typed line', async () => (await code.lines())[0] === 'top');
  });
  done(result);
  // VS Code's versions: one for each of the keys, one for the edit. That for the version before came to nothing.
  assert.deepEqual([result.edits[0].versionBefore, result.edits[0].versionAfter], [5, 6]);
  await holds(code, play.uri('stale.txt'), 'top\nalpha\nBETA\ngamma\n');
  assert.equal(play.saved('stale.txt'), SHELF);
}

export async function a_stale_edit_whose_place_is_gone_changes_nothing(play) {
  const code = await play.share({ 'gone.txt': SHELF });
  await show(code, play, 'gone.txt');
  const args = { file_path: play.file('gone.txt'), old_string: 'beta', new_string: 'BETA' };
  const result = await typedOnTheWay(code, play, args, async () => {
    await code.press('ArrowDown', 'Shift+End');
    await code.type('own words');
    await code.until('the typed words', async () => (await code.lines())[1] === 'own words');
  });
  refused(result, 'conflict', /own words/);
  await holds(code, play.uri('gone.txt'), 'alpha\nown words\ngamma\n');
}

export async function an_edit_of_a_fresh_document_lands(play) {
  const code = await play.share({ 'fresh.txt': SHELF });
  await code.open(play.file('fresh.txt'));
  assert.equal((await code.document(play.uri('fresh.txt'))).version, 1, 'what VS Code begins with');
  const result = done(await edit(code, play, 'fresh.txt', 'alpha', 'ALPHA'));
  assert.deepEqual([result.edits[0].versionBefore, result.edits[0].versionAfter], [1, 2]);
  await holds(code, play.uri('fresh.txt'), 'ALPHA\nbeta\ngamma\n');
  await code.press('Control+z');
  await holds(code, play.uri('fresh.txt'), SHELF);
}

export async function an_editor_that_was_made_read_only_takes_no_edits(play) {
  const code = await play.share({ 'readonly.txt': SHELF });
  const uri = play.uri('readonly.txt');
  await show(code, play, 'readonly.txt');
  await code.command('File: Set Active Editor Read-only in Session');
  await code.type('x');
  // VS Code tells no extension of it: its editor says that it has taken an edit, and has not.
  refused(await edit(code, play, 'readonly.txt', 'beta', 'BETA'), 'conflict', /shows the document as read-only/);
  await holds(code, uri, SHELF);
  await code.command('File: Set Active Editor Writeable in Session');
  await code.focused('readonly.txt');
  done(await edit(code, play, 'readonly.txt', 'beta', 'BETA'));
  await save(code, play, 'readonly.txt', 'alpha\nBETA\ngamma\n');
  await code.press('Control+z');
  await holds(code, uri, SHELF);
}

export async function a_file_without_write_permission_is_edited_in_its_buffer(play) {
  const code = await play.share({ 'locked.txt': SHELF });
  chmodSync(path.join(code.folder, play.file('locked.txt')), 0o444);
  await show(code, play, 'locked.txt');
  done(await edit(code, play, 'locked.txt', 'beta', 'BETA'));
  await holds(code, play.uri('locked.txt'), 'alpha\nBETA\ngamma\n');
  assert.equal((await code.document(play.uri('locked.txt'))).dirty, true);
  assert.equal(play.saved('locked.txt'), SHELF);
}

export async function a_file_without_a_document_is_written_on_the_disk(play) {
  const code = await play.share({ 'open.txt': SHELF, 'closed.txt': SHELF, 'last.txt': SHELF });
  await show(code, play, 'open.txt');
  const tabs = () =>
    code.run((vscode) => vscode.window.tabGroups.all.flatMap((group) => group.tabs.map((tab) => tab.label)));
  done(await edit(code, play, 'closed.txt', 'beta', 'BETA'));
  assert.equal(play.saved('closed.txt'), 'alpha\nBETA\ngamma\n');
  assert.equal(await code.document(play.uri('closed.txt')), null, 'no document was opened for it');
  assert.deepEqual(await tabs(), ['open.txt']);
  // And one whose editor was closed.
  await code.open(play.file('last.txt'));
  await code.command('View: Close Editor');
  await code.until('the document to be closed', async () => !(await code.document(play.uri('last.txt'))));
  done(await edit(code, play, 'last.txt', 'gamma', 'GAMMA'));
  assert.equal(play.saved('last.txt'), 'alpha\nbeta\nGAMMA\n');
  assert.deepEqual(await tabs(), ['open.txt']);
}

export async function a_document_that_is_closed_unsaved_and_opened_again(play) {
  const code = await play.share({ 'reopened.txt': SHELF });
  await code.open(play.file('reopened.txt'));
  await code.press('Control+End');
  await code.type('delta\n');
  await holds(code, play.uri('reopened.txt'), `${SHELF}delta\n`);
  await code.tidy();
  await code.until('the document to be closed', async () => !(await code.document(play.uri('reopened.txt'))));
  const told = text(await call(code, 'read', { file_path: play.file('reopened.txt') }));
  assert.match(told, /gamma/);
  assert.doesNotMatch(told, /delta/);
  await code.open(play.file('reopened.txt'));
  await holds(code, play.uri('reopened.txt'), SHELF);
  done(await edit(code, play, 'reopened.txt', 'beta', 'BETA'));
  await holds(code, play.uri('reopened.txt'), 'alpha\nBETA\ngamma\n');
  await code.command('File: Revert File');
  await holds(code, play.uri('reopened.txt'), SHELF);
  done(await edit(code, play, 'reopened.txt', 'gamma', 'GAMMA'));
  await holds(code, play.uri('reopened.txt'), 'alpha\nbeta\nGAMMA\n');
}

export async function undo_in_the_middle_of_typing(play) {
  const code = await play.share({ 'undone.txt': SHELF });
  const uri = play.uri('undone.txt');
  await code.open(play.file('undone.txt'));
  await code.press('Control+End');
  await code.type('del');
  await holds(code, uri, `${SHELF}del`);
  done(await edit(code, play, 'undone.txt', 'beta', 'BETA\nBETA'));
  await code.type('ta');
  await holds(code, uri, 'alpha\nBETA\nBETA\ngamma\ndelta');
  const steps = ['alpha\nBETA\nBETA\ngamma\ndel', `${SHELF}del`, SHELF];
  for (const step of steps) {
    await code.press('Control+z');
    await holds(code, uri, step);
  }
  for (const step of [`${SHELF}del`, 'alpha\nBETA\nBETA\ngamma\ndel', 'alpha\nBETA\nBETA\ngamma\ndelta']) {
    await code.press('Control+Shift+z');
    await holds(code, uri, step);
  }
}

export async function a_byte_order_mark_stays(play) {
  const mark = '\uFEFF';
  const code = await play.share({ 'mark.txt': `${mark}alpha\nbeta\n`, 'closed.txt': `${mark}alpha\r\nbeta` });
  await show(code, play, 'mark.txt');
  // No edit can find it: it is no part of the document.
  done(await edit(code, play, 'mark.txt', 'alpha', 'ALPHA'));
  await holds(code, play.uri('mark.txt'), 'ALPHA\nbeta\n');
  await code.press('Control+Home');
  await code.type('top\n');
  await holds(code, play.uri('mark.txt'), 'top\nALPHA\nbeta\n');
  await save(code, play, 'mark.txt', `${mark}top\nALPHA\nbeta\n`);
  assert.equal((await mirror(code, play.uri('mark.txt'))).unsaved, false);
  // And in a file that nobody has open.
  done(await edit(code, play, 'closed.txt', 'alpha', 'ALPHA'));
  assert.equal(play.saved('closed.txt'), `${mark}ALPHA\r\nbeta`);
}

export async function a_missing_final_newline_stays_missing(play) {
  const code = await play.share({ 'newline.txt': 'alpha\nbeta' });
  await show(code, play, 'newline.txt');
  done(await edit(code, play, 'newline.txt', 'beta', 'BETA'));
  await holds(code, play.uri('newline.txt'), 'alpha\nBETA');
  await save(code, play, 'newline.txt', 'alpha\nBETA');
  assert.equal((await mirror(code, play.uri('newline.txt'))).unsaved, false);
}

export async function a_hundred_thousand_lines(play) {
  const lines = Array.from({ length: 100_000 }, (_, line) => `line ${String(line + 1).padStart(6, '0')} of the shelf`);
  const code = await play.share({ 'long.txt': `${lines.join('\n')}\n` });
  await show(code, play, 'long.txt');
  await code.type('top\n');
  // Extensions hear of a document of this size a little later than a person sees it.
  await code.shows('top\nline 000001');
  const args = { file_path: play.file('long.txt'), old_string: lines[99_998], new_string: 'line 099999 of the agent' };
  await begin(code, play.name, 'edit', args);
  await code.type('typed meanwhile\n');
  const result = await ended(code, play.name);
  // On a busy machine each try met another key; nothing was changed, and one is told to ask again.
  done(result.error?.kind === 'conflict' ? await call(code, 'edit', args) : result);
  lines[99_998] = args.new_string;
  const expected = `top\ntyped meanwhile\n${lines.join('\n')}\n`;
  await code.until('the text', async () => (await code.document(play.uri('long.txt'))).text === expected);
  assert.ok((await mirror(code, play.uri('long.txt'))).text === expected, 'what the sidecar has');
}

export async function two_groups_on_a_document_stay_where_they_are(play) {
  const numbers = Array.from({ length: 400 }, (_, line) => `${line + 1}`);
  const code = await play.share({ 'numbers.txt': `${numbers.join('\n')}\n` });
  await code.open(play.file('numbers.txt'));
  const goTo = async (line) => {
    await code.press('Control+g');
    await code.page.locator('.quick-input-widget input.input').fill(`:${line}`);
    await code.press('Enter');
    await code.focused('numbers.txt');
  };
  await goTo(305);
  await code.command('View: Split Editor Right');
  await code.until('two editors', () => code.run((vscode) => vscode.window.visibleTextEditors.length === 2));
  await goTo(13);
  /** What each editor shows in its first line and at its cursor, by its column. */
  const places = () =>
    code.run((vscode) =>
      vscode.window.visibleTextEditors
        .map((editor) => [
          editor.viewColumn,
          editor.document.lineAt(editor.visibleRanges[0].start.line).text,
          editor.document.lineAt(editor.selection.active.line).text,
        ])
        .sort(),
    );
  const before = await code.until('both to be where they were sent', async () => {
    const found = await places();
    return found[0][2] === '305' && found[1][2] === '13' && Number(found[0][1]) > 200 && found;
  });
  done(await edit(code, play, 'numbers.txt', '\n150\n151\n', '\n150\nin between\nand once more\n151\n'));
  const stayed = async () => JSON.stringify(await places()) === JSON.stringify(before);
  await code.until('the same places', stayed).catch(async () => assert.deepEqual(await places(), before));
  assert.equal((await code.document(play.uri('numbers.txt'))).text.split('\n')[151], 'and once more');
  // The keys still go where they went.
  await code.press('End');
  await code.type('!');
  const typed = async () => (await code.document(play.uri('numbers.txt'))).text.includes('\n13!\n');
  await code.until('the typed sign', typed);
}

export async function a_file_that_gets_another_name_while_it_is_open(play) {
  const code = await play.share({ 'named.txt': SHELF });
  await code.open(play.file('named.txt'));
  await code.press('Control+End');
  await code.type('delta\n');
  await holds(code, play.uri('named.txt'), `${SHELF}delta\n`);
  // By F2 in the explorer, as a person does it.
  await code.command('File: Reveal Active File in Explorer View');
  const row = code.page.locator('.explorer-folders-view .monaco-list-row.focused', { hasText: 'named.txt' });
  await row.waitFor();
  await code.press('F2');
  const box = code.page.locator('.explorer-folders-view .monaco-inputbox input');
  await box.fill('renamed.txt');
  await code.press('Enter');
  const uri = play.uri('renamed.txt');
  await code.until('the document under its new name', async () => (await code.document(uri))?.dirty);
  await holds(code, uri, `${SHELF}delta\n`);
  done(await edit(code, play, 'renamed.txt', 'beta', 'BETA'));
  await holds(code, uri, 'alpha\nBETA\ngamma\ndelta\n');
  assert.equal((await edit(code, play, 'named.txt', 'alpha', 'ALPHA')).status, 'error', 'nothing has the old name');
  assert.equal(existsSync(path.join(code.folder, play.file('named.txt'))), false);
  assert.equal(play.saved('renamed.txt'), SHELF);
}

export async function combined_characters_before_the_edit(play) {
  const code = await play.share({ 'signs.txt': 's = "👩‍👩‍👧 e\u0301 🇩🇪 か\u3099"; 😀 more\n' });
  const uri = play.uri('signs.txt');
  await show(code, play, 'signs.txt');
  await code.type('😀 ');
  await holds(code, uri, '😀 s = "👩‍👩‍👧 e\u0301 🇩🇪 か\u3099"; 😀 more\n');
  done(await edit(code, play, 'signs.txt', '😀 more', '🎉 less'));
  await holds(code, uri, '😀 s = "👩‍👩‍👧 e\u0301 🇩🇪 か\u3099"; 🎉 less\n');
  // The halves of the two in UTF-16 differ in the second one alone.
  done(await edit(code, play, 'signs.txt', '😀 s', '😎 s'));
  await holds(code, uri, '😎 s = "👩‍👩‍👧 e\u0301 🇩🇪 か\u3099"; 🎉 less\n');
  await code.press('Control+z');
  await holds(code, uri, '😀 s = "👩‍👩‍👧 e\u0301 🇩🇪 か\u3099"; 🎉 less\n');
  // And where two editors show it.
  await code.command('View: Split Editor Right');
  done(await edit(code, play, 'signs.txt', '🎉 less', '🎊 even less'));
  await holds(code, uri, '😀 s = "👩‍👩‍👧 e\u0301 🇩🇪 か\u3099"; 🎊 even less\n');
}
