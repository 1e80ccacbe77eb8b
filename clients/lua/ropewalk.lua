--- Ropewalk for Lua in Neovim, `nvim -l` too. What it asks and tells is dealt with in the main loop, also in a wait.

---@class ropewalk.Client
---@field documents table<string, { text: string, version: integer }>
---@field server table the answer to `initialize`
local Client = {}

function Client:notify(method, params) self:send { method = method, params = params } end

--- Sends any request. With `done(error, result)` it does not wait; without, it gives the result, or raises
--- `{ message, code }`, which has no code if the sidecar is gone.
function Client:request(method, params, done)
  local answer
  table.insert(self.waiting, done or function(...) answer = { ... } end)
  self:send { id = #self.waiting, method = method, params = params }
  if self.ended then self:fail() end
  if done then return end
  vim.wait(2 ^ 31 - 1, function() return answer ~= nil end, 1)
  return answer[1] and error(answer[1], 0) or answer[2]
end

--- Runs a tool call to its end, cancelled or not; `more` is `callId`, `turnId`, `diagnostics` and so on.
function Client:call(name, arguments, session, more, done)
  local params = { name = name, arguments = next(arguments) and arguments or vim.empty_dict(), sessionId = session }
  return self:request('ropewalk/callTool', vim.tbl_extend('force', params, more or {}), done)
end

function Client:cancel(call, session, done)
  return self:request('ropewalk/cancel', { callId = call or vim.NIL, sessionId = session or vim.NIL }, done)
end

function Client:open(uri, text, language)
  self.documents[uri] = { text = text, version = 1 }
  local item = { uri = uri, languageId = language or 'plaintext', version = 1, text = text }
  self:notify('textDocument/didOpen', { textDocument = item })
end

--- Makes edits as LSP has them, rising and apart, columns in UTF-8: all of them, or none and an error.
function Client:change(uri, edits, expected)
  local old, version = self.documents[uri].text, self.documents[uri].version
  assert((expected or version) == version, ('%s is at version %d'):format(uri, version))
  local starts, text, changes, limit = { 1 }, old, {}, #old + 1
  for after in (old .. '\n'):gmatch '\n()' do table.insert(starts, after) end
  local function offset(at)
    local line = old:sub(starts[at.line + 1], starts[at.line + 2] - 2):gsub('\r$', '')
    assert(at.character <= #line and not line:find('^[\128-\191]', at.character + 1), 'not between characters')
    return starts[at.line + 1] + at.character
  end
  for n = #edits, 1, -1 do
    local from, to = offset(edits[n].range.start), offset(edits[n].range['end'])
    assert(from <= to and to <= limit, 'the edits overlap, or do not rise')
    text, limit = text:sub(1, from - 1) .. edits[n].newText .. text:sub(to), from
    table.insert(changes, { range = edits[n].range, text = edits[n].newText })
  end
  self.documents[uri] = { text = text, version = version + 1 }
  local item = { uri = uri, version = version + 1 }
  self:notify('textDocument/didChange', { textDocument = item, contentChanges = changes })
end

function Client:close_document(uri)
  self.documents[uri] = nil
  self:notify('textDocument/didClose', { textDocument = { uri = uri } })
end

--- Ends the sidecar in good order, or by force after so many milliseconds; its exit code.
function Client:close(timeout)
  self:request('shutdown', nil, function() self:notify 'exit' end)
  vim.wait(timeout or 5000, function() return self.ended ~= nil end, 1)
  return self.process:wait(0).code
end

function Client:send(message)
  local body = vim.json.encode(vim.tbl_extend('force', { jsonrpc = '2.0' }, message))
  if not self.ended then self.process:write(('Content-Length: %d\r\n\r\n%s'):format(#body, body)) end
end

function Client:fail()
  for id, done in ipairs(self.waiting) do
    self.waiting[id] = false
    if done then done { message = self.ended } end
  end
end

function Client:receive(id, method, params, message)
  local handler, done = self.handlers[(method or ''):gsub('^ropewalk/', '')], self.waiting[id]
  if not method then
    self.waiting[id] = false
    if done then done(message.error, message.result) end
  elseif not id then
    self.on_event(method, params)
  elseif handler then
    handler(params, function(result) self:send { id = id, result = result == nil and vim.NIL or result } end)
  else
    self:send { id = id, error = { code = -32601, message = method .. ' is not known here' } }
  end
end

function Client:read(chunk)
  table.insert(self.chunks, chunk)
  self.have = self.have + #chunk
  while self.have >= self.need do
    local all = table.concat(self.chunks)
    local _, head = all:find('\r\n\r\n', 1, true)
    local length = head and all:sub(1, head):lower():match 'content%-length: *(%d+)' or 0
    self.need, self.chunks = head and head + length or self.have + 1, { all }
    if self.have < self.need then return end
    local fine, message = pcall(vim.json.decode, all:sub(head + 1, self.need), { luanil = { object = true } })
    if not fine then return self.process:kill 'sigkill' end
    self.chunks, self.have, self.need = { all:sub(self.need + 1) }, self.have - self.need, 1
    self:receive(message.id, message.method, message.params, message)
  end
end

--- Starts a sidecar. `handlers` answer its requests by `answer(result)`, by their names without `ropewalk/` ("approve",
--- "runTool"); it is told which there are, and without one nobody consents. `on_event` hears its notifications.
---@param options { command: string[]?, folder: string?, settings: table?, on_event: fun(method: string, params: any)?,
---  handlers: table<string, fun(params: any, answer: fun(result: any))>? }
---@return ropewalk.Client
function Client.start(options)
  local client = setmetatable({ documents = {}, waiting = {}, chunks = {}, have = 0, need = 1 }, { __index = Client })
  client.on_event = options.on_event or function() end
  local function no(_, answer) answer { decisions = {}, answers = {}, cancelled = true } end
  client.handlers = vim.tbl_extend('force', { approve = no, ask = no }, options.handlers or {}, {
    resync = function(at, answer) answer(client.documents[at.uri]) end,
    ['workspace/applyEdit'] = function(params, answer)
      local one, more = unpack(params.edit.documentChanges or {})
      local item = one and not more and one.textDocument or {}
      local done, why = pcall(client.change, client, item.uri, one and one.edits, item.version)
      answer { applied = done, failureReason = why }
    end,
  })
  local ours, said = { resync = true, events = options.on_event ~= nil }, ''
  for name in pairs(options.handlers or {}) do ours[name == 'pullDiagnostics' and 'diagnostics' or name] = true end
  local pipes = { stdin = true, stderr = function(_, chunk) said = (said .. (chunk or '')):sub(-2000) end }
  function pipes.stdout(_, chunk) if chunk then vim.schedule(function() client:read(chunk) end) end end
  client.process = vim.system(options.command or { 'ropewalk' }, pipes, vim.schedule_wrap(function(ended)
    client.ended = ('the sidecar has ended with code %d: %s'):format(ended.code, said)
    client:fail()
  end))
  local uri = options.folder and vim.uri_from_fname(vim.uv.fs_realpath(options.folder))
  client.server = client:request('initialize', {
    processId = vim.uv.os_getpid(), initializationOptions = options.settings,
    workspaceFolders = uri and { { uri = uri, name = vim.fs.basename(uri) } } or vim.NIL,
    capabilities = { general = { positionEncodings = { 'utf-8' } }, workspace = { applyEdit = true },
      experimental = { ropewalk = ours } } })
  client:notify('initialized', vim.empty_dict())
  return client
end
return { start = Client.start }
