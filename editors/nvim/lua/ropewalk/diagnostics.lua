--- Forwards what the editor's other language clients say of a document, raw: as the server sent it, with the version
--- it is about and the encoding it counts in. Neovim itself drops the version and turns columns into bytes.

local sidecars = require('ropewalk.sidecars')
local sync = require('ropewalk.sync')

local api = vim.api

local M = {}

local PUBLISH = 'textDocument/publishDiagnostics'
local PULL = 'textDocument/diagnostic'

--- What a client last said of a document, for documents that are opened later.
---@class ropewalk.Heard
---@field items table[]
---@field version? any the server's own, as it came
---@field tick? integer `b:changedtick` when it came in
---@field kind 'push'|'pull'

---@type table<integer, table<string, ropewalk.Heard>> client id -> Neovim's URI -> what was heard
local heard = {}

--- Handler tables that already forward. Clients of one configuration can share one.
---@type table<table, true>
local wrapped = setmetatable({}, { __mode = 'k' })

--- What clients are at: client id -> token.
---@type table<integer, table<any, true>>
local working = {}

--- Of which clients a sidecar knows what they are at: sidecar -> client id.
---@type table<integer, table<integer, true>>
local introduced = {}

---@type string[]
local not_sources = {}

---@param client vim.lsp.Client
---@return boolean
local function is_source(client)
  return client.name ~= 'ropewalk' and not vim.list_contains(not_sources, client.name)
end

--- What tells a client from all others: its name, as long as no other has it.
---@param client vim.lsp.Client
---@return { id: string, name: string }
local function source_of(client)
  for _, other in ipairs(vim.lsp.get_clients({ name = client.name })) do
    if other.id < client.id then
      return { id = ('%s#%d'):format(client.name, client.id), name = client.name }
    end
  end
  return { id = client.name, name = client.name }
end

---@param uri string
---@return integer? bufnr
local function loaded_buffer(uri)
  local ok, name = pcall(vim.uri_to_fname, uri)
  local bufnr = ok and name ~= '' and vim.fn.bufnr('^' .. vim.fn.fnameescape(name) .. '$') or -1
  if bufnr == -1 and ok then
    -- Names with wildcard characters are found by comparison only.
    for _, candidate in ipairs(api.nvim_list_bufs()) do
      if api.nvim_buf_get_name(candidate) == name then
        bufnr = candidate
        break
      end
    end
  end
  return bufnr ~= -1 and api.nvim_buf_is_loaded(bufnr) and bufnr or nil
end

---@param document ropewalk.Document
---@param client vim.lsp.Client
---@param entry ropewalk.Heard
local function send(document, client, entry)
  local version, stamp = nil, 'server'
  if type(entry.version) == 'number' then
    version = sync.translate(document, entry.version)
  end
  if not version then
    version, stamp = document.version, 'receipt'
  end
  document.client:notify('ropewalk/didChangeDiagnostics', {
    uri = document.uri,
    version = version,
    stamp = stamp,
    source = source_of(client),
    positionEncoding = client.offset_encoding,
    kind = entry.kind,
    diagnostics = entry.items,
  })
end

--- A client said something of a file.
---@param client vim.lsp.Client
---@param uri string
---@param items table[]
---@param version? integer
---@param kind 'push'|'pull'
local function hear(client, uri, items, version, kind)
  local bufnr = loaded_buffer(uri)
  local entry = {
    items = items,
    version = version,
    tick = bufnr and api.nvim_buf_get_changedtick(bufnr),
    kind = kind,
  }
  heard[client.id] = heard[client.id] or {}
  heard[client.id][uri] = entry
  local told = {} ---@type table<integer, true>
  for _, document in ipairs(bufnr and sync.of_buffer(bufnr) or {}) do
    told[document.client.id] = true
    send(document, client, entry)
  end
  -- Of a file that is not open: errors that an edit made elsewhere. Only for sidecars that share a buffer with it.
  for _, sidecar in ipairs(sidecars.list()) do
    if not told[sidecar.id] then
      for _, document in ipairs(sync.list(sidecar.id)) do
        if client.attached_buffers[document.bufnr] then
          sidecar:notify('ropewalk/didChangeDiagnostics', {
            uri = uri,
            version = vim.NIL,
            stamp = 'receipt',
            source = source_of(client),
            positionEncoding = client.offset_encoding,
            kind = kind,
            diagnostics = items,
          })
          break
        end
      end
    end
  end
