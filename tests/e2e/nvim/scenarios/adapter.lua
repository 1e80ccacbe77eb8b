--- The adapter's life, names, forwarded diagnostics and questions, against the stand-in.

local S = {}

local function docs(child)
  return child:lua('return vim.fn.sort(vim.tbl_keys(Standin.docs))')
end

--- A language server inside Neovim, beside the stand-in: `Other.publish` sends what it likes.
local OTHER = [[
  local options = ...
  Other = { seen = {}, answers = {} }
  local function cmd(dispatchers)
    Other.dispatchers = dispatchers
    local id, closing = 0, false
    return {
      request = function(method, params, callback, notify_reply)
        id = id + 1
        local this = id
        local answer = vim.NIL
        if method == 'initialize' then
          local provider = { interFileDependencies = false, workspaceDiagnostics = false }
          answer = { capabilities = {
            textDocumentSync = { openClose = true, change = 2 },
            diagnosticProvider = options.pull and provider or nil,
          } }
        elseif method == 'textDocument/diagnostic' then
          Other.pulls = (Other.pulls or 0) + 1
          answer = Other.report
        end
        vim.schedule(function()
          if notify_reply then notify_reply(this) end
          callback(nil, answer)
        end)
        return true, this
      end,
      notify = function(method, params)
        if params and params.textDocument then Other.seen[#Other.seen + 1] = { method, params.textDocument.version } end
        if method == 'exit' then closing = true; dispatchers.on_exit(0, 0) end
        return true
      end,
      is_closing = function() return closing end,
      terminate = function() closing = true; dispatchers.on_exit(0, 15) end,
    }
  end
  function Other.publish(uri, version, diagnostics)
    local params = { uri = uri, version = version, diagnostics = diagnostics }
    Other.dispatchers.notification('textDocument/publishDiagnostics', params)
  end
  Other.id = vim.lsp.start({ name = options.name, cmd = cmd, offset_encoding = options.encoding })
]]

local function start_other(child, options)
  child:lua(OTHER, options)
  child:wait('the other server', 'return vim.lsp.get_client_by_id(Other.id).initialized')
end

local DIAGNOSTIC = {
  range = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 1 } },
  message = 'odd',
  severity = 1,
  code = 1.5,
  codeDescription = { href = '' },
  data = { any = 'thing' },
}

local function forwarded(child)
  return child:lua("return Standin.sent('ropewalk/didChangeDiagnostics')")
end

function S.two_unnamed_buffers_are_two_documents(T)
  local folder = T.folder()
  local child = T.start_standin(folder)
  child:wait('the first document', 'return vim.tbl_count(Standin.docs) == 1')
  local first = docs(child)[1]
  child:press('ione<Esc>')
  child:lua('vim.o.hidden = true; vim.cmd.enew()')
  child:press('itwo<Esc>')
  child:wait('the second document', 'return vim.tbl_count(Standin.docs) == 2')
  local uris = docs(child)
  local second = uris[1] == first and uris[2] or uris[1]
  T.ok(first:match('^untitled:nvim%-%d+$') and second:match('^untitled:nvim%-%d+$'), vim.inspect(uris))
  local texts = child:lua('return { Standin.docs[(...)[1]].text, Standin.docs[(...)[2]].text }', { first, second })
  T.eq({ 'one\n', 'two\n' }, texts)
  child:lua(
    [[
      for uri, new in pairs(...) do
        local doc = Standin.docs[uri]
        local reply = Standin.edit(uri, doc.version, { { range = Standin.range(uri, doc.text), newText = new } })
        assert(reply.applied, reply.failureReason)
      end
    ]],
    { [first] = 'uno\n', [second] = 'due\n' }
  )
  T.eq({ 'due' }, child:lines())
  child:lua('vim.cmd.buffer(1)')
  T.eq({ 'uno' }, child:lines())
  -- A name on saving: closed under the old URI, open under the new one.
  local path = folder .. '/uno.py'
  child:lua('vim.cmd.write(...)', path)
  T.eq(vim.fn.sort({ second, vim.uri_from_fname(path) }), docs(child))
  T.eq('python', child:lua('return Standin.docs[...].language', vim.uri_from_fname(path)))
  T.eq('uno\n', T.read(path))
  T.eq({}, child:lua('return Standin.faults'))
end

