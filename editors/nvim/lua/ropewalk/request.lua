--- Requests to a sidecar. Each is answered exactly once, also when the sidecar ends before it has answered.

local context = require('ropewalk.context')
local sync = require('ropewalk.sync')

local M = {}

--- What is called when a request can no longer be answered.
---@type table<integer, table<integer, fun(err: table)>> client id -> request id
local pending = {}

--- A sidecar ended: what it was asked fails.
---@param client_id integer
---@param reason string
function M.fail(client_id, reason)
  local calls = pending[client_id] or {}
  pending[client_id] = nil
  for _, callback in pairs(calls) do
    callback({ code = -32099, message = reason })
  end
end

--- Sends a request. `callback` is called exactly once, also when the sidecar ends before it has answered.
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param callback fun(err?: table, result?: any)
---@return integer? request_id
function M.send(client, method, params, callback)
  for _, document in ipairs(sync.list(client.id)) do
    sync.check(document)
  end
  context.tell(client)
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

return M
