--- `workspace/applyEdit` against the stand-in, with real keys: the right place or none, one step, nothing else moved.

local S = {}

--- Replaces `needle` at the document's version (or another) and gives the answer.
local function replace(child, uri, needle, new, version)
  return child:lua(
    [[
      local uri, needle, new, version = ...
      local edit = { range = Standin.range(uri, needle), newText = new }
      return Standin.edit(uri, version or Standin.docs[uri].version, { edit })
    ]],
    uri,
    needle,
    new,
    version
  )
end

local function held(child, uri)
  return child:lua('return Standin.docs[...].text', uri)
end

local function sound(T, child, uri)
  local out = child:lua(
    [[
      local bufnr = require('ropewalk.sync').find(vim.lsp.get_clients({ name = 'ropewalk' })[1].id, ...).bufnr
      return { held = Standin.docs[...].text, truth = Standin.truth(bufnr), faults = Standin.faults }
    ]],
    uri
  )
  T.eq(out.truth, out.held, 'the copy is not the buffer')
  T.eq({}, out.faults, 'faults')
end

function S.typing_in_insert_mode_is_kept_and_undo_takes_back_exactly_the_edit(T)
  local child, uri, path = T.open_standin('import os\n\ndef f():\n    return 1\n')
  child:press('Go# typing')
  T.eq({ applied = true }, replace(child, uri, 'return 1', 'return 2'))
  child:press(' on')
  T.eq({ 'import os', '', 'def f():', '    return 2', '    # typing on' }, child:lines())
  sound(T, child, uri)
  T.eq('i', child:lua('return vim.fn.mode()'), 'still in Insert mode')
  child:press('<Esc>')
  child:press('u')
  T.eq({ 'import os', '', 'def f():', '    return 2', '    # typing' }, child:lines(), 'typed after the edit')
  child:press('u')
  T.eq({ 'import os', '', 'def f():', '    return 1', '    # typing' }, child:lines(), 'exactly the edit')
  child:press('u')
  T.eq({ 'import os', '', 'def f():', '    return 1' }, child:lines(), 'typed before the edit')
  child:press('3<C-r>')
  T.eq({ 'import os', '', 'def f():', '    return 2', '    # typing on' }, child:lines())
  sound(T, child, uri)
  T.eq('import os\n\ndef f():\n    return 1\n', T.read(path), 'the file on the disk')
end

function S.typing_in_the_line_of_the_edit_survives_its_undo(T)
  local child, uri = T.open_standin('x = 1\nend\n')
  child:press('A + two')
  T.eq({ applied = true }, replace(child, uri, 'x = 1', 'why = 1'))
  T.eq({ 1, 13 }, child:lua('return vim.api.nvim_win_get_cursor(0)'), 'the cursor stays behind the typed text')
  child:press(' + three<Esc>')
  T.eq('why = 1 + two + three', child:lines()[1])
  child:press('u')
  T.eq('why = 1 + two', child:lines()[1], 'what was typed after the edit is its own step')
  child:press('u')
  T.eq('x = 1 + two', child:lines()[1], 'the edit is its own step')
  child:press('u')
  T.eq('x = 1', child:lines()[1])
  child:press('3<C-r>')
  T.eq('why = 1 + two + three', child:lines()[1])
  sound(T, child, uri)
end

function S.an_edit_above_a_line_that_grows(T)
  local child, uri = T.open_standin('a\nb\nc\n')
  child:press('jA1')
  T.eq({ applied = true }, replace(child, uri, 'a\n', 'a\nnew\nnewer\n'))
  child:press('2<CR>3<Esc>')
  T.eq({ 'a', 'new', 'newer', 'b12', '3', 'c' }, child:lines())
  sound(T, child, uri)
  child:press('uuuu')
  T.eq({ 'a', 'b', 'c' }, child:lines())
  sound(T, child, uri)
  child:press('5<C-r>')
  T.eq({ 'a', 'new', 'newer', 'b12', '3', 'c' }, child:lines())
end

