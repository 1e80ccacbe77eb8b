--- The sidecars: one for each root, started as a language client that a buffer is attached to.

local approve = require('ropewalk.approve')
local edit = require('ropewalk.edit')
local prompt = require('ropewalk.prompt')
local diagnostics = require('ropewalk.diagnostics')
local sync = require('ropewalk.sync')

local api = vim.api

local M = {}

M.name = 'ropewalk'

---@type ropewalk.Config
local config

--- How often the sidecar of a root ended by itself.
---@type table<string, integer>
local crashes = {}

--- Roots whose sidecar was stopped by hand: they stay without one until it is started by hand.
---@type table<string, true>
local stopped = {}

--- Neovim is about to end, and its sidecars with it.
local quitting = false

--- What is called when a call can no longer be answered.
---@type table<integer, table<integer, fun(err: table)>> client id -> request id
local pending = {}

--- The root of a buffer: where its sidecar runs.
---@param bufnr integer
---@return string
function M.root(bufnr)
  local root = config.root_dir and config.root_dir(bufnr)
  if not root and api.nvim_buf_get_name(bufnr) ~= '' then
    for _, markers in ipairs(config.root_markers) do
      root = vim.fs.root(bufnr, markers)
      if root then
        break
      end
    end
  end
  return vim.fs.normalize(root or vim.fn.getcwd())
end

---@param root string
---@return boolean|string[]
local function trusted(root)
  local value = config.trusted
  if type(value) == 'function' then
    value = value(root)
  end
  if type(value) == 'table' then
    return vim.tbl_map(function(folder)
      return vim.uri_from_fname(vim.fs.normalize(vim.fn.fnamemodify(folder, ':p'))):gsub('/$', '')
    end, value)
  end
  return value and true or false
end

--- What we can do, told at `initialize`.
local function capabilities()
  return {
    general = { positionEncodings = { 'utf-16' } },
    workspace = {
      applyEdit = true,
      workspaceEdit = { documentChanges = true },
      codeLens = { refreshSupport = config.review == 'lens' },
    },
    experimental = {
      ropewalk = {
        approve = config.approve ~= false,
        ask = config.approve ~= false,
        runAgent = false,
        runTool = false,
        save = false,
        format = false,
        resync = true,
        elicit = config.approve ~= false,
        sample = false,
        diagnostics = true,
        images = false,
        events = true,
        -- A CR is content for Neovim.
        lineBreaks = 'lf',
        review = config.review,
        ownsCommands = true,
      },
    },
  }
end

--- An event of the sidecar for scripts: `User` autocommands with its params as data.
---@param event string
---@param params table
---@param client_id integer
local function fire(event, params, client_id)
  api.nvim_exec_autocmds('User', {
    pattern = event,
    modeline = false,
    data = { client_id = client_id, params = params },
  })
end

--- The answers to what the sidecar asks and tells.
---@return table<string, lsp.Handler>
local function handlers()
  return {
    ['workspace/applyEdit'] = function(_, params, ctx)
      return edit.handle(params, ctx.client_id)
    end,
    ['ropewalk/resync'] = function(_, params, ctx)
      local document = sync.find(ctx.client_id, params.uri)
      if not document then
        return nil,
          vim.lsp.rpc_response_error(vim.lsp.protocol.ErrorCodes.InvalidParams, 'not open: ' .. tostring(params.uri))
      end
      return sync.read(document)
    end,
    ['ropewalk/pullDiagnostics'] = function(_, params, ctx)
      return diagnostics.pull(params, ctx.client_id)
    end,
    ['ropewalk/approve'] = function(_, params, ctx)
      return approve.handle(params, config.approve, ctx.client_id)
    end,
    ['ropewalk/ask'] = function(_, params, ctx)
      return require('ropewalk.ask').handle(params, config.approve and 'select', ctx.client_id)
    end,
    ['ropewalk/elicit'] = function(_, params, ctx)
      return require('ropewalk.ask').elicit(params, config.approve and 'select', ctx.client_id)
    end,
    ['$/cancelRequest'] = function(_, params, ctx)
      prompt.cancel(ctx.client_id, params.id)
    end,
    ['ropewalk/toolEvent'] = function(_, params, ctx)
      if params.kind == 'complete' then
        prompt.ended(ctx.client_id, params.sessionId, params.callId)
      end
      fire('RopewalkToolEvent', params, ctx.client_id)
    end,
    ['ropewalk/filesChanged'] = function(_, params, ctx)
      for _, change in ipairs(params.changes or {}) do
        local ok, name = pcall(vim.uri_to_fname, change.uri)
        local bufnr = ok and vim.fn.bufnr(name) or -1
        if bufnr ~= -1 and api.nvim_buf_is_loaded(bufnr) then
          vim.cmd('silent! checktime ' .. bufnr)
        end
      end
      fire('RopewalkFilesChanged', params, ctx.client_id)
    end,
    ['ropewalk/changesChanged'] = function(_, params, ctx)
      fire('RopewalkChangesChanged', params, ctx.client_id)
    end,
    ['workspace/codeLens/refresh'] = function(_, _, ctx)
      -- Where lenses are shown; who shows them elsewhere, too, listens to the event.
      local client = vim.lsp.get_client_by_id(ctx.client_id)
      for bufnr in pairs(client and client.attached_buffers or {}) do
        if #vim.lsp.codelens.get(bufnr) > 0 then
          vim.lsp.codelens.refresh({ bufnr = bufnr })
        end
      end
      return vim.NIL
    end,
    -- Where questions are off, this way of asking is off too.
    ['window/showMessageRequest'] = config.approve == false and function()
      return vim.NIL
    end or nil,
  }
