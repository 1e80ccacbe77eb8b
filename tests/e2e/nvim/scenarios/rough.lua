--- What comes at the wrong moment, and what others do that nobody expects: edits and questions in the middle of keys
--- that belong together, plugins that replace functions of Neovim's, functions of the user that fail.

local S = {}

--- Replaces `needle`, and waits for the answer: an edit may wait for the user.
local function replace(child, uri, needle, new)
  child:lua(
    [[
      local uri, needle, new = ...
      Standin.edit(uri, Standin.docs[uri].version, { { range = Standin.range(uri, needle), newText = new } })
    ]],
    uri,
    needle,
    new
  )
  return child:wait('the answer', 'return Standin.reply and Standin.reply.result')
end

--- Asks for consent to a call, as the sidecar would.
local function ask(child)
  child:lua([[
    Standin.ask('ropewalk/approve', { sessionId = 's', calls = { {
      callId = 'c', name = 'bash', arguments = { command = 'ls' }, targets = { 'ls' }, reason = 'a rule', risk = 'low',
    } } })
  ]])
end

local function decision(child)
  return child:wait('the decision', 'return Standin.reply and Standin.reply.result').decisions[1].decision
end

local function sound(T, child, uri)
  T.eq(T.truth(child), child:lua('return Standin.docs[...].text', uri), 'the copy is not the buffer')
  T.eq({}, child:lua('return Standin.faults'), 'faults')
end

function S.a_selection_stays_on_its_text_through_an_edit(T)
  local cases = {
    { 'jlv', { 'zero', 'half', 'one', 'to', 'three', 'four' } },
    { 'jlvjo', { 'zero', 'half', 'one', 'tree', 'four' } },
    { 'jVj', { 'zero', 'half', 'one', 'four' } },
    { 'jl<C-v>j', { 'zero', 'half', 'one', 'to', 'tree', 'four' } },
    { 'jl<C-v>j$', { 'zero', 'half', 'one', 't', 't', 'four' } },
  }
  for _, case in ipairs(cases) do
    local keys, expected = unpack(case)
    local child, uri = T.open_standin('one\ntwo\nthree\nfour\n')
    child:press(keys)
    local mode = child:lua('return vim.fn.mode()')
    T.eq({ applied = true }, replace(child, uri, 'one\n', 'zero\nhalf\none\n'))
    T.eq(mode, child:lua('return vim.fn.mode()'), keys)
    child:press('d')
    T.eq(expected, child:lines(), keys)
    sound(T, child, uri)
    child:stop()
  end
end

function S.a_selection_in_select_mode_and_one_in_the_line_of_the_edit(T)
  local child, uri = T.open_standin('one two three\nend\n')
  child:press('wvl<C-g>')
  T.eq({ applied = true }, replace(child, uri, 'one', 'longer'))
  T.eq('s', child:lua('return vim.fn.mode()'))
  child:press('X<Esc>')
  T.eq({ 'longer Xo three', 'end' }, child:lines())
  sound(T, child, uri)
end

function S.completion_that_is_on_takes_away_only_its_own_text(T)
  local child, uri = T.open_standin('alphabet alpine alps\nx al\nend\n')
  child:press('jA<C-n>')
  T.eq('ic', child:lua('return vim.api.nvim_get_mode().mode'))
  T.eq({ applied = true }, replace(child, uri, 'x ', 'longer '))
  child:press('<C-n><C-n> on<Esc>')
  local lines = child:lines()
  T.eq('alphabet alpine alps', lines[1])
  T.ok(lines[2]:match('^longer al%a* on$'), vim.inspect(lines))
  T.eq('end', lines[3])
  sound(T, child, uri)
end

function S.an_edit_above_completion_waits_for_the_choice(T)
  local child, uri = T.open_standin('alphabet alpine alps\nx al\nend\n')
  child:press('jA<C-n>')
  child:lua(
    [[
      local uri = ...
      Standin.edit(uri, Standin.docs[uri].version, { { range = Standin.range(uri, 'alpha'), newText = 'new\nalpha' } })
    ]],
    uri
  )
  T.eq(vim.NIL, child:lua('return Standin.reply'), 'the user is choosing')
  child:press('<C-n><C-y>')
  -- What was chosen made the edit stale: it is computed anew.
  local answer = child:wait('the answer', 'return Standin.reply and Standin.reply.result')
  T.eq(false, answer.applied)
  T.ok(answer.failureReason:find('version', 1, true), vim.inspect(answer))
  T.eq({ 'alphabet alpine alps', 'x alpine', 'end' }, child:lines())
  sound(T, child, uri)
end