function S.a_stale_edit_lands_nowhere(T)
  local child, uri = T.open_standin('one\ntwo\nthree\n')
  local fresh = child:lua('return Standin.docs[...].version', uri)
  T.eq(0, child:lua('return vim.lsp.util.buf_versions[vim.api.nvim_get_current_buf()]'), "Neovim's own version is 0")
  -- A line above moves the place; the edit was computed before it.
  local range = child:lua("return Standin.range(..., 'two')", uri)
  child:press('ggOzero<Esc>')
  for _, version in ipairs({ 0, fresh, fresh - 1, 10000, -1 }) do
    local reply = child:lua(
      'local uri, version, range = ...; return Standin.edit(uri, version, { { range = range, newText = "TWO" } })',
      uri,
      version,
      range
    )
    T.eq(false, reply.applied)
    T.ok(reply.failureReason:find('version', 1, true), reply.failureReason)
  end
  T.eq({ 'zero', 'one', 'two', 'three' }, child:lines())
  T.eq({ applied = true }, replace(child, uri, 'two', 'TWO'))
  T.eq({ 'zero', 'one', 'TWO', 'three' }, child:lines())
  sound(T, child, uri)
end

function S.a_freshly_opened_buffer_takes_an_edit_and_one_only(T)
  local child, uri = T.open_standin('one\ntwo\n')
  local version = child:lua('return Standin.docs[...].version', uri)
  T.eq({ applied = true }, replace(child, uri, 'one\n', 'zero\none\n', version))
  T.eq(false, replace(child, uri, 'two', 'three', version).applied, 'the same version again')
  T.eq({ 'zero', 'one', 'two' }, child:lines())
  sound(T, child, uri)
end

