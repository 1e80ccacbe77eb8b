--- Tools whose handlers are Lua functions: every sidecar gets them, also those that are started later, and
--- `ropewalk/runTool` runs them.

local rpc = require('ropewalk.rpc')
local await = require('ropewalk.await')

local M = {}

--- A tool of one's own; see |ropewalk.register_tools()|.
---@class ropewalk.Tool
---@field name string
---@field description string for the model
---@field handler fun(arguments: table, call: ropewalk.ToolCall): any
---@field title? string
---@field input_schema? table JSON Schema of the arguments (default: none are taken)
---@field output_schema? table
---@field annotations? { readOnlyHint?: boolean, destructiveHint?: boolean, idempotentHint?: boolean, openWorldHint?: boolean }
---@field capabilities? string[]
---@field parallel? boolean
---@field deferred? boolean
---@field deadline_ms? integer
---@field async? boolean the answer is given by `call.done`, not returned

--- What a handler is told of the call, and what it can do about it.
---@class ropewalk.ToolCall
---@field session_id string
---@field call_id string
---@field name string
---@field done fun(result: any) gives the answer of a tool that is `async`
---@field on_cancel fun(act: fun()) `act` is called when the call is cancelled
---@field is_cancelled fun(): boolean

---@type table<string, ropewalk.Tool>
local tools = {}

--- Who wants to know what became of tools: by name.
---@type table<string, fun(err?: table, statuses?: table[], client_id?: integer)>
local callbacks = {}

--- A schema in which what is to be an object is one, also when it is empty.
---@param schema table
---@return table
local function schema_of(schema)
  if next(schema) == nil then
    return { type = 'object', properties = vim.empty_dict() }
  end
  schema = vim.deepcopy(schema)
  for _, key in ipairs({ 'properties', '$defs', 'definitions', 'patternProperties' }) do
    if type(schema[key]) == 'table' and next(schema[key]) == nil then
      schema[key] = vim.empty_dict()
    end
  end
  for _, property in pairs(type(schema.properties) == 'table' and schema.properties or {}) do
    if type(property) == 'table' and type(property.properties) == 'table' and next(property.properties) == nil then
      property.properties = vim.empty_dict()
    end
  end
  return schema
end

---@param tool ropewalk.Tool
---@return table
local function definition(tool)
  return {
    name = tool.name,
    title = tool.title,
    description = tool.description,
    inputSchema = schema_of(tool.input_schema or {}),
    outputSchema = tool.output_schema and schema_of(tool.output_schema),
    annotations = tool.annotations and next(tool.annotations) and tool.annotations or nil,
    capabilities = tool.capabilities,
    parallel = tool.parallel,
    deferred = tool.deferred,
    deadlineMs = tool.deadline_ms,
  }
end

---@param client vim.lsp.Client
---@param some ropewalk.Tool[]
local function register(client, some)
  require('ropewalk.client').request(client, 'ropewalk/registerTools', {
    tools = vim.tbl_map(definition, some),
  }, function(err, result)
    local by_callback = {} ---@type table<function, table[]>
    for _, status in ipairs(result and result.tools or {}) do
      local callback = callbacks[status.name]
      if callback then
        by_callback[callback] = by_callback[callback] or {}
        table.insert(by_callback[callback], status)
      elseif status.status ~= 'registered' then
        require('ropewalk.review.say').warn(
          ('the tool %s is %s: %s'):format(status.name, status.status, status.reason or vim.inspect(status))
        )
      end
    end
    for callback, statuses in pairs(by_callback) do
      callback(nil, statuses, client.id)
    end
    if err then
      for _, tool in ipairs(some) do
        local callback = callbacks[tool.name]
        if callback and not by_callback[callback] then
          by_callback[callback] = {}
          callback(err, nil, client.id)
        end
      end
    end
  end)
end

