--- The life of sidecars: when they start, what they may, and what is so after they crashed or Neovim ended.

local S = {}

--- Opens a file in a Neovim in a terminal.
local function open_screen(T, name, text, options)
  return T.open(name, text, options or { trusted = 'ask' }, { 90, 24 })
end

--- Waits until the question can be answered, and answers it.
local function answer(child, key)
  child:see('do you trust this folder')
  vim.wait(400)
  child:type(key)
end

local function bash(T, child)
  return T.call(child, 'bash', { command = 'echo hello', description = 'Say hello' })
end

local KILL = [[
  for _, client in ipairs(vim.lsp.get_clients({ name = 'ropewalk' })) do
    if not client:is_stopped() then
      Killed = client.id
      local process = Processes[client.id]
      vim.uv.kill(process, 'sigkill')
    end
  end
]]

--- Notes the process id of each sidecar that starts.
local PROCESSES = [[
  Processes = {}
  local system = vim.system
  local last
  vim.system = function(cmd, ...)
    local object = system(cmd, ...)
    last = object.pid
    return object
  end
  require('ropewalk').on('started', function(_, id) Processes[id] = last end)
]]

local function is_alive(pid)
  return vim.uv.kill(pid, 0) == 0
end

--- The processes that were started by Neovim, when it has a sidecar that runs a command.
local function busy(T)
  local folder = T.folder()
  local child = T.start(folder)
  child:lua(PROCESSES)
  child:lua(
    [[
      require('ropewalk').setup({
        cmd = { ..., '--ephemeral' },
        trusted = true,
        approve = function(_, answer) answer('once') end,
      })
    ]],
    T.sidecar
  )
  child:wait('the sidecar', 'return next(Processes) ~= nil')
  child:lua([[
    require('ropewalk').call('bash', { command = 'sleep 599 & echo $! > pid; wait', description = 'Wait' }, function() end)
  ]])
  vim.wait(20000, function()
    return vim.uv.fs_stat(folder .. '/pid') ~= nil and T.read(folder .. '/pid') ~= ''
  end, 20)
  local pids = { select(2, next(child:lua('return { Processes[1] }'))), tonumber(T.read(folder .. '/pid')) }
  T.ok(is_alive(pids[1]) and is_alive(pids[2]), vim.inspect(pids))
  return child, pids
end

local function gone(T, pids)
  local ok = vim.wait(20000, function()
    return not is_alive(pids[1]) and not is_alive(pids[2])
  end, 20)
  T.ok(ok, 'a process is left: ' .. vim.inspect(pids))
end

function S.trust_is_asked_once_and_remembered_by_neovim(T)
  local child, path, folder = open_screen(T, 'a.txt', 'a\n')
  local buffers = child:lua('return #vim.api.nvim_list_bufs()')
  local index = child:lua("return Call('read', { file_path = ... })", path)
  local row = child:see('do you trust this folder')
  T.ok(
    table.concat(child:screen(), '\n', row):find(vim.fs.basename(vim.fs.dirname(folder)), 1, true),
    'the folder is named'
  )
  T.eq(false, child:lua('return Results[...]', index), 'the call waits')
  answer(child, 't')
  T.eq('ok', child:wait('the result', 'return Results[...]', index).result.status)
  T.eq('ok', bash(T, child).status)
  T.ok(T.read(child.state .. '/state/nvim/trust'):find('directory ' .. folder, 1, true))
  -- As `vim.secure` sees it: trusted, without a question.
  T.eq(true, child:lua('return vim.secure.read(...)', folder))
  T.eq({ 'a' }, child:lines())
  T.eq(buffers, child:lua('return #vim.api.nvim_list_bufs()'), 'no buffer is left behind')
  -- Taken back.
  child:lua('vim.cmd.Ropewalk("untrust")')
  T.ok(T.read(child.state .. '/state/nvim/trust'):find('! ' .. folder, 1, true))
  T.ok(bash(T, child).isError)
end

function S.what_neovim_trusts_already_is_not_asked_about(T)
  local folder = T.folder()
  T.write(folder .. '/a.txt', 'a\n')
  local child = T.start_sidecar(folder, { trusted = 'ask' }, { 90, 24 })
  -- Another one asked, by `vim.secure.read`.
  child:lua(
    [[
    vim.fn.mkdir(vim.fn.stdpath('state'), 'p')
    vim.fn.writefile({ 'directory ' .. ... }, vim.fn.stdpath('state') .. '/trust')
    require('ropewalk').restart(0, function() Restarted = true end)
  ]],
    folder
  )
  child:wait('the sidecar', 'return Restarted')
  child:lua('vim.cmd.edit(...)', folder .. '/a.txt')
  T.eq('ok', bash(T, child).status)
