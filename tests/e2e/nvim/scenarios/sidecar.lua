--- The real sidecar in a real Neovim: its edits, what the user types meanwhile, and the diagnostics that come back.

local S = {}

local function done(T, result)
  T.eq('ok', result.status, T.text(result))
  T.eq('all', result.applied)
end

--- What a source says of the only document of a result.
local function source(T, result, id)
  local documents = T.ok(result.diagnostics, 'no diagnostics in ' .. vim.inspect(result)).documents
  T.eq(1, #documents)
  for _, entry in ipairs(documents[1].sources) do
    if entry.id == id then
      return entry, documents[1]
    end
  end
  error(('no source %s in %s'):format(id, vim.inspect(documents[1].sources)), 2)
end

local function codes(entry)
  return vim.tbl_map(function(problem)
    return problem.code
  end, entry.new)
end

--- Every source has its say before the result comes.
local WAIT = { diagnostics = { wait = 'fresh', deadlineMs = 30000 } }

--- Waits until every source has said what it thinks of a document as it is.
local function first_look(T, child, path)
  T.call(child, 'read', { file_path = path })
  T.request(child, 'ropewalk/diagnostics', { uri = vim.uri_from_fname(path), deadlineMs = 30000 })
end

local PYTHON = 'import os\n\n\ndef f(x):\n    return x + 1\n\n\nprint(os.name, f(1))\n'

function S.an_unsaved_buffer_is_edited_while_the_user_types(T)
  local child, path = T.open('main.py', PYTHON, T.QUIET)
  child:press('ggO# unsaved<Esc>')
  child:press('Go# ty')
  -- The keys and the call are under way together.
  local edit = { file_path = path, old_string = '    return x + 1', new_string = '    return x + 2' }
  local index = child:lua("return Call('edit', ...)", edit)
  for key in ('ping on and on'):gmatch('.') do
    child:type(key)
  end
  local result = child:wait('the result', 'return Results[...]', index).result
  child:wait('the typing', "return vim.api.nvim_buf_get_lines(0, -2, -1, false)[1] == '# typing on and on'")
  if result.error and result.error.kind == 'conflict' then
    -- On a busy machine each try met another key; nothing was changed, and one is told to ask again.
    result = T.call(child, 'edit', edit)
  end
  done(T, result)
  T.eq('i', child:lua('return vim.fn.mode()'), 'still in Insert mode')
  child:press('<Esc>')
  local text = '# unsaved\n' .. PYTHON:gsub('x %+ 1', 'x + 2') .. '# typing on and on\n'
  T.eq(text, T.same_text(child, path).text)
  T.eq(PYTHON, T.read(path), 'the file on the disk')
end

function S.u_takes_back_exactly_the_edit_and_keeps_the_typing(T)
  local child, path = T.open('main.py', PYTHON, T.QUIET)
  child:press('Go# typed')
  done(T, T.call(child, 'edit', { file_path = path, old_string = 'x + 1', new_string = 'x + 2' }))
  child:press('<Esc>')
  T.eq('    return x + 2', child:lines()[5])
  child:press('u')
  T.eq('    return x + 1', child:lines()[5])
  T.eq('# typed', child:lines()[9])
  local document = T.same_text(child, path)
  T.eq(true, document.unsaved)
  child:press('u')
  T.eq(vim.split(PYTHON:gsub('\n$', ''), '\n'), child:lines())
  T.eq(PYTHON, T.read(path))
end

function S.ruff_as_a_server_of_the_sidecar(T)
  local child, path = T.open('main.py', PYTHON, { trusted = true })
  child:press('ggO# unsaved<Esc>')
  done(T, T.call(child, 'edit', { file_path = path, old_string = '# unsaved', new_string = '# still unsaved' }, WAIT))
  local result = T.call(child, 'edit', {
    file_path = path,
    old_string = 'return x + 1',
    new_string = 'return x + undefined_name',
  }, WAIT)
  done(T, result)
  local ruff, document = source(T, result, 'ruff')
  T.eq({ 'fresh', 'known', { 'F821' } }, { ruff.verdict, ruff.baseline, codes(ruff) })
  T.eq(5, ruff.new[1].range.start.line, 'the line in the unsaved text')
  T.eq(result.edits[1].versionAfter, document.version)
  T.ok(T.text(result):find('undefined_name', 1, true), T.text(result))
  T.eq(PYTHON, T.read(path))
  result = T.call(child, 'edit', { file_path = path, old_string = 'undefined_name', new_string = '1' }, WAIT)
  ruff = source(T, result, 'ruff')
  T.eq({ 'fresh', {}, 1 }, { ruff.verdict, codes(ruff), ruff.resolved })
  T.same_text(child, path)
end

function S.clangd_as_a_server_of_the_sidecar(T)
  local text = 'int twice(int n) {\n    return n + n;\n}\n'
  local child, path = T.open('main.c', text, { trusted = true })
  done(T, T.call(child, 'edit', { file_path = path, old_string = 'n + n', new_string = '2 * n' }, WAIT))
  local result = T.call(child, 'edit', {
    file_path = path,
    old_string = '    return 2 * n;',
    new_string = '    int m = 2;\n    return mm * n;',
  }, WAIT)
  done(T, result)
  local clangd = source(T, result, 'clangd')
  T.eq('fresh', clangd.verdict)
  T.ok(#clangd.new > 0 and clangd.new[1].severity == 'error', vim.inspect(clangd))
  T.eq(2, clangd.new[1].range.start.line)
  T.eq(text, T.read(path))
end

function S.ruff_in_neovim_is_forwarded(T)
  local child, path = T.open('main.py', PYTHON, { trusted = true })
  child:lua([[vim.lsp.start({ name = 'ruff', cmd = { 'ruff', 'server' }, root_dir = vim.fn.getcwd() })]])
  child:wait('ruff', "return #vim.lsp.get_clients({ name = 'ruff' }) > 0")
  child:press('ggO# unsaved<Esc>')
  done(T, T.call(child, 'edit', { file_path = path, old_string = '# unsaved', new_string = '# 😀 unsaved' }, WAIT))
  local result = T.call(child, 'edit', {
    file_path = path,
    old_string = 'print(os.name, f(1))',
    new_string = 'print("😀", os.name, f(missing))',
  }, WAIT)
  done(T, result)
  local ruff = source(T, result, 'ruff')
  T.eq({ 'fresh', { 'F821' } }, { ruff.verdict, codes(ruff) })
  T.eq({ line = 8, character = 23 }, ruff.new[1].range.start, 'in UTF-16 units of the unsaved text')
  T.eq(PYTHON, T.read(path))
  T.same_text(child, path)
end

function S.a_freshly_opened_buffer_at_version_0(T)
  local child, path = T.open('main.py', PYTHON, { trusted = true })
  T.eq(0, child:lua('return vim.lsp.util.buf_versions[0 + vim.api.nvim_get_current_buf()]'), "Neovim's own number")
  -- So that the server has said what it thinks of the text before the edit.
  first_look(T, child, path)
  -- The very first edit of the buffer, with keys on their way.
  local index = child:lua("return Call('edit', ...)", {
    file_path = path,
    old_string = 'x + 1',
    new_string = 'x + y',
  }, WAIT)
  child:type('GA # typed<Esc>')
  local result = child:wait('the result', 'return Results[...]', index).result
  done(T, result)
  local ruff, document = source(T, result, 'ruff')
  T.eq({ 'fresh', { 'F821' } }, { ruff.verdict, codes(ruff) })
  T.eq(4, ruff.new[1].range.start.line)
  T.ok(document.version >= result.edits[1].versionAfter, 'the text after the edit, or that with the typing')
  child:wait('the typing', "return vim.api.nvim_buf_get_lines(0, -2, -1, false)[1]:find('# typed', 1, true) ~= nil")
  T.eq('    return x + y', child:lines()[5])
  T.eq(PYTHON, T.read(path), 'the file on the disk')
  T.same_text(child, path)
end

function S.the_first_edit_of_a_fresh_buffer_is_undone_in_one_step(T)
  local child, path = T.open('main.py', PYTHON, T.QUIET)
  done(T, T.call(child, 'edit', { file_path = path, old_string = 'import os\n', new_string = 'import os\nimport re\n' }))
  T.eq('import re', child:lines()[2])
  child:press('u')
  T.eq(vim.split(PYTHON:gsub('\n$', ''), '\n'), child:lines())
  T.same_text(child, path)
end

function S.a_line_typed_above_while_the_edit_is_under_way_moves_it(T)
  local child, path = T.open('main.py', PYTHON, T.QUIET)
  for round = 1, 10 do
    local old, new = ('x + %d'):format(round), ('x + %d'):format(round + 1)
    local lines = child:lines()
    -- The line comes after the request has left and before its answer can be handled.
    local index = child:lua(
      [[
        local path, old, new, round = ...
        local index = Call('edit', { file_path = path, old_string = old, new_string = new })
        vim.api.nvim_buf_set_lines(0, 0, 0, true, { '# above ' .. round })
        return index
      ]],
      path,
      old,
      new,
      round
    )
    local result = child:wait('the result', 'return Results[...]', index).result
    done(T, result)
    table.insert(lines, 1, '# above ' .. round)
    local expected = vim.tbl_map(function(line)
      return (line:gsub(vim.pesc(old) .. '$', new))
    end, lines)
    T.eq(expected, child:lines())
  end
  T.same_text(child, path)
end

function S.two_unnamed_buffers_are_edited_independently(T)
  local child = T.start_sidecar(T.folder(), T.QUIET)
  child:wait('the sidecar', "return #vim.lsp.get_clients({ name = 'ropewalk' }) > 0")
  child:lua('vim.o.hidden = true')
  local first = child:lua('return vim.api.nvim_get_current_buf()')
  child:press('ivalue = 1<Esc>')
  child:lua('vim.cmd.enew()')
  local second = child:lua('return vim.api.nvim_get_current_buf()')
  child:press('ivalue = 1<Esc>')
  done(T, T.call(child, 'edit', { file_path = 'untitled:nvim-' .. first, old_string = '1', new_string = 'one' }))
  T.eq({ { 'value = one' }, { 'value = 1' } }, { child:lines(first), child:lines(second) })
  done(T, T.call(child, 'edit', { file_path = 'untitled:nvim-' .. second, old_string = '1', new_string = 'two' }))
  T.eq({ { 'value = one' }, { 'value = two' } }, { child:lines(first), child:lines(second) })
  T.same_text(child, 'untitled:nvim-' .. second)
end

function S.a_reloaded_buffer(T)
  local child, path = T.open('main.py', PYTHON, T.QUIET)
  child:press('ggO# gone<Esc>')
  T.same_text(child, path)
  child:lua('vim.cmd("edit!")')
  child:followed()
  T.eq(PYTHON, T.same_text(child, path).text)
  done(T, T.call(child, 'edit', { file_path = path, old_string = 'x + 1', new_string = 'x + 2' }))
  T.eq('    return x + 2', child:lines()[5])
  T.same_text(child, path)
end

function S.without_a_final_newline(T)
  local child, path = T.open('main.py', 'a = 1\nb = 2', T.QUIET)
  done(T, T.call(child, 'edit', { file_path = path, old_string = 'b = 2', new_string = 'b = 2\nc = 3' }))
  T.eq('a = 1\nb = 2\nc = 3', T.same_text(child, path).text)
  child:lua('vim.bo.fixendofline = false; vim.cmd.write()')
  T.eq('a = 1\nb = 2\nc = 3', T.read(path))
end

function S.crlf(T)
  local child, path = T.open('main.py', 'a = 1\r\nb = 2\r\n', T.QUIET)
  T.eq('dos', child:lua('return vim.bo.fileformat'))
  local old, new = 'a = 1\nb = 2', 'a = 1\nnew = 3\nb = 2'
  done(T, T.call(child, 'edit', { file_path = path, old_string = old, new_string = new }))
  T.eq({ 'a = 1', 'new = 3', 'b = 2' }, child:lines())
  T.eq('a = 1\r\nnew = 3\r\nb = 2\r\n', T.same_text(child, path).text)
  T.eq('a = 1\r\nb = 2\r\n', T.read(path))
end

function S.a_lone_cr(T)
  local child, path = T.open('main.txt', 'one\rtwo\nthree\nfour\n', T.QUIET)
  done(T, T.call(child, 'edit', { file_path = path, old_string = 'four', new_string = '4' }))
  T.eq({ 'one\rtwo', 'three', '4' }, child:lines())
  T.eq('one\rtwo\nthree\n4\n', T.same_text(child, path).text)
end

function S.emoji_columns(T)
  local text = 's = "😀👨‍👩‍👧"; x = 1; t = "🇩🇪"; y = 2\n'
  local child, path = T.open('main.py', text, T.QUIET)
  done(T, T.call(child, 'edit', { file_path = path, old_string = 'y = 2', new_string = 'y = "🎉"' }))
  child:press('0i# 👍 <Esc>')
  done(T, T.call(child, 'edit', { file_path = path, old_string = 'x = 1', new_string = 'x = 3' }))
  T.eq('# 👍 s = "😀👨‍👩‍👧"; x = 3; t = "🇩🇪"; y = "🎉"\n', T.same_text(child, path).text)
end

function S.the_sidecar_follows_whatever_is_typed(T)
  local child, path = T.open('main.txt', 'one\ntwo\nthree\n', T.QUIET)
  for _, keys in ipairs({
    'ggO😀 é<Esc>', 'Gofour<CR>five<Esc>', 'ggdG', 'ifresh<Esc>', 'yy3p', ':%s/s/ß/g<CR>', 'ggJJ', 'u', 'Vjd', 'p',
    ':g/f/m0<CR>', 'ggvG$y', 'P', ':set noeol<CR>', 'Goend<Esc>', 'dd', ':set ff=dos<CR>', 'ggI# <Esc>', '.', 'uuu',
    '<C-r>', 'i<C-v>000<Esc>',
  }) do
    child:press(keys)
    T.same_text(child, path)
  end
end

--- Clicks a lens by its title, in the line of the cursor.
local function click(child, title)
  child:lua(
    [[
      Picked, Shown = false, {}
      local wanted = ...
      vim.ui.select = function(items, options, choose)
        for _, item in ipairs(items) do
          Shown[#Shown + 1] = options.format_item(item)
          if options.format_item(item):find(wanted, 1, true) then
            Picked = true
            return choose(item)
          end
        end
      end
      vim.lsp.codelens.run()
    ]],
    title
  )
  child:wait('the lens ' .. title, 'return Picked or error(vim.inspect(Shown))')
end

--- Asks for the lenses of the buffer until there are so many.
local function lenses(child, count)
  child:wait(
    count .. ' lenses',
    [[
      vim.lsp.codelens.refresh({ bufnr = 0 })
      return #vim.lsp.codelens.get(0) == ...
    ]],
    count
  )
end

function S.one_hunk_is_kept_and_one_undone_through_lenses_between_typing(T)
  local child, path = T.open('main.py', PYTHON, vim.tbl_extend('force', { review = 'lens' }, T.QUIET))
  child:press('ggO# first<Esc>')
  done(T, T.call(child, 'edit', { file_path = path, old_string = 'x + 1', new_string = 'x + 2' }))
  child:press('Go# second<Esc>')
  done(T, T.call(child, 'edit', { file_path = path, old_string = 'import os', new_string = 'import os, re' }))
  child:press('ggO# third<Esc>')
  local agent = { '# third', '# first', 'import os, re', '', '', 'def f(x):', '    return x + 2', '', '' }
  vim.list_extend(agent, { 'print(os.name, f(1))', '# second' })
  T.eq(agent, child:lines())
  lenses(child, 6)
  child:press('7G')
  click(child, 'Undo')
  local undone = vim.deepcopy(agent)
  undone[7] = '    return x + 1'
  child:wait('the undo', "return vim.api.nvim_buf_get_lines(0, 6, 7, false)[1] == '    return x + 1'")
  T.eq(undone, child:lines())
  lenses(child, 4)
  child:press('3G')
  click(child, 'Keep')
  lenses(child, 0)
  T.eq(undone, child:lines(), 'what is kept and what the user typed')
  T.same_text(child, path)
  -- The buffer's own undo goes back step by step.
  child:press('u')
  T.eq(agent, child:lines(), 'the undone hunk is back')
  child:press('u')
  T.eq(vim.list_slice(agent, 2), child:lines(), 'the last line typed is gone')
  child:press('u')
  local before = vim.list_slice(agent, 2)
  before[2] = 'import os'
  T.eq(before, child:lines(), 'the second edit is gone')
  T.same_text(child, path)
end

function S.a_proposal_is_its_sessions_own_until_it_is_accepted_after_typing(T)
  local child, path, folder = T.open('main.py', PYTHON, T.QUIET)
  T.request(child, 'ropewalk/openSession', { sessionId = 'shy', apply = 'propose' })
  local function call(session, name, arguments)
    return T.request(child, 'ropewalk/callTool', { sessionId = session, name = name, arguments = arguments })
  end
  local function finds(session)
    local told = T.text(call(session, 'grep', { pattern = 'return x \\+ [0-9]', path = folder }))
    return told:match('return x %+ (%d)')
  end
  local before = child:lines()
  local proposed = call('shy', 'edit', { file_path = path, old_string = 'x + 1', new_string = 'x + 2' })
  T.eq('ok', proposed.status, T.text(proposed))
  T.eq('none', proposed.applied)
  T.eq(true, proposed.proposed)
  T.eq(before, child:lines(), 'no buffer changes')
  T.eq('2', finds('shy'), 'the session sees what it proposes')
  T.eq('1', finds('bold'), 'nobody else does')
  child:press('ggO# typed<Esc>')
  local accepted = T.request(child, 'ropewalk/accept', { sessionId = 'shy', uri = vim.uri_from_fname(path) })
  T.eq(1, #accepted.accepted, vim.inspect(accepted))
  local after = { '# typed' }
  for _, line in ipairs(before) do
    table.insert(after, (line:gsub('x %+ 1', 'x + 2')))
  end
  T.eq(after, child:lines(), 'what was typed and what was accepted')
  T.eq('2', finds('bold'), 'everybody sees it')
  T.same_text(child, path)
  child:press('u')
  T.eq('# typed', child:lines()[1], 'the buffer takes back the accepted edit alone')
  T.eq('1', finds('bold'))
end

return S