function S.reload_rename_and_language(T)
  local child, uri, path = T.open_standin('a\n')
  child:press('ax<Esc>')
  T.eq('ax\n', child:lua('return Standin.docs[...].text', uri))
  local version = child:lua('return Standin.docs[...].version', uri)
  child:lua('vim.cmd("edit!")')
  child:wait('the re-opened document', 'return Standin.docs[...] and Standin.docs[...].text == "a\\n"', uri)
  local after = child:lua('return Standin.docs[...].version', uri)
  T.ok(after > version, 'a re-opened document has a version of its own')
  local reply = child:lua(
    [[
      local uri, version = ...
      return Standin.edit(uri, version, { { range = Standin.range(uri, 'a'), newText = 'no' } })
    ]],
    uri,
    version
  )
  T.eq(false, reply.applied, 'an edit for the text before the reload')
  -- Changed from outside.
  T.write(path, 'b\nc\n')
  child:lua('vim.o.autoread = true; vim.uv.fs_utime((...), 1, 1); vim.cmd.checktime()', path)
  child:wait('the outside change', 'return Standin.docs[...] and Standin.docs[...].text == "b\\nc\\n"', uri)
  child:lua('vim.bo.filetype = "sh"')
  T.eq('shellscript', child:lua('return Standin.docs[...].language', uri))
  child:lua('vim.bo.fileformat = "dos"')
  child:wait('the other line ends', 'return Standin.docs[...].text == "b\\r\\nc\\r\\n"', uri)
  local other = path .. '.renamed'
  child:lua('vim.cmd.file(...)', other)
  T.eq({ vim.uri_from_fname(other) }, vim.tbl_filter(function(u)
    return u:find('renamed', 1, true) ~= nil
  end, docs(child)))
  T.eq(vim.NIL, child:lua('return Standin.docs[...] or vim.NIL', uri))
  child:lua('vim.cmd("bwipeout!")')
  T.eq(vim.NIL, child:lua('return Standin.docs[...] or vim.NIL', vim.uri_from_fname(other)))
  T.eq({}, child:lua('return Standin.faults'))
end

