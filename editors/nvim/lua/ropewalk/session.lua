--- Sessions: conversations of a model, each with what it may and wishes. A session is opened again, as it was, when its
--- sidecar is started again.

local await = require('ropewalk.await')
local wire = require('ropewalk.wire')

local M = {}

--- What a session may be opened with; see |ropewalk.open_session()|.
---@class ropewalk.SessionOptions
---@field id? string its name; default one of its own
---@field root? string which sidecar (default: that of `bufnr`)
---@field bufnr? integer which sidecar (default: that of the current buffer)
---@field label? string for people
---@field mode? 'build'|'review'|'plan'|'explore'
---@field apply? 'now'|'propose'
---@field save? 'never'|'ifClean'|'always'
---@field roots? string[] folders outside of which everything is asked about
---@field tools? { enable?: string[], disable?: string[] }
---@field rules? { allow?: string[], ask?: string[], deny?: string[] }
---@field budgets? { max_bytes?: integer }
---@field guards? { repeats?: boolean, failures?: boolean, undone?: boolean }

---@class ropewalk.Session
---@field id string
---@field root string
---@field info? table what the sidecar granted; nil until it has answered
---@field package wishes table params of `ropewalk/openSession`
---@field package mode? string what a person set
---@field package state 'opening'|'open'|'failed'|'closed'
---@field package fault? table why it is not open
---@field package waiting fun(err?: table)[]
---@field package revision integer rises with each change of the wishes
---@field package sent? string which sidecar was told which revision
local Session = {}
Session.__index = Session

---@type table<string, table<string, ropewalk.Session>> root -> id -> session
local sessions = {}
local count = 0

---@param self ropewalk.Session
---@param state 'open'|'failed'
---@param fault? table
local function settle(self, state, fault)
  self.state, self.fault = state, fault
  local waiting = self.waiting
  self.waiting = {}
  for _, act in ipairs(waiting) do
    act(fault)
  end
end

