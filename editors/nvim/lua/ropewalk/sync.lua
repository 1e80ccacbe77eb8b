--- The documents of a sidecar: `textDocument/didOpen`, `didChange`, `didSave`, `didClose`.
---
--- Neovim's own change tracking is switched off for our client (see `client.lua`) and done here, because the sidecar's
--- copy has to equal the buffer to the byte: Neovim gives all unnamed buffers one URI, sends wrong ranges at the end of
--- a buffer without a final line end, shows NUL bytes as line ends, says nothing when 'fileformat' or 'endofline'
--- change, and copies the whole list of lines at each key. Versions are `b:changedtick`, as in Neovim's own tracking,
--- but no two texts share one: Neovim reports several changes of one command with one tick.

local text = require('ropewalk.text')

local api = vim.api

local M = {}

--- A document as the sidecar has it.
---@class ropewalk.Document
---@field bufnr integer
---@field client vim.lsp.Client
---@field uri string
---@field language string
---@field version integer at least `b:changedtick` at the last change that was sent; rises with each text
---@field text ropewalk.Text
---@field size integer bytes of all lines, one more for each
---@field lossy boolean whether a line holds bytes that are not UTF-8
---@field closed boolean
---@field written? boolean whether the whole buffer was written since its file was read
---@field batch? table[] content changes that go out together
---@field alias table<integer, integer|false> Neovim's version -> ours; false: it stood for two texts
---@field stamps integer[] the keys of `alias`, oldest first

---@type table<integer, table<integer, ropewalk.Document>> client id -> buffer -> document
local documents = {}

--- What a sidecar wants to be told, and the way to it past Neovim's own tracking.
---@class ropewalk.Line
---@field full boolean every change as the whole text
---@field save boolean `textDocument/didSave`
---@field notify fun(method: string, params: table): boolean

---@type table<integer, ropewalk.Line> client id -> line
local lines_to = {}

--- What only this file sends.
local ours = {
  ['textDocument/didOpen'] = true,
  ['textDocument/didChange'] = true,
  ['textDocument/didSave'] = true,
  ['textDocument/didClose'] = true,
}

--- The sidecar answered `initialize`: from here on its documents are this file's.
---@param client vim.lsp.Client
function M.take_over(client)
  local offered = client.server_capabilities.textDocumentSync or {}
  local kinds = vim.lsp.protocol.TextDocumentSyncKind
  local notify = client.rpc.notify
  lines_to[client.id] = {
    full = offered.change == kinds.Full,
    save = offered.save ~= nil and offered.save ~= false,
    notify = notify,
  }
  client.server_capabilities.textDocumentSync = { openClose = false, change = kinds.None }
  -- Saving under another name is told by Neovim without a look at what the server wants.
  client.rpc.notify = function(method, params)
    return ours[method] and not client.rpc.is_closing() or notify(method, params)
  end
end

--- Sends something about a document.
---@param document ropewalk.Document
---@param method string
---@param params table
local function tell(document, method, params)
  local line = lines_to[document.client.id]
  if line then
    line.notify(method, params)
  end
end

--- Called when a document opened, was opened anew, or closed.
---@type fun(document: ropewalk.Document, event: 'open'|'close')[]
local listeners = {}

