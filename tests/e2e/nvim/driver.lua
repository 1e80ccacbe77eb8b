--- Drives a real Neovim: `nvim -l driver.lua FILE SCENARIO` runs one scenario of a file against a second Neovim that it
--- starts and sends real keys to; `nvim -l driver.lua FILE` lists the scenarios. The last line of its output is the
--- verdict as JSON.
---
--- Environment: ROPEWALK_BIN is the sidecar, ROPEWALK_TOOLS where the language servers are.

local here = vim.fn.fnamemodify(arg[0], ':p:h')
local plugin = vim.fs.normalize(here .. '/../../../editors/nvim')
local tools = vim.env.ROPEWALK_TOOLS or ''

--- How long anything may take before the scenario fails (ms).
local DEADLINE = 20000

---@class Child
local Child = {}
Child.__index = Child

--- Runs a chunk of Lua in the child; its arguments arrive as `...`.
function Child:lua(code, ...)
  return vim.rpcrequest(self.channel, 'nvim_exec_lua', code, { ... })
end

--- Types keys, in the notation of mappings.
function Child:type(keys)
  local sent = 0
  while sent < #keys do
    sent = sent + vim.rpcrequest(self.channel, 'nvim_input', keys:sub(sent + 1))
  end
end

--- Waits until a chunk of Lua in the child gives something true, and gives that.
function Child:wait(what, code, ...)
  local arguments = { ... }
  local value
  local ok = vim.wait(DEADLINE, function()
    value = self:lua(code, unpack(arguments))
    return value ~= nil and value ~= vim.NIL and value ~= false
  end, 5)
  if not ok then
    error(('waited in vain for %s'):format(what), 2)
  end
  return value
end

--- Types keys and waits until Neovim has worked them off.
function Child:press(keys)
  self:lua('vim.g.pressed = false')
  self:type(keys)
  -- The event is handled between keys, so it is seen only when every key before it has been taken.
  vim.wait(DEADLINE, function()
    local mode = vim.rpcrequest(self.channel, 'nvim_get_mode')
    return not mode.blocking and self:lua('return vim.fn.getchar(1) == 0')
  end, 2)
end

--- Waits until a sidecar follows the current buffer.
function Child:followed()
  self:wait('the document', "return #require('ropewalk.sync').of_buffer(vim.api.nvim_get_current_buf()) > 0")
end

--- Shows a file in the current window, with the sidecar following it.
function Child:visit(path)
  self:lua('vim.cmd.edit(...)', path)
  self:followed()
end

--- Gives the child a function `Call`: it begins a call of a tool and gives the index in `Results` where its end will be
--- seen; until then there is false.
function Child:takes_calls()
  self:lua([[
    Results = {}
    function Call(name, arguments, options)
      local index = #Results + 1
      Results[index] = false
      require('ropewalk').call(name, arguments, function(err, result)
        Results[index] = { err = err, result = result }
      end, options)
      return index
    end
  ]])
end

function Child:lines(bufnr)
  return self:lua('return vim.api.nvim_buf_get_lines(..., 0, -1, false)', bufnr or 0)
end

function Child:stop()
  pcall(vim.rpcnotify, self.channel, 'nvim_command', 'qall!')
  vim.fn.jobwait({ self.job }, 5000)
  vim.fn.jobstop(self.job)
end

--- The rows of the screen as they are shown, without blanks at their ends. Only of one with a screen.
function Child:screen()
  return self:lua([[
    vim.cmd.redraw()
    local rows = {}
    for row = 1, vim.o.lines do
      local cells = {}
      for column = 1, vim.o.columns do
        cells[column] = vim.fn.screenstring(row, column)
      end
      rows[row] = (table.concat(cells):gsub('%s+$', ''))
    end
    return rows
  ]])
end

--- Waits until a text is on the screen, and gives its row.
function Child:see(text)
  local rows, found
  vim.wait(DEADLINE, function()
    rows = self:screen()
    for row, line in ipairs(rows) do
      if line:find(text, 1, true) then
        found = row
        return true
      end
    end
  end, 10)
  if not found then
    error(('%s is not on the screen:\n%s'):format(vim.inspect(text), table.concat(rows, '\n')), 2)
  end
  return found
end

--- Makes the terminal another size.
function Child:resize(columns, rows)
  vim.fn.jobresize(self.job, columns, rows)
  self:wait('the size', 'local c, r = ...; return vim.o.columns == c and vim.o.lines == r', columns, rows)