function S.what_is_typed_into_a_block_of_lines_comes_into_all_of_them(T)
  local child, uri = T.open_standin('one\ntwo\nthree\nfour\n')
  child:press('j<C-v>jI# ')
  local answer = replace(child, uri, 'one\n', 'zero\none\n')
  T.eq(false, answer.applied)
  T.ok(answer.failureReason:find('in a block', 1, true), vim.inspect(answer))
  child:press('<Esc>')
  T.eq({ 'one', '# two', '# three', 'four' }, child:lines())
  child:press('Go')
  T.eq({ applied = true }, replace(child, uri, 'one\n', 'zero\none\n'), 'other typing is no block')
  sound(T, child, uri)
end

function S.a_command_that_shows_its_outcome_keeps_edits_off(T)
  local child, uri = T.open_standin('one\ntwo one\n', nil, nil, { 60, 20 })
  child:press(':%s/one/XYZ')
  local answer = replace(child, uri, 'two', 'half\ntwo')
  T.eq(false, answer.applied)
  T.ok(answer.failureReason:find('typing a command', 1, true), vim.inspect(answer))
  child:press('W<Esc>')
  sound(T, child, uri)
  -- Another command line is in nobody's way.
  child:press(':echo 1')
  T.eq({ applied = true }, replace(child, uri, 'two', 'half\ntwo'))
  child:press('<Esc>')
  T.eq({ 'one', 'half', 'two one' }, child:lines())
  sound(T, child, uri)
end

function S.a_macro_answers_no_question(T)
  local child = T.open_standin('one\ntwo\nthree\n', nil, { approve = 'window' }, { 80, 24 })
  child:lua(
    [[
      local ask = ...
      function Later()
        loadstring(ask)()
        -- Something that lets the editor go on meanwhile, as a formatter on writing does.
        vim.wait(700, function() return false end, 10)
      end
      vim.fn.setreg('q', vim.keycode(':lua Later()<CR>yyjx'))
      vim.keymap.set('n', 'X', ':lua Later()<CR>yyjx', { remap = true })
    ]],
    [[Standin.ask('ropewalk/approve', { sessionId = 's', calls = { {
      callId = 'c', name = 'bash', arguments = { command = 'ls' }, targets = { 'ls' }, reason = 'a rule', risk = 'low',
    } } })]]
  )
  for _, keys in ipairs({ '@q', 'ggX' }) do
    child:type(keys)
    child:see('Ropewalk asks')
    T.eq(vim.NIL, child:lua('return Standin.reply'), 'nobody has answered ' .. keys)
    vim.wait(400)
    child:press('n')
    T.eq('deny', decision(child))
    T.eq('one\n', child:lua('return vim.fn.getreg("0")'), 'the keys did what they are for')
  end
  T.eq({ 'one', 'o', 'three' }, { child:lines()[1], child:lines()[2]:sub(-1), child:lines()[3] })
end

function S.a_question_waits_until_a_macro_is_recorded(T)
  local child = T.open_standin('one\ntwo\n', nil, { approve = 'window' }, { 80, 24 })
  child:press('qaj')
  ask(child)
  child:wait('a word', "return vim.fn.execute('messages'):find('waits until the macro is recorded', 1, true)")
  child:press('xq')
  child:see('Ropewalk asks')
  T.eq('jx', child:lua('return vim.fn.getreg("a")'), 'no answer is a part of the macro')
  vim.wait(400)
  child:press('y')
  T.eq('once', decision(child))
end