function S.several_edits_are_one_version_and_one_step(T)
  local child, uri = T.open_standin('a\nb\nc\nd\n')
  local before = #child:lua("return Standin.sent('textDocument/didChange')")
  local reply = child:lua(
    [[
      local uri = ...
      local r = function(n) return Standin.range(uri, n) end
      return Standin.edit(uri, Standin.docs[uri].version, {
        { range = r('d'), newText = 'DD' },
        { range = r('a'), newText = 'A\nA' },
        { range = { start = r('c').start, ['end'] = r('c').start }, newText = '>' },
        { range = { start = r('c').start, ['end'] = r('c').start }, newText = '>' },
      })
    ]],
    uri
  )
  T.eq({ applied = true }, reply)
  T.eq({ 'A', 'A', 'b', '>>c', 'DD' }, child:lines())
  T.eq(before + 1, #child:lua("return Standin.sent('textDocument/didChange')"))
  child:press('u')
  T.eq({ 'a', 'b', 'c', 'd' }, child:lines())
  sound(T, child, uri)
end

function S.what_cannot_be_applied_is_refused_with_a_reason(T)
  local child, uri = T.open_standin('a😀b\nc\n')
  local function try(code, reason)
    local reply = child:lua(
      [[
        local uri, code = ...
        local version = Standin.docs[uri].version
        local function at(l1, c1, l2, c2)
          return { start = { line = l1, character = c1 }, ['end'] = { line = l2, character = c2 } }
        end
        local function edit(...) return Standin.edit(uri, version, { ... }) end
        local function ask(given) return Standin.ask('workspace/applyEdit', { edit = given }).result end
        return assert(loadstring('local uri, version, at, edit, ask = ...; ' .. code))(uri, version, at, edit, ask)
      ]],
      uri,
      code
    )
    T.eq(false, reply.applied, code)
    T.ok(reply.failureReason:find(reason, 1, true), ('%s: %s'):format(code, reply.failureReason))
    T.eq({ 'a😀b', 'c' }, child:lines(), code)
  end
  try("return edit({ range = at(0, 2, 0, 3), newText = 'x' })", 'not a place')
  try("return edit({ range = at(0, 0, 0, 5), newText = 'x' })", 'not a place')
  try("return edit({ range = at(2, 0, 2, 1), newText = 'x' })", 'not a place')
  try("return edit({ range = at(3, 0, 3, 0), newText = 'x' })", 'not a place')
  try("return edit({ range = at(1, 1, 0, 0), newText = 'x' })", 'ends before')
  try(
    "return edit({ range = at(0, 0, 1, 0), newText = 'x' }, { range = at(0, 1, 0, 3), newText = 'x' })",
    'overlap'
  )
  try("return Standin.edit(uri .. 'x', version, {})", 'not open')
  try("return Standin.edit(uri, nil, { { range = at(0, 0, 0, 0), newText = 'x' } })", 'no version')
  try(
    "return ask({ changes = { [uri] = { { range = at(0, 0, 0, 0), newText = 'x' } } } })",
    'versions'
  )
  try(
    "return ask({ documentChanges = { { kind = 'create', uri = uri } } })",
    'exactly one document'
  )
  child:lua('vim.bo.modifiable = false')
  try("return edit({ range = at(0, 0, 0, 0), newText = 'x' })", 'not modifiable')
  child:lua('vim.bo.modifiable = true; vim.bo.readonly = true')
  try("return edit({ range = at(0, 0, 0, 0), newText = 'x' })", 'read-only')
  child:lua('vim.bo.readonly = false')
  T.eq({ applied = true }, replace(child, uri, '😀', '🎉é'))
  T.eq({ 'a🎉éb', 'c' }, child:lines())
  sound(T, child, uri)
end

function S.cursor_marks_folds_and_the_buffer_list_stay(T)
  local child, uri = T.open_standin('a\nb\nc\nd\ne\nf\n')
  child:lua([[
    vim.o.hidden = true
    vim.wo.foldmethod = 'manual'
    vim.cmd('4,5fold')
    vim.api.nvim_buf_set_mark(0, 'm', 3, 0, {})
    vim.api.nvim_buf_set_mark(0, 'n', 5, 0, {})
    vim.api.nvim_win_set_cursor(0, { 3, 1 })
    vim.bo.buflisted = false
  ]])
  T.eq({ applied = true }, replace(child, uri, 'a\n', 'a\na2\n'))
  T.eq({ applied = true }, replace(child, uri, 'c', 'see'))
  local now = child:lua([[
    return {
      cursor = vim.api.nvim_win_get_cursor(0)[1],
      m = vim.api.nvim_buf_get_mark(0, 'm'), n = vim.api.nvim_buf_get_mark(0, 'n'),
      fold = { vim.fn.foldclosed(5), vim.fn.foldclosedend(5) },
      listed = vim.bo.buflisted,
    }
  ]])
  T.eq({ cursor = 4, m = { 4, 0 }, n = { 6, 0 }, fold = { 5, 6 }, listed = false }, now)
  -- Lines that go take their marks with them; those are put back.
  T.eq({ applied = true }, replace(child, uri, 'see\nd\ne\n', 'x\n'))
  T.eq({ 'a', 'a2', 'b', 'x', 'f' }, child:lines())
  T.eq(4, child:lua("return vim.api.nvim_buf_get_mark(0, 'm')[1]"))
  T.ok(child:lua("return vim.api.nvim_buf_get_mark(0, 'n')[1]") > 0)
  sound(T, child, uri)
end

function S.a_hidden_buffer_is_edited_in_place(T)
  local child, uri, path = T.open_standin('a\nb\n')
  child:lua('vim.o.hidden = true; vim.cmd.enew()')
  T.eq({ applied = true }, replace(child, uri, 'b', 'bee'))
  sound(T, child, uri)
  T.eq('a\nb\n', T.read(path))
  child:lua('vim.cmd.edit(...)', path)
  T.eq({ 'a', 'bee' }, child:lines())
  child:press('u')
  T.eq({ 'a', 'b' }, child:lines())
end

function S.a_buffer_without_final_newline_stays_without(T)
  local child, uri, path = T.open_standin('a\nb')
  T.eq('a\nb', held(child, uri))
  T.eq({ applied = true }, replace(child, uri, 'b', 'b\nc\n'))
  T.eq({ 'a', 'b', 'c' }, child:lines())
  T.eq('a\nb\nc', held(child, uri))
  T.eq({ applied = true }, replace(child, uri, 'a', 'A'))
  T.eq('A\nb\nc', held(child, uri))
  local reply = replace(child, uri, 'c', 'c\n')
  T.eq(false, reply.applied, 'a final line end alone')
  sound(T, child, uri)
  child:press('Go')
  child:press('d<Esc>dd')
  sound(T, child, uri)
  child:lua('vim.bo.fixendofline = false; vim.cmd.write()')
  T.eq('A\nb\nc', T.read(path))
end

function S.the_end_of_a_buffer(T)
  local child, uri = T.open_standin('a\nb\n')
  local function at(l1, c1, l2, c2, new)
    return child:lua(
      [[
        local uri, l1, c1, l2, c2, new = ...
        return Standin.edit(uri, Standin.docs[uri].version, {
          { newText = new,
            range = { start = { line = l1, character = c1 }, ['end'] = { line = l2, character = c2 } } } })
      ]],
      uri,
      l1,
      c1,
      l2,
      c2,
      new
    )
  end
  T.eq({ applied = true }, at(2, 0, 2, 0, 'c\nd\n'))
  T.eq('a\nb\nc\nd\n', held(child, uri))
  T.eq({ applied = true }, at(4, 0, 4, 0, 'e'))
  T.eq('a\nb\nc\nd\ne\n', held(child, uri))
  T.eq({ applied = true }, at(3, 0, 5, 0, ''))
  T.eq('a\nb\nc\n', held(child, uri))
  T.eq({ applied = true }, at(1, 1, 3, 0, ''))
  T.eq('a\nb\n', held(child, uri))
  T.eq(false, at(1, 1, 2, 0, '').applied, 'the final line end alone')
  T.eq({ applied = true }, at(0, 0, 2, 0, 'x\n\n'))
  T.eq('x\n\n', held(child, uri))
  T.eq({ applied = true }, at(0, 0, 2, 0, ''))
  T.eq('', held(child, uri))
  T.eq({ applied = true }, at(0, 0, 0, 0, 'new\n'))
  T.eq('new\n', held(child, uri))
  sound(T, child, uri)
  child:press('u')
  T.eq({ '' }, child:lines())
  child:press('u')
  T.eq({ 'x', '' }, child:lines())
  child:lua("require('ropewalk.sync').check(require('ropewalk.sync').of_buffer(vim.api.nvim_get_current_buf())[1])")
  sound(T, child, uri)
end

function S.crlf(T)
  local child, uri, path = T.open_standin('a\r\nb\r\nc\r\n')
  T.eq('dos', child:lua('return vim.bo.fileformat'))
  T.eq('a\r\nb\r\nc\r\n', held(child, uri))
  child:press('jAx<CR>y<Esc>')
  T.eq('a\r\nbx\r\ny\r\nc\r\n', held(child, uri))
  T.eq({ applied = true }, replace(child, uri, 'bx\r\ny', 'q\r\nr\r\ns'))
  T.eq({ 'a', 'q', 'r', 's', 'c' }, child:lines())
  T.eq('a\r\nq\r\nr\r\ns\r\nc\r\n', held(child, uri))
  sound(T, child, uri)
  T.eq('a\r\nb\r\nc\r\n', T.read(path))
  child:lua('vim.cmd.write()')
  T.eq('a\r\nq\r\nr\r\ns\r\nc\r\n', T.read(path))
end

function S.a_lone_cr_is_content(T)
  local child, uri, path = T.open_standin('a\rb\nc\r\nd\n')
  T.eq('unix', child:lua('return vim.bo.fileformat'))
  T.eq({ applied = true }, replace(child, uri, 'd', 'dee'))
  T.eq({ 'a\rb', 'c\r', 'dee' }, child:lines())
  T.eq({ applied = true }, replace(child, uri, 'a\rb', 'A\rB\r\nnew'))
  T.eq({ 'A\rB\r', 'new', 'c\r', 'dee' }, child:lines())
  sound(T, child, uri)
  child:press('3GAx<Esc>')
  sound(T, child, uri)
  child:lua('vim.cmd.write()')
  T.eq('A\rB\r\nnew\nc\rx\ndee\n', T.read(path))
end

function S.emoji_columns(T)
  local child, uri = T.open_standin('😀 = "e\u{301}🇩🇪"; x = 1\n')
  T.eq({ applied = true }, replace(child, uri, 'x = 1', '変数 = 2'))
  T.eq({ '😀 = "e\u{301}🇩🇪"; 変数 = 2' }, child:lines())
  child:press('0i👍<Esc>A🎉<Esc>')
  T.eq({ applied = true }, replace(child, uri, '🇩🇪', '🇫🇷'))
  T.eq({ '👍😀 = "e\u{301}🇫🇷"; 変数 = 2🎉' }, child:lines())
  sound(T, child, uri)
end

function S.bytes_that_are_not_utf8_are_never_overwritten(T)
  local child, uri = T.open_standin('good\n')
  child:lua([[vim.api.nvim_buf_set_lines(0, 1, 1, false, { 'bad \255 line', 'nul \0 line' })]])
  sound(T, child, uri)
  T.ok(held(child, uri):find('bad \u{FFFD} line', 1, true))
  local reply = replace(child, uri, 'bad', 'worse')
  T.eq(false, reply.applied)
  T.ok(reply.failureReason:find('UTF-8', 1, true))
  T.eq({ applied = true }, replace(child, uri, 'good', 'better'))
  T.eq({ applied = true }, replace(child, uri, 'line\n', 'line!\n', nil) and replace(child, uri, 'nul', 'NUL'))
  sound(T, child, uri)
end

--- Random edits of random texts, checked against plain strings; each is undone and redone.
local CHAOS = [==[
  local uri, seed, steps = ...
  math.randomseed(seed)
  local bufnr = vim.api.nvim_get_current_buf()
  local bits = { 'a', 'bc', ' ', '\n', '\n', 'ß', '😀', '\t', 'x\ny', '\n\n', '', '', '\0' }
  local function random(n)
    local parts = {}
    for i = 1, math.random(0, n) do parts[i] = bits[math.random(#bits)] end
    return table.concat(parts)
  end
  local function places(text)
    local list, line, character, byte = {}, 0, 0, 1
    while true do
      list[#list + 1] = { byte = byte, position = { line = line, character = character } }
      if byte > #text then return list end
      local lead = text:byte(byte)
      if lead == 10 then line, character = line + 1, 0 else character = character + (lead >= 0xF0 and 2 or 1) end
      byte = byte + (lead >= 0xF0 and 4 or lead >= 0xE0 and 3 or lead >= 0xC0 and 2 or 1)
    end
  end
  local function close(a, b) return a == b or a .. '\n' == b or b .. '\n' == a end
  for step = 1, steps do
    local before = Standin.docs[uri].text
    local all = places(before)
    local picks = {}
    for i = 1, math.random(3) * 2 do picks[i] = math.random(#all) end
    table.sort(picks)
    local edits, expected = {}, before
    for i = #picks - 1, 1, -2 do
      local from, to, new = all[picks[i]], all[picks[i + 1]], random(4)
      table.insert(edits, 1, { range = { start = from.position, ['end'] = to.position }, newText = new })
      expected = expected:sub(1, from.byte - 1) .. new .. expected:sub(to.byte)
    end
    local reply = Standin.edit(uri, Standin.docs[uri].version, edits)
    local held = Standin.docs[uri].text
    local function wrong(what)
      return { what = what, step = step, edits = edits, before = before, expected = expected, held = held,
        truth = Standin.truth(bufnr), reply = reply, faults = Standin.faults }
    end
    if #Standin.faults > 0 then return wrong('faults') end
    if Standin.truth(bufnr) ~= held then return wrong('copy') end
    if reply.applied then
      if not close(held, expected) then return wrong('text') end
      vim.cmd('silent undo')
      local undone = Standin.truth(bufnr)
      if undone ~= before and not (before == '' and undone == '\n') then return wrong('undo') end
      vim.cmd('silent redo')
      local again = Standin.truth(bufnr)
      if again ~= held and not (held == '' and again == '\n') then return wrong('redo ' .. again) end
      require('ropewalk.sync').check(require('ropewalk.sync').of_buffer(bufnr)[1])
    elseif not close(held, expected) then
      return wrong('refused')
    end
    if #Standin.docs[uri].text > 400 then vim.cmd('silent 3,$d') end
  end
  return { ok = true }
]==]

local function chaos(T, text, seeds)
  for _, seed in ipairs(seeds) do
    local child, uri = T.open_standin(text)
    local out = child:lua(CHAOS, uri, seed, 300)
    T.ok(out.ok, ('seed %d: %s'):format(seed, vim.inspect(out)))
    child:stop()
  end
end

function S.chaos_with_final_newline(T)
  chaos(T, 'one\ntwo\nthree\n', { 1, 2, 3 })
end

function S.chaos_without_final_newline(T)
  chaos(T, 'one\ntwo\nthree', { 4, 5, 6 })
end

function S.chaos_from_nothing(T)
  chaos(T, '', { 7, 8, 9 })
end

return S
