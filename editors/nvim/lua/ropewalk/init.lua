--- Ropewalk for Neovim: runs an agent's tool calls in your unsaved buffers, and brings the diagnostics back.
---
--- A thin adapter. It starts the sidecar, keeps its documents equal to the buffers, applies its edits at exactly their
--- version, and forwards what other language clients report. What a call does and may do is decided in the sidecar.

local M = {}

--- One call of a tool, and what goes with it.
---@class ropewalk.CallOptions
---@field bufnr? integer whose sidecar is called (default: the current buffer)
---@field session_id? string
---@field turn_id? string
---@field call_id? string
---@field approved_by? string the `previewId` of a preview that was consented to
---@field diagnostics? { wait?: 'none'|'auto'|'fresh', deadlineMs?: integer, sources?: string[] }
---@field max_bytes? integer

--- What a call came to; see the sidecar's `schema` command for all of it.
---@class ropewalk.CallResult
---@field callId string
---@field name string
---@field status 'ok'|'error'|'denied'|'cancelled'|'superseded'
---@field isError boolean
---@field content { type: string, text?: string }[]

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

--- Sends one of the sidecar's own requests, for instance `ropewalk/listTools`.
---@param method string
---@param params table
---@param callback fun(err?: { code?: integer, message: string }, result?: any) called exactly once
---@param bufnr? integer whose sidecar is asked (default: the current buffer)
function M.request(method, params, callback, bufnr)
  bufnr = resolve(bufnr)
  local clients = require('ropewalk.client')
  local client = clients.of(bufnr)
  if not client then
    vim.schedule(function()
      callback({ message = 'no sidecar runs for this buffer; start one with :Ropewalk start' })
    end)
    return
  end
  clients.request(client, method, next(params) and params or vim.empty_dict(), callback)
end

--- Calls a tool. `callback` gets an error only when the call was not accepted; else the result, which may be one that
--- says that the tool failed.
---@param name string
---@param arguments table|string the arguments, or the raw text that a model wrote
---@param callback fun(err?: { code?: integer, message: string }, result?: ropewalk.CallResult) called exactly once
---@param options? ropewalk.CallOptions
---@return fun() cancel
function M.call(name, arguments, callback, options)
  vim.validate('name', name, 'string')
  vim.validate('arguments', arguments, { 'table', 'string' })
  vim.validate('callback', callback, 'callable')
  vim.validate('options', options, 'table', true)
  options = options or {}
  local bufnr = resolve(options.bufnr)
  count = count + 1
  local call_id = options.call_id or ('nvim-%d'):format(count)
  if type(arguments) == 'table' and next(arguments) == nil then
    arguments = vim.empty_dict()
  end
  M.request('ropewalk/callTool', {
    sessionId = options.session_id,
    turnId = options.turn_id,
    callId = call_id,
    name = name,
    arguments = arguments,
    approvedBy = options.approved_by,
    maxBytes = options.max_bytes,
    diagnostics = options.diagnostics,
  }, callback, bufnr)
  return function()
    M.request('ropewalk/cancel', { sessionId = options.session_id, callId = call_id }, function() end, bufnr)
  end
end

--- Serves a buffer that is not served by itself, for instance a scratch buffer.
---@param bufnr? integer
---@return integer? client_id
function M.attach(bufnr)
  return require('ropewalk.client').attach(resolve(bufnr))
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

--- Says that what a folder contains may be run, or no longer may, for the sidecars that run.
---@param folder string
---@param trusted? boolean default true
function M.trust(folder, trusted)
  resolve()
  require('ropewalk.client').trust(folder, trusted ~= false)
end

return M
