--- The sidecars: one for each root, started as a language client that a buffer is attached to.

local answers = require('ropewalk.answers')
local context = require('ropewalk.context')
local diagnostics = require('ropewalk.diagnostics')
local events = require('ropewalk.events')
local log = require('ropewalk.log')
local program = require('ropewalk.program')
local request = require('ropewalk.request')
local review = require('ropewalk.review')
local rpc = require('ropewalk.rpc')
local say = require('ropewalk.review.say')
local session = require('ropewalk.session')
local sidecars = require('ropewalk.sidecars')
local sync = require('ropewalk.sync')
local tools = require('ropewalk.tools')
local trust = require('ropewalk.trust')

local api = vim.api

local M = {}

M.name = sidecars.name

--- Sends a request to a sidecar that runs.
M.request = request.send

---@type ropewalk.Config
local config

--- How often the sidecar of a root ended by itself.
---@type table<string, integer>
local crashes = {}

--- A sidecar that ran so long (ms) did not crash because it was started.
local STEADY = 60000

--- Roots whose sidecar is not started by itself any more, with the reason: it was stopped by hand, or ended too often.
---@type table<string, string>
local stopped = {}

--- Roots whose sidecar is asked to end so that another can start.
---@type table<string, true>
local restarting = {}

--- Neovim is about to end, and its sidecars with it.
local quitting = false

--- Sidecars that have their documents, tools and sessions, since when (ms).
---@type table<integer, integer>
local ready = {}

--- Who waits for the sidecar of a root.
---@type table<string, fun(client?: vim.lsp.Client, err?: table)[]>
local queues = {}

--- Buffers that are served because somebody said so.
---@type table<integer, boolean>
local wanted = {}

--- A folder by its whole name: what is relative would be another one for the sidecar.
---@param folder string
---@return string
function M.folder(folder)
  return vim.fs.normalize(vim.fn.fnamemodify(vim.fs.normalize(folder), ':p'))
end

--- What the option `root_dir` last gave that is no root: it is said once.
---@type string?
local root_fault

--- What the option `root_dir` says.
---@param bufnr integer
---@return string?
local function own_root(bufnr)
  local ok, root = pcall(config.root_dir, bufnr)
  if ok and (root == nil or type(root) == 'string' and root ~= '') then
    return root
  end
  local fault = ok and 'it gave ' .. vim.inspect(root) or tostring(root)
  if fault ~= root_fault then
    root_fault = fault
    say.warn('the option `root_dir` failed: ' .. fault)
  end
  return nil
end

--- The root of a buffer: where its sidecar runs.
---@param bufnr integer
---@return string
function M.root(bufnr)
  local root = config.root_dir and own_root(bufnr)
  if not root and api.nvim_buf_get_name(bufnr) ~= '' then
    for _, markers in ipairs(config.root_markers) do
      root = vim.fs.root(bufnr, markers)
      if root then
        break
      end
    end
  end
  return M.folder(root or vim.fn.getcwd())
end

---@param root string
---@param client? vim.lsp.Client
---@param err? table
local function flush(root, client, err)
  local queue = queues[root] or {}
  queues[root] = nil
  for _, act in ipairs(queue) do
    act(client, err)
  end
end

--- The sidecar of `root` ended without having been asked to: it is started again for its buffers, each time later.
---@param root string
---@param buffers integer[]
---@param code integer
---@param signal integer
local function revive(root, buffers, code, signal)
  crashes[root] = (crashes[root] or 0) + 1
  local how = signal ~= 0 and ('signal %d'):format(signal) or ('exit code %d'):format(code)
  if crashes[root] > config.restarts then
    stopped[root] = ('the sidecar of %s ended again (%s); start it with :Ropewalk start'):format(root, how)
    say.say(stopped[root], vim.log.levels.ERROR)
    session.give_up(root, stopped[root])
    return
  end
  say.warn(('the sidecar ended (%s) and is started again'):format(how))
  vim.defer_fn(function()
    for _, bufnr in ipairs(buffers) do
      if api.nvim_buf_is_valid(bufnr) and not stopped[root] then
        M.attach(bufnr)
      end
    end
  end, 500 * 2 ^ (crashes[root] - 1))
end

