--- The Lua API, the command, the log of calls and the health check, as scripts, panes and people use them.

local S = {}

local QUIET = { settings = { diagnostics = { ownServers = 'off' } } }

local function open(T, name, text, options)
  local folder = T.folder()
  local path = folder .. '/' .. name
  T.write(path, text)
  local child = T.start_sidecar(folder, options or QUIET)
  child:lua('vim.cmd.edit(...)', path)
  child:wait('the document', "return #require('ropewalk.sync').of_buffer(vim.api.nvim_get_current_buf()) > 0")
  return child, path, folder
end

--- Runs a chunk in a coroutine of the child and gives what it returns, as one list.
local function go(child, code, ...)
  child:lua(
    [[
      local code, arguments = ...
      Went = nil
      local chunk = assert(loadstring(code))
      coroutine.wrap(function()
        local values = { pcall(chunk, unpack(arguments)) }
        Went = { ok = values[1], value = values[2] }
      end)()
    ]],
    code,
    { ... }
  )
  local went = child:wait('the coroutine', 'return Went')
  if not went.ok then
    error(went.value, 2)
  end
  return went.value
end

function S.calls_in_a_coroutine_wait_and_others_call_back(T)
  local child, path = open(T, 'a.txt', 'one\ntwo\n')
  local got = go(
    child,
    [[
      local ropewalk = require('ropewalk')
      local err, result = ropewalk.call('read', { file_path = ... })
      local err2, result2 = ropewalk.call('no such tool', {})
      local err3, many = ropewalk.call_many({
        { name = 'read', arguments = { file_path = ... }, call_id = 'm1' },
        { name = 'edit', arguments = { file_path = ..., old_string = 'two', new_string = '2' } },
      })
      local err4, tools = ropewalk.list_tools()
      local err5, preview = ropewalk.preview('edit', { file_path = ..., old_string = '2', new_string = 'II' })
      local err6, changes = ropewalk.changes({ uri = ropewalk.uri() })
      local err7, approved = ropewalk.call('edit', { file_path = ..., old_string = '2', new_string = 'II' },
        { approved_by = preview.previewId })
      local err8 = ropewalk.request('ropewalk/nonsense', {})
      local err9, status = ropewalk.status({ session_id = 'default' })
      local err10, jobs = ropewalk.jobs()
      return { err or false, result.status, result2.status, many[1].callId, many[2].status, type(tools[1].name),
        preview.diff ~= nil, #changes.files[1].hunks, approved.status, err8.code, status.mode, jobs }
    ]],
    path
  )
  T.eq({ false, 'ok', 'error', 'm1', 'ok', 'string', true, 1, 'ok', -32601, 'build', {} }, got)
  T.eq({ 'one', 'II' }, child:lines())
  -- With a callback, options before or after it; the result cancels.
  child:lua(
    [[
      Order = {}
      local ropewalk = require('ropewalk')
      ropewalk.call('read', { file_path = ... }, { call_id = 'x' }, function(_, r) Order[#Order + 1] = r.callId end)
      ropewalk.call('read', { file_path = ... }, function(_, r) Order[#Order + 1] = r.callId end, { call_id = 'y' })
      Order[#Order + 1] = 'sent'
    ]],
    path
  )
  child:wait('both', 'return #Order == 3')
  -- The two only read, and run side by side.
  local order = child:lua('return Order')
  T.eq('sent', order[1])
  T.eq({ 'sent', 'x', 'y' }, vim.fn.sort(order))
  -- Neither.
  local ok, message = unpack(child:lua("return { pcall(require('ropewalk').call, 'read', {}) }"))
  T.ok(not ok and message:find('coroutine', 1, true), message)
end

function S.a_cancelled_call_still_answers(T)
  local child, _, folder = open(T, 'a.txt', 'a\n', { trusted = true })
  child:lua([[
    Cancel = require('ropewalk').call('bash', { command = 'sleep 600', description = 'Wait' }, function(err, result)
      Done = { err = err, result = result }
    end)
  ]])
  child:wait(
    'the call to run',
    "local e = require('ropewalk.log').entries(); return #e == 1 and e[1].status == 'running'"
  )
  child:lua('Cancel(); Cancel()')
  local done = child:wait('the answer', 'return Done')
  T.eq('cancelled', done.result.status, folder)
  child:wait('its line', "return require('ropewalk.log').entries()[1].status == 'cancelled'")
end

function S.a_session_keeps_to_what_it_was_opened_with(T)
  local child, path = open(T, 'a.txt', 'one\n')
  local got = go(
    child,
    [[
      local session = require('ropewalk').open_session({ id = 'pane', mode = 'explore', budgets = { max_bytes = 5000 } })
      local events = {}
      local off = session:on('toolEvent', function(event) events[#events + 1] = event.kind end)
      local elsewhere = 0
      require('ropewalk').on('modeChanged', function() elsewhere = elsewhere + 1 end)
      -- Sent before it is open.
      local err, denied = session:call('edit', { file_path = ..., old_string = 'one', new_string = '1' })
      local err2, info = session:set_mode('build')
      local err3, done = session:call('edit', { file_path = ..., old_string = 'one', new_string = '1' })
      local err4, updated = session:update({ mode = 'plan' })
      off()
      local err5, status = session:status()
      local err6, changes = session:changes()
      local err7, undone = session:undo()
      local err8, closed = session:close()
      local err9 = session:call('read', { file_path = ... })
      return { err or false, denied.isError, info.mode, done.status, updated.mode, events, elsewhere > 0, status.mode,
        #changes.files, undone.hunks[1].outcome, closed.cancelled, err9.message, session.info.budgets.maxBytes }
    ]],
    path
  )
  T.eq({
    false,
    true,
    'build',
    'ok',
    'plan',
    { 'start', 'complete', 'start', 'complete' },
    true,
    'plan',
    1,
    'undone',
    0,
    'the session is closed',
    5000,
  }, got)
  T.eq({ 'one' }, child:lines())
  T.eq({}, child:lua("return vim.tbl_map(function(s) return s.id end, require('ropewalk').sessions())"))
end

function S.a_session_that_cannot_be_opened_runs_nothing(T)
  local child, path = open(T, 'a.txt', 'one\n')
  local got = go(
    child,
    [[
      local session = require('ropewalk').open_session({ mode = 'whatever' })
      local err = session:call('edit', { file_path = ..., old_string = 'one', new_string = '1' })
      return { err.code, #session.id > 0 }
    ]],
    path
  )
  T.eq({ -32602, true }, got)
  T.eq({ 'one' }, child:lines())
end

function S.proposals_are_accepted_and_rejected(T)
  local child, path = open(T, 'a.txt', 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n')
  local got = go(
    child,
    [[
      local ropewalk = require('ropewalk')
      local session = ropewalk.open_session({ apply = 'propose' })
      session:call('edit', { file_path = ..., old_string = 'one', new_string = '1' }, { call_id = 'a' })
      session:call('edit', { file_path = ..., old_string = 'eight', new_string = '8' }, { call_id = 'b' })
      local before = vim.api.nvim_buf_get_lines(0, 0, 1, false)[1]
      local _, accepted = session:accept({ call_id = 'a' })
      local _, rejected = session:reject({ call_id = 'b', feedback = 'no' })
      local _, kept = session:keep()
      return { before, #accepted.accepted, #rejected.rejected, type(kept.kept) }
    ]],
    path
  )
  T.eq({ 'one', 1, 1, 'table' }, got)
  T.eq({ '1', 'eight' }, { child:lines()[1], child:lines()[8] })
end

function S.tools_in_lua_are_called_by_the_sidecar(T)
  local child, path = open(T, 'a.txt', 'one\n')
  local statuses = go(
    child,
    [[
      local ropewalk = require('ropewalk')
      local seen = {}
      Calls = {}
      Unregister = ropewalk.register_tools({
        {
          name = 'lines_of',
          description = 'Counts the lines of a file.',
          input_schema = { type = 'object', properties = { path = { type = 'string' } }, required = { 'path' } },
          annotations = { readOnlyHint = true },
          handler = function(arguments, call)
            Calls[#Calls + 1] = { call.session_id, call.call_id, call.name }
            -- A handler may wait for a call of its own.
            local err, result = ropewalk.call('read', { file_path = arguments.path })
            return { lines = err and -1 or #vim.split(result.content[1].text, '\n') }
          end,
        },
        { name = 'fails', description = 'Fails.', annotations = { readOnlyHint = true },
          handler = function() error('on purpose', 0) end },
        { name = 'nothing', description = 'Says nothing.', annotations = { readOnlyHint = true }, handler = function() end },
        { name = 'later', description = 'Answers later.', annotations = { readOnlyHint = true }, async = true,
          handler = function(_, call)
            Later = call
            call.on_cancel(function() Cancelled = true end)
          end },
        { name = 'read', description = 'In the way of a built-in one.', handler = function() end },
      }, function(err, statuses, client_id)
        seen[#seen + 1] = statuses
      end)
      local err, tools = ropewalk.list_tools()
      vim.wait(5000, function() return #seen > 0 end)
      return vim.tbl_map(function(s) return s.name .. ' ' .. s.status end, seen[1])
    ]]
  )
  T.eq(
    { 'lines_of registered', 'fails registered', 'nothing registered', 'later registered', 'read refused' },
    statuses
  )
  local counted = T.call(child, 'lines_of', { path = path }, { session_id = 's', call_id = 'c' })
  T.eq('ok', counted.status, T.text(counted))
  T.ok(counted.structuredContent.lines > 0, T.text(counted))
  T.eq({ { 's', 'c', 'lines_of' } }, child:lua('return Calls'))
  local failed = T.call(child, 'fails', {})
  T.ok(failed.isError and T.text(failed):find('on purpose', 1, true), T.text(failed))
  T.eq('ok', T.call(child, 'nothing', {}).status)
  -- An answer that comes later; and one that is not waited for any more.
  local index = child:lua("return Call('later', {})")
  child:wait('the handler', 'return Later ~= nil')
  child:lua("Later.done({ content = 'at last', structured = { a = 1 } }); Later.done('twice')")
  local later = child:wait('the result', 'return Results[...]', index).result
  T.eq({ 'at last', { a = 1 } }, { T.text(later), later.structuredContent })
  child:lua([[
    Later = nil
    Cancel = require('ropewalk').call('later', {}, function(_, result) Gone = result end)
  ]])
  child:wait('the handler', 'return Later ~= nil')
  child:lua('Cancel()')
  T.eq('cancelled', child:wait('the answer', 'return Gone').status)
  child:wait('the handler to hear of it', 'return Cancelled and Later.is_cancelled()')
  child:lua('Unregister()')
  T.ok(T.call(child, 'fails', {}).isError)
  T.ok(not T.text(T.call(child, 'fails', {})):find('on purpose', 1, true))
  local ok, fault = unpack(child:lua([[return { pcall(require('ropewalk').register_tools, { { name = 'x' } }) }]]))
  T.ok(not ok and fault:find('must be', 1, true), fault)
end

function S.events_are_heard_by_listeners_and_autocommands(T)
  local child, path = open(T, 'a.txt', 'one\n')
  child:lua([[
    Heard, Autocommands = {}, {}
    require('ropewalk').on('*', function(_, _, event) Heard[event] = (Heard[event] or 0) + 1 end)
    require('ropewalk').on('toolEvent', function() error('a listener that fails') end)
    vim.api.nvim_create_autocmd('User', { pattern = 'Ropewalk*', callback = function(args)
      Autocommands[args.match] = args.data.params ~= nil and args.data.client_id > 0
    end })
  ]])
  T.call(child, 'edit', { file_path = path, old_string = 'one', new_string = '1' })
  go(child, "require('ropewalk').set_mode('plan', {})")
  go(child, "require('ropewalk').todos({ todos = { { id = '1', content = 'x', status = 'pending' } } })")
  child:wait(
    'the events',
    [[
      for _, event in ipairs({ 'toolEvent', 'changesChanged', 'modeChanged', 'todosChanged' }) do
        local pattern = require('ropewalk.events').names[event]
        if not Heard[event] or not Autocommands[pattern] then return false end
      end
      return true
    ]]
  )
  local ok, fault = unpack(child:lua([[return { pcall(require('ropewalk').on, 'toolEvents', print) }]]))
  T.ok(not ok and fault:find('toolEvent', 1, true), 'a name that does not exist is told')
end

function S.the_log_of_calls_grows_and_leaves_the_cursor_alone(T)
  local child, path = open(T, 'a.txt', 'one\ntwo\n', { settings = QUIET.settings, log_lines = 6 })
  T.call(child, 'read', { file_path = path })
  child:press(':Ropewalk log<CR>')
  T.eq('ropewalk-log', child:lua('return vim.bo.filetype'))
  local function status(row)
    return child:lines()[row]:match('^%d+:%d+:%d+  (%S+)')
  end
  T.eq('ok', status(1))
  T.ok(child:lines()[1]:find('default%s+read%s+a.txt'), child:lines()[1])
  T.call(child, 'read', { file_path = 'nowhere.txt' })
  T.eq({ 2, 0 }, child:lua('return vim.api.nvim_win_get_cursor(0)'), 'at the end it goes on')
  T.eq('error', status(2))
  child:press('gg')
  T.call(child, 'edit', { file_path = path, old_string = 'two', new_string = '2' }, { session_id = 's' })
  T.eq({ 1, 0 }, child:lua('return vim.api.nvim_win_get_cursor(0)'), 'elsewhere it stays')
  T.ok(child:lines()[3]:find('  s%s+edit%s+a.txt'), child:lines()[3])
  -- Enter shows all of the result.
  child:press('3G<CR>')
  child:wait('the result', 'return vim.b.ropewalk_title')
  T.ok(table.concat(child:lines(), '\n'):find('+2', 1, true), table.concat(child:lines(), '\n'))
  child:press('q')
  -- No more than so many lines; the cursor stays on its line.
  child:lua([[vim.fn.win_gotoid(vim.fn.win_findbuf(vim.fn.bufnr('ropewalk://calls'))[1])]])
  child:press('2G')
  local line = child:lines()[2]
  for _ = 1, 4 do
    T.call(child, 'read', { file_path = path })
  end
  T.eq(6, #child:lines())
  T.eq(line, child:lua('return vim.api.nvim_get_current_line()'))
  T.eq(false, child:lua('return vim.bo.modified'))
end

function S.a_long_result_is_shown_whole(T)
  local folder = T.folder()
  local lines = {}
  for i = 1, 30000 do
    lines[i] = ('line %d of a long file with some words in it'):format(i)
  end
  T.write(folder .. '/long.txt', table.concat(lines, '\n') .. '\n')
  local child = T.start_sidecar(folder, { trusted = true, settings = QUIET.settings })
  child:lua('vim.cmd.edit(...)', folder .. '/a.txt')
  local result = T.call(child, 'bash', { command = 'cat long.txt', description = 'Show' })
  T.ok(result.output.truncated, 'the model gets a part')
  child:press(':Ropewalk log<CR>')
  child:press('<CR>')
  child:wait('the result', 'return vim.b.ropewalk_title')
  local shown = child:lines()
  T.ok(vim.list_contains(shown, lines[15000]), 'the middle is there')
  T.ok(#shown >= 30000, ('%d lines'):format(#shown))
end

function S.each_subcommand_completes_and_does_what_it_says(T)
  local child, path = open(T, 'a.txt', 'one\n', { settings = QUIET.settings, trusted = true })
  T.call(child, 'read', { file_path = path }, { session_id = 'mine' })
  local function complete(line)
    return child:lua("return vim.fn.getcompletion('Ropewalk ' .. ..., 'cmdline')", line)
  end
  local all = complete('')
  for _, name in ipairs({
    'build',
    'call',
    'cancel',
    'grants',
    'health',
    'jobs',
    'log',
    'logfile',
    'mode',
    'restart',
    'session',
    'settings',
    'start',
    'status',
    'stop',
    'stop-job',
    'todos',
    'tools',
    'trust',
    'untrust',
  }) do
    T.ok(vim.list_contains(all, name), name)
  end
  T.eq({ 'explore' }, complete('mode e'))
  T.eq({ 'mine' }, complete('mode plan m'))
  T.eq({ 'mine' }, complete('session m'))
  T.eq({ 'read' }, complete('call rea'))
  T.eq({}, complete('call read x'))
  T.eq({ 'all' }, complete('grants revoke a'))
  local function shows(command, text)
    child:press(':Ropewalk ' .. command .. '<CR>')
    child:wait(command, 'return vim.b.ropewalk_title')
    local shown = table.concat(child:lines(), '\n')
    T.ok(shown:find(text, 1, true), command .. ': ' .. shown)
    child:press('q')
  end
  shows('tools', 'read ')
  shows('todos', 'empty')
  shows('grants', 'nothing')
  shows('status', 'version')
  shows('settings', 'root_markers')
  shows('session mine', 'mine')
  child:press(':Ropewalk mode review mine<CR>')
  child:wait('the mode', "return vim.fn.execute('messages'):find('session mine: review', 1, true)")
  T.call(child, 'bash', { command = 'sleep 600', description = 'Wait', background = true })
  shows('jobs', 'running')
  local job = complete('stop-job ')[1]
  T.ok(job, 'the job is offered')
  child:press((':Ropewalk stop-job %s<CR>'):format(job))
  child:wait('the job to stop', "return vim.fn.execute('messages'):find('is stopped', 1, true)")
  child:press(':Ropewalk nonsense<CR>')
  T.ok(child:lua("return vim.fn.execute('messages')"):find('no subcommand "nonsense"', 1, true))
  local before = child:lua("return require('ropewalk.client').list()[1].id")
  child:press(':Ropewalk restart<CR>')
  child:wait('another sidecar', "return vim.fn.execute('messages'):find('runs again', 1, true)")
  T.ok(child:lua("return require('ropewalk.client').list()[1].id") ~= before)
  T.eq('ok', T.call(child, 'read', { file_path = path }).status)
end

function S.a_result_that_comes_while_the_user_types_takes_no_focus(T)
  local child, path = open(T, 'a.txt', 'one\n')
  child:lua([[
    local call = require('ropewalk').call
    require('ropewalk').call = function(name, arguments, callback)
      Release = function() call(name, arguments, callback) end
    end
  ]])
  child:press((':Ropewalk call read {"file_path": "%s"}<CR>'):format(path))
  child:press('Gotyp')
  child:lua('Release()')
  child:wait('the result', 'return #vim.api.nvim_list_wins() == 2')
  T.eq('i', child:lua('return vim.fn.mode()'))
  child:press('ed<Esc>')
  T.eq({ 'one', 'typed' }, child:lines())
end

function S.health_says_what_is_so(T)
  local child, path, folder = open(T, 'a.txt', 'one\n', { settings = QUIET.settings, trusted = 'ask' })
  child:lua([[
    Ruff = vim.lsp.start({ name = 'ruff', cmd = { 'ruff', 'server' }, offset_encoding = 'utf-8' })
    vim.ui.select = function() end
    vim.lsp.handlers['workspace/applyEdit'] = function() end
  ]])
  child:wait('ruff', 'local c = vim.lsp.get_client_by_id(Ruff); return c and c.initialized')
  child:press(':Ropewalk health<CR>')
  local text = table.concat(child:lines(), '\n')
  for _, expected in ipairs({
    'Neovim 0.11',
    'ropewalk 0',
    T.sidecar,
    'a sidecar runs for ' .. folder,
    'not trusted',
    'ruff (utf-8)',
    'counts in utf-16',
    'vim.ui.select is that of',
    'vim.lsp.handlers["workspace/applyEdit"] is that of',
  }) do
    T.ok(text:find(expected, 1, true), expected .. ' is not in\n' .. text)
  end
  T.ok(not text:find('ERROR', 1, true), text)
  T.eq('one\n', T.read(path))
  -- Nothing is there.
  child:lua([[
    vim.cmd('%bwipeout!')
    vim.env.PATH = '/nowhere'
    require('ropewalk').stop()
    require('ropewalk.program').built = function() return '/nowhere/ropewalk' end
    require('ropewalk').setup({ auto_start = false })
  ]])
  child:press(':checkhealth ropewalk<CR>')
  text = table.concat(child:lines(), '\n')
  T.ok(text:find('no program "ropewalk" on the PATH', 1, true), text)
  T.ok(text:find(':Ropewalk build', 1, true), text)
end

function S.other_clients_keep_their_handlers(T)
  local child = open(T, 'a.txt', 'one\n')
  T.eq(
    {},
    child:lua([[
    local changed = {}
    for method, handler in pairs(vim.lsp.handlers) do
      local source = type(handler) == 'function' and debug.getinfo(handler, 'S').source or ''
      if source:find('lua/ropewalk/') then changed[#changed + 1] = method end
    end
    return changed
  ]]),
    'no handler for everybody is ours'
  )
  T.eq(
    { {}, {} },
    child:lua([[
    local others = vim.tbl_filter(function(a)
      return not vim.startswith(a.group_name or '', 'ropewalk') and type(a.callback) == 'function'
        and debug.getinfo(a.callback, 'S').source:find('lua/ropewalk/') ~= nil
    end, vim.api.nvim_get_autocmds({}))
    local namespaces = vim.tbl_filter(function(name)
      return name:find('ropewalk') and not vim.startswith(name, 'ropewalk') and not name:match('^n?vim%.')
    end, vim.tbl_keys(vim.api.nvim_get_namespaces()))
    return { vim.tbl_map(function(a)
      return { a.event, a.group_name or '', debug.getinfo(a.callback, 'S').short_src }
    end, others), namespaces }
  ]])
  )
end

function S.options_say_what_is_expected(T)
  local child = T.start(T.folder())
  local function try(code)
    return child:lua('return select(2, pcall(loadstring(...)))', "require('ropewalk').setup " .. code)
  end
  for code, expected in pairs({
    ['{ ask = "loud" }'] = 'ask must be "select", "window", false or a function, not "loud"',
    ['{ log_lines = 0 }'] = 'log_lines must be a whole number above 0, not 0',
    ['{ formatter = {} }'] = 'formatter must be the name of a language client, a function, or false, not {}',
    ['{ run_agent = true }'] = 'run_agent must be a function, not true',
    ['{ trusted = "yes" }'] = "trusted must be 'ask', 'remembered', a boolean, a list of folders, or a function",
    ['{ images = 1 }'] = 'images must be a boolean, not 1',
    ['{ colour = 1 }'] = 'unknown option "colour"; there are: approve, ask, auto_start',
  }) do
    T.ok(try(code):find(expected, 1, true), try(code))
  end
end

function S.the_capabilities_are_those_of_the_options(T)
  local function capabilities(options)
    local child = T.start_standin(T.folder(), options)
    child:wait('the sidecar', "return #Standin.sent('initialize') > 0")
    local ours = child:lua("return Standin.sent('initialize')[1].capabilities.experimental.ropewalk")
    return { ours.save, ours.format, ours.runTool, ours.ask, ours.elicit, ours.runAgent, ours.sample }
  end
  T.eq({ true, true, true, true, true, false, false }, capabilities())
  T.eq(
    { true, false, true, false, false, false, false },
    capabilities({ formatter = false, ask = false, elicit = false })
  )
end

function S.the_wire_takes_messages_apart_wherever_they_are_cut(T)
  local child = T.start(T.folder())
  local got = child:lua([[
    local rpc = require('ropewalk.rpc')
    local bodies = { '{}', '{"a":"é😀"}', ('x'):rep(300), '' }
    local stream = ''
    for i, body in ipairs(bodies) do
      local also = i == 2 and 'Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n' or ''
      stream = stream .. ('%scontent-length:  %d\r\n\r\n%s'):format(also, #body, body)
    end
    for size = 1, #stream do
      local seen, faults = {}, {}
      local read = rpc.reader(function(body) seen[#seen + 1] = body end, function(fault) faults[#faults + 1] = fault end)
      for at = 1, #stream, size do
        read(stream:sub(at, at + size - 1))
      end
      if not vim.deep_equal(seen, bodies) or #faults > 0 then
        return { size, seen, faults }
      end
    end
    local faults = 0
    local read = rpc.reader(function() end, function() faults = faults + 1 end)
    read('Content-Nonsense: 1\r\n\r\n{}')
    read('Content-Length: 2\r\n\r\n{}')
    return faults
  ]])
  T.eq(1, got)
end

--- A sidecar that answers every request, but for `initialize` and `shutdown`, that it was cancelled, and that asks for a
--- tool and takes that back at once.
local CANCELLER = [[
  local function send(message)
    message.jsonrpc = '2.0'
    local body = vim.json.encode(message)
    io.stdout:write(('Content-Length: %d\r\n\r\n%s'):format(#body, body))
    io.stdout:flush()
  end
  while true do
    local length
    repeat
      local line = io.stdin:read('*l')
      if not line then os.exit(1) end
      length = tonumber(line:match('Content%-Length: (%d+)')) or length
    until line == '\r' or line == ''
    local message = vim.json.decode(io.stdin:read(length))
    if message.method == 'initialize' then
      send({ id = message.id, result = { capabilities = { textDocumentSync = 2 } } })
    elseif message.method == 'shutdown' then
      send({ id = message.id, result = vim.NIL })
    elseif message.method == 'exit' then
      os.exit(0)
    elseif message.method == 'ropewalk/status' then
      send({ id = 'q1', method = 'ropewalk/runTool',
        params = { sessionId = 's', callId = 'c', name = 'slow', arguments = vim.empty_dict() } })
      send({ method = '$/cancelRequest', params = { id = 'q1' } })
      send({ id = message.id, result = { mode = 'build' } })
    elseif message.method and message.id then
      send({ id = message.id, error = { code = -32800, message = 'cancelled' } })
    elseif message.id == 'q1' then
      send({ method = 'ropewalk/modeChanged', params = { sessionId = vim.json.encode(message), mode = 'plan' } })
    end
  end
]]

function S.a_request_that_was_cancelled_calls_back_and_a_question_is_taken_back(T)
  local folder = T.folder()
  T.write(folder .. '/sidecar.lua', CANCELLER)
  local child = T.start(folder)
  child:lua([[
    require('ropewalk').setup({ cmd = { vim.v.progpath, '-u', 'NONE', '-i', 'NONE', '-l', 'sidecar.lua' } })
    require('ropewalk').register_tools({ { name = 'slow', description = 'Slow.', async = true,
      handler = function(_, call) call.on_cancel(function() Cancelled = true end) end } }, function() end)
    require('ropewalk').on('modeChanged', function(params) Answer = params.sessionId end)
    require('ropewalk').call('read', {}, function(err) Err = err end)
  ]])
  T.eq(-32800, child:wait('the callback', 'return Err').code)
  child:lua("require('ropewalk').status({}, function() end)")
  child:wait('the handler to hear of it', 'return Cancelled')
  local answer = vim.json.decode(child:wait('the one answer', 'return Answer'))
  T.eq({ 'q1', true }, { answer.id, answer.result.isError })
end

function S.agents_and_models_of_the_user_answer(T)
  local folder = T.folder()
  local child = T.start(folder)
  child:lua([[
    Standin = require('standin')
    require('ropewalk').setup({
      cmd = Standin.cmd,
      run_agent = function(params, done, on_cancel)
        if params.prompt == 'fail' then error('broken') end
        vim.schedule(function() done({ output = 'did ' .. params.prompt }) end)
      end,
      sample = function(params, done)
        done({ role = 'assistant', model = 'm', content = { type = 'text', text = params.request.text } })
      end,
      elicit = function(params, done) done({ action = 'accept', content = { name = params.message } }) end,
    })
  ]])
  child:wait('the sidecar', "return #Standin.sent('initialize') > 0")
  local function ask(method, params)
    child:lua('Standin.reply = nil; Standin.ask(...)', method, params)
    child:wait('the answer', 'return Standin.reply ~= nil')
    return child:lua('return Standin.reply.result')
  end
  T.eq('did it', ask('ropewalk/runAgent', { prompt = 'it' }).output)
  T.eq('failed', ask('ropewalk/runAgent', { prompt = 'fail' }).status)
  T.eq('hello', ask('ropewalk/sample', { server = 's', request = { text = 'hello' } }).result.content.text)
  T.eq(
    { action = 'accept', content = { name = 'who' } },
    ask('ropewalk/elicit', { server = 's', mode = 'form', message = 'who' })
  )
end

--- A `cargo` that says some lines and makes the program.
local CARGO = [[#!/bin/sh
echo "   Compiling ropewalk" >&2
[ "$1 $2 $3" = "build --release --locked" ] || exit 3
[ -e fail ] && { echo "error: it does not compile" >&2; exit 101; }
mkdir -p target/release && ln -sf %s target/release/ropewalk
echo "    Finished" >&2
]]

function S.the_program_is_built_where_the_plugin_lies_when_asked(T)
  local repository = T.folder()
  T.write(repository .. '/Cargo.toml', '[package]\nname = "ropewalk"\n')
  vim.fn.mkdir(repository .. '/editors', 'p')
  vim.system({ 'cp', '-r', T.plugin, repository .. '/editors/nvim' }):wait()
  T.write(repository .. '/bin/cargo', CARGO:format(T.sidecar))
  vim.system({ 'chmod', '+x', repository .. '/bin/cargo' }):wait()
  T.write(repository .. '/a.txt', 'one\n')
  local child = T.start(repository)
  child:lua(
    [[
      local repository = ...
      vim.opt.runtimepath:prepend(repository .. '/editors/nvim')
      vim.opt.runtimepath:remove(vim.opt.runtimepath:get()[2])
      vim.env.PATH = repository .. '/bin:/usr/bin:/bin'
      for name in pairs(package.loaded) do
        if name:match('^ropewalk') then package.loaded[name] = nil end
      end
      Said = {}
      vim.notify = function(message) Said[#Said + 1] = message end
      require('ropewalk').setup({ settings = { diagnostics = { ownServers = 'off' } } })
      vim.cmd.edit('a.txt')
    ]],
    repository
  )
  T.eq({ 0, 1 }, child:lua('return { #vim.lsp.get_clients({ _uninitialized = true }), #Said }'))
  T.ok(child:lua('return Said[1]'):find(':Ropewalk build', 1, true), child:lua('return Said[1]'))
  T.eq(nil, vim.uv.fs_stat(repository .. '/target'), 'nothing is built unasked')
  T.write(repository .. '/fail', '')
  child:lua('vim.cmd.Ropewalk("build")')
  child:wait('the failure', 'return Said[2]')
  T.ok(child:lua('return Said[2]'):find('does not compile', 1, true), child:lua('return Said[2]'))
  vim.uv.fs_unlink(repository .. '/fail')
  child:lua('vim.cmd.Ropewalk("build")')
  child:wait('the buffer that waited', "return #require('ropewalk.sync').of_buffer(vim.api.nvim_get_current_buf()) > 0")
  T.eq(repository .. '/target/release/ropewalk', child:lua("return require('ropewalk.program').built()"))
  -- For plugin managers, with an answer.
  T.eq(
    { repository .. '/target/release/ropewalk' },
    child:lua("return { select(2, require('ropewalk').build({ wait = true })) }")
  )
  T.ok(T.read(child:lua("return require('ropewalk.program').log()")):find('Finished', 1, true))
end

function S.the_help_has_tags_and_narrow_lines(T)
  local folder = T.folder()
  vim.system({ 'cp', '-r', T.plugin .. '/doc', folder .. '/doc' }):wait()
  local child = T.start(folder)
  child:lua('vim.cmd.helptags(...)', folder .. '/doc')
  local tags = T.read(folder .. '/doc/tags')
  local missing = {}
  for _, name in ipairs(child:lua("return vim.tbl_keys(require('ropewalk'))")) do
    if not tags:find(('ropewalk.%s()\t'):format(name), 1, true) then
      missing[#missing + 1] = name .. '()'
    end
  end
  for _, name in ipairs(child:lua("return vim.fn.getcompletion('Ropewalk ', 'cmdline')")) do
    if not tags:find((':Ropewalk-%s\t'):format(name), 1, true) then
      missing[#missing + 1] = ':' .. name
    end
  end
  for name in
    child
      :lua("return table.concat(vim.fn.readfile(...), '\\n')", T.plugin .. '/lua/ropewalk/config.lua')
      :match('class ropewalk.Options(.-)class ropewalk.Config')
      :gmatch('%-%-%-@field ([%w_]+)')
  do
    if not tags:find(('ropewalk.Options.%s\t'):format(name), 1, true) then
      missing[#missing + 1] = 'option ' .. name
    end
  end
  table.sort(missing)
  T.eq({}, missing, 'not in the help')
  for number, line in ipairs(vim.split(T.read(folder .. '/doc/ropewalk.txt'), '\n')) do
    T.ok(vim.fn.strdisplaywidth(line) <= 78, ('line %d is too wide: %s'):format(number, line))
  end
end

return S
