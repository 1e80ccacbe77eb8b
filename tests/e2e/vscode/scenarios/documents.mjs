// Calls in documents that a person is typing in. All of them share a window.

import assert from 'node:assert/strict';

import { begin, call, ended, text } from '../agent.mjs';

export async function an_unsaved_buffer_is_read_and_edited(play) {
  const code = await play.share({ 'notes.txt': 'one\ntwo\n' });
  await code.open(play.file('notes.txt'));
  await code.type('zero, typed\n');
  await code.shows('zero, typed\none\ntwo');
  const read = await call(code, 'read', { file_path: play.file('notes.txt') });
  assert.match(text(read), /zero, typed/);
  const edit = { file_path: play.file('notes.txt'), old_string: 'two', new_string: 'zwei' };
  const result = await call(code, 'edit', edit);
  assert.equal(result.status, 'ok', text(result));
  assert.equal(result.edits[0].unsaved, true);
  await code.shows('zero, typed\none\nzwei');
  assert.equal(play.saved('notes.txt'), 'one\ntwo\n');
}

export async function an_edit_is_one_step_of_undo(play) {
  const code = await play.share({ 'list.txt': 'alpha\nbeta\nalpha\ngamma\nalpha\n' });
  await code.open(play.file('list.txt'));
  await code.type('typed ');
  await code.shows('typed alpha');
  await call(code, 'read', { file_path: play.file('list.txt') });
  const edit = { file_path: play.file('list.txt'), old_string: 'alpha', new_string: 'omega', replace_all: true };
  const result = await call(code, 'edit', edit);
  assert.equal(result.status, 'ok', text(result));
  await code.shows('typed omega\nbeta\nomega\ngamma\nomega');
  await code.press('Control+z');
  await code.shows('typed alpha\nbeta\nalpha\ngamma\nalpha');
  await code.press('Control+Shift+z');
  await code.shows('typed omega\nbeta\nomega\ngamma\nomega');
}

export async function lines_end_as_they_did(play) {
  const code = await play.share({ 'dos.txt': 'one\r\ntwo\r\nthree\r\n' });
  await code.open(play.file('dos.txt'));
  await code.type('zero\n');
  await code.shows('zero\none');
  await call(code, 'read', { file_path: play.file('dos.txt') });
  const edit = { file_path: play.file('dos.txt'), old_string: 'one\ntwo', new_string: 'eins\nzwei\ndrei' };
  const result = await call(code, 'edit', edit);
  assert.equal(result.status, 'ok', text(result));
  await code.shows('zero\neins\nzwei\ndrei\nthree');
  assert.equal((await code.document(play.uri('dos.txt'))).text, 'zero\r\neins\r\nzwei\r\ndrei\r\nthree\r\n');
  await code.press('Control+s');
  const saved = 'zero\r\neins\r\nzwei\r\ndrei\r\nthree\r\n';
  await code.until('the file to be saved', () => play.saved('dos.txt') === saved);
}

export async function columns_behind_an_emoji(play) {
  const code = await play.share({ 'emoji.txt': 'a 👩‍👩‍👧 family and 😀 more\n' });
  await code.open(play.file('emoji.txt'));
  await code.type('😀 ');
  await code.shows('😀 a 👩‍👩‍👧 family');
  await call(code, 'read', { file_path: play.file('emoji.txt') });
  const edit = { file_path: play.file('emoji.txt'), old_string: '😀 more', new_string: '😎 less' };
  const result = await call(code, 'edit', edit);
  assert.equal(result.status, 'ok', text(result));
  await code.shows('😀 a 👩‍👩‍👧 family and 😎 less');
}

export async function a_person_types_while_calls_edit(play) {
  const lines = Array.from({ length: 12 }, (_, line) => `line ${line}`);
  const code = await play.share({ 'busy.txt': `${lines.join('\n')}\n` });
  await code.open(play.file('busy.txt'));
  await call(code, 'read', { file_path: play.file('busy.txt') });
  for (const line of [2, 5, 8]) {
    const edit = { file_path: play.file('busy.txt'), old_string: `line ${line}\n`, new_string: `LINE ${line}\nand more\n` };
    await begin(code, `busy${line}`, 'edit', edit, { sessionId: `busy${line}` });
    await code.type(`typed during ${line}\n`, 60);
  }
  for (const line of [2, 5, 8]) {
    const result = await ended(code, `busy${line}`);
    assert.equal(result.status, 'ok', text(result));
  }
  const expected = lines.flatMap((text, line) => ([2, 5, 8].includes(line) ? [`LINE ${line}`, 'and more'] : [text]));
  expected.unshift('typed during 2', 'typed during 5', 'typed during 8');
  // The last keys may still be on their way.
  const last = async () => (await code.document(play.uri('busy.txt'))).text.includes('typed during 8\n');
  await code.until('the last typed line', last);
  assert.equal((await code.document(play.uri('busy.txt'))).text, `${expected.join('\n')}\n`);
}