--- A sidecar answered `initialize`: it is told what there is before anything is asked of it.
---@param client vim.lsp.Client
local function on_init(client)
  sync.take_over(client)
  tools.introduce(client)
  session.reopen(client)
  -- Right after this its documents are opened.
  vim.schedule(function()
    if client:is_stopped() then
      return
    end
    ready[client.id] = vim.uv.now()
    flush(client.root_dir, client)
    events.fire('started', { root = client.root_dir }, client.id)
  end)
end

--- Whether a root has a sidecar beside this one.
---@param root string
---@param client_id integer
---@return boolean
local function another_runs(root, client_id)
  return vim.iter(sidecars.list({ _uninitialized = true })):any(function(client)
    return client.id ~= client_id and client.root_dir == root and not client:is_stopped()
  end)
end

---@param root string
---@param code integer
---@param signal integer
---@param client_id integer
local function on_exit(root, code, signal, client_id)
  local client = vim.lsp.get_client_by_id(client_id)
  local buffers = vim.tbl_map(function(document)
    return document.bufnr
  end, sync.list(client_id))
  if #buffers == 0 and client then
    buffers = vim.tbl_keys(client.attached_buffers)
  end
  local steady = ready[client_id] and vim.uv.now() - ready[client_id] > STEADY
  ready[client_id] = nil
  sync.forget(client_id)
  context.forget(client_id)
  log.forget(client_id)
  local reason = ('the sidecar ended (exit code %d, signal %d)'):format(code, signal)
  local replaced = restarting[root] or another_runs(root, client_id)
  if not replaced or restarting[root] then
    session.suspend(root)
  end
  request.fail(client_id, reason)
  if not replaced then
    flush(root, nil, { code = -32099, message = reason })
  end
  ---@diagnostic disable-next-line: invisible
  local asked = stopped[root] or quitting or client and client._is_stopping
  if not asked then
    crashes[root] = not steady and crashes[root] or nil
    revive(root, buffers, code, signal)
  elseif not replaced then
    session.give_up(root, reason)
  end
  events.fire('ended', { root = root, code = code, signal = signal, asked = asked and true or false }, client_id)
end

---@param root string
---@param cmd string[]|function
---@return vim.lsp.ClientConfig
local function client_config(root, cmd)
  local cwd = vim.fn.isdirectory(root) == 1 and root or nil
  local ended ---@type { code: integer, signal: integer }?
  local options = vim.deepcopy(config.settings)
  options.trusted = trust.of(config, root)
  if type(cmd) == 'table' then
    cmd = vim.deepcopy(cmd)
    if config.log then
      vim.list_extend(cmd, { '--log', vim.fn.fnamemodify(config.log, ':p') })
    end
  end
  return {
    name = M.name,
    cmd = type(cmd) == 'function' and cmd or function(dispatchers)
      return rpc.start(cmd --[[@as string[] ]], dispatchers, {
        cwd = cwd,
        -- Neovim would tell of a crash in a message that waits for a key.
        on_end = function(code, signal)
          ended = { code = code, signal = signal }
        end,
      })
    end,
    root_dir = root,
    offset_encoding = 'utf-16',
    flags = { debounce_text_changes = 0 },
    capabilities = answers.capabilities(config),
    init_options = options,
    settings = { [M.name] = vim.deepcopy(config.settings) },
    handlers = answers.handlers(config),
    commands = answers.commands(),
    before_init = function(params)
      if config.approve == false then
        params.capabilities.window.showMessage = nil
      end
    end,
    on_init = on_init,
    on_attach = function(client, bufnr)
      sync.open(client, bufnr)
      review.on_attach(client, bufnr)
    end,
    on_exit = function(code, signal, client_id)
      vim.schedule(function()
        on_exit(root, ended and ended.code or code, ended and ended.signal or signal, client_id)
      end)
    end,
  }
end

---@param client vim.lsp.Client
---@param other { root_dir?: string }
local function is_same(client, other)
  return sidecars.is_ours(client) and not client:is_stopped() and client.root_dir == other.root_dir
end

local warned = false

--- The command line of the sidecar; says once when there is none.
---@return string[]|function|nil cmd
---@return string? fault
local function command_line()
  local cmd, fault = program.find(config)
  if not cmd then
    fault = ('%s; %s'):format(fault, program.advice())
    if not warned then
      warned = true
      say.warn(fault)
    end
  end
  return cmd, fault
end

