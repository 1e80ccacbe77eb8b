--- An agent in a terminal, by the official TypeScript SDK of MCP, joined to a real Neovim.

local S = {}

local PYTHON = 'import os\n\n\ndef f(x):\n    return x + 1\n\n\nprint(os.name, f(1))\n'

--- Opens a file in a Neovim whose sidecar can be joined and whose person answers so when asked.
local function open(T, name, text, decision)
  local folder = T.folder()
  local path = folder .. '/' .. name
  T.write(path, text)
  local child = T.start(folder)
  local runtime = T.folder()
  child:lua(
    [[
      local sidecar, runtime, decision = ...
      vim.env.XDG_RUNTIME_DIR = runtime
      Asked = {}
      require('ropewalk').setup({
        cmd = { sidecar },
        trusted = true,
        log = vim.env.HOME .. '/ropewalk.log',
        approve = function(call, answer)
          table.insert(Asked, call)
          answer(decision)
        end,
      })
    ]],
    T.sidecar,
    runtime,
    decision
  )
  child:visit(path)
  vim.wait(20000, function()
    return #vim.fn.glob(runtime .. '/ropewalk/*.json', true, true) > 0
  end, 5)
  return child, path, folder, runtime
end

--- Runs the agent to its end.
local function agent(T, folder, runtime, path, old, new)
  local done = vim
    .system({
      'node',
      T.here .. '/mcp-client.cjs',
      T.tools,
      T.sidecar,
      folder,
      path,
      old,
      new,
    }, { text = true, timeout = 60000, env = { XDG_RUNTIME_DIR = runtime } })
    :wait()
  T.eq(0, done.code, done.stderr)
  return vim.json.decode(done.stdout)
end

function S.an_agent_edits_an_unsaved_buffer_and_sees_its_diagnostics(T)
  local child, path, folder, runtime = open(T, 'main.py', PYTHON, 'session')
  child:press('ggO# unsaved<Esc>')
  local said = agent(T, folder, runtime, path, 'return x + 1', 'return x + undefined_name')
  T.eq('ropewalk', said.server)
  T.ok(vim.list_contains(said.tools, 'edit'), vim.inspect(said.tools))
  T.ok(said.read.content[1].text:find('# unsaved', 1, true), said.read.content[1].text)
  T.eq(false, said.edit.isError, vim.inspect(said.edit))
  T.ok(said.edit.content[1].text:find('undefined_name', 1, true), said.edit.content[1].text)
  T.ok(said.edit.content[1].text:find('F821', 1, true), said.edit.content[1].text)
  T.ok(said.progress > 0, 'progress was told')
  local expected = '# unsaved\n' .. PYTHON:gsub('x %+ 1', 'x + undefined_name')
  T.eq(expected, said.text)
  T.eq(vim.split(expected:gsub('\n$', ''), '\n'), child:lines())
  T.eq(PYTHON, T.read(path), 'the file on the disk')
  local asked = child:lua('return Asked')
  T.eq('join', asked[1].name)
  T.ok(asked[1].targets[1]:find('node', 1, true), vim.inspect(asked[1].targets))
  child:press('u')
  T.eq('    return x + 1', child:lines()[6], 'one undo takes it back')
end

function S.an_agent_that_is_not_let_in_gets_nothing(T)
  local child, path, folder, runtime = open(T, 'main.py', PYTHON, 'deny')
  local done = vim
    .system(
      { 'node', T.here .. '/mcp-client.cjs', T.tools, T.sidecar, folder, path, 'x + 1', 'x + 2' },
      { text = true, timeout = 60000, env = { XDG_RUNTIME_DIR = runtime } }
    )
    :wait()
  -- Its calls are answered with a no, and its list of resources with an error, which ends it.
  T.eq(1, done.code, done.stdout)
  T.ok(done.stderr:find('did not let you in', 1, true), done.stderr)
  T.eq(vim.split(PYTHON:gsub('\n$', ''), '\n'), child:lines())
end

return S