--- Runs `act` once a session is what it was asked to be: before that its calls would have the rights of one that nobody
--- opened. Sessions that are not ours are nobody's matter here.
---@param root string
---@param id? string
---@param act fun(err?: table)
function M.gate(root, id, act)
  local session = id and (sessions[root] or {})[id]
  if not session or session.state == 'open' then
    act()
  elseif session.state == 'opening' then
    session.waiting[#session.waiting + 1] = act
  else
    act(session.fault or { message = 'the session is closed' })
  end
end

---@package
---@param session ropewalk.Session
---@param client vim.lsp.Client
---@return string
function M.stamp(session, client)
  return ('%d %d'):format(client.id, session.revision)
end

--- Sends `ropewalk/openSession` and what the person said of the mode.
---@param session ropewalk.Session
---@param client vim.lsp.Client
---@param done? fun(err?: table, info?: table)
local function open(session, client, done)
  local clients = require('ropewalk.client')
  session.state = 'opening'
  session.sent = M.stamp(session, client)
  local params = vim.deepcopy(session.wishes)
  params.sessionId = session.id
  clients.request(client, 'ropewalk/openSession', params, function(err, info)
    session.info = info or session.info
    if session.state == 'opening' then
      if err and client:is_stopped() then
        -- The sidecar ended: the session is opened by the next one.
        vim.lsp.log.warn('ropewalk', 'the sidecar ended before it opened', session.id)
      else
        settle(session, err and 'failed' or 'open', err)
      end
    end
    if done then
      done(err, info)
    end
  end)
  -- What goes without a question ends with the sidecar.
  if session.mode and session.mode ~= 'danger' then
    clients.request(client, 'ropewalk/setMode', { sessionId = session.id, mode = session.mode }, function() end)
  end
end

--- A sidecar was started: its sessions are opened again.
---@param client vim.lsp.Client
function M.reopen(client)
  for _, session in vim.spairs(sessions[client.root_dir] or {}) do
    if session.state ~= 'closed' then
      open(session, client)
    end
  end
end

--- The sidecar of a root is gone: its sessions are open no more, until there is another.
---@param root string
function M.suspend(root)
  for _, session in pairs(sessions[root] or {}) do
    if session.state == 'open' then
      session.state = 'opening'
    end
  end
end

--- No other sidecar will be started for a root by itself: nobody is to wait for it.
---@param root string
---@param reason string
function M.give_up(root, reason)
  for _, session in pairs(sessions[root] or {}) do
    local waiting = session.waiting
    session.waiting = {}
    for _, act in ipairs(waiting) do
      act({ code = -32099, message = reason })
    end
  end
end

--- The sessions that were opened here.
---@return ropewalk.Session[]
function M.list()
  local list = {} ---@type ropewalk.Session[]
  for _, by_id in vim.spairs(sessions) do
    for _, session in vim.spairs(by_id) do
      if session.state ~= 'closed' then
        list[#list + 1] = session
      end
    end
  end
  return list
end

--- Opens a session. Calls wait until it is open, and fail where it cannot be.
---@param root string
---@param options ropewalk.SessionOptions
---@param callback? fun(err?: table, info?: table)
---@return ropewalk.Session
function M.open(root, options, callback)
  count = count + 1
  local id = options.id or ('nvim-%d-%d'):format(vim.uv.os_getpid(), count)
  local wishes = wire.params(options)
  wishes.id = nil
  sessions[root] = sessions[root] or {}
  local session = sessions[root][id]
  if session then
    local before = session.state == 'closed' and {} or session.wishes
    session.wishes, session.state = vim.tbl_extend('force', before, wishes), 'opening'
    session.revision = session.revision + 1
  else
    session = setmetatable({
      id = id,
      root = root,
      wishes = wishes,
      state = 'opening',
      waiting = {},
      revision = 1,
    }, Session)
    sessions[root][id] = session
  end
  require('ropewalk.client').reach(root, function(client, err)
    if not client then
      settle(session, 'failed', err)
      if callback then
        callback(err)
      end
    elseif session.sent ~= M.stamp(session, client) then
      open(session, client, callback)
    elseif callback then
      -- It was opened with all others when the sidecar was started.
      M.gate(root, id, function(fault)
        callback(fault, not fault and session.info or nil)
      end)
    end
  end)
  return session
end

--- Options that go to a session, and the callback: the options may be left out.
---@param self ropewalk.Session
---@param options? table|function
---@param callback? function
---@return table options
---@return function? callback
local function within(self, options, callback)
  if type(options) == 'function' then
    options, callback = nil, options
  end
  return vim.tbl_extend('force', options or {}, { session_id = self.id, root = self.root }), callback
end

--- Calls a tool in this session, as |ropewalk.call()| does.
---@param name string
---@param arguments table|string
---@param options? ropewalk.CallOptions|fun(err?: table, result?: ropewalk.CallResult)
---@param callback? fun(err?: table, result?: ropewalk.CallResult)
function Session:call(name, arguments, options, callback)
  options, callback = within(self, options, callback)
  return require('ropewalk').call(name, arguments, options, callback)
end

--- Calls several tools in this session, as |ropewalk.call_many()| does.
---@param calls ropewalk.ManyCall[]
---@param options? ropewalk.CallOptions|fun(err?: table, results?: ropewalk.CallResult[])
---@param callback? fun(err?: table, results?: ropewalk.CallResult[])
function Session:call_many(calls, options, callback)
  options, callback = within(self, options, callback)
  return require('ropewalk').call_many(calls, options, callback)
end

--- What a call would do; as |ropewalk.preview()|.
function Session:preview(name, arguments, options, callback)
  options, callback = within(self, options, callback)
  return require('ropewalk').preview(name, arguments, options, callback)
end

--- The functions of the module that take options and a callback, for this session.
for _, name in ipairs({
  'accept',
  'cancel',
  'changes',
  'did_show',
  'end_turn',
  'forget',
  'grants',
  'job_output',
  'jobs',
  'keep',
  'list_tools',
  'output',
  'reject',
  'status',
  'stop_job',
  'todos',
  'undo',
}) do
  ---@param options? table|fun(err?: table, result?: any)
  ---@param callback? fun(err?: table, result?: any)
  Session[name] = function(self, options, callback)
    options, callback = within(self, options, callback)
    return require('ropewalk')[name](options, callback)
  end
end

--- Sends a request about this session.
---@param self ropewalk.Session
---@param method string
---@param params table
---@param done fun(err?: table, result?: any)
local function request(self, method, params, done)
  params.sessionId = self.id
  require('ropewalk.client').send({ root = self.root }, method, params, done)
end

--- Changes what the session may and wishes; what is absent stays.
---@param options ropewalk.SessionOptions
---@param callback? fun(err?: table, info?: table)
function Session:update(options, callback)
  return await.either(callback, function(done)
    local wishes = wire.params(options)
    request(self, 'ropewalk/updateSession', vim.deepcopy(wishes), function(err, info)
      if not err then
        self.wishes, self.revision = vim.tbl_extend('force', self.wishes, wishes), self.revision + 1
        self.info = info
      end
      done(err, info)
    end)
  end)
end

--- The person chose a mode, which may be a looser one. Only ever to be called for a person.
---@param mode 'build'|'review'|'plan'|'explore'|'danger'
---@param callback? fun(err?: table, info?: table)
function Session:set_mode(mode, callback)
  return await.either(callback, function(done)
    request(self, 'ropewalk/setMode', { mode = mode }, function(err, info)
      if not err then
        self.mode, self.info = mode, info
      end
      done(err, info)
    end)
  end)
end

--- Cancels its calls and drops it. Opened again under its id, it has what was kept of it. Calls through this object fail
--- from now on: they would be those of a session that nobody opened.
---@param callback? fun(err?: table, result?: table)
function Session:close(callback)
  return await.either(callback or (not await.can_wait() and function() end or nil), function(done)
    self.state = 'closed'
    local client = require('ropewalk.client').running(self.root)
    if client then
      require('ropewalk.client').request(client, 'ropewalk/closeSession', { sessionId = self.id }, done)
    else
      done(nil, { cancelled = 0 })
    end
  end)
end

--- Cancels its calls and forgets everything about it, but for what it was opened with.
---@param callback? fun(err?: table, result?: table)
function Session:reset(callback)
  return await.either(callback or (not await.can_wait() and function() end or nil), function(done)
    require('ropewalk.client').reach(self.root, function(client, err)
      if not client then
        return done(err)
      end
      self.mode = nil
      require('ropewalk.client').request(client, 'ropewalk/resetSession', { sessionId = self.id }, done)
      -- At once: no call is to come between.
      open(self, client)
    end)
  end)
end

--- Calls `listener` at each event that is of this session. The result ends that.
---@param event string see |ropewalk-events|
---@param listener fun(params: table, client_id: integer, event: string)
---@return fun() off
function Session:on(event, listener)
  return require('ropewalk.events').on(event, function(params, client_id, name)
    local client = vim.lsp.get_client_by_id(client_id)
    if params.sessionId == self.id and (not client or client.root_dir == self.root) then
      listener(params, client_id, name)
    end
  end)
end

return M
