--- A real agent, Codex, in a real Neovim: from a terminal, and as a command of the tool `agent`. Its model is a
--- stand-in on loopback that is held, so that all can be looked at while it is under way.

local S = {}

local PYTHON = 'import os\n\n\ndef f(x):\n    return x + 1\n\n\nprint(os.name, f(1))\n'
local UNSAVED = '# unsaved\n' .. PYTHON
local EDITED = UNSAVED:gsub('x %+ 1', 'x + undefined_name')

--- How long anything may take before the scenario fails (ms).
local DEADLINE = 60000

---@class Model
---@field port string
---@field process vim.SystemObj
---@field said string[]
local Model = {}
Model.__index = Model

--- Starts a model that calls a tool once. It ends with its standard input, and so with us.
local function model(T, tool, arguments)
  local self = setmetatable({ said = {}, part = '' }, Model)
  local script = vim.fs.normalize(T.here .. '/../../setup/model.py')
  self.process = vim.system({ 'python3', script, '--hold', tool, vim.json.encode(arguments) }, {
    stdin = true,
    stdout = function(_, data)
      self.part = self.part .. (data or '')
      while self.part:find('\n') do
        local line, rest = self.part:match('^(.-)\n(.*)$')
        self.said[#self.said + 1] = line
        self.part = rest
      end
    end,
  })
  self.port = self:next('the port of the model')
  return self
end

--- The next line that it says; `fails` tells early why there will be none.
function Model:next(what, fails)
  local failed
  local told = vim.wait(DEADLINE, function()
    failed = fails and fails()
    return #self.said > 0 or failed
  end, 5)
  if #self.said == 0 then
    error(('%s did not come: %s'):format(what, told and failed or 'it took too long'), 2)
  end
  return table.remove(self.said, 1)
end

--- Lets it answer what it was sent.
function Model:go()
  self.process:write('\n')
end

function Model:stop()
  self.process:write(nil)
  self.process:wait(5000)
end

--- A home for Codex whose only model is ours, with more lines of settings. It asks nobody else for anything.
local function home(T, port, more)
  local folder = T.folder()
  local provider = 'model_providers.stand-in = { name = "stand-in", base_url = "http://127.0.0.1:%s/v1", '
    .. 'wire_api = "responses", env_key = "STAND_IN_KEY" }'
  T.write(
    folder .. '/config.toml',
    table.concat({
      'model = "stand-in"',
      'model_provider = "stand-in"',
      'check_for_update_on_startup = false',
      provider:format(port),
      'analytics.enabled = false',
      'features.plugins = false',
      'features.apps = false',
      more or '',
    }, '\n')
  )
  return folder
end

--- What Codex finds in its environment.
local function environment(folder)
  return { HOME = folder, CODEX_HOME = folder, STAND_IN_KEY = 'none', NO_PROXY = '127.0.0.1', no_proxy = '127.0.0.1' }
end

--- The first block in a language in a file of the documentation.
local function documented(T, name, language)
  local text = T.read(vim.fs.normalize(T.here .. '/../../../docs/' .. name))
  return T.ok(text:match('```' .. language .. '\n(.-)```'), ('docs/%s has no block of %s'):format(name, language))
end

--- A path as a string of TOML, for the right side of `gsub`.
local function quoted(path)
  return (vim.json.encode(path):gsub('\\/', '/'):gsub('%%', '%%%%'))
end

--- Opens a file and changes it, without saving, in a Neovim whose sidecar can be joined. What that asks is kept, and
--- answered with yes.
local function open(T, settings)
  local folder = T.folder()
  local path = folder .. '/main.py'
  T.write(path, PYTHON)
  local child = T.start(folder)
  local runtime = T.folder()
  child:lua(
    [[
      local sidecar, runtime, codex, settings = ...
      vim.env.XDG_RUNTIME_DIR = runtime
      vim.env.PATH = codex .. ':' .. vim.env.PATH
      Asked = {}
      require('ropewalk').setup({
        cmd = { sidecar },
        trusted = true,
        settings = settings,
        log = vim.env.HOME .. '/ropewalk.log',
        approve = function(call, answer)
          table.insert(Asked, call)
          answer('once')
        end,
      })
      Results, Cancels = {}, {}
      function Call(name, arguments)
        local index = #Results + 1
        Results[index] = false
        Cancels[index] = require('ropewalk').call(name, arguments, function(err, result)
          Results[index] = { err = err, result = result }
        end)
        return index
      end
    ]],
    T.sidecar,
    runtime,
    T.tools .. '/codex/node_modules/.bin',
    settings or vim.empty_dict()
  )
  child:visit(path)
  local known
  vim.wait(DEADLINE, function()
    known = vim.fn.glob(runtime .. '/ropewalk/*.json', true, true)[1]
    return known ~= nil
  end, 5)
  T.ok(known, 'the sidecar can be joined')
  child:press('ggO# unsaved<Esc>')
  local sidecar = tonumber(vim.fs.basename(known):match('%d+'))
  return { child = child, path = path, folder = folder, runtime = runtime, sidecar = sidecar }
end

local function buffer_is(T, at, text, what)
  T.eq(vim.split(text:gsub('\n$', ''), '\n'), at.child:lines(), what)
  T.eq(true, at.child:lua('return vim.bo.modified'), 'the buffer is not saved')
  T.eq(PYTHON, T.read(at.path), 'the file on the disk')
end

--- That the model was offered our tools, under the name of our server.
local function offered(T, line)
  local tools = vim.json.decode(line).tools
  for _, name in ipairs({ 'edit', 'read', 'grep', 'bash' }) do
    T.ok(vim.list_contains(tools, 'mcp__ropewalk__' .. name), name .. ' is none of ' .. vim.inspect(tools))
  end
end

--- The parent of every process. (Neovim itself knows only children of a process's first thread.)
local function parents()
  local all = {}
  if vim.uv.fs_stat('/proc/self/stat') then
    for name in vim.fs.dir('/proc') do
      local file = name:match('^%d+$') and io.open(('/proc/%s/stat'):format(name), 'rb')
      if file then
        -- One that has ended since has nothing to read.
        local parent = (file:read('*a') or ''):match('^.*%) %S+ (%d+)')
        file:close()
        all[tonumber(name)] = tonumber(parent)
      end
    end
  else
    for process, parent in vim.fn.system({ 'ps', '-A', '-o', 'pid=,ppid=' }):gmatch('(%d+) +(%d+)') do
      all[tonumber(process)] = tonumber(parent)
    end
  end
  return all
end

--- All processes below one.
local function below(top)
  local all = parents()
  local found = {}
  for process in vim.spairs(all) do
    local above = all[process]
    while above and above ~= top do
      above = all[above]
    end
    if above then
      found[#found + 1] = process
    end
  end
  return found
end

local function gone(T, processes)
  local left
  vim.wait(DEADLINE, function()
    left = vim.tbl_filter(function(process)
      return vim.uv.kill(process, 0) == 0
    end, processes)
    return #left == 0
  end, 5)
  T.eq({}, left, 'processes that are left')
end

--- Runs a part of a scenario with a model, which is ended however that goes.
local function with(T, model_, run)
  local ok, err = xpcall(run, debug.traceback)
  model_:stop()
  if not ok then
    error(err, 0)
  end
end

function S.codex_in_a_terminal_edits_an_unsaved_buffer(T)
  local at = open(T)
  local arguments = { file_path = at.path, old_string = 'return x + 1', new_string = 'return x + undefined_name' }
  local model_ = model(T, 'mcp__ropewalk__edit', arguments)
  with(T, model_, function()
    -- As the documentation has it, with this program in the place of the one on the PATH, and from another folder.
    local server = documented(T, 'BRIDGE.md', 'toml')
    local replaced
    server, replaced = server:gsub('"ropewalk"', quoted(T.sidecar))
    T.eq(1, replaced, server)
    server, replaced = server:gsub('"%-%-connect"', '%0, "--root", ' .. quoted(at.folder))
    T.eq(1, replaced, server)
    local folder = home(T, model_.port, server)
    local env = environment(folder)
    env.XDG_RUNTIME_DIR = at.runtime
    local done
    local codex = T.tools .. '/codex/node_modules/.bin/codex'
    vim.system(
      { codex, 'exec', '--skip-git-repo-check', '--sandbox', 'read-only', 'Use the name.' },
      { text = true, timeout = DEADLINE, cwd = folder, env = env },
      function(ended)
        done = ended
      end
    )
    local function fails()
      return done and ('Codex has ended: %s\n%s'):format(done.stdout, done.stderr)
    end
    offered(T, model_:next('the first request', fails))
    buffer_is(T, at, UNSAVED, 'nothing is done yet')
    model_:go()
    local told = vim.json.decode(model_:next('the result of the edit', fails)).result
    buffer_is(T, at, EDITED, 'the edit')
    T.ok(told:find('main.py', 1, true), told)
    T.ok(told:find('undefined_name', 1, true) and told:find('F821', 1, true), 'what ruff says comes back: ' .. told)
    model_:go()
    vim.wait(DEADLINE, fails, 5)
    T.ok(done, 'Codex does not end')
    T.eq(0, done.code, done.stderr)
    T.ok(done.stdout:find('The tool said: ', 1, true) and done.stdout:find('F821', 1, true), done.stdout)
    -- It was asked about once, and the edit itself is what build mode lets pass.
    local asked = at.child:lua('return Asked')
    T.eq({ 'join' }, vim.tbl_map(function(call)
      return call.name
    end, asked))
    T.ok(asked[1].targets[1]:find('codex', 1, true), vim.inspect(asked[1].targets))
    at.child:press('u')
    buffer_is(T, at, UNSAVED, 'one undo takes it back')
  end)
end

--- The settings that the documentation shows, with what this Codex needs to find its model.
local function with_codex(T, folder)
  local settings = vim.json.decode(documented(T, 'AGENTS.md', 'json'))
  settings.agents.codex.env = environment(folder)
  settings.diagnostics = { ownServers = 'off' }
  return settings
end

local TASK = { agent_type = 'codex', description = 'Use the name', prompt = 'Use the name.' }

--- Calls the tool `agent`: the index of its result, and what tells whether it has come already.
local function call(at, arguments)
  local index = at.child:lua("return Call('agent', ...)", arguments)
  return index, function()
    local ended = at.child:lua('return Results[...]', index)
    return ended and vim.inspect(ended)
  end
end

function S.codex_as_an_agent_joins_its_session_unasked(T)
  -- The model is there before the folder is, and a path may be relative to that.
  local arguments = { file_path = 'main.py', old_string = 'return x + 1', new_string = 'return x + undefined_name' }
  local model_ = model(T, 'mcp__ropewalk__edit', arguments)
  with(T, model_, function()
    local at = open(T, with_codex(T, home(T, model_.port)))
    T.eq({}, below(at.sidecar), 'nothing runs before')
    local index, fails = call(at, TASK)
    offered(T, model_:next('the first request', fails))
    local running = below(at.sidecar)
    T.ok(#running >= 4, 'what watches over it, its two processes and `ropewalk mcp` run: ' .. vim.inspect(running))
    buffer_is(T, at, UNSAVED, 'nothing is done yet')
    model_:go()
    local told = vim.json.decode(model_:next('the result of the edit', fails)).result
    buffer_is(T, at, EDITED, 'the edit')
    T.ok(told:find('main.py', 1, true), told)
    running = vim.list_extend(running, below(at.sidecar))
    model_:go()
    local result = at.child:wait('the end of the agent', 'return Results[...]', index).result
    T.eq('ok', result.status, T.text(result))
    local said = '<external_content source="agent a1 (codex)">\nThe tool said: '
    T.ok(vim.startswith(T.text(result), said), T.text(result))
    T.ok(T.text(result):find('main.py', 1, true), T.text(result))
    gone(T, running)
    T.eq({}, below(at.sidecar), 'nothing runs afterwards')

    -- It goes on with its own conversation, in which the tool has been called already.
    local more = { action = 'resume', task_id = 'a1', agent_type = 'codex', prompt = 'What did it say?' }
    index, fails = call(at, more)
    T.eq(told, vim.json.decode(model_:next('the request of the one that was resumed', fails)).result)
    running = below(at.sidecar)
    model_:go()
    result = at.child:wait('the end of the agent', 'return Results[...]', index).result
    T.eq('ok', result.status, T.text(result))
    T.ok(not T.text(result):find('began another one', 1, true), T.text(result))
    gone(T, running)
    T.eq({}, at.child:lua('return Asked'), 'nobody is asked about joining')
    at.child:press('u')
    buffer_is(T, at, UNSAVED, 'one undo takes it back')
  end)
end

function S.codex_as_an_agent_goes_when_it_is_cancelled_and_with_the_sidecar(T)
  local model_ = model(T, 'mcp__ropewalk__edit', { file_path = 'main.py', old_string = 'x + 1', new_string = 'x + 2' })
  with(T, model_, function()
    local at = open(T, with_codex(T, home(T, model_.port)))
    local index, fails = call(at, TASK)
    offered(T, model_:next('the first request', fails))
    local running = below(at.sidecar)
    T.ok(#running >= 4, vim.inspect(running))
    at.child:lua('Cancels[...]()', index)
    local result = at.child:wait('the end of the call', 'return Results[...]', index).result
    T.eq('cancelled', result.status, T.text(result))
    gone(T, running)

    call(at, vim.tbl_extend('error', TASK, { background = true }))
    offered(T, model_:next('the first request of the other one'))
    running = below(at.sidecar)
    T.ok(#running >= 4, vim.inspect(running))
    vim.uv.kill(at.sidecar, 'sigkill')
    gone(T, running)
    buffer_is(T, at, UNSAVED, 'nothing was done')
  end)
end

return S
