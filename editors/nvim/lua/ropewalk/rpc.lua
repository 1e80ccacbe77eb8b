--- The wire to a sidecar: JSON-RPC over the standard input and output of a process, as a `cmd` of |vim.lsp.start()|.
---
--- Neovim's own wire keeps two things from us. The id of a request, without which a question that the sidecar takes back
--- (`$/cancelRequest`) cannot be told from others; and the answer "request cancelled" (-32800), whose callback would
--- never be called.

local log = require('vim.lsp.log')
local text = require('ropewalk.text')

local M = {}

--- How long a process that is told to end has time to (ms).
local KILL_AFTER = 3000

--- A question of the sidecar's that is not answered yet.
---@class ropewalk.Question
---@field cancelled boolean
---@field acts fun()[] what is done when it is taken back

--- By the params, which are one table from the wire to the handler.
---@type table<table, ropewalk.Question>
local questions = setmetatable({}, { __mode = 'k' })

--- Marks the params of a request as a question that can be taken back; the result takes it back.
---@param params any
---@return fun() cancel
function M.question(params)
  ---@type ropewalk.Question
  local question = { cancelled = false, acts = {} }
  if type(params) == 'table' then
    questions[params] = question
  end
  return function()
    if not question.cancelled then
      question.cancelled = true
      for _, act in ipairs(question.acts) do
        local ok, err = pcall(act)
        if not ok then
          log.error('ropewalk', 'taking back a question', err)
        end
      end
    end
  end
end