end

--- What the lenses and code actions of a review run.
---@return table<string, fun(command: lsp.Command, ctx: table)>
local function commands()
  local function run(command, ctx)
    local client = vim.lsp.get_client_by_id(ctx.client_id)
    if client then
      client:request('workspace/executeCommand', { command = command.command, arguments = command.arguments }, function(err)
        if err then
          vim.notify('ropewalk: ' .. err.message, vim.log.levels.ERROR)
        end
      end, ctx.bufnr)
    end
  end
  return {
    ['ropewalk.accept'] = run,
    ['ropewalk.keep'] = run,
    ['ropewalk.reject'] = run,
    ['ropewalk.undo'] = run,
  }
end

---@param client_id integer
---@param reason string
local function fail_pending(client_id, reason)
  local calls = pending[client_id] or {}
  pending[client_id] = nil
  for _, callback in pairs(calls) do
    callback({ code = -32099, message = reason })
  end
end

--- The sidecar of `root` ended without having been asked to: it is started again for its buffers, each time later.
---@param root string
---@param buffers integer[]
---@param code integer
local function revive(root, buffers, code)
  crashes[root] = (crashes[root] or 0) + 1
  if crashes[root] > config.restarts then
    vim.notify(
      ('ropewalk: the sidecar of %s ended again (exit code %d); start it with :Ropewalk start'):format(root, code),
      vim.log.levels.ERROR
    )
    stopped[root] = true
    return
  end
  vim.defer_fn(function()
    for _, bufnr in ipairs(buffers) do
      if api.nvim_buf_is_valid(bufnr) then
        M.attach(bufnr)
      end
    end
  end, 500 * 2 ^ (crashes[root] - 1))
end

---@param root string
---@return vim.lsp.ClientConfig
local function client_config(root)
  local cmd = config.cmd
  if type(cmd) == 'table' and config.log then
    cmd = vim.list_extend(vim.deepcopy(cmd), { '--log', vim.fn.fnamemodify(config.log, ':p') })
  end
  local options = vim.deepcopy(config.settings)
  options.trusted = trusted(root)
  return {
    name = M.name,
    cmd = cmd,
    cmd_cwd = vim.fn.isdirectory(root) == 1 and root or nil,
    root_dir = root,
    offset_encoding = 'utf-16',
    flags = { debounce_text_changes = 0 },
    capabilities = capabilities(),
    init_options = options,
    settings = { [M.name] = vim.deepcopy(config.settings) },
    handlers = handlers(),
    commands = commands(),
    before_init = function(params)
      if config.approve == false then
        params.capabilities.window.showMessage = nil
      end
    end,
    on_init = function(client)
      sync.take_over(client)
    end,
    on_attach = function(client, bufnr)
      sync.open(client, bufnr)
    end,
    on_exit = function(code, signal, client_id)
      vim.schedule(function()
        local client = vim.lsp.get_client_by_id(client_id)
        local buffers = vim.tbl_map(function(document)
          return document.bufnr
        end, sync.list(client_id))
        if #buffers == 0 and client then
          buffers = vim.tbl_keys(client.attached_buffers)
        end
        sync.forget(client_id)
        prompt.forget(client_id)
        fail_pending(client_id, ('the sidecar ended (exit code %d, signal %d)'):format(code, signal))
        ---@diagnostic disable-next-line: invisible
        local asked = stopped[root] or quitting or client and client._is_stopping
        if not asked then
          revive(root, buffers, code)
        end
      end)
    end,
  }
end

---@param client vim.lsp.Client
---@param wanted { root_dir?: string }
local function is_same(client, wanted)
  return client.name == M.name and not client:is_stopped() and client.root_dir == wanted.root_dir
end

local warned = false

--- Whether the program is there; says so once when it is not.
---@return boolean
local function can_start()
  local cmd = config.cmd
  if type(cmd) == 'function' or vim.fn.executable(cmd[1]) == 1 then
    return true
  end
  if not warned then
    warned = true
    vim.notify(
      ('ropewalk: no program %s; install it (cargo install ropewalk) or set `cmd`'):format(vim.inspect(cmd[1])),
      vim.log.levels.WARN
    )
  end
  return false
