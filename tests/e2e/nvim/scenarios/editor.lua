--- What the sidecar asks of the editor and hears from it: saving, formatting, what is looked at, trust, crashes.

local S = {}

--- What stays as it is whatever happens to other windows and buffers.
local PLACE = [[
  return {
    buffer = vim.api.nvim_get_current_buf(),
    window = vim.api.nvim_get_current_win(),
    windows = #vim.api.nvim_list_wins(),
    cursor = vim.api.nvim_win_get_cursor(0),
    mode = vim.fn.mode(),
    alternate = vim.fn.bufnr('#'),
    jumps = #vim.fn.getjumplist()[1],
    listed = vim.tbl_map(function(b) return vim.bo[b].buflisted end, vim.api.nvim_list_bufs()),
    fold = vim.fn.foldclosed(2),
    mark = vim.api.nvim_buf_get_mark(0, 'a'),
    changed = vim.api.nvim_buf_get_mark(0, '['),
  }
]]

function S.saving_writes_as_w_does_and_moves_nothing(T)
  local child, uri, path = T.open_standin('one\ntwo\nthree\n', 'a.txt')
  child:lua('vim.o.hidden = true')
  child:press('Gofour<Esc>')
  -- Something like a formatter on writing, and a second buffer with the focus.
  child:lua([[
    vim.api.nvim_create_autocmd('BufWritePre', { callback = function(args)
      vim.api.nvim_buf_set_lines(args.buf, 0, 1, false, { 'ONE' })
      Wrote = vim.fn.bufname(args.buf)
    end })
  ]])
  local other = path .. '.other'
  T.write(other, 'x\n\ty\n\tz\nend\n')
  child:lua('vim.cmd.edit(...)', other)
  child:lua('vim.o.foldmethod = "manual"; vim.cmd("2,3fold"); vim.cmd("normal! 4Gma")')
  child:press('gg')
  local before = child:lua(PLACE)
  local reply = child:lua("return Standin.ask('ropewalk/save', { uris = { ... } })", uri)
  T.eq({ result = { failed = {} } }, reply)
  T.eq(before, child:lua(PLACE), 'where the user is')
  T.eq('ONE\ntwo\nthree\nfour\n', T.read(path))
  T.ok(child:lua('return Wrote'):find('a.txt', 1, true), 'autocommands ran')
  -- The change of the autocommand and the save were told before the answer, in this order.
  local order = child:lua([[
    local seen = {}
    for _, entry in ipairs(Standin.log) do
      if entry.method == 'textDocument/didChange' or entry.method == 'textDocument/didSave' then
        seen[#seen + 1] = entry.method:sub(14) .. (entry.params.contentChanges and entry.params.contentChanges[1].text or '')
      end
    end
    return vim.list_slice(seen, #seen - 1)
  ]])
  T.eq({ 'didChangeONE', 'didSave' }, order)
  T.eq('', child:lua("return vim.trim(vim.fn.execute('messages'))"), 'nothing is said')
end

function S.saving_while_the_user_types(T)
  local child, uri, path = T.open_standin('one\n', 'a.txt')
  child:press('Gotwo')
  local before = child:lua(PLACE)
  child:lua("Standin.ask('ropewalk/save', { uris = { ... } })", uri)
  T.eq(before, child:lua(PLACE), 'still in Insert mode')
  T.eq('one\ntwo\n', T.read(path))
  child:press('!<Esc>')
  T.eq({ 'one', 'two!' }, child:lines())
end

function S.what_cannot_be_saved_is_told_with_its_reason_and_never_asked(T)
  local child, uri, path = T.open_standin('one\n', 'a.txt')
  local function save(...)
    local reply = child:lua("return Standin.ask('ropewalk/save', { uris = { ... } })", ...)
    return reply.result.failed
  end
  T.eq({}, save(uri), 'nothing to write')
  child:lua('vim.o.hidden, vim.o.confirm, vim.o.autoread = true, true, false')
  child:press('xiX<Esc>')
  child:lua('vim.bo.readonly = true')
  T.ok(save(uri)[1].reason:find('read-only', 1, true))
  child:lua('vim.bo.readonly = false')
  -- Somebody else wrote it: `:w` would ask.
  T.write(path, 'theirs, longer\n')
  local failed = save(uri, 'file:///none')
  T.eq(2, #failed, vim.inspect(failed))
  T.ok(failed[1].reason:find('changed on the disk', 1, true), vim.inspect(failed))
  T.ok(failed[2].reason:find('not open', 1, true))
  T.eq('theirs, longer\n', T.read(path), 'not a byte of theirs is lost')
  -- A copy elsewhere does not make it ours.
  child:lua('vim.cmd.write((...))', path .. '.copy')
  T.eq(1, #save(uri))
  child:lua('vim.cmd("write!")')
  T.eq({}, save(uri))
  -- The folder is gone.
  child:lua('vim.cmd.file((...) .. "/nowhere/b.txt")', vim.fs.dirname(path))
  child:press('xiY<Esc>')
  failed = save(child:lua("return require('ropewalk').uri()"))
  T.ok(failed[1].reason:find('E%d+'), vim.inspect(failed))
  T.eq(true, child:lua('return vim.o.confirm'), "'confirm' is as it was")
  child:lua('vim.cmd.enew()')
  child:press('ix<Esc>')
  failed = save(child:lua("return require('ropewalk').uri()"))
  T.ok(failed[1].reason:find('no name', 1, true), vim.inspect(failed))
  T.eq('n', child:lua('return vim.fn.mode()'))
end

function S.a_session_that_saves_writes_what_it_edits(T)
  local child, path = T.open('main.py', 'a = 1\nb = 2\n', T.QUIET)
  T.request(child, 'ropewalk/openSession', { sessionId = 's', save = 'always' })
  local result = T.call(
    child,
    'edit',
    { file_path = path, old_string = 'a = 1', new_string = 'a = 3' },
    { session_id = 's' }
  )
  T.eq('ok', result.status, T.text(result))
  T.eq('a = 3\nb = 2\n', T.read(path))
  T.eq(false, result.edits[1].unsaved)
  T.eq(false, child:lua('return vim.bo.modified'))
end

--- A language server inside Neovim that formats: it is asked by `Formatter.answer`.
local FORMATTER = [[
  local options = ...
  Formatter = { asked = {} }
  local function cmd(dispatchers)
    local id, closing = 0, false
    return {
      request = function(method, params, callback, notify_reply)
        id = id + 1
        local this, answer = id, vim.NIL
        if method == 'initialize' then
          answer = { capabilities = { positionEncoding = options.encoding, documentFormattingProvider = true,
            textDocumentSync = { openClose = true, change = 2 } } }
        elseif method == 'textDocument/formatting' then
          Formatter.asked[#Formatter.asked + 1] = params
          answer = Formatter.answer
        end
        local function reply()
          if notify_reply then notify_reply(this) end
          callback(nil, answer)
        end
        if method == 'textDocument/formatting' and Formatter.wait then
          Formatter.reply = reply
        else
          vim.schedule(reply)
        end
        return true, this
      end,
      notify = function(method)
        if method == 'exit' then closing = true; dispatchers.on_exit(0, 0) end
        return true
      end,
      is_closing = function() return closing end,
      terminate = function() closing = true; dispatchers.on_exit(0, 15) end,
    }
  end
  Formatter.id = vim.lsp.start({ name = 'formatter', cmd = cmd, offset_encoding = options.encoding })
]]

function S.formatting_asks_the_client_of_the_buffer_and_counts_as_the_sidecar_does(T)
  local child, uri = T.open_standin('s = "😀é"; x=1\r\ny = 2\r\n', 'a.py')
  child:lua('vim.bo.expandtab, vim.bo.shiftwidth = true, 3')
  local function format(version)
    child:lua("Standin.ask('ropewalk/format', { uri = (...)[1], version = (...)[2] })", { uri, version })
    child:wait('the answer', 'return Standin.reply ~= nil')
    return child:lua('return { result = Standin.reply.result, err = Standin.reply.err }')
  end
  local version = child:lua('return Standin.docs[...].version', uri)
  T.eq(vim.NIL, format(version).result, 'no formatter')
  child:lua(FORMATTER, { encoding = 'utf-8' })
  child:wait('the formatter', 'return vim.lsp.get_client_by_id(Formatter.id).initialized')
  child:lua([[
    local function at(line, character) return { line = line, character = character } end
    Formatter.answer = {
      { range = { start = at(0, 14), ['end'] = at(0, 17) }, newText = 'x = 1\n' },
      { range = { start = at(2, 0), ['end'] = at(2, 0) }, newText = 'z\r\n' },
    }
  ]])
  T.eq({
    { range = { start = { line = 0, character = 11 }, ['end'] = { line = 0, character = 14 } }, newText = 'x = 1\r\n' },
    { range = { start = { line = 2, character = 0 }, ['end'] = { line = 2, character = 0 } }, newText = 'z\r\n' },
  }, format(version).result.edits)
  T.eq({ insertSpaces = true, tabSize = 3 }, child:lua('return Formatter.asked[1].options'), 'as the buffer is set')
  T.eq({ 's = "😀é"; x=1', 'y = 2' }, child:lines(), 'nothing is changed by it')
  -- Another version: before it is asked, and while it is.
  T.ok(format(version + 1).err.message:find('version', 1, true))
  child:lua('Formatter.wait = true')
  child:lua("Standin.ask('ropewalk/format', { uri = (...)[1], version = (...)[2] })", { uri, version })
  child:wait('the question', 'return Formatter.reply ~= nil')
  child:press('Goz<Esc>')
  child:lua('Formatter.reply()')
  child:wait('the answer', 'return Standin.reply ~= nil')
  T.ok(child:lua('return Standin.reply.err.message'):find('changed', 1, true))
end

function S.ruff_in_neovim_formats_what_an_agent_writes(T)
  local options = { settings = { diagnostics = { ownServers = 'off' }, formatter = { mode = 'onWrite' } } }
  local child, path = T.open('main.py', 'a = 1\n', options)
  child:lua([[
    Ruff = vim.lsp.start({ name = 'ruff', cmd = { 'ruff', 'server' }, offset_encoding = 'utf-8' })
  ]])
  -- It says that it formats a moment after it is there.
  child:wait('ruff', "return vim.lsp.get_client_by_id(Ruff):supports_method('textDocument/formatting', 0)")
  local result = T.call(child, 'edit', { file_path = path, old_string = 'a = 1', new_string = 'a = {  "é😀":1 }  ' })
  T.eq('ok', result.status, T.text(result))
  T.eq({ 'a = {"é😀": 1}' }, child:lines(), T.text(result))
  T.same_text(child, path)
  child:press('u')
  T.eq({ 'a = {  "é😀":1 }  ' }, child:lines(), 'its own undo step')
  child:press('u')
  T.eq({ 'a = 1' }, child:lines())
end

--- The last context that was told, once it is another one.
local function context(child, test)
  return child:wait(
    'the context: ' .. test,
    [[
      local all = Standin.sent('ropewalk/didChangeContext')
      local now = all[#all]
      return now and assert(loadstring('local now = ...; return ' .. (...)))(now) and now
    ]],
    test
  )
end

function S.what_the_user_looks_at_is_told(T)
  local child, uri, path = T.open_standin('héllo 😀 world\n\ntwo\nthree\n', 'a.txt')
  T.eq({
    uri = uri,
    selections = { { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 0 } } },
    visibleRange = { start = { line = 0, character = 0 }, ['end'] = { line = 3, character = 5 } },
    openEditors = { uri },
  }, context(child, 'now.uri ~= nil'))
  local function selected(keys, expected)
    child:press('<Esc>' .. keys)
    local test = ('vim.deep_equal(now.selections, vim.json.decode([==[%s]==]))'):format(vim.json.encode(expected))
    context(child, test)
  end
  local function range(a, b, c, d)
    return { start = { line = a, character = b }, ['end'] = { line = c, character = d } }
  end
  selected('ggfwh', { range(0, 8, 0, 8) })
  selected('gg0fév', { range(0, 1, 0, 2) })
  selected('gg0wv', { range(0, 6, 0, 8) })
  selected('gg0wve', { range(0, 6, 0, 14) })
  selected('gg0wvjj', { range(0, 6, 2, 3) })
  selected('G0vk', { range(2, 0, 3, 1) })
  selected('2GV', { range(1, 0, 1, 0) })
  selected('ggVj', { range(0, 0, 1, 0) })
  selected('3G0<C-v>jl', { range(2, 0, 2, 2), range(3, 0, 3, 2) })
  child:press('<Esc>')
  -- Another window; a pane that is no document leaves what is looked at.
  local other = path .. '2'
  T.write(other, 'x\n')
  child:lua('vim.cmd.split(...)', other)
  local both = context(child, '#now.openEditors == 2 and now.uri:match("2$")')
  T.eq({ vim.uri_from_fname(other), uri }, both.openEditors)
  child:lua([[
    vim.cmd('botright new')
    vim.bo.buftype = 'nofile'
  ]])
  child:press('itext<Esc>')
  child:lua('vim.wait(250)')
  T.eq(vim.uri_from_fname(other), context(child, 'true').uri, 'still the file')
  child:press('v0')
  child:lua("require('ropewalk').call('read', {}, function() end)")
  T.eq('v', child:lua('return vim.fn.mode()'), 'what is marked in the pane stays marked')
  T.eq({ range(0, 0, 0, 0) }, context(child, 'true').selections, 'and is nothing of the file')
  child:press('<Esc>')
  -- A call comes after what was seen when it was made.
  T.eq(2, #context(child, 'true').openEditors, 'the pane is no document')
  child:lua([[
    vim.cmd('wincmd k')
    vim.api.nvim_win_set_cursor(0, { 3, 1 })
    require('ropewalk').call('read', {}, function() end)
  ]])
  local last = child:lua([[
    for i = #Standin.log, 1, -1 do
      if Standin.log[i].method == 'ropewalk/callTool' then
        return Standin.log[i - 1].method
      end
    end
  ]])
  T.eq('ropewalk/didChangeContext', last)
end

function S.typing_is_told_now_and_then_not_at_each_key(T)
  local child = T.open_standin('a\n')
  context(child, 'true')
  child:lua("require('ropewalk.context').pause_ms = 400")
  child:lua('vim.wait(500)')
  local before = child:lua("return #Standin.sent('ropewalk/didChangeContext')")
  child:press('A' .. ('x'):rep(200))
  local after = child:lua("return #Standin.sent('ropewalk/didChangeContext')")
  T.ok(after - before <= 10, ('%d contexts for 200 keys'):format(after - before))
  context(child, 'now.selections[1].start.character == 201')
end

function S.files_changed_on_the_disk_come_up_without_a_question(T)
  local child, uri, path = T.open_standin('a\nb\nc\n', 'a.txt')
  child:lua('vim.cmd("normal! Gma")')
  local before = child:lua('return { vim.api.nvim_get_current_win(), vim.api.nvim_win_get_cursor(0) }')
  T.write(path, 'A longer line\nb\nc\n')
  child:lua(
    "Standin.tell('ropewalk/filesChanged', { changes = { { uri = ..., type = 'changed', by = 'agent' } } })",
    uri
  )
  T.eq({ 'A longer line', 'b', 'c' }, child:lines())
  T.eq(before, child:lua('return { vim.api.nvim_get_current_win(), vim.api.nvim_win_get_cursor(0) }'))
  -- With changes of the user's own: they stay, and nothing asks.
  child:press('ohere<Esc>')
  T.write(path, 'An even longer line\nb\nc\n')
  child:lua(
    "Standin.tell('ropewalk/filesChanged', { changes = { { uri = ..., type = 'changed', by = 'agent' } } })",
    uri
  )
  T.eq({ 'A longer line', 'b', 'c', 'here' }, child:lines())
  T.eq({ mode = 'n', blocking = false }, vim.rpcrequest(child.channel, 'nvim_get_mode'))
end

function S.progress_that_began_before_the_sidecar_and_never_ended_is_told(T)
  local folder = T.folder()
  T.write(folder .. '/a.txt', 'a\n')
  local child = T.start_standin(folder, { auto_start = false })
  child:lua('vim.cmd.edit(...)', folder .. '/a.txt')
  child:lua(FORMATTER, { encoding = 'utf-16' })
  child:wait('the server', 'return vim.lsp.get_client_by_id(Formatter.id).initialized')
  child:lua([[
    vim.api.nvim_exec_autocmds('LspProgress', {
      data = { client_id = Formatter.id, params = { token = 't', value = { kind = 'begin', title = 'Indexing' } } },
    })
    require('ropewalk').start()
  ]])
  child:wait('the document', 'return next(Standin.docs) ~= nil')
  T.eq(
    { { sourceId = 'formatter', token = 't', kind = 'begin' } },
    child:lua("return Standin.sent('ropewalk/diagnosticProgress')")
  )
  child:lua('vim.lsp.stop_client(Formatter.id)')
  child:wait(
    'its end',
    [[
    local all = Standin.sent('ropewalk/diagnosticProgress')
    return #all == 2 and all[2].kind == 'end'
  ]]
  )
  child:wait(
    'no source',
    [[
    local all = Standin.sent('ropewalk/didChangeDiagnosticSources')
    return #all[#all].sources == 0
  ]]
  )
end

return S
