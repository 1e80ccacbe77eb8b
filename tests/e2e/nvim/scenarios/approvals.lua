--- Questions about calls, in a terminal with a real screen and real keys.

local S = {}

local CALL = {
  callId = '1',
  name = 'edit',
  arguments = { file_path = '/w/a.txt', old_string = 'a', new_string = 'b' },
  targets = { '/w/a.txt' },
  diff = '--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-old line\n+new line\n',
  reason = 'writes are asked about',
  risk = 'medium',
  suggestedRule = 'edit(/w/a.txt)',
}

local function call(changes)
  return vim.tbl_extend('force', vim.deepcopy(CALL), changes or {})
end

--- A Neovim in a terminal with a document, beside the stand-in.
local function open(T, text, screen)
  return (T.open_standin(text, 'doc.txt', { restarts = 0, trusted = true }, screen or { 80, 24 }))
end

--- The sidecar asks; the answer is in `Standin.reply`.
local function ask(child, calls, session)
  child:lua(
    [[
      local calls, session = ...
      vim.schedule(function() Standin.ask('ropewalk/approve', { sessionId = session, calls = calls }) end)
    ]],
    calls,
    session or 's'
  )
end

--- Waits until the question takes keys.
local function armed(child)
  child:wait('the question', "return vim.api.nvim_win_get_config(0).relative ~= ''")
  -- The guard goes with the first key after it; this one does nothing in the window.
  child:lua("require('ropewalk.prompt').guard_ms = 0")
end

local function decisions(child)
  child:wait('the answer', 'return Standin.reply ~= nil')
  return vim.tbl_map(function(decision)
    return decision.feedback and { decision.decision, decision.feedback } or decision.decision
  end, child:lua('return Standin.reply.result.decisions'))
end

--- Where the user is: window, cursor, mode.
local function place(child)
  return child:lua([[
    return { vim.api.nvim_get_current_win(), vim.api.nvim_win_get_cursor(0), vim.api.nvim_get_mode().mode }
  ]])
end

local function nothing_said(T, child)
  T.eq('', child:lua("return vim.fn.execute('messages')"), 'messages')
end

function S.each_key_gives_its_answer_and_the_user_is_where_they_were(T)
  local child = open(T, 'one\ntwo\nthree\n')
  child:press('2G0l')
  local before = place(child)
  local keys = { y = 'once', s = 'session', a = 'always', n = 'deny', q = 'deny' }
  keys['<Esc>'], keys['<CR>'] = 'deny', 'deny'
  for key, answer in pairs(keys) do
    ask(child, { CALL })
    armed(child)
    child:press(key)
    T.eq({ answer }, decisions(child), key)
    T.eq(before, place(child), key)
    T.eq(1, child:lua('return #vim.api.nvim_list_wins()'), 'the window is gone')
  end
  T.eq({ 'one', 'two', 'three' }, child:lines())
  nothing_said(T, child)
end

function S.all_of_a_call_is_on_the_screen(T)
  local child = open(T, 'one\n')
  ask(child, { call({ targets = { '/w/a.txt\nRisk: low', '/etc/x\27[2J' } }) })
  armed(child)
  for _, text in ipairs({
    'Ropewalk wants to run: edit',
    'Why you are asked: writes are asked about (risk: medium)',
    'It reaches: /w/a.txt',
    '┆ Risk: low',
    'It reaches: /etc/x\\x1b[2J',
    'Session and always allow: edit(/w/a.txt)',
    '-old line',
    '+new line',
    'y once  s session  a always  n no',
  }) do
    child:see(text)
  end
  local groups = child:lua([=[
    local found = {}
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true })) do
      found[vim.api.nvim_buf_get_lines(0, mark[2], mark[2] + 1, false)[1]] = mark[4].hl_group
    end
    return found
  ]=])
  T.eq({ 'RopewalkRemoved', 'RopewalkAdded', 'RopewalkPlace' }, {
    groups['-old line'],
    groups['+new line'],
    groups['@@ -1,1 +1,1 @@'],
  })
  child:press('n')
  decisions(child)
  -- A command is shown as such, and every other argument too.
  local bash = call({ name = 'bash', arguments = { command = 'make\nrm -rf x', timeout_ms = 7 } })
  bash.diff, bash.suggestedRule = nil, nil
  ask(child, { bash })
  child:wait('the question', "return vim.api.nvim_win_get_config(0).relative ~= ''")
  child:see('$ make')
  child:see('┆ rm -rf x')
  child:see('timeout_ms: 7')
  child:press('n')
  T.eq({ 'deny' }, decisions(child))