export async function an_untitled_document(play) {
  const code = await play.share({});
  await code.command('File: New Untitled Text File');
  await code.focused('Untitled-1');
  await code.type('never saved\nsecond\n');
  await code.shows('never saved\nsecond');
  const uri = await code.run((vscode) => vscode.window.activeTextEditor.document.uri.toString());
  assert.match(text(await call(code, 'read', { file_path: uri })), /never saved/);
  const result = await call(code, 'edit', { file_path: uri, old_string: 'second', new_string: 'changed' });
  assert.equal(result.status, 'ok', text(result));
  await code.shows('never saved\nchanged');
  await code.press('Control+z');
  await code.shows('never saved\nsecond');
}

export async function a_cell_of_a_notebook(play) {
  const cell = { cell_type: 'code', execution_count: null, metadata: {}, outputs: [], source: ['total = 1\n', 'print(total)'] };
  const notebook = { cells: [cell], metadata: { language_info: { name: 'python' } }, nbformat: 4, nbformat_minor: 5 };
  const code = await play.share({ 'book.ipynb': JSON.stringify(notebook) });
  await code.open(play.file('book.ipynb'), { editor: false });
  await code.sees('print(total)');
  const cells = () => code.run((vscode) => vscode.window.activeNotebookEditor?.notebook.getCells().map((c) => c.document.uri.toString()));
  const [uri] = await code.until('the cell', cells);
  await code.page.locator('.cell-editor-container .view-lines').first().click();
  await code.press('Control+Home');
  await code.type('# typed\n');
  await code.until('the typed line', async () => (await code.document(uri)).text.startsWith('# typed\n'));
  assert.match(text(await call(code, 'read', { file_path: uri })), /# typed/);
  const result = await call(code, 'edit', { file_path: uri, old_string: 'total = 1', new_string: 'total = 41 + 1' });
  assert.equal(result.status, 'ok', text(result));
  await code.sees('total = 41 + 1');
  assert.equal((await code.document(uri)).text, '# typed\ntotal = 41 + 1\nprint(total)');
}

/** Emoji of one plane and of several, families, skin tones, flags: each has halves in common with what comes for it. */
const EMOJI = [
  ['😀', '😎'],
  ['😎', '😎😀'],
  ['😀😎😀', '😎😀😎'],
  ['👍🏽', '👍🏿'],
  ['👍', '👍🏽'],
  ['👩‍👩‍👧', '👨‍👩‍👧‍👦'],
  ['👨‍👩‍👧‍👦', '👩‍👧'],
  ['🇩🇪', '🇫🇷'],
  ['🇩🇪🇫🇷', '🇪🇸'],
  ['𝒳 = 𝒴', '𝒴 = 𝒳'],
  ['𠀀𠀁', '𠀁'],
  ['😀', '🀀'],
  ['🤷🏽‍♀️', '🤷🏻‍♂️'],
  ['a😀b😀c', 'a😁b😂c'],
];

export async function emoji_stay_whole_wherever_the_document_is(play) {
  const lines = EMOJI.map(([from], line) => `${line}: ${from} end ${line}`);
  const expected = EMOJI.map(([, to], line) => `${line}: ${to} done ${line}`);
  const files = ['active.txt', 'beside.txt', 'hidden.txt'];
  const code = await play.share(Object.fromEntries(files.map((file) => [file, `${lines.join('\n')}\n`])));
  await code.run(async (vscode, _pane, hidden, beside) => {
    const show = async (uri, options) =>
      vscode.window.showTextDocument(await vscode.workspace.openTextDocument(vscode.Uri.parse(uri)), options);
    await show(hidden, { preview: false });
    await show(beside, { preview: false, viewColumn: vscode.ViewColumn.Two });
    await vscode.commands.executeCommand('workbench.action.focusFirstEditorGroup');
  }, play.uri('hidden.txt'), play.uri('beside.txt'));
  await code.open(play.file('active.txt'));
  await code.type('typed ');
  await code.shows('typed 0:');
  const shown = await code.run((vscode) => vscode.window.visibleTextEditors.map((editor) => editor.document.uri.path));
  assert.deepEqual(shown.map((name) => name.split('/').at(-1)).sort(), ['active.txt', 'beside.txt']);
  for (const name of files) {
    const file_path = play.file(name);
    await call(code, 'read', { file_path });
    for (const [line, [from, to]] of EMOJI.entries()) {
      const edit = { file_path, old_string: `${from} end ${line}\n`, new_string: `${to} done ${line}\n` };
      const result = await call(code, 'edit', edit);
      assert.equal(result.status, 'ok', `${name} ${line}: ${text(result)}`);
    }
    const typed = name === 'active.txt' ? 'typed ' : '';
    assert.equal((await code.document(play.uri(name))).text, `${typed}${expected.join('\n')}\n`, name);
  }
  for (const _ of EMOJI) await code.press('Control+z');
  await code.shows(`typed ${lines.join('\n')}`);
}

export async function the_caret_stays_where_the_person_is(play) {
  const code = await play.share({ 'caret.txt': 'one\ntwo\nthree\n' });
  await code.open(play.file('caret.txt'));
  await call(code, 'read', { file_path: play.file('caret.txt') });
  // Where the caret is shows in where the next key goes.
  const edit = async (from, to, typed, expected) => {
    const result = await call(code, 'edit', { file_path: play.file('caret.txt'), old_string: from, new_string: to });
    assert.equal(result.status, 'ok', text(result));
    await code.type(typed);
    await code.shows(expected);
  };
  // The word before which the caret is becomes another one.
  await edit('one', 'eins', '1', '1eins\ntwo\nthree');
  // Something comes exactly where the caret is: within its line, at its end, and more lines right behind it.
  await edit('1eins', '1, eins', '2', '12, eins\ntwo\nthree');
  await code.press('End');
  await edit('eins', 'eins!', '3', '12, eins3!\ntwo\nthree');
  await code.press('End');
  await edit('eins3!\n', 'eins3!\nmore\nlines\n', '4', '12, eins3!4\nmore\nlines\ntwo\nthree');
  // Lines above take the caret along with its own line.
  await code.press('ArrowDown', 'Home');
  await edit('more\n', 'above\nmore\n', '5', '12, eins3!4\nabove\n5more\nlines\ntwo\nthree');
}

export async function half_a_character_that_somebody_typed(play) {
  const code = await play.share({ 'half.txt': 'one\ntwo\n' });
  await code.open(play.file('half.txt'));
  await code.type('typed ');
  await code.shows('typed one');
  await call(code, 'read', { file_path: play.file('half.txt') });
  const [before] = code.server.sidecars();
  const put = (place, length, text) =>
    code.run(
      (vscode, _pane, [line, character], length, text) =>
        vscode.window.activeTextEditor.edit((edit) =>
          edit.replace(new vscode.Range(line, character, line, character + length), text),
        ),
      place,
      length,
      text,
    );
  await put([0, 9], 0, '\ud83d');
  const now = async () => (await code.document(play.uri('half.txt'))).text;
  await code.until('the half', async () => (await now()) === 'typed one\ud83d\ntwo\n');
  // Whatever comes of it, nothing is changed that was not meant, and the half stays what it is.
  const edit = { file_path: play.file('half.txt'), old_string: 'two', new_string: 'zwei' };
  const result = await call(code, 'edit', edit);
  const expected = result.status === 'ok' ? 'typed one\ud83d\nzwei\n' : 'typed one\ud83d\ntwo\n';
  assert.equal(await now(), expected, text(result));
  await put([0, 9], 1, '');
  await code.until('the half to be gone', async () => !/\p{Surrogate}/u.test(await now()));
  // Once it is gone everything is as before.
  const read = async () => text(await call(code, 'read', { file_path: play.file('half.txt') }));
  await code.until('the text to be known', async () => (await read()).includes('typed one'));
  await call(code, 'edit', { ...edit, old_string: 'typed one', new_string: 'written one' });
  await code.shows('written one');
  assert.deepEqual(code.server.sidecars().map((found) => found.pid), [before.pid]);
}
