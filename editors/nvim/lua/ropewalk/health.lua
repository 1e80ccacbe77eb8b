--- `:checkhealth ropewalk`

local health = vim.health

local M = {}

---@param cmd string[]
---@return string? output
---@return string? fault
local function run(cmd)
  local ok, process = pcall(vim.system, cmd, { text = true, timeout = 10000, stdin = '' })
  if not ok then
    return nil, tostring(process)
  end
  local done = process:wait()
  if done.code ~= 0 then
    return nil, ('exit code %d: %s'):format(done.code, vim.trim(done.stderr or ''))
  end
  return vim.trim(done.stdout or '')
end

---@param config ropewalk.Config
local function check_program(config)
  if type(config.cmd) == 'function' then
    health.info('`cmd` is a function: the sidecar is not started as a program')
    return
  end
  local program = config.cmd[1]
  if vim.fn.executable(program) == 0 then
    health.error(('no program `%s`'):format(program), {
      'Install it: cargo install ropewalk',
      "or name it: require('ropewalk').setup { cmd = { '/path/to/ropewalk' } }",
    })
    return
  end
  local version, fault = run({ program, '--version' })
  if version then
    health.ok(('%s (%s)'):format(version, vim.fn.exepath(program)))
  else
    health.error(('`%s --version` failed: %s'):format(program, fault))
    return
  end
  local report, problem = run({ program, 'doctor' })
  if report then
    health.info('What it finds here (`ropewalk doctor`):\n' .. report)
  else
    health.warn(('`%s doctor` failed: %s'):format(program, problem))
  end
end

local function check_sidecars()
  local sync = require('ropewalk.sync')
  local sidecars = require('ropewalk.client').list()
  if #sidecars == 0 then
    health.info('no sidecar runs; one is started with the first buffer, or by `:Ropewalk start`')
  end
  for _, client in ipairs(sidecars) do
    local documents = sync.list(client.id)
    health.ok(('a sidecar runs for %s with %d document(s)'):format(client.root_dir or '-', #documents))
    for _, document in ipairs(documents) do
      if not sync.check(document) then
        health.warn(('%s had to be opened anew: the sidecar could not follow a change'):format(document.uri))
      end
      if document.lossy then
        health.warn(('%s holds bytes that are not UTF-8; edits of such lines are refused'):format(document.uri))
      end
      if vim.bo[document.bufnr].fileformat == 'mac' then
        health.info(("%s has 'fileformat' mac; the sidecar sees its lines end in LF"):format(document.uri))
      end
      local names = {} ---@type string[]
      for _, other in ipairs(vim.lsp.get_clients({ bufnr = document.bufnr })) do
        if other.name ~= 'ropewalk' then
          names[#names + 1] = ('%s (%s)'):format(other.name, other.offset_encoding)
        end
      end
      if #names > 0 then
        health.info(('%s: diagnostics come from %s'):format(document.uri, table.concat(names, ', ')))
      end
    end
  end
end

function M.check()
  health.start('ropewalk')
  if vim.fn.has('nvim-0.11') == 1 then
    health.ok('Neovim ' .. tostring(vim.version()))
  else
    health.error('Neovim 0.11 or newer is needed')
    return
  end
  if vim.fn.has('win32') == 1 then
    health.error('Windows is not supported yet')
  end
  local config = require('ropewalk').config()
  if not config then
    health.warn('setup() was not called', { "Put require('ropewalk').setup {} into your init.lua" })
    config = require('ropewalk.config').defaults()
  end
  check_program(config)
  if config.trusted == false then
    health.info('no root is trusted: nothing that runs a project’s code is started (see `trusted`)')
  end
  if require('ropewalk').config() then
    check_sidecars()
  end
end

return M