end

function S.closing_the_window_is_a_no(T)
  local child = open(T, 'one\ntwo\n')
  child:press('2G')
  local before = place(child)
  local ways = { ':q<CR>', '<C-w>c', ':lua vim.api.nvim_win_close(0, true)<CR>', ':bwipeout!<CR>', '<C-w>p:only<CR>' }
  for _, way in ipairs(ways) do
    ask(child, { CALL })
    armed(child)
    child:press(way)
    T.eq({ 'deny' }, decisions(child), way)
    T.eq(before, place(child), way)
  end
end

function S.no_with_words_tells_the_model(T)
  local child = open(T, 'one\n')
  ask(child, { CALL })
  armed(child)
  child:press('w')
  child:see('No, and the model is told')
  child:press('use tabs<C-j>please')
  child:press('<CR>')
  T.eq({ { 'deny', 'use tabs\nplease' } }, decisions(child))
  T.eq('n', place(child)[3])
  -- Esc goes back to the question, which still waits.
  ask(child, { CALL })
  armed(child)
  child:press('w')
  child:see('No, and the model is told')
  child:press('x<Esc>')
  child:see('Ropewalk wants to run')
  child:wait('Normal mode', "return vim.fn.mode() == 'n'")
  child:press('y')
  T.eq({ 'once' }, decisions(child))
  T.eq({ 'one' }, child:lines())
end

function S.insert_mode_goes_on_where_it_was(T)
  local child = open(T, 'one\ntwo\n')
  for _, start in ipairs({ 'ggA', 'ggi', '2Ga', 'ggO' }) do
    child:press('<Esc>:e!<CR>')
    child:press(start .. 'ab')
    local before = place(child)
    T.eq('i', before[3])
    ask(child, { CALL })
    armed(child)
    child:press('y')
    T.eq({ 'once' }, decisions(child))
    child:wait('Insert mode', "return vim.fn.mode() == 'i'")
    T.eq(before, place(child), start)
    child:press('cd')
    T.ok(table.concat(child:lines(), '\n'):find('abcd', 1, true), start)
  end
end

function S.replace_and_visual_mode_go_on_where_they_were(T)
  local child = open(T, 'one\ntwo\nthree\n')
  for _, way in ipairs({ { 'gg0Rx', 'R' }, { 'gg0lvj', 'v' }, { 'ggVj', 'V' }, { 'gg0<C-v>jl', '\22' } }) do
    child:press('<Esc>' .. way[1])
    local before = place(child)
    T.eq(way[2], before[3])
    ask(child, { CALL })
    armed(child)
    child:press('y')
    T.eq({ 'once' }, decisions(child))
    child:wait('the mode', 'return vim.fn.mode() == ...', way[2])
    T.eq(before, place(child), way[1])
  end
end

function S.keys_on_their_way_answer_nothing_and_go_into_the_text(T)
  local child = open(T, 'one\n')
  child:press('A ')
  -- As if no key had ever been far from the one before it, however slow this machine is.
  child:lua("require('ropewalk.prompt').guard_ms = math.huge")
  ask(child, { CALL })
  child:wait('the question', "return vim.api.nvim_win_get_config(0).relative ~= ''")
  child:press('yes… é<BS>e')
  T.ok(not child:lua('return Standin.reply ~= nil'), 'answered by a stray key')
  T.eq({ 'one ' }, child:lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('doc.txt'), 0, -1, false)"))
  -- What comes behind a command is no text: it is ignored for good.
  child:press('<Esc>dd')
  child:lua("require('ropewalk.prompt').guard_ms = 0")
  child:press('n')
  T.eq({ 'deny' }, decisions(child))
  child:wait('the text', "return vim.api.nvim_get_current_line() == 'one yes… e'")
  T.eq('i', place(child)[3])
  child:press('!')
  T.eq({ 'one yes… e!' }, child:lines())
  -- In Normal mode keys on their way are commands for a text that is covered now: they are ignored.
  child:press('<Esc>')
  child:lua("require('ropewalk.prompt').guard_ms = math.huge")
  ask(child, { CALL })
  child:wait('the question', "return vim.api.nvim_win_get_config(0).relative ~= ''")
  child:press('ddy')
  T.ok(not child:lua('return Standin.reply ~= nil'), 'answered by a stray key')
  child:lua("require('ropewalk.prompt').guard_ms = 0")
  child:press('n')
  T.eq({ 'deny' }, decisions(child))
  T.eq({ 'one yes… e!' }, child:lines())