---@param listener fun(document: ropewalk.Document, event: 'open'|'close')
function M.listen(listener)
  listeners[#listeners + 1] = listener
end

---@param document ropewalk.Document
---@param event 'open'|'close'
local function announce(document, event)
  for _, listener in ipairs(listeners) do
    listener(document, event)
  end
end

--- Language ids of the protocol whose file types are spelled otherwise.
local languages = {
  [''] = 'plaintext',
  bash = 'shellscript',
  cs = 'csharp',
  gitrebase = 'git-rebase',
  ['javascript.jsx'] = 'javascriptreact',
  make = 'makefile',
  objc = 'objective-c',
  objcpp = 'objective-cpp',
  ps1 = 'powershell',
  sh = 'shellscript',
  tex = 'latex',
  text = 'plaintext',
  ['typescript.tsx'] = 'typescriptreact',
  zsh = 'shellscript',
}

---@param bufnr integer
---@return string
local function language_of(bufnr)
  local filetype = vim.bo[bufnr].filetype
  return languages[filetype] or filetype
end

--- The URI of a buffer: each unnamed one has its own.
---@param bufnr integer
---@return string
function M.uri(bufnr)
  if api.nvim_buf_get_name(bufnr) == '' then
    return 'untitled:nvim-' .. bufnr
  end
  return vim.uri_from_bufnr(bufnr)
end

--- Whether the buffer holds no byte at all. Neovim shows that like a lone line end.
---@param bufnr integer
---@return boolean
local function is_empty(bufnr)
  if api.nvim_buf_line_count(bufnr) > 1 or api.nvim_buf_get_lines(bufnr, 0, 1, false)[1] ~= '' then
    return false
  end
  if not vim.bo[bufnr].eol then
    return true
  end
  return api.nvim_buf_call(bufnr, function()
    return vim.fn.wordcount().bytes == 0
  end)
end

--- Whether the last line has a line end. Where a `:write` added one, as 'fixendofline' has it, the file has it and each
--- write adds it again, while 'endofline' stays off until the file is read anew.
---@param document ropewalk.Document
---@return boolean
local function has_eol(document)
  local options = vim.bo[document.bufnr]
  return options.eol or document.written == true and options.fixeol and not options.binary
end

--- The raw lines `[first, last)` in wire spelling.
---@param bufnr integer
---@param first integer
---@param last integer
---@return string[] lines
---@return integer size
---@return boolean lossy
local function read(bufnr, first, last)
  local lines = api.nvim_buf_get_lines(bufnr, first, last, false)
  local size, lossy = 0, false
  for i, raw in ipairs(lines) do
    local wire, broken = text.wire(raw)
    lines[i], lossy = wire, lossy or broken
    size = size + #wire + 1
  end
  return lines, size, lossy
end

--- So many versions of Neovim's are remembered; older ones are old enough to be taken at their word.
local REMEMBERED = 256

--- Neovim's own tracking calls the text that is there now `theirs`.
---@param document ropewalk.Document
---@param theirs integer
---@param same_text boolean whether the text is still the one that `theirs` stood for, if it did
local function remember(document, theirs, same_text)
  local known = document.alias[theirs]
  if known == nil then
    document.stamps[#document.stamps + 1] = theirs
    if #document.stamps > REMEMBERED then
      document.alias[table.remove(document.stamps, 1)] = nil
    end
  end
  if known == nil or known and same_text then
    document.alias[theirs] = document.version
  elseif known ~= document.version then
    document.alias[theirs] = false
  end
end

--- Takes the buffer as it is, as a new version.
---@param document ropewalk.Document
local function load(document)
  local bufnr = document.bufnr
  local before = document.text and text.join(document.text)
  local lines, size, lossy = read(bufnr, 0, -1)
  document.uri = M.uri(bufnr)
  document.language = language_of(bufnr)
  document.version = math.max(api.nvim_buf_get_changedtick(bufnr), (document.version or -1) + 1)
  document.size, document.lossy = size, lossy
  document.text = {
    lines = lines,
    -- A buffer of CR lines is served with LF, so that it has lines at all.
    sep = vim.bo[bufnr].fileformat == 'dos' and '\r\n' or '\n',
    eol = has_eol(document),
    empty = is_empty(bufnr),
  }
  remember(document, vim.lsp.util.buf_versions[bufnr], before == text.join(document.text))
end

---@param document ropewalk.Document
local function did_open(document)
  tell(document, 'textDocument/didOpen', {
    textDocument = {
      uri = document.uri,
      languageId = document.language,
      version = document.version,
      text = text.join(document.text),
    },
  })
  announce(document, 'open')
end

---@param document ropewalk.Document
local function did_close(document)
  announce(document, 'close')
  tell(document, 'textDocument/didClose', { textDocument = { uri = document.uri } })
end

--- Closes the document and opens it as it is now: under another name, language or line end, or with a text that the
--- sidecar could not follow.
---@param document ropewalk.Document
function M.reopen(document)
  did_close(document)
  load(document)
  did_open(document)
end

--- `ropewalk/resync`: takes the buffer as it is, and gives it to the sidecar.
---@param document ropewalk.Document
---@return { version: integer, text: string }
function M.read(document)
  load(document)
  return { version = document.version, text = text.join(document.text) }
end

--- Sends content changes as one version.
---@param document ropewalk.Document
---@param changes table[]
local function did_change(document, changes)
  local full = (lines_to[document.client.id] or {}).full
  tell(document, 'textDocument/didChange', {
    textDocument = { uri = document.uri, version = document.version },
    contentChanges = full and { { text = text.join(document.text) } } or changes,
  })
end

---@param document ropewalk.Document
---@param tick integer
---@param first integer
---@param last integer
---@param new_last integer
local function on_lines(document, tick, first, last, new_last)
  local bufnr = document.bufnr
  local new, size, lossy = read(bufnr, first, new_last)
  for row = first + 1, math.min(last, #document.text.lines) do
    size = size - #document.text.lines[row] - 1
  end
  document.size = document.size + size
  document.lossy = document.lossy or lossy
  local change = text.change(document.text, first, last, new, is_empty(bufnr))
  if #new == 0 and #document.text.lines == 1 then
    -- Of a buffer without lines Neovim shows one.
    document.size = #document.text.lines[1] + 1
  end
  document.version = math.max(tick, document.version + 1)
  remember(document, tick, false)
  if document.batch then
    document.batch[#document.batch + 1] = change
  else
    did_change(document, { change })
  end
end

--- Runs `act` and sends all that it changes in the document as one version.
---@param document ropewalk.Document
---@param act fun()
---@return boolean ok
---@return string? error
function M.batch(document, act)
  document.batch = {}
  local ok, err = pcall(act)
  local changes = document.batch or {}
  document.batch = nil
  if #changes > 0 and not document.closed then
    did_change(document, changes)
  end
  return ok, err
end

--- Whether the sidecar's copy can still be the buffer: name, kind of line ends, and sizes agree. Costs nothing that
--- grows with the buffer.
---@param document ropewalk.Document
---@return boolean
local function agrees(document)
  local bufnr, held = document.bufnr, document.text
  local count = api.nvim_buf_line_count(bufnr)
  if
    M.uri(bufnr) ~= document.uri
    or language_of(bufnr) ~= document.language
    or has_eol(document) ~= held.eol
    or (vim.bo[bufnr].fileformat == 'dos') ~= (held.sep == '\r\n')
    or count ~= #held.lines
    or is_empty(bufnr) ~= held.empty
  then
    return false
  end
  local final = api.nvim_buf_get_lines(bufnr, -2, -1, false)[1]
  return document.lossy or api.nvim_buf_get_offset(bufnr, count - 1) + #final + 1 == document.size
end

--- Opens the document anew where the sidecar's copy can no longer be the buffer.
---@param document ropewalk.Document
---@return boolean agreed
function M.check(document)
  if document.closed or not api.nvim_buf_is_loaded(document.bufnr) then
    return false
  end
  if agrees(document) then
    return true
  end
  M.reopen(document)
  return false
end

--- The document of a buffer.
---@param client_id integer
---@param bufnr integer
---@return ropewalk.Document?
function M.get(client_id, bufnr)
  return (documents[client_id] or {})[bufnr]
end

--- The document with this URI.
---@param client_id integer
---@param uri string
---@return ropewalk.Document?
function M.find(client_id, uri)
  for _, document in pairs(documents[client_id] or {}) do
    if document.uri == uri then
      return document
    end
  end
end

--- All documents of a sidecar, by buffer.
---@param client_id integer
---@return ropewalk.Document[]
function M.list(client_id)
  local list = vim.tbl_values(documents[client_id] or {})
  table.sort(list, function(a, b)
    return a.bufnr < b.bufnr
  end)
  return list
end

--- The documents of a buffer, in every sidecar that has it.
---@param bufnr integer
---@return ropewalk.Document[]
function M.of_buffer(bufnr)
  local list = {} ---@type ropewalk.Document[]
  for _, by_buffer in pairs(documents) do
    list[#list + 1] = by_buffer[bufnr]
  end
  return list
end

--- Which version of ours a version of Neovim's own tracking stands for; nil where it stood for two texts.
---@param document ropewalk.Document
---@param theirs integer
---@return integer?
function M.translate(document, theirs)
  local known = document.alias[theirs]
  if known == nil then
    return theirs
  end
  return known or nil
end

--- The buffer is attached to the sidecar: opens the document and follows it.
---@param client vim.lsp.Client
---@param bufnr integer
function M.open(client, bufnr)
  documents[client.id] = documents[client.id] or {}
  if documents[client.id][bufnr] then
    return
  end
  ---@type ropewalk.Document
  ---@diagnostic disable-next-line: missing-fields
  local document = { bufnr = bufnr, client = client, closed = false, alias = {}, stamps = {} }
  load(document)
  local attached = api.nvim_buf_attach(bufnr, false, {
    on_lines = function(_, _, tick, first, last, new_last)
      if document.closed then
        return true
      end
      on_lines(document, tick, first, last, new_last)
    end,
    on_reload = function()
      if document.closed then
        return true
      end
      document.written = false
      M.reopen(document)
    end,
    on_detach = function()
      M.close(client.id, bufnr, document)
    end,
  })
  if attached then
    documents[client.id][bufnr] = document
    did_open(document)
  end
end

--- The buffer is no longer attached.
---@param client_id integer
---@param bufnr integer
---@param only? ropewalk.Document only if it is still this one
function M.close(client_id, bufnr, only)
  local document = M.get(client_id, bufnr)
  if not document or only and document ~= only then
    return
  end
  documents[client_id][bufnr] = nil
  document.closed = true
  did_close(document)
end

--- The sidecar is gone: nothing is left to tell it.
---@param client_id integer
function M.forget(client_id)
  for _, document in pairs(documents[client_id] or {}) do
    document.closed = true
  end
  documents[client_id], lines_to[client_id] = nil, nil
end

---@param bufnr integer
local function check_buffer(bufnr)
  for _, document in ipairs(M.of_buffer(bufnr)) do
    M.check(document)
  end
end

--- Follows what changes a document without changing its lines.
---@param group integer
function M.setup(group)
  -- Set up again, the others begin to listen again as well.
  for i = #listeners, 1, -1 do
    listeners[i] = nil
  end
  api.nvim_create_autocmd({ 'BufFilePost', 'FileType', 'BufEnter' }, {
    group = group,
    desc = 'ropewalk: another name or language of a document',
    callback = function(args)
      check_buffer(args.buf)
    end,
  })
  api.nvim_create_autocmd('BufWritePost', {
    group = group,
    desc = 'ropewalk: textDocument/didSave',
    callback = function(args)
      local whole = args.match == api.nvim_buf_get_name(args.buf) and not vim.bo[args.buf].modified
      for _, document in ipairs(M.of_buffer(args.buf)) do
        document.written = document.written or whole
        M.check(document)
        if (lines_to[document.client.id] or {}).save then
          tell(document, 'textDocument/didSave', { textDocument = { uri = document.uri } })
        end
      end
      -- After a save under another name Neovim's own versions start at 0 again.
      vim.schedule(function()
        for _, document in ipairs(M.of_buffer(args.buf)) do
          if M.check(document) then
            remember(document, vim.lsp.util.buf_versions[args.buf], true)
          end
        end
      end)
    end,
  })
  api.nvim_create_autocmd('OptionSet', {
    group = group,
    pattern = { 'fileformat', 'endofline', 'fixendofline', 'binary' },
    desc = 'ropewalk: other line ends of a document',
    callback = function()
      -- With `nvim_set_option_value` the buffer of the option need not be the current one.
      vim.schedule(function()
        for _, by_buffer in pairs(documents) do
          for _, document in pairs(by_buffer) do
            M.check(document)
          end
        end
      end)
    end,
  })
end

return M
