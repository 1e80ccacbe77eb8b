--- What the sidecars tell, for scripts: `User` autocommands, and listeners of `on`.

local api = vim.api

local M = {}

--- The events: those of the protocol by their names there, and two of our own.
---@type table<string, string> event -> pattern of the `User` autocommand
M.names = {
  approvalsChanged = 'RopewalkApprovalsChanged',
  changesChanged = 'RopewalkChangesChanged',
  filesChanged = 'RopewalkFilesChanged',
  jobsChanged = 'RopewalkJobsChanged',
  lateDiagnostics = 'RopewalkLateDiagnostics',
  modeChanged = 'RopewalkModeChanged',
  todosChanged = 'RopewalkTodosChanged',
  toolEvent = 'RopewalkToolEvent',
  toolsChanged = 'RopewalkToolsChanged',
  -- A sidecar answered `initialize`: `params` is `{ root }`.
  started = 'RopewalkStarted',
  -- A sidecar ended: `params` is `{ root, code, signal, asked }`.
  ended = 'RopewalkEnded',
}

---@alias ropewalk.Listener fun(params: table, client_id: integer)

---@type table<string, ropewalk.Listener[]>
local listeners = {}

--- Calls `listener` at each event of the name, or at any (`*`, with the name as the third argument). The result ends
--- that.
---@param event string
---@param listener fun(params: table, client_id: integer, event: string)
---@return fun() off
function M.on(event, listener)
  if event ~= '*' and not M.names[event] then
    local known = vim.tbl_keys(M.names)
    table.sort(known)
    error(('ropewalk: no event %s; there are: *, %s'):format(vim.inspect(event), table.concat(known, ', ')), 2)
  end
  local list = listeners[event] or {}
  listeners[event] = list
  -- Each call is a listener of its own, also of the same function.
  local entry = function(...)
    return listener(...)
  end
  list[#list + 1] = entry
  return function()
    for i, other in ipairs(list) do
      if other == entry then
        table.remove(list, i)
        break
      end
    end
  end
end

--- Tells everybody who listens. One that fails does not keep the others from hearing.
---@param event string
---@param params table
---@param client_id integer
function M.fire(event, params, client_id)
  for _, name in ipairs({ event, '*' }) do
    for _, listener in ipairs(vim.list_slice(listeners[name] or {})) do
      local ok, err = pcall(listener, params, client_id, event)
      if not ok then
        require('ropewalk.review.say').say(('a listener to %s failed: %s'):format(event, err), vim.log.levels.ERROR)
      end
    end
  end
  local ok, err = pcall(api.nvim_exec_autocmds, 'User', {
    pattern = M.names[event],
    modeline = false,
    data = { client_id = client_id, params = params },
  })
  if not ok then
    local message = ('an autocommand of %s failed: %s'):format(M.names[event], err)
    require('ropewalk.review.say').say(message, vim.log.levels.ERROR)
  end
end

return M