end

function S.a_question_waits_while_a_command_is_typed(T)
  local child = open(T, 'one\ntwo\n')
  child:type(':s/one/1')
  child:wait('the command line', "return vim.fn.getcmdline() == 's/one/1'")
  ask(child, { CALL })
  child:wait('the queue', "return require('ropewalk.prompt').waiting() == 1")
  T.eq(1, child:lua('return #vim.api.nvim_list_wins()'))
  child:type('2<CR>')
  armed(child)
  T.eq('12', child:lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('doc.txt'), 0, 1, false)[1]"))
  child:press('y')
  T.eq({ 'once' }, decisions(child))
  -- So it does while an operator waits for its motion.
  child:type('d')
  child:wait('the operator', "return vim.api.nvim_get_mode().mode:match('^no') ~= nil")
  ask(child, { CALL })
  child:wait('the queue', "return require('ropewalk.prompt').waiting() == 1")
  child:type('d')
  armed(child)
  child:press('y')
  T.eq({ 'once' }, decisions(child))
  T.eq({ 'two' }, child:lines())
end

function S.several_calls_are_asked_one_by_one_or_all_at_once(T)
  local child = open(T, 'one\n')
  local calls = {}
  for index = 1, 5 do
    calls[index] = call({ callId = tostring(index), targets = { '/w/' .. index .. '.txt' } })
  end
  ask(child, calls)
  armed(child)
  child:see('1 of 5')
  child:see('5 of 5: edit: /w/5.txt')
  child:press('y')
  child:see('2 of 5')
  child:press('n')
  child:see('3 of 5')
  child:press('Y')
  T.eq({ 'once', 'deny', 'once', 'once', 'once' }, decisions(child))
  ask(child, calls)
  armed(child)
  child:press('y')
  child:see('2 of 5')
  child:press('N')
  T.eq({ 'once', 'deny', 'deny', 'deny', 'deny' }, decisions(child))
  -- The last one stands for itself: there the keys for all are none.
  ask(child, { CALL })
  armed(child)
  child:press('Y')
  T.ok(not child:lua('return Standin.reply ~= nil'))
  child:press('n')
  T.eq({ 'deny' }, decisions(child))
end

function S.a_long_question_is_scrolled_and_a_tiny_screen_will_do(T)
  local child = open(T, 'one\n', { 40, 10 })
  local lines = {}
  for index = 1, 200 do
    lines[index] = ('+line %d %s'):format(index, ('x'):rep(60))
  end
  ask(child, { call({ diff = table.concat(lines, '\n') .. '\n+the end\n' }) })
  armed(child)
  child:see('Ropewalk wants to run: edit')
  child:see('y once')
  child:press('G')
  child:see('+the end')
  child:press('gg')
  child:see('Ropewalk wants to run: edit')
  for _, size in ipairs({ { 20, 6 }, { 12, 4 }, { 120, 40 }, { 40, 10 } }) do
    child:resize(size[1], size[2])
    local config = child:lua('return vim.api.nvim_win_get_config(0)')
    T.ok(config.width <= size[1] and config.height <= size[2], vim.inspect(config))
    child:see('Ropewalk wan')
  end
  child:press('s')
  T.eq({ 'session' }, decisions(child))
end