end

function S.trust_not_given_stays_not_given(T)
  local child, path, folder = open_screen(T, 'a.txt', 'a\n')
  local index = child:lua("return Call('bash', { command = 'echo hello', description = 'Say hello' })")
  answer(child, 'q')
  local refused = child:wait('the result', 'return Results[...]', index).result
  T.ok(refused.isError, 'nothing is run: ' .. T.text(refused))
  T.eq('ok', T.call(child, 'read', { file_path = path }).status, 'asked once')
  T.eq(nil, vim.uv.fs_stat(child.state .. '/state/nvim/trust'), 'not now is not remembered')
  T.eq(false, child:lua("return require('ropewalk.trust').of(require('ropewalk').config(), ...)", folder))
  child:lua('vim.cmd.Ropewalk("trust")')
  local ran = bash(T, child)
  T.eq('ok', ran.status, T.text(ran))
  T.ok(T.text(ran):find('hello', 1, true))
  -- The person's word holds for the next sidecar, too.
  child:lua("require('ropewalk').restart(0, function() Restarted = true end)")
  child:wait('the restart', 'return Restarted')
  T.eq('ok', bash(T, child).status)
end

function S.an_option_decides_about_trust_without_a_question(T)
  local child = open_screen(T, 'a.txt', 'a\n', { trusted = false })
  T.ok(bash(T, child).isError)
  T.eq(nil, vim.uv.fs_stat(child.state .. '/state/nvim/trust'))
end

