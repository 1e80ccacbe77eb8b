--- A language server inside Neovim that stands in for the sidecar: it keeps every message, and a copy of each document
--- that it changes by the book, so that a test can compare it with the buffer.

local M = {}

---@type { method: string, params: any, kind: 'request'|'notify' }[]
M.log = {}
---@type table<string, { version: integer, language: string, text: string, opened: integer }>
M.docs = {}
--- What the adapter did that the protocol does not allow.
---@type string[]
M.faults = {}
--- Answers to requests by method; a function gets the params.
---@type table<string, any>
M.answers = { ['ropewalk/changes'] = { files = {}, proposals = {}, undos = {} } }
M.capabilities = {
  positionEncoding = 'utf-16',
  textDocumentSync = { openClose = true, change = 2, save = true },
}

local dispatchers

---@param line string
---@param units integer
---@return integer? byte offset, nil where there is no such place
local function byte_of(line, units)
  local body = line:gsub('\r$', '')
  local seen, byte = 0, 1
  while seen < units and byte <= #body do
    local lead = body:byte(byte)
    seen = seen + (lead >= 0xF0 and 2 or 1)
    byte = byte + (lead >= 0xF0 and 4 or lead >= 0xE0 and 3 or lead >= 0xC0 and 2 or 1)
  end
  return seen == units and byte - 1 or nil
end

---@param text string
---@param position { line: integer, character: integer }
---@return integer? byte offset
local function offset_of(text, position)
  local start = 1
  for _ = 1, position.line do
    local found = text:find('\n', start, true)
    if not found then
      return nil
    end
    start = found + 1
  end
  local stop = text:find('\n', start, true)
  local line = text:sub(start, (stop or #text + 1) - 1)
  if not stop then
    -- Without a line end behind it a CR is content.
    line = line .. '.'
    local byte = byte_of(line, position.character)
    return byte and byte < #line and start - 1 + byte or nil
  end
  local byte = byte_of(line, position.character)
  return byte and start - 1 + byte
end

local function fault(message, ...)
  M.faults[#M.faults + 1] = message:format(...)
end

---@param doc { text: string }
---@param change table
local function apply(doc, change)
  if not change.range then
    doc.text = change.text
    return
  end
  local from, to = offset_of(doc.text, change.range.start), offset_of(doc.text, change.range['end'])
  if not from or not to or to < from then
    fault('no such range in %s: %s', vim.inspect(doc.text), vim.inspect(change))
    return
  end
  doc.text = doc.text:sub(1, from) .. change.text .. doc.text:sub(to + 1)
end

local sync = {
  ['textDocument/didOpen'] = function(params)
    local item = params.textDocument
    if M.docs[item.uri] then
      fault('%s was opened twice', item.uri)
    end
    M.docs[item.uri] = { version = item.version, language = item.languageId, text = item.text }
  end,
  ['textDocument/didChange'] = function(params)
    local doc = M.docs[params.textDocument.uri]
    if not doc then
      return fault('%s was changed while closed', params.textDocument.uri)
    end
    if params.textDocument.version <= doc.version then
      fault('version %d came after %d', params.textDocument.version, doc.version)
    end
    doc.version = params.textDocument.version
    for _, change in ipairs(params.contentChanges) do
      apply(doc, change)
    end
  end,
  ['textDocument/didClose'] = function(params)
    if not M.docs[params.textDocument.uri] then
      fault('%s was closed twice', params.textDocument.uri)
    end
    M.docs[params.textDocument.uri] = nil
  end,
}

--- For `cmd` of a language client.
function M.cmd(given)
  dispatchers = given
  local closing, id = false, 0
  return {
    request = function(method, params, callback, notify_reply)
      -- What goes over the wire must be JSON, byte for byte.
      params = params and vim.json.decode(vim.json.encode(params), { luanil = { object = true } })
      M.log[#M.log + 1] = { method = method, params = params, kind = 'request' }
      id = id + 1
      local this = id
      local answer = M.answers[method]
      if type(answer) == 'function' then
        answer = answer(params)
      end
      if method == 'initialize' then
        answer = { capabilities = M.capabilities, serverInfo = { name = 'standin', version = '0' } }
      elseif answer == nil then
        answer = vim.NIL
      end
      vim.schedule(function()
        if notify_reply then
          notify_reply(this)
        end
        callback(nil, answer)
      end)
      return true, this
    end,
    notify = function(method, params)
      params = params and vim.json.decode(vim.json.encode(params), { luanil = { object = true } })
      M.log[#M.log + 1] = { method = method, params = params, kind = 'notify' }
      if sync[method] then
        sync[method](params)
      end
      if method == 'exit' then
        closing = true
        dispatchers.on_exit(0, 0)
      end
      return not closing
    end,
    is_closing = function()
      return closing
    end,
    terminate = function()
      closing = true
      dispatchers.on_exit(0, 15)
    end,
  }
end

--- Sends a request to the adapter, as the sidecar would. `M.reply` is its answer once it is there.
---@param method string
---@param params any
function M.ask(method, params)
  M.reply = nil
  coroutine.wrap(function()
    local result, err = dispatchers.server_request(method, params)
    M.reply = { result = result, err = err }
  end)()
  return M.reply
end

--- Asks for one edit of one document.
---@param uri string
---@param version integer
---@param edits table[]
function M.edit(uri, version, edits)
  local reply = M.ask('workspace/applyEdit', {
    edit = { documentChanges = { { textDocument = { uri = uri, version = version }, edits = edits } } },
  })
  return reply and reply.result
end

--- Tells the adapter something.
function M.tell(method, params)
  dispatchers.notification(method, params)
end

--- What a buffer holds, read in another way than the adapter does.
---@param bufnr integer
---@return string
function M.truth(bufnr)
  local separator = vim.bo[bufnr].fileformat == 'dos' and '\r\n' or '\n'
  local lines = vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)
  for i, line in ipairs(lines) do
    lines[i] = require('ropewalk.text').wire(line)
  end
  local bytes = vim.api.nvim_buf_call(bufnr, function()
    return vim.fn.wordcount().bytes
  end)
  if bytes == 0 then
    return ''
  end
  return table.concat(lines, separator) .. (vim.bo[bufnr].eol and separator or '')
end

--- Every message of a method since the beginning, its params.
---@param method string
function M.sent(method)
  local found = {}
  for _, entry in ipairs(M.log) do
    if entry.method == method then
      found[#found + 1] = entry.params
    end
  end
  return found
end

--- The position of the `nth` occurrence of a text, for edits.
---@param uri string
---@param needle string
---@return { start: table, end: table }
function M.range(uri, needle)
  local text = M.docs[uri].text
  local from, to = text:find(needle, 1, true)
  assert(from, ('%s is not in %s'):format(vim.inspect(needle), vim.inspect(text)))
  local function position(byte)
    local before = text:sub(1, byte)
    local _, line = before:gsub('\n', '')
    local column = before:match('([^\n]*)$')
    return { line = line, character = vim.str_utfindex(column, 'utf-16') }
  end
  return { start = position(from - 1), ['end'] = position(to) }
end

return M