function S.questions_of_several_sidecars_queue(T)
  local child = open(T, 'one\n')
  child:lua([[
    Answers = {}
    function Ask(name)
      local call = { callId = name, name = name, arguments = {}, reason = 'x', risk = 'low' }
      local params = { sessionId = name, calls = { call } }
      coroutine.wrap(function()
        Answers[name] = require('ropewalk.approve').handle(params, 'select', 7).decisions[1].decision
      end)()
    end
    vim.schedule(function() Ask('first') Ask('second') end)
  ]])
  armed(child)
  child:see('wants to run: first')
  child:press('y')
  child:see('wants to run: second')
  T.eq({ first = 'once' }, child:lua('return Answers'))
  armed(child)
  child:press('s')
  child:wait('the answers', 'return Answers.second')
  T.eq({ first = 'once', second = 'session' }, child:lua('return Answers'))
  T.eq(1, child:lua('return #vim.api.nvim_list_wins()'))
end

function S.a_picker_of_the_users_own_is_used(T)
  local child = open(T, 'one\n')
  child:lua('vim.ui.select = function(items, options, done) Shown = { #items, options.prompt }; done(items[3]) end')
  ask(child, { CALL })
  T.eq({ 'session' }, decisions(child))
  T.eq({ 4, 'Ropewalk: run edit?' }, child:lua('return Shown'))
end

--- A project of the real sidecar in which writes are asked about.
local function project(T)
  local settings = { diagnostics = { ownServers = 'off' }, permissions = { mode = 'review' } }
  return T.open('a.txt', 'one\ntwo\nthree\n', { trusted = true, settings = settings }, { 80, 24 })
end

function S.a_call_is_approved_and_one_denied_with_words(T)
  local child, path = project(T)
  local edit = { file_path = path, old_string = 'two', new_string = '2' }
  child:press('A typed')
  child:lua("Call('edit', ...)", edit)
  armed(child)
  child:see('-two')
  child:see('+2')
  child:press('y')
  local result = child:wait('the result', 'return Results[1]').result
  T.eq('ok', result.status, T.text(result))
  child:wait('Insert mode', "return vim.fn.mode() == 'i'")
  child:press('!<Esc>')
  T.eq({ 'one typed!', '2', 'three' }, child:lines())
  child:lua("Call('edit', ...)", { file_path = path, old_string = 'three', new_string = '3' })
  armed(child)
  child:press('w')
  child:see('No, and the model is told')
  child:press('leave it<CR>')
  result = child:wait('the result', 'return Results[2]').result
  T.eq('denied', result.status)
  T.ok(T.text(result):find('leave it', 1, true), T.text(result))
  T.eq({ 'one typed!', '2', 'three' }, child:lines())
end

function S.a_question_that_is_taken_back_goes_and_answers_nobody(T)
  local child, path = project(T)
  child:press('Ax')
  child:lua([[
    local path = ...
    Cancel = require('ropewalk').call('edit', { file_path = path, old_string = 'two', new_string = '2' },
      function(err, result) Done = result or err end)
  ]], path)
  child:wait('the question', "return vim.api.nvim_win_get_config(0).relative ~= ''")
  -- Only the request's own id takes it back here.
  child:lua("require('ropewalk.prompt').ended = function() end; Cancel()")
  child:wait('the end', 'return Done')
  T.eq('cancelled', child:lua('return Done.status'))
  child:wait('no window', 'return #vim.api.nvim_list_wins() == 1')
  child:wait('Insert mode', "return vim.fn.mode() == 'i'")
  child:press('y<Esc>')
  T.eq({ 'onexy', 'two', 'three' }, child:lines())
  T.eq(0, child:lua("return require('ropewalk.prompt').waiting()"))
  nothing_said(T, child)
end

function S.a_question_goes_with_its_sidecar(T)
  local child, path = project(T)
  child:lua("Call('edit', ...)", { file_path = path, old_string = 'two', new_string = '2' })
  child:wait('the question', "return vim.api.nvim_win_get_config(0).relative ~= ''")
  child:lua("require('ropewalk').stop(vim.fn.bufnr('a.txt'))")
  child:wait('no window', 'return #vim.api.nvim_list_wins() == 1')
  T.eq(0, child:lua("return require('ropewalk.prompt').waiting()"))
end

return S