--- Whether a buffer is to be served by itself.
---@param bufnr integer
---@return boolean
local function serves(bufnr)
  if not api.nvim_buf_is_loaded(bufnr) then
    return false
  end
  local ok, answer = pcall(config.filter, bufnr)
  return ok and answer and true or false
end

--- Attaches a buffer to the sidecar of its root, which is started if need be.
---@param bufnr integer
---@param by_hand? boolean whatever `filter` says
---@return integer? client_id
function M.attach(bufnr, by_hand)
  wanted[bufnr] = by_hand or wanted[bufnr]
  local cmd = api.nvim_buf_is_loaded(bufnr) and command_line()
  if not cmd then
    return nil
  end
  return vim.lsp.start(client_config(M.root(bufnr), cmd), { bufnr = bufnr, reuse_client = is_same })
end

---@param bufnr integer
local function auto_attach(bufnr)
  if not serves(bufnr) or #sync.of_buffer(bufnr) > 0 then
    return
  end
  local root = M.root(bufnr)
  if stopped[root] or restarting[root] then
    return
  end
  for _, client in ipairs(sidecars.list({ bufnr = bufnr, _uninitialized = true })) do
    if not client:is_stopped() then
      return
    end
  end
  M.attach(bufnr)
end

--- No longer serves a buffer that is not to be served any more.
---@param bufnr integer
local function release(bufnr)
  if not wanted[bufnr] and #sync.of_buffer(bufnr) > 0 and not serves(bufnr) then
    for _, client in ipairs(sidecars.list({ bufnr = bufnr })) do
      vim.lsp.buf_detach_client(bufnr, client.id)
    end
  end
end

--- Starts the sidecar of a root, and attaches every buffer of that root that is served.
---@param root string
---@return integer? client_id
---@return string? fault
local function launch(root)
  local cmd, fault = command_line()
  if not cmd then
    return nil, fault
  end
  local client_id = vim.lsp.start(client_config(root, cmd), { attach = false, reuse_client = is_same })
  for _, bufnr in ipairs(client_id and api.nvim_list_bufs() or {}) do
    if serves(bufnr) and M.root(bufnr) == root then
      M.attach(bufnr)
    end
  end
  return client_id, not client_id and 'the sidecar cannot be started, see :messages' or nil
end

--- Starts the sidecar of the buffer's root, and attaches the buffer and every other one of that root that is served.
---@param bufnr integer
---@return integer? client_id
function M.start(bufnr)
  local root = M.root(bufnr)
  stopped[root], crashes[root], warned = nil, nil, false
  local client_id = launch(root)
  return client_id
end

--- Asks a sidecar to end, and makes it if it does not.
---@param client vim.lsp.Client
local function finish(client)
  client:stop()
  vim.defer_fn(function()
    if not client.rpc.is_closing() then
      client.rpc.terminate()
    end
  end, 5000)
end

--- Stops the sidecar of the buffer's root, or all.
---@param bufnr? integer
---@return integer count
function M.stop(bufnr)
  local count = 0
  for _, client in ipairs(sidecars.list({ _uninitialized = true })) do
    local root = client.root_dir or ''
    if not client:is_stopped() and (not bufnr or root == M.target(bufnr)) then
      stopped[root] = ('the sidecar of %s was stopped; start it with :Ropewalk start'):format(root)
      finish(client)
      count = count + 1
    end
  end
  return count
end

--- Stops the sidecar of the buffer's root and starts it again once it has ended.
---@param bufnr integer
---@param callback? fun(err?: table, client_id?: integer)
function M.restart(bufnr, callback)
  local root = M.target(bufnr)
  local function start()
    stopped[root], crashes[root], restarting[root], warned = nil, nil, nil, false
    M.reach(root, function(client, err)
      if callback then
        callback(err, client and client.id)
      end
    end)
  end
  local running = vim.tbl_filter(function(client)
    return client.root_dir == root and not client:is_stopped()
  end, sidecars.list({ _uninitialized = true }))
  if #running == 0 then
    return start()
  end
  local off
  off = events.on('ended', function(params)
    if params.root == root then
      off()
      vim.schedule(start)
    end
  end)
  stopped[root], restarting[root] = nil, true
  finish(running[1])
end

--- The sidecars that run.
---@return vim.lsp.Client[]
function M.list()
  return vim.tbl_filter(function(client)
    return not client:is_stopped()
  end, sidecars.list())
end