--- Calls `act` when the sidecar takes back the request with these params, and no more than once.
---@param params table the params as the handler got them
---@param act fun()
function M.on_cancel(params, act)
  local question = questions[params]
  if question and question.cancelled then
    vim.schedule(act)
  elseif question then
    question.acts[#question.acts + 1] = act
  end
end

--- A message as it goes over the wire. What functions of others gave may hold what JSON cannot: bytes that are no UTF-8
--- become U+FFFD in answers, so that they arrive; in what is asked the sidecar says what is wrong.
---@param message table
---@return string? frame
---@return string? fault
local function frame(message)
  message.jsonrpc = '2.0'
  local ok, body = pcall(vim.json.encode, message)
  if not ok then
    return nil, 'this cannot be written as JSON: ' .. tostring(body):gsub('^.-:%d+: ', '')
  elseif not message.method then
    body = text.wire(body)
  end
  return ('Content-Length: %d\r\n\r\n%s'):format(#body, body)
end

--- Takes a stream apart. The result is given its pieces as they come.
---@param on_body fun(body: string)
---@param on_fault fun(fault: string) the stream cannot be read on
---@return fun(chunk: string)
function M.reader(on_body, on_fault)
  local held, size = {}, 0 ---@type string[], integer
  local wanted ---@type integer? bytes of the body that comes
  local broken = false
  return function(chunk)
    if broken then
      return
    end
    held[#held + 1] = chunk
    size = size + #chunk
    while size >= (wanted or 1) do
      local text = table.concat(held)
      if not wanted then
        local stop, last = text:find('\r\n\r\n', 1, true)
        if not stop then
          held = { text }
          return
        end
        wanted = tonumber(('\n' .. text:sub(1, stop)):lower():match('\ncontent%-length:%s*(%d+)'))
        if not wanted then
          broken = true
          return on_fault('a message without Content-Length: ' .. text:sub(1, stop))
        end
        held = { text:sub(last + 1) }
      else
        held = { text:sub(wanted + 1) }
        local body = text:sub(1, wanted)
        wanted = nil
        on_body(body)
      end
      size = #held[1]
    end
  end
end

--- Starts the program.
---@param cmd string[]
---@param dispatchers vim.lsp.rpc.Dispatchers
---@param options { cwd?: string, env?: table<string, string>, on_end: fun(code: integer, signal: integer) }
---  `on_end` hears how it ended; Neovim is told that all is well
---@return vim.lsp.rpc.PublicClient
function M.start(cmd, dispatchers, options)
  local process ---@type vim.SystemObj
  local count = 0
  local callbacks = {} ---@type table<integer, fun(err: any, result: any)>
  local replied = {} ---@type table<integer, fun(id: integer)>
  local open = {} ---@type table<any, fun()> id of the sidecar's request -> takes it back
  local codes = vim.lsp.protocol.ErrorCodes

  local function closing()
    return process:is_closing()
  end

  ---@param message table
  ---@return boolean sent
  ---@return string? fault why it can never be sent
  local function send(message)
    log.debug('rpc.send', message)
    if closing() then
      return false
    end
    local framed, fault = frame(message)
    if not framed then
      log.error('ropewalk', message.method or 'an answer', fault)
      return false, fault
    end
    return (pcall(process.write, process, framed))
  end

  --- Runs the handler of a request and sends its answer. Runs in a coroutine.
  local function answer(id, method, params)
    local ok, result, err = pcall(dispatchers.server_request, method, params)
    open[id] = nil
    -- What is done on a cancel may hold the params, and would keep them for ever.
    if type(params) == 'table' then
      questions[params] = nil
    end
    if not ok then
      log.error('ropewalk', method, result)
      err, result = { code = codes.InternalError, message = tostring(result) }, nil
    end
    if err then
      local message = tostring(err.message or 'failed')
      send({ id = id, error = { code = err.code, message = message, data = err.data } })
    else
      local _, fault = send({ id = id, result = result == nil and vim.NIL or result })
      if fault then
        send({ id = id, error = { code = codes.InternalError, message = fault } })
      end
    end
  end

  local on_request = vim.schedule_wrap(function(id, method, params)
    open[id] = M.question(params)
    coroutine.wrap(answer)(id, method, params)
  end)

  local on_notification = vim.schedule_wrap(function(method, params)
    if method == '$/cancelRequest' then
      local cancel = open[params.id]
      if cancel then
        cancel()
      end
      return
    end
    local ok, err = pcall(dispatchers.notification, method, params)
    if not ok then
      log.error('ropewalk', method, err)
      dispatchers.on_error(vim.lsp.rpc.client_errors.NOTIFICATION_HANDLER_ERROR, err)
    end
  end)

  local on_response = vim.schedule_wrap(function(id, err, result)
    local callback, told = callbacks[id], replied[id]
    callbacks[id], replied[id] = nil, nil
    if told then
      told(id)
    end
    if not callback then
      return log.warn('ropewalk', 'an answer that nobody waits for', id)
    end
    local ok, fault = pcall(callback, err, result)
    if not ok then
      log.error('ropewalk', 'the callback of a request', fault)
      dispatchers.on_error(vim.lsp.rpc.client_errors.SERVER_RESULT_CALLBACK_ERROR, fault)
    end
  end)

  local on_fault = vim.schedule_wrap(function(fault)
    log.error('ropewalk', 'the wire', fault)
    dispatchers.on_error(vim.lsp.rpc.client_errors.INVALID_SERVER_MESSAGE, fault)
  end)

  local read = M.reader(function(body)
    local ok, message = pcall(vim.json.decode, body, { luanil = { object = true } })
    if not ok or type(message) ~= 'table' then
      return on_fault(ok and body or message)
    end
    log.debug('rpc.receive', message)
    if message.method and message.id ~= nil then
      on_request(message.id, message.method, message.params)
    elseif message.method then
      on_notification(message.method, message.params)
    else
      if message.error then
        setmetatable(message.error, { __tostring = vim.lsp.rpc.format_rpc_error })
      end
      on_response(tonumber(message.id), message.error, message.result)
    end
  end, on_fault)

  process = vim.system(cmd, {
    stdin = true,
    stdout = function(err, chunk)
      if err then
        on_fault(err)
      elseif chunk then
        read(chunk)
      end
    end,
    stderr = function(_, chunk)
      if chunk then
        log.error('rpc', cmd[1], 'stderr', chunk)
      end
    end,
    cwd = options.cwd,
    env = options.env,
    -- Keys like CTRL-C in a terminal are not for it. It ends when its input does.
    detach = vim.fn.has('win32') == 0,
  }, function(done)
    options.on_end(done.code, done.signal)
    dispatchers.on_exit(0, 0)
  end)

  return {
    request = function(method, params, callback, notify_reply)
      count = count + 1
      local id = count
      callbacks[id], replied[id] = callback, notify_reply
      local sent, fault = send({ id = id, method = method, params = params })
      if fault then
        on_response(id, { code = codes.InvalidParams, message = fault })
      elseif not sent then
        callbacks[id], replied[id] = nil, nil
        return false
      end
      return true, id
    end,
    notify = function(method, params)
      return (send({ method = method, params = params }))
    end,
    is_closing = closing,
    terminate = function()
      process:kill('sigterm')
      vim.defer_fn(function()
        if not closing() then
          process:kill('sigkill')
        end
      end, KILL_AFTER)
    end,
  }
end

return M