function S.a_save_under_another_name_is_told_once(T)
  local child, uri, path = T.open_standin('a\n')
  start_other(child, { name = 'other', encoding = 'utf-16' })
  child:press('ax<Esc>')
  local other = path .. '.py'
  child:lua('vim.cmd.saveas(...)', other)
  child:lua('vim.cmd.file(...)', path .. '.rs')
  child:lua('vim.cmd.write()')
  T.eq({ vim.uri_from_fname(path .. '.rs') }, vim.tbl_filter(function(found)
    return vim.startswith(found, uri)
  end, docs(child)))
  T.eq({}, child:lua('return Standin.faults'))
  -- Neovim's own versions start again; ours do not, and what others stamp is still understood.
  local version = child:lua('return Standin.docs[...].version', vim.uri_from_fname(path .. '.rs'))
  child:lua('Other.publish(...)', vim.uri_from_fname(path .. '.rs'), 0, { DIAGNOSTIC })
  local all = forwarded(child)
  T.eq({ version, 'server' }, { all[#all].version, all[#all].stamp })
end

function S.initialize_says_what_the_adapter_can(T)
  local child = T.open_standin('a\n', nil, { trusted = true, settings = T.QUIET.settings })
  local params = child:lua("return Standin.sent('initialize')[1]")
  T.eq({ 'utf-16' }, params.capabilities.general.positionEncodings)
  T.eq(true, params.initializationOptions.trusted)
  T.eq({ ownServers = 'off' }, params.initializationOptions.diagnostics)
  local ours = params.capabilities.experimental.ropewalk
  T.eq({ true, true, true, true, 'lf', true }, {
    ours.resync,
    ours.diagnostics,
    ours.events,
    ours.approve,
    ours.lineBreaks,
    ours.ownsCommands,
  })
  T.eq(
    { { diagnostics = { ownServers = 'off' } } },
    child:lua("return Standin.ask('workspace/configuration', { items = { { section = 'ropewalk' } } }).result")
  )
  T.eq({ applied = true }, child:lua([[
    local uri = vim.uri_from_bufnr(0)
    return Standin.edit(uri, Standin.docs[uri].version, { { range = Standin.range(uri, 'a'), newText = 'b' } })
  ]]))
end

function S.resync_gives_the_text_as_it_is(T)
  local child, uri = T.open_standin('a\nb')
  child:press('ax<Esc>')
  local reply = child:lua("return Standin.ask('ropewalk/resync', { uri = ... })", uri)
  T.eq('ax\nb', reply.result.text)
  T.ok(reply.result.version >= child:lua('return Standin.docs[...].version', uri))
  reply = child:lua("return Standin.ask('ropewalk/resync', { uri = 'file:///none' })")
  T.ok(reply.err, 'a document that is not open')
end

function S.published_diagnostics_go_on_raw_with_their_version(T)
  local child, uri = T.open_standin('a\nb\n')
  start_other(child, { name = 'other', encoding = 'utf-8' })
  child:wait('the sources', [[
    local all = Standin.sent('ropewalk/didChangeDiagnosticSources')
    return all[#all] and vim.deep_equal(all[#all].sources, { { id = 'other', name = 'other' } })
  ]])
  local opened = child:lua('return Standin.docs[...].version', uri)
  child:lua('Other.publish(...)', uri, 0, { DIAGNOSTIC })
  local last = forwarded(child)
  T.eq({
    uri = uri,
    version = opened,
    stamp = 'server',
    source = { id = 'other', name = 'other' },
    positionEncoding = 'utf-8',
    kind = 'push',
    diagnostics = { DIAGNOSTIC },
  }, last[#last])
  T.eq(1, child:lua('return #vim.diagnostic.get(0)'), 'Neovim has it too')
  child:press('ax<Esc>')
  local version = child:lua('return Standin.docs[...].version', uri)
  -- Our copy and theirs have the same version from here on.
  child:wait('their change', 'return Other.seen[#Other.seen][2] == ...', version)
  child:lua('Other.publish(...)', uri, version, {})
  last = forwarded(child)
  T.eq({ version, 'server', {} }, { last[#last].version, last[#last].stamp, last[#last].diagnostics })
  child:lua('Other.publish(...)', uri, vim.NIL, { DIAGNOSTIC })
  last = forwarded(child)
  T.eq({ version, 'receipt' }, { last[#last].version, last[#last].stamp })
  child:lua('Other.publish(...)', uri, 0, {})
  last = forwarded(child)
  T.ok(last[#last].version < version and last[#last].stamp == 'server', 'an old stamp stays old')
  -- A file that no buffer holds.
  child:lua('Other.publish(...)', uri .. '.other', 3, { DIAGNOSTIC })
  last = forwarded(child)
  T.eq({ uri .. '.other', 'receipt' }, { last[#last].uri, last[#last].stamp })
  child:lua([[
    for _, kind in ipairs({ 'begin', 'end' }) do
      Other.dispatchers.notification('$/progress', { token = 7, value = { kind = kind, title = 'checking' } })
    end
  ]])
  T.eq(
    { { sourceId = 'other', token = 7, kind = 'begin' }, { sourceId = 'other', token = 7, kind = 'end' } },
    child:lua("return Standin.sent('ropewalk/diagnosticProgress')")
  )
  child:lua('vim.lsp.stop_client(Other.id)')
  child:wait('no source any more', [[
    local all = Standin.sent('ropewalk/didChangeDiagnosticSources')
    return #all[#all].sources == 0
  ]])
end

function S.pulled_diagnostics_go_on_with_the_version_asked_about(T)
  local child, uri = T.open_standin('a\n')
  start_other(child, { name = 'puller', encoding = 'utf-16', pull = true })
  child:lua('Other.report = { kind = "full", items = { ... } }', DIAGNOSTIC)
  child:press('ax<Esc>')
  local version = child:lua('return Standin.docs[...].version', uri)
  local count = #forwarded(child)
  child:lua("Standin.ask('ropewalk/pullDiagnostics', { uri = ... })", uri)
  child:wait('the answer', 'return Standin.reply ~= nil')
  local all = forwarded(child)
  T.ok(#all > count, 'forwarded before it is answered')
  T.eq({ 'pull', version, 'server', { DIAGNOSTIC } }, {
    all[#all].kind,
    all[#all].version,
    all[#all].stamp,
    all[#all].diagnostics,
  })
end

function S.diagnostics_from_before_the_sidecar_are_told_when_it_opens_the_document(T)
  local child, uri = T.open_standin('a\n', nil, { auto_start = true })
  start_other(child, { name = 'other', encoding = 'utf-16' })
  child:lua('Other.publish(...)', uri, 0, { DIAGNOSTIC })
  local count = #forwarded(child)
  child:lua("require('ropewalk').stop()")
  child:wait('the end of the sidecar', "return #vim.lsp.get_clients({ name = 'ropewalk' }) == 0")
  child:lua("require('ropewalk').start()")
  child:wait('the sidecar', "return #vim.lsp.get_clients({ name = 'ropewalk' }) == 1")
  child:wait('the diagnostics', "return #Standin.sent('ropewalk/didChangeDiagnostics') > ...", count)
  local all = forwarded(child)
  T.eq({ DIAGNOSTIC }, all[#all].diagnostics)
end

local CALL = {
  callId = '1',
  name = 'bash',
  arguments = { command = 'ls' },
  targets = { '/etc/passwd\27[2J' },
  diff = '-a\n+b\u{202E}\n',
  reason = 'it runs a program',
  risk = 'high',
}

function S.a_question_that_nobody_answers_yes_to_is_a_no(T)
  local child = T.open_standin('a\n')
  local function ask()
    child:lua("Standin.ask('ropewalk/approve', { sessionId = 's', calls = { ... } })", CALL)
    child:wait('the answer', 'return Standin.reply ~= nil')
    return child:lua('return Standin.reply.result.decisions[1].decision')
  end
  T.eq('deny', ask(), 'no person is there')
  child:lua('vim.api.nvim_list_uis = function() return { {} } end')
  child:lua('vim.ui.select = function(items, options, done) Shown = { items, options.prompt }; done(nil) end')
  T.eq('deny', ask(), 'the picker was left')
  child:lua('vim.ui.select = function(items, _, done) done(items[1]) end')
  T.eq('deny', ask(), 'the first item')
  child:lua('vim.ui.select = function(items, _, done) vim.schedule(function() done(items[2]) end) end')
  T.eq('once', ask())
  child:lua('vim.ui.select = function() error("broken") end')
  T.eq('deny', ask(), 'the picker failed')
end

function S.a_question_shows_all_of_a_call_with_nothing_hidden(T)
  local child = T.open_standin('a\n')
  local lines = child:lua("return require('ropewalk.approve').lines(...)", CALL)
  local text = table.concat(lines, '\n')
  T.ok(text:find('/etc/passwd\\x1b[2J', 1, true), text)
  T.ok(text:find('+b\\u{202e}', 1, true), text)
  T.ok(not text:find('[%z\1-\8\11-\31]'), text)
end

function S.options_are_checked(T)
  local child = T.start(T.folder())
  local function try(code)
    return child:lua('return select(2, pcall(loadstring(...)))', "require('ropewalk').setup " .. code)
  end
  T.ok(try('{ cmd = "ropewalk" }'):find('cmd must be', 1, true))
  T.ok(try('{ aproove = false }'):find('unknown option', 1, true))
  T.ok(try('{ trusted = 1, restarts = 0.5 }'):find('trusted must be', 1, true))
  T.ok(try('{ root_markers = { 1 } }'):find('root_markers must be', 1, true))
end

function S.calls_and_the_command(T)
  local child, uri = T.open_standin('a\n')
  child:lua([[
    Standin.answers['ropewalk/callTool'] = function(params)
      Params = params
      local content = { { type = 'text', text = 'first\nsecond' } }
      return { callId = params.callId, name = params.name, status = 'ok', isError = false, content = content }
    end
    Standin.answers['ropewalk/listTools'] = { tools = { { name = 'read' }, { name = 'write' } } }
  ]])
  child:lua('vim.cmd([[Ropewalk call read {"file_path": "x y"}]])')
  child:wait('the result', "return vim.b.ropewalk_title == 'ropewalk: read'")
  T.eq({ 'read: ok', 'first', 'second' }, child:lines())
  T.eq({ 'read', { file_path = 'x y' } }, child:lua('return { Params.name, Params.arguments }'))
  child:lua('vim.cmd.close()')
  T.eq(
    { 'start', 'status', 'stop', 'stop-job' },
    child:lua("return vim.fn.getcompletion('Ropewalk st', 'cmdline')")
  )
  T.eq({ 'read' }, child:lua("return vim.fn.getcompletion('Ropewalk call r', 'cmdline')"))
  child:lua('vim.cmd.Ropewalk("status")')
  T.ok(table.concat(child:lines(), '\n'):find(uri, 1, true))
  child:lua('vim.cmd.close(); vim.cmd.Ropewalk("trust")')
  T.eq(true, child:lua("return Standin.sent('ropewalk/didChangeTrust')[1].trusted"))
end

function S.a_call_is_answered_when_the_sidecar_dies(T)
  local child = T.open_standin('a\n', nil, { restarts = 0 })
  child:lua([[
    local request = vim.lsp.get_clients({ name = 'ropewalk' })[1].rpc.request
    vim.lsp.get_clients({ name = 'ropewalk' })[1].rpc.request = function(method, ...)
      if method == 'ropewalk/callTool' then return true, 99 end
      return request(method, ...)
    end
    require('ropewalk').call('read', {}, function(err, result) Answer = { err = err, result = result } end)
    vim.lsp.get_clients({ name = 'ropewalk' })[1].rpc.terminate()
  ]])
  child:wait('an answer', 'return Answer ~= nil')
  T.ok(child:lua('return Answer.err.message'):find('ended', 1, true))
  T.eq({}, child:lua("return vim.tbl_map(function(d) return d.uri end, require('ropewalk.sync').of_buffer(1))"))
end

function S.checkhealth_speaks(T)
  local child = T.open_standin('a\n')
  child:lua('vim.cmd("checkhealth ropewalk")')
  local text = table.concat(child:lines(), '\n')
  T.ok(text:find('a sidecar runs for', 1, true), text)
  T.ok(not text:find('ERROR', 1, true), text)
end

return S