end

---@param params lsp.PublishDiagnosticsParams
---@param ctx lsp.HandlerContext
local function on_publish(params, ctx)
  local client = vim.lsp.get_client_by_id(ctx.client_id)
  if client and params and is_source(client) and type(params.diagnostics) == 'table' then
    hear(client, params.uri, params.diagnostics, params.version, 'push')
  end
end

---@param result lsp.DocumentDiagnosticReport
---@param ctx lsp.HandlerContext
local function on_pull(result, ctx)
  local client = vim.lsp.get_client_by_id(ctx.client_id)
  if not client or not is_source(client) or type(result) ~= 'table' then
    return
  end
  local uri = ctx.params.textDocument.uri
  if result.kind == 'unchanged' then
    local entry = (heard[client.id] or {})[uri]
    if entry then
      hear(client, uri, entry.items, ctx.version, 'pull')
    end
  elseif type(result.items) == 'table' then
    hear(client, uri, result.items, ctx.version, 'pull')
  end
  for related, report in pairs(type(result.relatedDocuments) == 'table' and result.relatedDocuments or {}) do
    if type(report.items) == 'table' then
      hear(client, related, report.items, nil, 'pull')
    end
  end
end

--- Puts a forwarder before the handler of a method. The handler itself is looked up at each call, as Neovim does it.
---@param handlers table<string, lsp.Handler>
---@param method string
---@param forward fun(result: any, ctx: lsp.HandlerContext)
local function wrap(handlers, method, forward)
  local own = handlers[method]
  handlers[method] = function(err, result, ctx, ...)
    if not err then
      local ok, fault = pcall(forward, result, ctx)
      if not ok then
        vim.lsp.log.error('ropewalk', 'forwarding diagnostics', fault)
      end
    end
    local handler = own or vim.lsp.handlers[method]
    return handler(err, result, ctx, ...)
  end
end

--- Forwards what this client reports from now on.
---@param client vim.lsp.Client
function M.watch(client)
  if client.name == 'ropewalk' or wrapped[client.handlers] then
    return
  end
  wrapped[client.handlers] = true
  wrap(client.handlers, PUBLISH, on_publish)
  wrap(client.handlers, PULL, on_pull)
end

--- Tells the sidecar which clients report diagnostics for a document.
---@param document ropewalk.Document
local function tell_sources(document)
  local sources = {} ---@type { id: string, name: string }[]
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = document.bufnr })) do
    if is_source(client) then
      sources[#sources + 1] = source_of(client)
    end
  end
  table.sort(sources, function(a, b)
    return a.id < b.id
  end)
  document.client:notify('ropewalk/didChangeDiagnosticSources', { uri = document.uri, sources = sources })
end

--- A client works on something, or no longer does.
---@param sidecar vim.lsp.Client
---@param client vim.lsp.Client
---@param token any
---@param kind 'begin'|'report'|'end'
local function tell_progress(sidecar, client, token, kind)
  sidecar:notify('ropewalk/diagnosticProgress', { sourceId = source_of(client).id, token = token, kind = kind })
end

--- A client began, goes on with, or ended a piece of work.
---@param client vim.lsp.Client
---@param token any
---@param kind 'begin'|'report'|'end'
local function progress(client, token, kind)
  working[client.id] = working[client.id] or {}
  working[client.id][token] = kind ~= 'end' or nil
  for _, sidecar in ipairs(sidecars.list()) do
    tell_progress(sidecar, client, token, kind)
  end
end

--- A client is gone: what it did not end has ended.
---@param client vim.lsp.Client
local function gone(client)
  for token in pairs(working[client.id] or {}) do
    progress(client, token, 'end')
  end
  working[client.id], heard[client.id] = nil, nil
end

--- A document was opened: who reports on it, what they said of the text that it still has, and what they are still at.
---@param document ropewalk.Document
local function introduce(document)
  tell_sources(document)
  local known = introduced[document.client.id] or {}
  introduced[document.client.id] = known
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = document.bufnr })) do
    if is_source(client) and not known[client.id] then
      known[client.id] = true
      for token in pairs(working[client.id] or {}) do
        tell_progress(document.client, client, token, 'begin')
      end
    end
  end
  local uri = vim.uri_from_bufnr(document.bufnr)
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = document.bufnr })) do
    local entry = is_source(client) and (heard[client.id] or {})[uri]
    if entry and entry.tick == document.version then
      send(document, client, entry)
    end
  end
