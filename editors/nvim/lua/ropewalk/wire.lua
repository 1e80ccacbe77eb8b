--- From the names that Lua uses to those of the protocol: `session_id` becomes `sessionId`, a folder a URI.

local M = {}

---@param key string
---@return string
local function camel(key)
  return (key:gsub('_(%l)', string.upper))
end

--- What holds data of somebody else's, whose names are not ours.
local foreign = { arguments = true, todos = true, input = true }

--- What is an object also where nothing is in it. Lua cannot tell an empty list from an empty object.
local objects = { tools = true, rules = true, budgets = true, guards = true, diagnostics = true }

--- Options as params. What says where a request goes (`bufnr`, `root`) is left out.
---@param options? table
---@return table
function M.params(options)
  local params = vim.empty_dict()
  for key, value in pairs(options or {}) do
    if type(value) == 'table' and not foreign[key] and not vim.islist(value) then
      value = M.params(value)
    elseif type(value) == 'table' and objects[key] and next(value) == nil then
      value = vim.empty_dict()
    end
    if key == 'roots' then
      value = vim.tbl_map(M.folder, value)
    end
    if key ~= 'bufnr' and key ~= 'root' then
      params[camel(key)] = value
    end
  end
  return params
end

--- The URI of a folder; a URI stays one.
---@param folder string
---@return string
function M.folder(folder)
  if folder:match('^%a[%w+.-]+:') then
    return folder
  end
  return (vim.uri_from_fname(vim.fs.normalize(vim.fn.fnamemodify(folder, ':p'))):gsub('(.)/$', '%1'))
end

--- The arguments of a call: an object, also where it is empty, or the text that a model wrote.
---@param arguments table|string|nil
---@return table|string
function M.arguments(arguments)
  if arguments == nil or type(arguments) == 'table' and next(arguments) == nil then
    return vim.empty_dict()
  end
  return arguments
end

return M