function S.keys_that_were_on_their_way_do_not_trust(T)
  local child, path = open_screen(T, 'a.txt', 'a\n')
  child:lua([[
    require('ropewalk.prompt').guard_ms = math.huge
    Seen = 0
    vim.on_key(function(_, typed) Seen = Seen + #typed end)
  ]])
  local index = child:lua("return Call('read', { file_path = ... })", path)
  child:see('do you trust this folder')
  child:type('tt')
  child:wait('the keys to be taken', 'return Seen >= 2')
  child:see('do you trust this folder')
  T.eq(false, child:lua('return Results[...]', index), 'answered by a stray key')
  child:lua("require('ropewalk.prompt').guard_ms = 0")
  child:type('q')
  child:wait('the call', 'return Results[...]', index)
  T.eq(nil, vim.uv.fs_stat(child.state .. '/state/nvim/trust'))
end

function S.after_a_crash_all_is_opened_again_and_work_goes_on(T)
  local folder = T.folder()
  local path = folder .. '/main.py'
  T.write(path, 'a = 1\nb = 2\n')
  local child = T.start(folder)
  child:lua(PROCESSES)
  child:lua(
    [[
      vim.o.hidden = true
      require('ropewalk').setup({ cmd = { ..., '--ephemeral' }, settings = { diagnostics = { ownServers = 'off' } } })
      require('ropewalk').register_tools({
        { name = 'shout', description = 'Shouts', annotations = { readOnlyHint = true },
          input_schema = { type = 'object', properties = { word = { type = 'string' } } },
          handler = function(arguments) return arguments.word:upper() end },
      })
    ]],
    T.sidecar
  )
  child:takes_calls()
  child:wait('the sidecar', 'return next(Processes) ~= nil')
  local unnamed = 'untitled:nvim-' .. child:lua('return vim.api.nvim_get_current_buf()')
  child:press('iunnamed<Esc>')
  child:lua('vim.cmd.edit(...)', path)
  child:press('Go# unsaved<Esc>')
  child:lua([[
    Session = require('ropewalk').open_session({ id = 's', mode = 'explore' })
  ]])
  child:wait('the session', 'return Session.info ~= nil')
  child:lua("require('ropewalk').trust(vim.fn.getcwd(), true)")
  for round = 1, 2 do
    -- In the middle of a call.
    local index = child:lua("return Call('bash', { command = 'sleep 600', description = 'Wait' })")
    child:wait(
      'the call to run',
      "return #require('ropewalk.log').entries() > 0 and require('ropewalk.log').entries()[#require('ropewalk.log').entries()].status == 'running'"
    )
    child:lua(KILL)
    local answer = child:wait('an answer', 'return Results[...]', index)
    T.ok(answer.err and answer.err.message:find('ended', 1, true), vim.inspect(answer))
    child:wait(
      'another sidecar',
      'local c = require("ropewalk.client").list()[1]; return c and c.id ~= Killed and Processes[c.id]'
    )
    local edited = T.call(
      child,
      'edit',
      { file_path = path, old_string = 'b = ' .. (round + 1), new_string = 'b = ' .. (round + 2) }
    )
    T.eq('ok', edited.status, T.text(edited))
    T.eq({ 'a = 1', 'b = ' .. (round + 2), '# unsaved' }, child:lines())
    T.same_text(child, path)
    edited = T.call(child, 'edit', { file_path = unnamed, old_string = 'named', new_string = 'named!' })
    T.eq('ok', edited.status, T.text(edited))
    T.eq('SHOUT', T.text(T.call(child, 'shout', { word = 'shout' })))
    -- The session is as it was opened: it may still change nothing.
    local refused = T.call(
      child,
      'edit',
      { file_path = path, old_string = 'a = 1', new_string = 'a = 9' },
      { session_id = 's' }
    )
    T.ok(refused.isError, T.text(refused))
  end
  T.eq('a = 1\nb = 2\n', T.read(path))
end

function S.no_process_is_left_when_neovim_ends(T)
  local child, pids = busy(T)
  child:stop()
  gone(T, pids)
end

function S.no_process_is_left_when_neovim_is_killed(T)
  local child, pids = busy(T)
  vim.uv.kill(vim.fn.jobpid(child.job), 'sigkill')
  gone(T, pids)
end

function S.neither_a_crash_nor_a_message_waits_for_a_key(T)
  local child, path = open_screen(T, 'a.txt', 'one\n', { trusted = true })
  child:press('Gotyp')
  child:lua([[
    for _, pid in ipairs(vim.api.nvim_get_proc_children(vim.fn.getpid())) do
      vim.uv.kill(pid, 'sigkill')
    end
  ]])
  -- A screen that waits for a key would not answer.
  child:wait('the message', "return vim.fn.execute('messages'):find('ended (signal 9) and is started again', 1, true)")
  child:type('ed<Esc>')
  child:wait('another sidecar', "return #require('ropewalk.client').list() == 1")
  T.eq({ 'one', 'typed' }, child:lines())
  local read = T.call(child, 'read', { file_path = path })
  T.ok(T.text(read):find('typed', 1, true))
  child:lua([[
    local client = require('ropewalk.client').list()[1]
    client.handlers['window/showMessage'](nil, { type = 1, message = ('a long message\nof two lines '):rep(20) })
  ]])
  child:see('a long message of two lines')
  T.eq({ mode = 'n', blocking = false }, vim.rpcrequest(child.channel, 'nvim_get_mode'))
end

function S.a_call_while_the_sidecar_is_down_starts_it(T)
  local child, path = T.open('a.txt', 'a\n', T.QUIET)
  child:lua("require('ropewalk').stop()")
  child:wait('the end', "return #vim.lsp.get_clients({ name = 'ropewalk' }) == 0")
  local index = child:lua("return Call('read', { file_path = ... })", path)
  local answer = child:wait('the answer', 'return Results[...]', index)
  T.ok(answer.err.message:find('stopped', 1, true), 'who stopped it is asked to start it')
  child:lua("require('ropewalk').start()")
  T.eq('ok', T.call(child, 'read', { file_path = path }).status)
end

function S.nothing_runs_before_there_is_something_to_do(T)
  local folder = T.folder()
  T.write(folder .. '/a.txt', 'a\n')
  local child = T.start_sidecar(folder, { auto_start = false })
  child:lua('vim.cmd.edit(...)', folder .. '/a.txt')
  child:press('ix<Esc>')
  T.eq(0, child:lua('return #vim.lsp.get_clients({ _uninitialized = true })'))
  -- The call starts it, and it sees what is in the buffer.
  local index = child:lua("return Call('read', { file_path = 'a.txt' })")
  local answer = child:wait('the answer', 'return Results[...]', index)
  T.ok(T.text(answer.result):find('xa', 1, true), vim.inspect(answer))
  T.eq(1, child:lua("return #vim.lsp.get_clients({ name = 'ropewalk' })"))
  -- One sidecar a root; another root has another.
  local other = T.folder()
  T.write(other .. '/.git/HEAD', '')
  T.write(other .. '/b.txt', 'b\n')
  T.write(other .. '/c.txt', 'c\n')
  for _, name in ipairs({ '/b.txt', '/c.txt' }) do
    child:lua('vim.cmd.split(...)', other .. name)
    index = child:lua("return Call('read', { file_path = ... })", other .. name)
    child:wait('the answer', 'return Results[...]', index)
  end
  local roots = child:lua("return vim.tbl_map(function(c) return c.root_dir end, require('ropewalk.client').list())")
  table.sort(roots)
  local expected = { folder, other }
  table.sort(expected)
  T.eq(expected, roots)
end

return S
