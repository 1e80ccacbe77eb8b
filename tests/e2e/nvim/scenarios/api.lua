--- The Lua API, the command, the log of calls and the health check, as scripts, panes and people use them.

local S = {}

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
  local child, path = T.open('a.txt', 'one\ntwo\n')
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
  local child, _, folder = T.open('a.txt', 'a\n', { trusted = true })
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
  local child, path = T.open('a.txt', 'one\n')
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

function S.a_session_that_is_reset_keeps_its_limits(T)
  local child, path = T.open('a.txt', 'one\n')
  local got = go(
    child,
    [[
      local edit = { file_path = ..., old_string = 'one', new_string = '1' }
      local session = require('ropewalk').open_session({ id = 'pane', mode = 'explore' })
      local _, before = session:call('edit', edit)
      session:set_mode('danger')
      local _, status = session:status()
      session:reset(function() end)
      -- At once, without a look at the answer.
      local _, after = session:call('edit', edit)
      local _, again = session:status()
      local err, shown = session:did_show({ uri = require('ropewalk').uri(), version = 2 })
      local err2, forgotten = session:forget({ uris = { require('ropewalk').uri() } })
      local err3 = session:end_turn({ turn_id = 't' })
      local err4, grants = session:grants()
      local err5, todos = session:todos({ todos = { { id = '1', content = 'x', status = 'pending' } } })
      -- Opened again, with more.
      local same = require('ropewalk').open_session({ id = 'pane', label = 'Pane' })
      local err6, status2 = same:status()
      return { before.isError, status.mode, after.isError, again.mode, same == session, status2.mode,
        err or err2 or err3 or err4 or err5 or err6 or 'no error', forgotten.forgotten, #grants, todos[1].content }
    ]],
    path
  )
  T.eq({ true, 'danger', true, 'explore', true, 'explore', 'no error' }, vim.list_slice(got, 1, 7))
  T.eq({ 0, 'x' }, vim.list_slice(got, 9))
  T.eq({ 'one' }, child:lines())
end

function S.a_session_outlives_a_restart_but_danger_does_not(T)
  local child, path = T.open('a.txt', 'one\n')
  local got = go(
    child,
    [[
      local ropewalk = require('ropewalk')
      local calm = ropewalk.open_session({ id = 'calm' })
      local wild = ropewalk.open_session({ id = 'wild', mode = 'plan' })
      calm:set_mode('explore')
      wild:set_mode('danger')
      local running
      local call = coroutine.create(function()
        local err = calm:call('grep', { pattern = 'one' })
        running = err or 'answered'
      end)
      coroutine.resume(call)
      local restarted
      ropewalk.restart(0, function(err) restarted = err or true end)
      -- While it is down: it waits for the next one.
      local _, read = calm:call('read', { file_path = ... })
      local _, a = calm:status()
      local _, b = wild:status()
      return { restarted, read.status, a.mode, b.mode, running ~= nil }
    ]],
    path
  )
  T.eq({ true, 'ok', 'explore', 'plan', true }, got)
end

function S.a_session_that_cannot_be_opened_runs_nothing(T)
  local child, path = T.open('a.txt', 'one\n')
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
  local child, path = T.open('a.txt', 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n')
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
  local child, path = T.open('a.txt', 'one\n')
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
  local child, path = T.open('a.txt', 'one\n')
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

function S.other_clients_keep_their_handlers(T)
  local child = T.open('a.txt', 'one\n')
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

return S
