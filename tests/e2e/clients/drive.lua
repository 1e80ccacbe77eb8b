-- Does the steps of a scenario with the client in Lua, and prints what came of each, as JSON.
local command, handlers, steps = unpack(vim.tbl_map(vim.json.decode, { _G.arg[1], _G.arg[2], _G.arg[3] }))
local events, started = {}, {}
local options = { command = command, handlers = {} }
function options.on_event(method, params) table.insert(events, { method, params }) end
for name, value in pairs(handlers) do
  options.handlers[name] = function(_, answer) answer(value) end
end
local client = require('ropewalk').start(options)
local steps_of = {
  text = function(uri) return client.documents[uri] end,
  start = function(name, arguments)
    started = {}
    client:call(name, arguments, nil, nil, function(error, result) started = { error, result, ended = true } end)
    return 1
  end,
  result = function()
    vim.wait(60000, function() return started.ended end, 1)
    return started[1] and error(started[1], 0) or started[2]
  end,
  cancel = function(...) return client:cancel(...).cancelled end,
  events = function()
    return vim.tbl_map(function(event)
      return event[1] == 'huge' and { 'huge', vim.fn.strchars(event[2].text) } or event
    end, events)
  end,
  closeDocument = function(uri) return client:close_document(uri) end,
}
local said = {}
for _, step in ipairs(steps) do
  local name = table.remove(step, 1)
  local fine, result = pcall(steps_of[name] or function(...) return client[name](client, ...) end, unpack(step))
  if not fine then
    result = type(result) == 'table' and { error = result.message, code = result.code } or { error = result }
  end
  table.insert(said, result == nil and vim.NIL or result)
end
io.stdout:write(vim.json.encode(said), '\n')