function S.plugins_put_tables_and_failures_in_the_place_of_functions(T)
  local child = T.open_standin('one\n', nil, nil, { 80, 24 })
  child:lua([[
    Said, Picked = {}, 0
    vim.notify = setmetatable({}, { __call = function(_, message) Said[#Said + 1] = message end })
    vim.ui.select = setmetatable({}, { __call = function(_, items, options, done)
      Picked = Picked + 1
      done(items[2])
    end })
    require('ropewalk.review.say').warn('a word')
  ]])
  T.eq({ 'ropewalk: a word' }, child:lua('return Said'))
  ask(child)
  T.eq('once', decision(child))
  T.eq(1, child:lua('return Picked'))
  child:lua('vim.ui.select = function() error("no picker") end')
  ask(child)
  T.eq('deny', decision(child))
end

function S.a_sidecar_comes_back_where_nothing_can_be_said(T)
  local child = T.open('a.txt', 'one\n')
  child:lua([[
    vim.notify = function() error('no words') end
    Before = vim.lsp.get_clients({ name = 'ropewalk' })[1]
    vim.uv.kill(..., 9)
  ]], vim.fn.system({ 'pgrep', '-P', tostring(child:lua('return vim.fn.getpid()')) }) + 0)
  child:wait('another sidecar', [[
    local now = vim.lsp.get_clients({ name = 'ropewalk' })[1]
    return now and now.id ~= Before.id
  ]])
  child:followed()
end

function S.what_cannot_be_sent_is_an_answer_too(T)
  local child = T.open('a.txt', 'one\n', {
    settings = {
      diagnostics = { ownServers = 'off' },
      permissions = { allow = { 'functions', 'bytes', 'nested', 'good' } },
    },
  })
  child:lua([[
    local function tool(name, handler)
      return { name = name, description = name, handler = handler, annotations = { readOnlyHint = true } }
    end
    require('ropewalk').register_tools({
      tool('functions', function() return { content = 'x', structured = { f = print } } end),
      tool('nested', function() return { content = { { type = 'text', text = print } } } end),
      tool('bytes', function() return 'a latin \233 in it' end),
      tool('good', function() return 'good' end),
    })
  ]])
  for name, expected in vim.spairs({
    functions = 'cannot be written as JSON',
    nested = 'cannot be written as JSON',
    bytes = 'a latin \239\191\189 in it',
    good = 'good',
  }) do
    local result = T.call(child, name, vim.empty_dict())
    T.ok(T.text(result):find(expected, 1, true), vim.inspect(result))
  end
  -- Neither does a call that cannot be sent keep others from being made, nor its caller from hearing.
  child:lua([[
    Heard = {}
    for _, arguments in ipairs({ { f = print }, { n = 1 / 0 }, { s = 'latin \233' } }) do
      require('ropewalk').call('good', arguments, function(err) Heard[#Heard + 1] = err and err.message or 'none' end)
    end
  ]])
  local heard = child:wait('the answers', 'return #Heard == 3 and Heard')
  table.sort(heard)
  T.ok(heard[1]:find('not UTF-8', 1, true) and heard[2]:find('JSON', 1, true), vim.inspect(heard))
  T.eq('ok', T.call(child, 'good', vim.empty_dict()).status)
end

function S.another_client_of_the_same_name_is_left_alone(T)
  local folder = T.folder()
  T.write(folder .. '/a.txt', 'one\n')
  local child = T.start(folder)
  child:lua(
    [[
      local folder, sidecar = ...
      Standin = require('standin')
      vim.cmd.edit('a.txt')
      vim.lsp.start({ name = 'ropewalk', cmd = Standin.cmd, root_dir = folder })
      require('ropewalk').setup({ cmd = { sidecar, '--ephemeral' }, trusted = 'remembered' })
    ]],
    folder,
    T.sidecar
  )
  child:takes_calls()
  child:followed()
  T.eq('ok', T.call(child, 'read', { file_path = folder .. '/a.txt' }).status)
  T.eq(1, child:lua("return require('ropewalk').stop()"))
  T.eq({}, child:lua("return Standin.sent('ropewalk/didChangeContext')"))
  T.eq(false, child:lua("return vim.lsp.get_clients({ bufnr = 0 })[1]:is_stopped()"))
end

function S.a_relative_root_is_the_folder_it_names(T)
  local child, path, folder = T.open('a.txt', 'one\n')
  T.eq('ok', T.call(child, 'read', { file_path = path }, { root = '.' }).status)
  T.eq('ok', T.call(child, 'read', { file_path = path }, { root = folder .. '/' }).status)
  T.eq(
    { folder },
    child:lua("return vim.tbl_map(function(c) return c.root_dir end, vim.lsp.get_clients({ name = 'ropewalk' }))")
  )
end

function S.characters_that_the_encoding_of_a_file_lacks_are_not_saved(T)
  local child, uri, path = T.open_standin('caf\233\n')
  child:lua("vim.cmd('edit ++enc=latin1')")
  T.eq({ 'café' }, child:lines())
  local function save()
    return child:lua("return Standin.ask('ropewalk/save', { uris = { ... } })", uri).result.failed
  end
  child:press('Aé<Esc>')
  T.eq({}, save())
  T.eq('caf\233\233\n', T.read(path))
  child:press('A→<Esc>')
  local failed = save()
  T.ok(failed[1] and failed[1].reason:find('latin1', 1, true), vim.inspect(failed))
  T.eq('caf\233\233\n', T.read(path), 'not a byte is lost')
end

function S.the_log_survives_sessions_and_unloading(T)
  local child, path, folder = T.open('a.txt', 'one\n', nil, { 80, 24 })
  child:lua("vim.cmd('Ropewalk log')")
  child:lua("vim.cmd('mksession! ' .. ...)", folder .. '/Session.vim')
  child:lua([[
    local log = vim.api.nvim_get_current_buf()
    vim.cmd.close()
    vim.cmd('bunload! ' .. log)
  ]])
  T.eq('ok', T.call(child, 'read', { file_path = path }).status)
  child:lua("vim.cmd('Ropewalk log')")
  child:see('a.txt')
  local other = T.start_sidecar(folder, T.QUIET, { 80, 24 })
  other:lua("vim.cmd('silent source ' .. ...)", folder .. '/Session.vim')
  other:lua("vim.cmd('Ropewalk log')")
  T.eq('ok', T.call(other, 'read', { file_path = path }).status)
  other:see('a.txt')
  T.eq('', other:lua("return vim.trim(vim.fn.execute('messages'))"))
end

--- Opens a file with a proposal for it; the last result stops the sidecar and lets it go on.
local function proposed(T)
  local child, path = T.open('a.txt', 'one\ntwo\n', nil, { 80, 24 })
  T.request(child, 'ropewalk/openSession', { sessionId = 'shy', apply = 'propose' })
  local change = { file_path = path, old_string = 'two', new_string = 'TWO' }
  T.eq('ok', T.request(child, 'ropewalk/callTool', { sessionId = 'shy', name = 'edit', arguments = change }).status)
  child:wait('the proposal', "return #require('ropewalk.review.marks').list(vim.api.nvim_get_current_buf()) == 1")
  local pid = tonumber(vim.fn.system({ 'pgrep', '-P', tostring(child:lua('return vim.fn.getpid()')) }))
  return child, path, function(signal)
    vim.uv.kill(pid, signal)
  end
end

function S.a_list_that_comes_late_takes_no_keys(T)
  local child, _, signal = proposed(T)
  signal('sigstop')
  child:press(':Ropewalk review<CR>:Ropewalk diff proposed<CR>:Ropewalk quickfix<CR>')
  -- In the overview this would accept everything.
  child:press('A and')
  signal('sigcont')
  child:see('session shy')
  child:wait('the list', 'return #vim.fn.getqflist() == 1')
  child:press(' more<Esc>')
  T.eq({ 'one and more', 'two' }, child:lines())
  T.eq('a.txt', child:lua("return vim.fn.expand('%:t')"))
  T.eq(1, child:lua('return #vim.api.nvim_list_tabpages()'))
  child:press(':Ropewalk review<CR>')
  child:wait('the overview', "return vim.bo.filetype == 'ropewalk-review'")
end

function S.an_edited_proposal_that_is_refused_is_not_lost(T)
  local child, path = proposed(T)
  child:press('j:Ropewalk edit<CR>')
  T.eq({ 'TWO' }, child:lines())
  T.request(child, 'ropewalk/reject', { sessionId = 'shy', uri = vim.uri_from_fname(path) })
  child:press('A and mine<Esc>:wq<CR>')
  child:wait('the text to come back', "return #vim.fn.win_findbuf(vim.fn.bufnr('ropewalk://accept')) == 1")
  T.eq({ 'TWO and mine' }, child:lines(child:lua("return vim.fn.bufnr('ropewalk://accept')")))
  T.eq(true, child:lua("return vim.bo[vim.fn.bufnr('ropewalk://accept')].modified"))
  T.eq({ 'one', 'two' }, child:lines())
end

function S.a_picker_of_somebody_elses_comes_when_typing_pauses(T)
  local child = T.open_standin('one\n', nil, nil, { 80, 24 })
  child:lua([[
    vim.ui.select = function(items, options, done)
      Picked = vim.api.nvim_get_current_line()
      done(items[2])
    end
  ]])
  child:press('i')
  ask(child)
  for _, key in ipairs({ 't', 'y', 'p', 'e', 'd', ' ' }) do
    child:type(key)
    vim.wait(60)
  end
  T.eq('once', decision(child))
  T.eq('typed one', child:lua('return Picked'), 'no key is lost')
  child:press('on<Esc>')
  T.eq({ 'typed onone' }, child:lines())
end

function S.what_is_invisible_is_spelled_out(T)
  local child = T.open_standin('one\n')
  for text, shown in pairs({
    ['plain\ttext'] = 'plain\ttext',
    ['\27[2Ka\0b\127'] = '\\x1b[2Ka\\x00b\\x7f',
    ['a\u{3164}b\u{202e}c\u{200b}'] = 'a\\u{3164}b\\u{202e}c\\u{200b}',
    ['t\u{e0041}g\u{2800}\u{ffa0}\u{fe01}'] = 't\\u{e0041}g\\u{2800}\\u{ffa0}\\u{fe01}',
    ['schön 日本 ❤\u{fe0f} 😀'] = 'schön 日本 ❤\u{fe0f} 😀',
  }) do
    T.eq(shown, child:lua("return require('ropewalk.approve').visible(...)", text))
  end
end

return S
