--- Ropewalk for Neovim: runs an agent's tool calls in your unsaved buffers, and brings the diagnostics back.
---
--- A thin adapter. It starts the sidecar, keeps its documents equal to the buffers, applies its edits at exactly their
--- version, and forwards what other language clients report. What a call does and may do is decided in the sidecar.

local await = require('ropewalk.await')
local wire = require('ropewalk.wire')

local M = {}

---@alias ropewalk.Error { code?: integer, message: string }

--- Where a request goes: to the sidecar of a root, or to that of a buffer (default: the current one).
---@class ropewalk.Target
---@field root? string
---@field bufnr? integer

--- One call of a tool, and what goes with it.
---@class ropewalk.CallOptions: ropewalk.Target
---@field session_id? string
---@field turn_id? string
---@field call_id? string
---@field approved_by? string the `previewId` of a preview that was consented to
---@field apply? 'now'|'propose'
---@field diagnostics? { wait?: 'none'|'auto'|'fresh', deadlineMs?: integer, sources?: string[] }
---@field max_bytes? integer

--- One of several calls.
---@class ropewalk.ManyCall
---@field name string
---@field arguments? table|string
---@field call_id? string
---@field turn_id? string
---@field approved_by? string
---@field max_bytes? integer

--- What a call came to; see the sidecar's `schema` command for all of it.
---@class ropewalk.CallResult
---@field callId string
---@field name string
---@field status 'ok'|'error'|'denied'|'cancelled'|'superseded'
---@field isError boolean
---@field content { type: string, text?: string }[]

--- Which changes or proposals are meant: all that fit what is given.
---@class ropewalk.Changes: ropewalk.Target
---@field session_id? string
---@field turn_id? string
---@field call_id? string
---@field uri? string
---@field hunk_id? string

---@type ropewalk.Config?
local config
local count = 0

--- Sets the plugin up. Safe to call again: the last options count for sidecars that are started from then on.
---@param options? ropewalk.Options
function M.setup(options)
  local resolved = require('ropewalk.config').resolve(options)
  if vim.fn.has('nvim-0.11') == 0 then
    error('ropewalk: Neovim 0.11 or newer is needed', 0)
  end
  config = resolved
  local group = vim.api.nvim_create_augroup('ropewalk', { clear = true })
  require('ropewalk.client').setup(group, resolved)
end

--- The options in force; nil before `setup`.
---@return ropewalk.Config?
function M.config()
  return config
end

---@param bufnr? integer
---@return integer
local function resolve(bufnr)
  if not config then
    error("ropewalk: call require('ropewalk').setup() first", 0)
  end
  return (bufnr == nil or bufnr == 0) and vim.api.nvim_get_current_buf() or bufnr
end

---@param target? ropewalk.Target
---@return { root?: string, bufnr: integer }
local function target_of(target)
  target = target or {}
  local bufnr = resolve(target.bufnr)
  return { root = target.root and require('ropewalk.client').folder(target.root), bufnr = bufnr }
end

---@param value any
---@return boolean
local function is_list_of_tables(value)
  return vim.islist(value) and vim.iter(value):all(function(item)
    return type(item) == 'table'
  end)
end

--- Options and callback, of which the options may be left out, or come last.
---@param options? table|function
---@param callback? function|table
---@return table options
---@return function? callback
local function sorted(options, callback)
  if vim.is_callable(options) then
    options, callback = callback, options
  end
  vim.validate('options', options, 'table', true)
  vim.validate('callback', callback, 'callable', true)
  return options or {}, callback --[[@as function?]]
end

--- Sends one of the sidecar's own requests, for instance `ropewalk/forget`.
---@param method string
---@param params table
---@param callback? fun(err?: ropewalk.Error, result?: any) called exactly once; without it, in a coroutine, waits
---@param where? integer|ropewalk.Target whose sidecar is asked (default: that of the current buffer)
function M.request(method, params, callback, where)
  local target = target_of(type(where) == 'table' and where or { bufnr = where })
  return await.either(callback, function(done)
    require('ropewalk.client').send(target, method, next(params) and params or vim.empty_dict(), done)
  end)
end

--- Calls a tool. The error is for calls that were not accepted, or that a sidecar that ended will never answer; else
--- there is a result, which may be one that says that the tool failed.
---@param name string
---@param arguments table|string the arguments, or the raw text that a model wrote
---@param options? ropewalk.CallOptions
---@param callback? fun(err?: ropewalk.Error, result?: ropewalk.CallResult) called exactly once
---@return fun()|ropewalk.Error|nil cancel with a callback; without one, in a coroutine, the error
---@return ropewalk.CallResult? result
---@overload fun(name: string, arguments: table|string, callback: function, options?: ropewalk.CallOptions): fun()
function M.call(name, arguments, options, callback)
  vim.validate('name', name, 'string')
  vim.validate('arguments', arguments, { 'table', 'string' })
  options, callback = sorted(options, callback)
  local target = target_of(options)
  count = count + 1
  local params = wire.params(options)
  params.callId = params.callId or ('nvim-%d'):format(count)
  params.name, params.arguments = name, wire.arguments(arguments)
  require('ropewalk.log').expect(params.sessionId, params.callId, name, arguments)
  return await.either(callback, function(done)
    return require('ropewalk.client').send(target, 'ropewalk/callTool', params, done)
  end)