--- A sidecar was started: it gets all tools that there are.
---@param client vim.lsp.Client
function M.introduce(client)
  local all = {} ---@type ropewalk.Tool[]
  for _, tool in vim.spairs(tools) do
    all[#all + 1] = tool
  end
  if #all > 0 then
    register(client, all)
  end
end

---@param tool any
---@return string? fault
local function fault_of(tool)
  if type(tool) ~= 'table' then
    return 'a tool must be a table, not ' .. vim.inspect(tool)
  end
  for name, kind in pairs({ name = 'string', description = 'string', handler = 'function' }) do
    local is_right = type(tool[name]) == kind or kind == 'function' and vim.is_callable(tool[name])
    if not is_right then
      return ('%s of the tool %s must be a %s, not %s'):format(
        name,
        vim.inspect(tool.name),
        kind,
        vim.inspect(tool[name])
      )
    end
  end
  if tool.input_schema ~= nil and type(tool.input_schema) ~= 'table' then
    return ('input_schema of the tool %s must be a table'):format(tool.name)
  end
end

--- Adds tools. `callback` hears from each sidecar what became of them.
---@param some ropewalk.Tool[]
---@param callback? fun(err?: table, statuses?: table[], client_id?: integer)
---@return fun() unregister
function M.register(some, callback)
  for _, tool in ipairs(some) do
    local fault = fault_of(tool)
    if fault then
      error('ropewalk: ' .. fault, 0)
    elseif tools[tool.name] and tools[tool.name] ~= tool then
      error(('ropewalk: a tool %s is registered already'):format(tool.name), 0)
    end
  end
  for _, tool in ipairs(some) do
    tools[tool.name], callbacks[tool.name] = tool, callback
  end
  for _, client in ipairs(require('ropewalk.client').list()) do
    register(client, some)
  end
  return function()
    local names = {} ---@type string[]
    for _, tool in ipairs(some) do
      if tools[tool.name] == tool then
        tools[tool.name], callbacks[tool.name] = nil, nil
        names[#names + 1] = tool.name
      end
    end
    for _, client in ipairs(#names > 0 and require('ropewalk.client').list() or {}) do
      require('ropewalk.client').request(client, 'ropewalk/unregisterTools', { names = names }, function() end)
    end
  end
end

--- What a handler gave, as the protocol has it.
---@param value any
---@return { content: table[], structuredContent?: any, isError?: boolean }
function M.result(value)
  if type(value) ~= 'table' then
    return { content = { { type = 'text', text = value == nil and '' or tostring(value) } } }
  elseif value.content == nil then
    local ok, json = pcall(vim.json.encode, value)
    if not ok then
      return M.failure('the tool gave what cannot be written as JSON: ' .. tostring(json))
    end
    return {
      content = { { type = 'text', text = json } },
      structuredContent = not (vim.islist(value) and next(value)) and value or nil,
    }
  end
  local content = value.content
  if type(content) == 'string' then
    content = { { type = 'text', text = content } }
  end
  local is_error = value.is_error or value.isError or false
  return { content = content, structuredContent = value.structured or value.structuredContent, isError = is_error }
end

---@param message string
function M.failure(message)
  return { content = { { type = 'text', text = message } }, isError = true }
end

--- `ropewalk/runTool`. Runs in a coroutine.
---@param params { sessionId: string, callId: string, name: string, arguments: table }
---@return { content: table[], structuredContent?: any, isError?: boolean }
function M.run(params)
  local tool = tools[params.name]
  if not tool then
    return M.failure(('there is no tool %s in the editor any more'):format(params.name))
  end
  return await.await(function(done)
    local function finish(value)
      local ok, result = pcall(M.result, value)
      local written, fault = pcall(vim.json.encode, result)
      if not ok then
        result = M.failure(tostring(result))
      elseif not written then
        result = M.failure(('the tool %s gave what cannot be written as JSON: %s'):format(params.name, tostring(fault)))
      end
      done(result)
    end
    local cancelled, acts = false, {} ---@type boolean, fun()[]
    rpc.on_cancel(params, function()
      cancelled = true
      done(M.failure('cancelled'))
      for _, act in ipairs(acts) do
        local ok, err = pcall(act)
        if not ok then
          vim.lsp.log.error('ropewalk', params.name, err)
        end
      end
    end)
    ---@type ropewalk.ToolCall
    local call = {
      session_id = params.sessionId,
      call_id = params.callId,
      name = params.name,
      done = finish,
      on_cancel = function(act)
        if cancelled then
          vim.schedule(act)
        else
          acts[#acts + 1] = act
        end
      end,
      is_cancelled = function()
        return cancelled
      end,
    }
    -- In a coroutine of its own, so that the handler may wait for calls of its own.
    coroutine.wrap(function()
      local ok, value = xpcall(tool.handler, function(err)
        vim.lsp.log.error('ropewalk', params.name, debug.traceback(tostring(err), 2))
        return err
      end, type(params.arguments) == 'table' and params.arguments or {}, call)
      if not ok then
        done(M.failure(('the tool %s failed: %s'):format(params.name, tostring(value))))
      elseif not tool.async then
        finish(value)
      end
    end)()
  end)
end

--- The names of the tools that are registered.
---@return string[]
function M.names()
  local names = vim.tbl_keys(tools)
  table.sort(names)
  return names
end

return M
