--- `:checkhealth ropewalk`

local health = vim.health

local M = {}

---@param cmd string[]
---@param cwd? string
---@return string? output
---@return string? fault
local function run(cmd, cwd)
  local ok, process = pcall(vim.system, cmd, { text = true, timeout = 10000, stdin = '', cwd = cwd })
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
---@return string? program the one that runs
local function check_program(config)
  local program = require('ropewalk.program')
  local cmd, missing = program.find(config)
  if type(cmd) == 'function' then
    health.info('`cmd` is a function: the sidecar is not started as a program')
    return
  elseif not cmd then
    local advice = {
      'Install it: `cargo install --path .` in its repository',
      "or name it: require('ropewalk').setup { cmd = { '/path/to/ropewalk' } }",
    }
    if program.repository() then
      table.insert(advice, 1, ('Build it in %s: `:Ropewalk build`'):format(program.repository()))
    end
    health.error(missing or 'no program', advice)
    return
  end
  local version, fault = run({ cmd[1], '--version' })
  if version then
    health.ok(('%s (%s)'):format(version, vim.fn.exepath(cmd[1])))
  else
    health.error(('`%s --version` failed: %s'):format(cmd[1], fault))
    return
  end
  return cmd[1]
end

--- What the sidecar finds here: language servers, the system, settings.
---@param config ropewalk.Config
---@param program string
local function check_findings(config, program)
  local cmd, root = { program }, nil
  if require('ropewalk').config() then
    root = require('ropewalk.client').target(vim.api.nvim_get_current_buf())
    if require('ropewalk.trust').of(config, root) == true then
      vim.list_extend(cmd, { '--trust', root })
    end
  end
  cmd[#cmd + 1] = 'doctor'
  local report, problem = run(cmd, root and vim.fn.isdirectory(root) == 1 and root or nil)
  if report then
    health.info(('`%s`:\n'):format(table.concat(cmd, ' ')) .. report)
  else
    health.warn(('`%s` failed: %s'):format(table.concat(cmd, ' '), problem))
  end
end

---@param document ropewalk.Document
local function check_document(document)
  local sync = require('ropewalk.sync')
  if not sync.check(document) then
    health.warn(('%s had to be opened anew: the sidecar could not follow a change'):format(document.uri))
  end
  if document.lossy then
    health.warn(('%s holds bytes that are not UTF-8; edits of such lines are refused'):format(document.uri))
  end
  if vim.bo[document.bufnr].fileformat == 'mac' then
    health.info(("%s has 'fileformat' mac; the sidecar sees its lines end in LF"):format(document.uri))
  end
  local names, encodings = {}, {} ---@type string[], table<string, true>
  for _, other in ipairs(vim.lsp.get_clients({ bufnr = document.bufnr })) do
    if other.name ~= 'ropewalk' then
      names[#names + 1] = ('%s (%s)'):format(other.name, other.offset_encoding)
      encodings[other.offset_encoding] = true
    end
  end
  if #names > 0 then
    health.info(('%s: diagnostics come from %s'):format(document.uri, table.concat(names, ', ')))
  end
  encodings['utf-16'] = nil
  if next(encodings) then
    health.info(
      ('%s: the sidecar counts in utf-16, others in %s. Each is told and heard in its own; only functions of Neovim that\n'):format(
        document.uri,
        table.concat(vim.tbl_keys(encodings), ', ')
      ) .. 'take one encoding for all clients of a buffer warn of that, and other plugins may'
    )
  end
end

local function check_sidecars()
  local sync = require('ropewalk.sync')
  local sidecars = require('ropewalk.client').list()
  if #sidecars == 0 then
    health.info('no sidecar runs; one is started with the first buffer, a call, or `:Ropewalk start`')
  end
  for _, client in ipairs(sidecars) do
    local documents = sync.list(client.id)
    local info = client.server_info or {}
    health.ok(
      ('a sidecar runs for %s with %d document(s) (%s %s)'):format(
        client.root_dir or '-',
        #documents,
        info.name or 'sidecar',
        info.version or 'of an unknown version'
      )
    )
    local ours = vim.tbl_get(client.server_capabilities, 'experimental', 'ropewalk') or {}
    local missing = vim.tbl_filter(
      function(method)
        return not vim.list_contains(ours.methods or {}, method)
      end,
      { 'ropewalk/callTools', 'ropewalk/openSession', 'ropewalk/output', 'ropewalk/registerTools', 'ropewalk/accept' }
    )
    if #missing > 0 then
      health.warn(('it is older than this plugin: it does not know %s'):format(table.concat(missing, ', ')))
    end
    if client.offset_encoding ~= 'utf-16' then
      health.error(('it counts in %s, although utf-16 was offered'):format(client.offset_encoding))
    end
    for _, document in ipairs(documents) do
      check_document(document)
    end
  end
end

---@param config ropewalk.Config
local function check_trust(config)
  local trust = require('ropewalk.trust')
  if config.trusted == false then
    health.info('no root is trusted: nothing that runs a project’s code is started (see `trusted`)')
  end
  local roots = {} ---@type table<string, true>
  for _, client in ipairs(require('ropewalk.client').list()) do
    roots[client.root_dir] = true
  end
  for root in vim.spairs(roots) do
    local now = trust.of(config, root)
    local remembered = trust.remembered(root)
    local how = remembered == nil and 'Neovim’s list of what is trusted does not have it'
      or ('Neovim’s list of what is trusted %s it'):format(remembered and 'allows' or 'denies')
    if type(now) == 'table' then
      health.info(('%s: trusted are %s'):format(root, table.concat(now, ', ')))
    elseif now then
      health.ok(('%s is trusted (%s)'):format(root, how))
    else
      health.info(('%s is not trusted: no command runs there (%s); `:Ropewalk trust` changes that'):format(root, how))
    end
  end
end

--- Where a function was written, if not in Neovim itself.
---@param fn any
---@return string?
local function foreign(fn)
  if type(fn) ~= 'function' then
    return vim.inspect(fn)
  end
  local source = debug.getinfo(fn, 'S').source
  local is_own = source:match('^@?vim/') or source:find(vim.env.VIMRUNTIME, 1, true)
  return not is_own and (source:gsub('^@', '')) or nil
end

--- What other plugins have changed for everybody that could get in the way.
local function check_others()
  local found = false
  for _, name in ipairs({ 'select', 'input' }) do
    local by = foreign(vim.ui[name])
    if by then
      found = true
      health.info(
        ('vim.ui.%s is that of %s; questions are asked through it where the options say `select`'):format(name, by)
      )
    end
  end
  for _, method in ipairs({ 'workspace/applyEdit', 'textDocument/publishDiagnostics', 'textDocument/diagnostic' }) do
    local by = foreign(vim.lsp.handlers[method])
    if by then
      found = true
      health.info(
        ('vim.lsp.handlers[%q] is that of %s; it is called as before, and does not concern the sidecar'):format(
          method,
          by
        )
      )
    end
  end
  local names = {} ---@type table<string, true>
  for _, client in ipairs(vim.lsp.get_clients()) do
    if client.name ~= 'ropewalk' and client.server_capabilities.executeCommandProvider then
      for _, command in ipairs(client.server_capabilities.executeCommandProvider.commands or {}) do
        if vim.startswith(command, 'ropewalk.') then
          names[client.name] = true
        end
      end
    end
  end
  for name in vim.spairs(names) do
    found = true
    health.warn(('the language client %s is a sidecar too: its calls and edits are not this plugin’s'):format(name))
  end
  if vim.g.loaded_ropewalk ~= true then
    found = true
    health.warn('plugin/ropewalk.lua was not loaded: there is no :Ropewalk')
  end
  if not found then
    health.ok('no other plugin has changed what this one relies on')
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
  local program = check_program(config)
  if require('ropewalk').config() then
    health.start('ropewalk: sidecars')
    check_sidecars()
    check_trust(config)
  end
  health.start('ropewalk: other plugins')
  check_others()
  if program then
    health.start('ropewalk: what the sidecar finds here')
    check_findings(config, program)
  end
end

return M
