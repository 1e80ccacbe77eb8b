// Diagnostics of VS Code's own language features come back with the calls that caused them. All share a window.

import assert from 'node:assert/strict';

import { call, text } from '../agent.mjs';

/** The problems of a document that the person sees, as their messages. */
function problems(code, uri) {
  return code.run((vscode, _pane, uri) => vscode.languages.getDiagnostics(vscode.Uri.parse(uri)).map((it) => it.message), uri);
}

/** What the sources of a document said in a result; a source that has nothing to do with the language is left out. */
function verdicts(result, uri) {
  const document = result.diagnostics.documents.find((found) => found.uri === uri);
  return document.sources.filter((source) => source.verdict !== 'noServer');
}

export async function json_that_was_broken_is_mended(play) {
  const code = await play.share({ 'data.json': '{\n  "one": \n}\n' });
  const uri = play.uri('data.json');
  await code.open(play.file('data.json'));
  await code.until('the problem', async () => (await problems(code, uri)).join() === 'Value expected');
  await call(code, 'read', { file_path: play.file('data.json') });
  // VS Code tells extensions of a problem a moment after it shows it.
  const looked = () => call(code, 'lsp', { operation: 'diagnostics', file_path: play.file('data.json') });
  await code.until('the sidecar to know of it', async () => /Value expected/.test(text(await looked())));
  const edit = { file_path: play.file('data.json'), old_string: '"one": ', new_string: '"one": 2' };
  const result = await call(code, 'edit', edit, { diagnostics: { wait: 'fresh', deadlineMs: 15000 } });
  assert.equal(result.status, 'ok', text(result));
  const found = verdicts(result, uri).find((source) => source.id !== 'syntax');
  assert.ok(found, JSON.stringify(result.diagnostics, null, 1));
  assert.equal(found.resolved, 1, JSON.stringify(result.diagnostics, null, 1));
  assert.deepEqual(found.new, []);
  await code.until('no problem', async () => (await problems(code, uri)).length === 0);
}

export async function what_an_edit_breaks_in_a_document_without_problems(play) {
  const code = await play.share({ 'clean.json': '{\n  "one": 1\n}\n', 'clean.css': 'a {\n  color: red;\n}\n' });
  const broken = [
    ['clean.json', '"one": 1', '"one": ', 'json', /Value expected/],
    ['clean.css', 'color: red', 'color red', 'css', /colon expected/],
  ];
  for (const [file, from, to, source, expected] of broken) {
    const uri = play.uri(file);
    await code.open(play.file(file));
    await call(code, 'read', { file_path: play.file(file) });
    const edit = { file_path: play.file(file), old_string: from, new_string: to };
    // There is no time for an answer: then it is not known, and never that there is nobody who knows.
    const hasty = await call(code, 'edit', edit, { diagnostics: { wait: 'fresh', deadlineMs: 1 } });
    assert.equal(hasty.status, 'ok', text(hasty));
    const [pending] = verdicts(hasty, uri).filter((found) => found.id === source);
    assert.equal(pending?.verdict, 'pending', JSON.stringify(hasty.diagnostics, null, 1));
    await code.until('the problem', async () => expected.test((await problems(code, uri)).join()));
    // What came too late for that call comes with a later one.
    const read = async () => text(await call(code, 'read', { file_path: play.file(file) }));
    await code.until('the late answer', async () => expected.test(await read()));
  }
}

export async function typescript_sees_what_was_never_saved(play) {
  const code = await play.share({
    'tsconfig.json': '{ "compilerOptions": { "strict": true, "noEmit": true, "types": [] } }\n',
    'shape.ts': 'export interface Shape { sides: number }\n',
    'use.ts': "import { Shape } from './shape';\nexport const square: Shape = { sides: 4 };\n",
  });
  await code.open(play.file('use.ts'));
  await code.type('// typed, never saved\n');
  await code.shows('// typed, never saved');
  await call(code, 'read', { file_path: play.file('use.ts') });
  const edit = { file_path: play.file('use.ts'), old_string: 'sides: 4', new_string: "sides: 'four'" };
  const result = await call(code, 'edit', edit, { diagnostics: { wait: 'fresh', deadlineMs: 15000 } });
  assert.equal(result.status, 'ok', text(result));
  const sources = verdicts(result, play.uri('use.ts'));
  assert.match(JSON.stringify(sources), /not assignable to type 'number'/, JSON.stringify(result.diagnostics, null, 1));
  assert.match(text(result), /use\.ts[\s\S]*not assignable/);
  assert.equal(play.saved('use.ts').includes('four'), false);
}