end

--- Calls several tools at once, as a model does. The results come in the order of the calls.
---@param calls ropewalk.ManyCall[]
---@param options? ropewalk.CallOptions for all of them
---@param callback? fun(err?: ropewalk.Error, results?: ropewalk.CallResult[])
---@return fun()|ropewalk.Error|nil cancel with a callback; without one, in a coroutine, the error
---@return ropewalk.CallResult[]? results
function M.call_many(calls, options, callback)
  vim.validate('calls', calls, is_list_of_tables, 'a list of calls')
  options, callback = sorted(options, callback)
  local target = target_of(options)
  local params = wire.params(options)
  params.calls = vim.tbl_map(function(call)
    count = count + 1
    local one = wire.params(call)
    one.callId = one.callId or ('nvim-%d'):format(count)
    one.arguments = wire.arguments(call.arguments)
    require('ropewalk.log').expect(one.sessionId or params.sessionId, one.callId, call.name, call.arguments)
    return one
  end, calls)
  return await.either(callback, function(done)
    return require('ropewalk.client').send(target, 'ropewalk/callTools', params, function(err, answer)
      done(err, answer and answer.results)
    end)
  end)
end

--- What a call would do; nothing is run, and nobody is asked. `call` with `approved_by = preview.previewId` is that call,
--- consented to.
---@param name string
---@param arguments table|string
---@param options? ropewalk.CallOptions
---@param callback? fun(err?: ropewalk.Error, preview?: table)
function M.preview(name, arguments, options, callback)
  vim.validate('name', name, 'string')
  vim.validate('arguments', arguments, { 'table', 'string' })
  options, callback = sorted(options, callback)
  local target = target_of(options)
  local params = wire.params(options)
  params.name, params.arguments = name, wire.arguments(arguments)
  return await.either(callback, function(done)
    require('ropewalk.client').send(target, 'ropewalk/previewCall', params, done)
  end)
end

--- A function that sends its options as the params of a method.
---@param method string
---@param field? string only this of the answer
---@return fun(options?: table|function, callback?: fun(err?: ropewalk.Error, result?: any)): any, any
local function asks(method, field)
  return function(options, callback)
    options, callback = sorted(options, callback)
    local target = target_of(options)
    local params = wire.params(options)
    return await.either(callback, function(done)
      require('ropewalk.client').send(target, method, params, function(err, result)
        if field and type(result) == 'table' then
          result = result[field]
        end
        done(err, result)
      end)
    end)
  end
end

--- Cancels calls: one (`call_id`), those of a turn (`turn_id`), or all of a session.
M.cancel = asks('ropewalk/cancel')
--- What agents changed and nobody has judged, and what they propose: `{ files, proposals, undos }`.
---@type fun(changes?: ropewalk.Changes, callback?: fun(err?: ropewalk.Error, result?: table)): any, any
M.changes = asks('ropewalk/changes')
--- The person is content with changes.
---@type fun(changes?: ropewalk.Changes, callback?: fun(err?: ropewalk.Error, result?: table)): any, any
M.keep = asks('ropewalk/keep')
--- Takes changes back; with `undo_id` takes back an undo.
---@type fun(changes?: ropewalk.Changes, callback?: fun(err?: ropewalk.Error, result?: table)): any, any
M.undo = asks('ropewalk/undo')
--- Applies what a session proposes: `session_id` and one of `hunk_id`, `call_id`, `uri`; `edited_text`, `diagnostics`.
---@type fun(changes: ropewalk.Changes, callback?: fun(err?: ropewalk.Error, result?: table)): any, any
M.accept = asks('ropewalk/accept')
--- Drops what a session proposes; `feedback` is for the model.
---@type fun(changes: ropewalk.Changes, callback?: fun(err?: ropewalk.Error, result?: table)): any, any
M.reject = asks('ropewalk/reject')
--- The background work of a session.
M.jobs = asks('ropewalk/jobs', 'jobs')
--- What a job (`id`) has put out since `cursor`.
M.job_output = asks('ropewalk/jobOutput')
--- Stops a job (`id`).
M.stop_job = asks('ropewalk/stopJob')
--- How a session does.
M.status = asks('ropewalk/status')
--- Some of what a call (`call_id`) gave back, as it is kept: `offset`, `limit`, `column`, `pattern`.
M.output = asks('ropewalk/output')
--- The task list of a session; with `todos`, replaced.
M.todos = asks('ropewalk/todos', 'todos')
--- What the person said to calls and is remembered; `revoke` and `revoke_all` take some and all of it back.
M.grants = asks('ropewalk/grants', 'grants')
--- The turn of a model (`turn_id`) is over.
M.end_turn = asks('ropewalk/endTurn')
--- Something left the model's context: `call_ids`, `uris`.
M.forget = asks('ropewalk/forget')
--- The model was shown a document: `uri`, `version`, `range`.
M.did_show = asks('ropewalk/didShow')
--- The tools: `session_id`, `dialect`, `include_deferred`.
---@type fun(options?: table, callback?: fun(err?: ropewalk.Error, tools?: table[])): any, any
M.list_tools = asks('ropewalk/listTools', 'tools')