end

--- `ropewalk/pullDiagnostics`: asks every client that can be asked, and answers when all have. Runs in a coroutine.
---@param params { uri: string }
---@param client_id integer
function M.pull(params, client_id)
  local document = sync.find(client_id, params.uri)
  if not document then
    return nil,
      vim.lsp.rpc_response_error(vim.lsp.protocol.ErrorCodes.InvalidParams, 'not open: ' .. tostring(params.uri))
  end
  local running = assert(coroutine.running())
  local open, waiting = 0, false
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = document.bufnr, method = PULL })) do
    if is_source(client) then
      open = open + 1
      local asked = client:request(PULL, {
        textDocument = { uri = vim.uri_from_bufnr(document.bufnr) },
      }, function(err, result, ctx)
        open = open - 1
        if client.handlers[PULL] then
          client.handlers[PULL](err, result, ctx)
        end
        if open == 0 and waiting then
          waiting = false
          coroutine.resume(running)
        end
      end, document.bufnr)
      if not asked then
        open = open - 1
      end
    end
  end
  if open > 0 then
    waiting = true
    -- A server that never answers must not keep the sidecar's question open.
    vim.defer_fn(function()
      if waiting then
        waiting = false
        coroutine.resume(running)
      end
    end, 10000)
    coroutine.yield()
  end
  return vim.NIL
end

---@param group integer
---@param config ropewalk.Config
function M.setup(group, config)
  not_sources = config.not_sources
  sync.listen(function(document, event)
    if event == 'open' then
      introduce(document)
    end
  end)
  api.nvim_create_autocmd({ 'LspAttach', 'LspDetach' }, {
    group = group,
    desc = 'ropewalk: who reports diagnostics',
    callback = function(args)
      local client = vim.lsp.get_client_by_id(args.data.client_id)
      if not client or client.name == 'ropewalk' then
        return
      end
      if args.event == 'LspAttach' then
        M.watch(client)
      end
      -- At LspDetach the client still counts as attached.
      vim.schedule(function()
        if vim.lsp.get_client_by_id(client.id) == nil or client:is_stopped() then
          gone(client)
        end
        for _, document in ipairs(sync.of_buffer(args.buf)) do
          tell_sources(document)
        end
      end)
    end,
  })
  api.nvim_create_autocmd('LspProgress', {
    group = group,
    desc = 'ropewalk: who is still checking',
    callback = function(args)
      local client = vim.lsp.get_client_by_id(args.data.client_id)
      local value = args.data.params.value
      if not client or not is_source(client) or type(value) ~= 'table' or not value.kind then
        return
      end
      progress(client, args.data.params.token, value.kind)
    end,
  })
  for _, client in ipairs(vim.lsp.get_clients()) do
    M.watch(client)
  end
end

return M