end

local T = { here = here, plugin = plugin, tools = tools, sidecar = vim.env.ROPEWALK_BIN }

--- Options by which the sidecar starts no language server of its own.
T.QUIET = { settings = { diagnostics = { ownServers = 'off' } } }

--- A folder that is gone after the scenario.
function T.folder()
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder, 'p')
  return assert(vim.uv.fs_realpath(folder))
end

function T.write(path, text)
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local file = assert(io.open(path, 'wb'))
  file:write(text)
  file:close()
end

function T.read(path)
  local file = assert(io.open(path, 'rb'))
  local text = file:read('*a')
  file:close()
  return text
end

local children = {}

--- Starts a Neovim with the plugin on its path.
---@param cwd string
---@param screen? integer[] columns and rows of the terminal that it is in; without: it has none
function T.start(cwd, screen)
  local state = T.folder()
  local servers = table.concat({ tools .. '/py/bin', tools .. '/npm/node_modules/.bin', vim.env.PATH }, ':')
  local socket = vim.fn.tempname()
  local how = screen and { '--listen', socket } or { '--embed', '--headless' }
  local command = vim.list_extend({ vim.v.progpath, '-u', 'NONE', '-i', 'NONE', '-n' }, how)
  local job = vim.fn.jobstart(command, {
    rpc = not screen,
    pty = screen ~= nil,
    width = screen and screen[1],
    height = screen and screen[2],
    cwd = cwd,
    env = {
      TERM = 'xterm-256color',
      HOME = state,
      XDG_CONFIG_HOME = state .. '/config',
      XDG_DATA_HOME = state .. '/data',
      XDG_STATE_HOME = state .. '/state',
      XDG_CACHE_HOME = state .. '/cache',
      NVIM_LOG_FILE = state .. '/nvim.log',
      PATH = servers,
    },
  })
  assert(job > 0, 'nvim does not start')
  local channel = job
  if screen then
    vim.wait(DEADLINE, function()
      local ok, found = pcall(vim.fn.sockconnect, 'pipe', socket, { rpc = true })
      channel = ok and found or 0
      return channel > 0
    end, 10)
    assert(channel > 0, 'nvim does not listen')
  end
  local child = setmetatable({ channel = channel, job = job, state = state }, Child)
  children[#children + 1] = child
  if screen then
    child:wait('the screen', 'return #vim.api.nvim_list_uis() > 0')
  end
  child:lua(
    [[
      local plugin, here = ...
      vim.opt.runtimepath:prepend(plugin)
      package.path = here .. '/?.lua;' .. package.path
      vim.cmd('filetype on')
      vim.cmd.runtime('plugin/ropewalk.lua')
      vim.o.swapfile = false
    ]],
    plugin,
    here
  )
  return child
end

--- Starts a Neovim whose sidecar is the stand-in.
---@param cwd string
---@param options? table
---@param screen? integer[]
function T.start_standin(cwd, options, screen)
  local child = T.start(cwd, screen)
  child:lua(
    [[
      Standin = require('standin')
      local options = ...
      options.cmd = Standin.cmd
      require('ropewalk').setup(options)
    ]],
    options or vim.empty_dict()
  )
  return child
end

--- Starts a Neovim with the real sidecar.
---@param cwd string
---@param options? table
---@param screen? integer[]
function T.start_sidecar(cwd, options, screen)
  assert(T.sidecar and T.sidecar ~= '', 'ROPEWALK_BIN is not set')
  local child = T.start(cwd, screen)
  child:lua(
    [[
      local options, sidecar = ...
      options.cmd = { sidecar, '--ephemeral' }
      -- Whoever plays trust says so.
      options.trusted = options.trusted == nil and 'remembered' or options.trusted
      options.log = vim.env.HOME .. '/ropewalk.log'
      require('ropewalk').setup(options)
    ]],
    options or vim.empty_dict(),
    T.sidecar
  )
  child:takes_calls()
  return child
end

--- Opens a file, in a folder of its own, in a Neovim with the real sidecar.
---@param name string
---@param text string
---@param options? table without: T.QUIET
---@param screen? integer[]
---@return Child child
---@return string path
---@return string folder
function T.open(name, text, options, screen)
  local folder = T.folder()
  local path = folder .. '/' .. name
  T.write(path, text)
  local child = T.start_sidecar(folder, options or T.QUIET, screen)
  child:visit(path)
  return child, path, folder
end

--- The same with the stand-in.
---@param text string
---@param name? string
---@param options? table
---@param screen? integer[]
---@return Child child
---@return string uri
---@return string path
function T.open_standin(text, name, options, screen)
  local folder = T.folder()
  local path = folder .. '/' .. (name or 'file.txt')
  T.write(path, text)
  local child = T.start_standin(folder, options, screen)
  child:lua('vim.cmd.edit(...)', path)
  local uri = vim.uri_from_fname(path)
  child:wait('the document', 'return Standin.docs[...] ~= nil', uri)
  return child, uri, path
end

--- Sends a request of the protocol to the sidecar and waits for its result.
---@param child Child
---@param method string
---@param params table
function T.request(child, method, params)
  child:lua(
    [[
      Answer = nil
      local method, params = ...
      require('ropewalk').request(method, params, function(err, result)
        Answer = { err = err, result = result }
      end)
    ]],
    method,
    params
  )
  local answer = child:wait(method, 'return Answer')
  if not answer.result or answer.result == vim.NIL then
    error(('%s failed: %s'):format(method, vim.inspect(answer.err)), 2)
  end
  return answer.result
end

--- What the sidecar has of an open document: `text`, and whether it is `unsaved`.
---@param child Child
---@param path string or the URI of one that has no file
function T.held(child, path)
  local uri = path:match('^%a[%w+.-]*:') and path or vim.uri_from_fname(path)
  return T.request(child, 'ropewalk/documentText', { uri = uri })
end

--- The text of the current buffer, byte for byte as it would be written.
---@param child Child
---@return string
function T.truth(child)
  return child:lua("return require('standin').truth(0)")
end

--- The sidecar has the text of the current buffer; gives what it has.
---@param child Child
---@param path string or the URI of one that has no file
function T.same_text(child, path)
  local truth = T.truth(child)
  local document = T.held(child, path)
  T.eq(truth, document.text, 'the sidecar has the text of the buffer')
  return document
end

--- Calls a tool through the sidecar and waits for its result.
---@param child Child
function T.call(child, name, arguments, options)
  child:wait('the sidecar', "return #vim.lsp.get_clients({ name = 'ropewalk' }) > 0")
  local index = child:lua('return Call(...)', name, arguments, options or vim.empty_dict())
  local done = child:wait('the result of ' .. name, 'return Results[...]', index)
  if done.err and done.err ~= vim.NIL then
    error(('%s was not accepted: %s'):format(name, vim.inspect(done.err)), 2)
  end
  return done.result
end

--- The text of a result.
function T.text(result)
  local parts = {}
  for _, piece in ipairs(result.content) do
    parts[#parts + 1] = piece.text
  end
  return table.concat(parts, '\n')
end

function T.eq(expected, got, what)
  if not vim.deep_equal(expected, got) then
    error(('%s\nexpected: %s\n     got: %s'):format(what or 'not equal', vim.inspect(expected), vim.inspect(got)), 2)
  end
end

function T.ok(value, what)
  if not value or value == vim.NIL then
    error(what or 'not true', 2)
  end
  return value
end

local scenarios = dofile(arg[1])
if not arg[2] then
  for name in vim.spairs(scenarios) do
    io.stdout:write(name, '\n')
  end
  return
end

local scenario = assert(scenarios[arg[2]], 'no scenario ' .. arg[2])
local ok, err = xpcall(scenario, function(message)
  return debug.traceback(tostring(message), 2)
end, T)
if not ok then
  for _, child in ipairs(children) do
    local alive, messages = pcall(child.lua, child, "return vim.fn.execute('messages')")
    if alive and messages ~= '' then
      io.stdout:write('messages of the editor:', messages, '\n')
    end
    for _, name in ipairs({ '/ropewalk.log', '/state/nvim/lsp.log' }) do
      local file = io.open(child.state .. name, 'rb')
      if file then
        io.stdout:write(name, ' ends with:\n', file:read('*a'):sub(-4000), '\n')
        file:close()
      end
    end
  end
end
for _, child in ipairs(children) do
  child:stop()
end
io.stdout:write(vim.json.encode({ scenario = arg[2], ok = ok, detail = not ok and err or nil }), '\n')
os.exit(ok and 0 or 1)