--- The person chose a mode for a session (`options.session_id`), which may be a looser one. Only ever to be called for a
--- person.
---@param mode 'build'|'review'|'plan'|'explore'|'danger'
---@param options? { session_id?: string, root?: string, bufnr?: integer }
---@param callback? fun(err?: ropewalk.Error, session?: table)
function M.set_mode(mode, options, callback)
  vim.validate('mode', mode, 'string')
  options, callback = sorted(options, callback)
  local target = target_of(options)
  for _, session in ipairs(M.sessions()) do
    if session.id == options.session_id and (not target.root or target.root == session.root) then
      return session:set_mode(mode, callback)
    end
  end
  local params = wire.params(options)
  params.mode = mode
  return await.either(callback, function(done)
    require('ropewalk.client').send(target, 'ropewalk/setMode', params, done)
  end)
end

--- Opens a session, or changes the one that has this id. Its calls wait until it is open; when the sidecar is started
--- again, so is the session.
---@param options? ropewalk.SessionOptions
---@param callback? fun(err?: ropewalk.Error, info?: table) what was granted
---@return ropewalk.Session
function M.open_session(options, callback)
  options, callback = sorted(options, callback)
  local target = target_of(options)
  local root = target.root or require('ropewalk.client').target(target.bufnr)
  return require('ropewalk.session').open(root, options, callback)
end

--- The sessions that `open_session` opened.
---@return ropewalk.Session[]
function M.sessions()
  return require('ropewalk.session').list()
end

--- Adds tools with handlers in Lua, to every sidecar, also those that are started later.
---@param tools ropewalk.Tool[]
---@param callback? fun(err?: ropewalk.Error, statuses?: table[], client_id?: integer) once for each sidecar
---@return fun() unregister
function M.register_tools(tools, callback)
  resolve()
  vim.validate('tools', tools, is_list_of_tables, 'a list of tools')
  vim.validate('callback', callback, 'callable', true)
  return require('ropewalk.tools').register(tools, callback)
end

--- Calls `listener` at each event of a name, or at any (`*`); see |ropewalk-events|.
---@param event string
---@param listener fun(params: table, client_id: integer, event: string)
---@return fun() off
function M.on(event, listener)
  vim.validate('event', event, 'string')
  vim.validate('listener', listener, 'callable')
  return require('ropewalk.events').on(event, listener)
end

--- The URI under which a buffer is a document, also where it has no name.
---@param bufnr? integer
---@return string
function M.uri(bufnr)
  return require('ropewalk.sync').uri((bufnr == nil or bufnr == 0) and vim.api.nvim_get_current_buf() or bufnr)
end

--- Serves a buffer that is not served by itself, for instance a scratch buffer.
---@param bufnr? integer
---@return integer? client_id
function M.attach(bufnr)
  return require('ropewalk.client').attach(resolve(bufnr), true)
end

--- Starts the sidecar of a buffer's root.
---@param bufnr? integer
---@return integer? client_id
function M.start(bufnr)
  return require('ropewalk.client').start(resolve(bufnr))
end

--- Stops the sidecar of a buffer's root.
---@param bufnr? integer
---@return integer count how many were stopped
function M.stop(bufnr)
  return require('ropewalk.client').stop(resolve(bufnr))
end

--- Stops the sidecar of a buffer's root and starts it again; documents, tools and sessions come back.
---@param bufnr? integer
---@param callback? fun(err?: ropewalk.Error, client_id?: integer)
function M.restart(bufnr, callback)
  require('ropewalk.client').restart(resolve(bufnr), callback)
end

--- Says that what a folder contains may be run, or no longer may.
---@param folder string
---@param trusted? boolean default true
---@return string? fault why that is not remembered; it holds until Neovim ends all the same
function M.trust(folder, trusted)
  resolve()
  return require('ropewalk.client').trust(folder, trusted ~= false)
end

--- Builds the program in the repository that this plugin lies in, and starts the sidecars that waited for it. In the
--- background, or, for the hooks of plugin managers, waiting for it with `{ wait = true }`.
---@param options? { wait?: boolean }
---@param callback? fun(err?: string, program?: string)
---@return string? err
---@return string? program
function M.build(options, callback)
  options, callback = sorted(options, callback)
  local program = require('ropewalk.program')
  local function done(err, path)
    if err then
      require('ropewalk.review.say').say(err, vim.log.levels.ERROR)
    elseif config then
      require('ropewalk.client').built()
    end
    if callback then
      callback(err, path)
    end
  end
  if not options.wait then
    return program.build(done)
  end
  local err, path = program.build_and_wait()
  done(err, path)
  if err then
    error('ropewalk: ' .. err, 0)
  end
  return err, path
end

return M