end

--- Whether a buffer is to be served by itself.
---@param bufnr integer
---@return boolean
local function serves(bufnr)
  return api.nvim_buf_is_loaded(bufnr) and config.filter(bufnr)
end

--- Attaches a buffer to the sidecar of its root, which is started if need be.
---@param bufnr integer
---@return integer? client_id
function M.attach(bufnr)
  if not api.nvim_buf_is_loaded(bufnr) or not can_start() then
    return nil
  end
  return vim.lsp.start(client_config(M.root(bufnr)), { bufnr = bufnr, reuse_client = is_same })
end

---@param bufnr integer
local function auto_attach(bufnr)
  if not serves(bufnr) or #sync.of_buffer(bufnr) > 0 or stopped[M.root(bufnr)] then
    return
  end
  for _, client in ipairs(vim.lsp.get_clients({ name = M.name, bufnr = bufnr, _uninitialized = true })) do
    if not client:is_stopped() then
      return
    end
  end
  M.attach(bufnr)
end

--- Starts the sidecar of the buffer's root, and attaches every buffer of that root.
---@param bufnr integer
---@return integer? client_id
function M.start(bufnr)
  local root = M.root(bufnr)
  stopped[root], crashes[root] = nil, nil
  local client_id = M.attach(bufnr)
  for _, other in ipairs(api.nvim_list_bufs()) do
    if client_id and other ~= bufnr and serves(other) and M.root(other) == root then
      M.attach(other)
    end
  end
  return client_id
end

--- Stops the sidecar of the buffer's root, or all.
---@param bufnr? integer
---@return integer count
function M.stop(bufnr)
  local count = 0
  for _, client in ipairs(vim.lsp.get_clients({ name = M.name, _uninitialized = true })) do
    local root = client.root_dir or ''
    if not bufnr or root == M.root(bufnr) then
      stopped[root] = true
      client:stop()
      count = count + 1
    end
  end
  return count
end

--- The sidecars that run.
---@return vim.lsp.Client[]
function M.list()
  return vim.lsp.get_clients({ name = M.name })
end

--- The sidecar that a call from this buffer goes to: the buffer's, else that of its root, else the only one.
---@param bufnr integer
---@return vim.lsp.Client?
function M.of(bufnr)
  local own = vim.lsp.get_clients({ name = M.name, bufnr = bufnr })
  if own[1] then
    return own[1]
  end
  local all = M.list()
  local root = M.root(bufnr)
  for _, client in ipairs(all) do
    if client.root_dir == root then
      return client
    end
  end
  return #all == 1 and all[1] or nil
end

--- Sends a request. `callback` is called exactly once, also when the sidecar ends before it has answered.
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param callback fun(err?: table, result?: any)
---@return integer? request_id
function M.request(client, method, params, callback)
  for _, document in ipairs(sync.list(client.id)) do
    sync.check(document)
  end
  local id ---@type integer?
  local done = false
  local function finish(err, result)
    if done then
      return
    end
    done = true
    if id and pending[client.id] then
      pending[client.id][id] = nil
    end
    callback(err, result)
  end
  local sent
  sent, id = client:request(method, params, finish)
  if not sent then
    vim.schedule(function()
      finish({ code = -32099, message = 'the sidecar does not run' })
    end)
    return nil
  end
  if id and not done then
    pending[client.id] = pending[client.id] or {}
    pending[client.id][id] = finish
  end
  return id
end

--- Tells every sidecar whether what a folder contains may be run.
---@param folder string
---@param value boolean
function M.trust(folder, value)
  local root = vim.uri_from_fname(vim.fs.normalize(vim.fn.fnamemodify(folder, ':p'))):gsub('/$', '')
  for _, client in ipairs(M.list()) do
    client:notify('ropewalk/didChangeTrust', { root = root, trusted = value })
  end
end

---@param group integer
---@param options ropewalk.Config
function M.setup(group, options)
  config = options
  stopped, crashes, warned = {}, {}, false
  sync.setup(group)
  diagnostics.setup(group, options)
  api.nvim_create_autocmd('LspDetach', {
    group = group,
    desc = 'ropewalk: textDocument/didClose',
    callback = function(args)
      sync.close(args.data.client_id, args.buf)
    end,
  })
  api.nvim_create_autocmd('VimLeavePre', {
    group = group,
    callback = function()
      quitting = true
    end,
  })
  if not options.auto_start then
    return
  end
  api.nvim_create_autocmd({ 'BufEnter', 'BufReadPost', 'BufNewFile', 'BufFilePost', 'FileType' }, {
    group = group,
    desc = 'ropewalk: attach the buffer',
    callback = function(args)
      auto_attach(args.buf)
    end,
  })
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    auto_attach(bufnr)
  end
end

return M