--- The sidecar of a root that can be asked; nil where there is none, or not yet.
---@param root string
---@return vim.lsp.Client?
function M.running(root)
  for _, client in ipairs(M.list()) do
    if client.root_dir == root and ready[client.id] then
      return client
    end
  end
end

--- The root whose sidecar a call from this buffer goes to: that of the sidecar that has the buffer, else the buffer's
--- own, if one runs there, else that of the only one that runs, else the buffer's own.
---@param bufnr integer
---@return string root
function M.target(bufnr)
  local own = sidecars.list({ bufnr = bufnr })[1]
  if own and not own:is_stopped() then
    return own.root_dir
  end
  local all, root = M.list(), M.root(bufnr)
  for _, client in ipairs(all) do
    if client.root_dir == root then
      return root
    end
  end
  -- A pane of its own belongs to what is worked on, a file of another root does not.
  local has_file = vim.bo[bufnr].buftype == '' and api.nvim_buf_get_name(bufnr) ~= ''
  return #all == 1 and not has_file and all[1].root_dir or root
end

--- Runs `act` with the sidecar of a root, which is started if need be.
---@param root string
---@param act fun(client?: vim.lsp.Client, err?: table)
function M.reach(root, act)
  local client = M.running(root)
  if client then
    return act(client)
  elseif stopped[root] then
    return act(nil, { code = -32099, message = stopped[root] })
  end
  queues[root] = queues[root] or {}
  table.insert(queues[root], act)
  if restarting[root] then
    return
  end
  local client_id, fault = launch(root)
  if not client_id then
    flush(root, nil, { code = -32099, message = fault })
  end
end

--- Methods that run something.
local runs = { ['ropewalk/callTool'] = true, ['ropewalk/callTools'] = true }

--- Sends a request to the sidecar that a target names, which is started if need be. Never calls back before it returns.
---@param target { root?: string, bufnr?: integer }
---@param method string
---@param params table
---@param done fun(err?: table, result?: any) called exactly once
---@return fun() cancel takes the request back
function M.send(target, method, params, done)
  local root = target.root or M.target(target.bufnr)
  local cancelled, client_id, request_id = false, nil, nil
  local function fail(err)
    vim.schedule(function()
      done(err)
    end)
  end
  local function send()
    M.reach(root, function(client, err)
      if not client then
        return fail(err)
      end
      session.gate(root, params.sessionId, function(fault)
        if fault or cancelled then
          return fail(fault or { code = -32800, message = 'cancelled' })
        end
        client_id, request_id = client.id, M.request(client, method, params, done)
      end)
    end)
  end
  if runs[method] then
    trust.first(config, root, M.tell_trust, send)
  else
    send()
  end
  return function()
    cancelled = true
    local client = client_id and vim.lsp.get_client_by_id(client_id)
    if client and request_id then
      client:cancel_request(request_id)
    end
  end
end

--- Tells every sidecar whether what a folder contains may be run.
---@param folder string
---@param value boolean
function M.tell_trust(folder, value)
  for _, client in ipairs(M.list()) do
    client:notify('ropewalk/didChangeTrust', { root = trust.uri(folder), trusted = value })
  end
end

--- The person said whether what a folder contains may be run.
---@param folder string
---@param value boolean
---@return string? fault why that is not remembered
function M.trust(folder, value)
  local fault = trust.say(config, folder, value)
  M.tell_trust(folder, value)
  return fault
end

--- The program was built: whatever waits for it starts.
function M.built()
  warned = false
  for _, bufnr in ipairs(config.auto_start and api.nvim_list_bufs() or {}) do
    auto_attach(bufnr)
  end
end

---@param group integer
---@param options ropewalk.Config
function M.setup(group, options)
  config = options
  stopped, crashes, warned = {}, {}, false
  log.limit = options.log_lines
  sync.setup(group)
  diagnostics.setup(group, options)
  context.setup(group)
  require('ropewalk.busy').setup(group)
  require('ropewalk.save').setup(group)
  review.setup(group, options)
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
  api.nvim_create_autocmd('OptionSet', {
    group = group,
    pattern = 'buftype',
    desc = 'ropewalk: a buffer became a pane, or a file',
    -- The buffer of the option need not be the current one.
    callback = vim.schedule_wrap(function()
      for _, bufnr in ipairs(api.nvim_list_bufs()) do
        release(bufnr)
      end
    end),
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
