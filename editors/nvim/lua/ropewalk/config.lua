--- The options of `require('ropewalk').setup{}`: their types, defaults and checks.

local M = {}

--- What a person is asked about.
---@class ropewalk.ApproveCall
---@field callId string
---@field name string the tool
---@field arguments table
---@field targets string[] every file, command or host the call reaches
---@field diff? string the change, as a unified diff
---@field reason string why it is asked
---@field risk 'low'|'medium'|'high'

---@alias ropewalk.Consent 'once'|'session'|'always'|'deny'

---@alias ropewalk.Ask fun(call: ropewalk.ApproveCall, answer: fun(consent: ropewalk.Consent, feedback?: string))

---@class ropewalk.Options
---@field cmd? string[]|function
---  The program and its arguments (default `{ 'ropewalk' }`), or what |vim.lsp.ClientConfig| takes as `cmd`.
---@field auto_start? boolean Start a sidecar with the first buffer of a root (default true).
---@field trusted? boolean|string[]|fun(root: string): boolean
---  Whether what a root contains may be run: true, a list of folders, or a function (default false).
---@field settings? table The sidecar's settings, for instance `{ diagnostics = { ownServers = 'on' } }`.
---@field log? string A file for the sidecar's log; without it the log goes to Neovim's |lsp-log|.
---@field root_markers? (string|string[])[] What the root of a buffer holds, as for |vim.fs.root()|.
---@field root_dir? fun(bufnr: integer): string? The root of a buffer, instead of `root_markers`.
---@field filter? fun(bufnr: integer): boolean Which buffers are served (default: those whose 'buftype' is empty).
---@field approve? 'select'|'confirm'|false|ropewalk.Ask
---  How you are asked: |vim.ui.select()| (default), |confirm()|, a function of your own, or never (all is denied).
---@field not_sources? string[] Language clients that never report diagnostics, such as completion engines.
---@field review? 'lens'|'none'
---  How changes of agents are shown for review: by code lenses and code actions (default), or not at all.
---@field restarts? integer How often a sidecar that crashed is started again (default 3).

--- The options with every default filled in.
---@class ropewalk.Config
---@field cmd string[]|function
---@field auto_start boolean
---@field trusted boolean|string[]|fun(root: string): boolean
---@field settings table
---@field log? string
---@field root_markers (string|string[])[]
---@field root_dir? fun(bufnr: integer): string?
---@field filter fun(bufnr: integer): boolean
---@field approve 'select'|'confirm'|false|function
---@field not_sources string[]
---@field review 'lens'|'none'
---@field restarts integer

---@return ropewalk.Config
function M.defaults()
  return {
    cmd = { 'ropewalk' },
    auto_start = true,
    trusted = false,
    settings = {},
    log = nil,
    root_markers = {
      { '.git', '.hg', '.jj' },
      { 'Cargo.toml', 'go.mod', 'package.json', 'pyproject.toml', 'compile_commands.json' },
    },
    root_dir = nil,
    filter = function(bufnr)
      return vim.bo[bufnr].buftype == ''
    end,
    approve = 'select',
    not_sources = { 'copilot', 'GitHub Copilot', 'codeium', 'windsurf', 'supermaven', 'tabnine' },
    review = 'lens',
    restarts = 3,
  }
end

---@param kind string
---@param test fun(value: any): boolean
local function list_of(kind, test)
  return function(value)
    if type(value) ~= 'table' or not vim.islist(value) then
      return false, 'a list of ' .. kind
    end
    for _, item in ipairs(value) do
      if not test(item) then
        return false, 'a list of ' .. kind
      end
    end
    return true
  end
end

local function is_string(value)
  return type(value) == 'string' and value ~= ''
end

local strings = list_of('strings', is_string)

--- Each option: whether a value will do, and in words what would.
---@type table<string, fun(value: any): boolean, string?>
local checks = {
  cmd = function(value)
    return type(value) == 'function' or strings(value) and #value > 0, 'a non-empty list of strings, or a function'
  end,
  auto_start = function(value)
    return type(value) == 'boolean', 'a boolean'
  end,
  trusted = function(value)
    return type(value) == 'boolean' or type(value) == 'function' or strings(value),
      'a boolean, a list of folders, or a function'
  end,
  settings = function(value)
    return type(value) == 'table' and (next(value) == nil or not vim.islist(value)), 'a table with names'
  end,
  log = function(value)
    return is_string(value), 'the path of a file'
  end,
  root_markers = list_of('strings or lists of strings', function(item)
    return is_string(item) or strings(item)
  end),
  root_dir = function(value)
    return type(value) == 'function', 'a function'
  end,
  filter = function(value)
    return type(value) == 'function', 'a function'
  end,
  approve = function(value)
    return value == false or value == 'select' or value == 'confirm' or type(value) == 'function',
      "'select', 'confirm', false or a function"
  end,
  not_sources = strings,
  review = function(value)
    return value == 'lens' or value == 'none', "'lens' or 'none'"
  end,
  restarts = function(value)
    return type(value) == 'number' and value >= 0 and value % 1 == 0, 'a whole number'
  end,
}

--- The defaults with `options` over them. Raises an error that names every option that is unknown or will not do.
---@param options? ropewalk.Options
---@return ropewalk.Config
function M.resolve(options)
  if options ~= nil and type(options) ~= 'table' then
    error('ropewalk: setup() takes a table of options, not a ' .. type(options), 0)
  end
  local config, faults = M.defaults(), {} ---@type ropewalk.Config, string[]
  for name, value in vim.spairs(options or {}) do
    local check = checks[name]
    if not check then
      faults[#faults + 1] = ('unknown option %s; there are: %s'):format(
        vim.inspect(name),
        table.concat(vim.fn.sort(vim.tbl_keys(checks)), ', ')
      )
    else
      local ok, expected = check(value)
      if ok then
        config[name] = value
      else
        faults[#faults + 1] = ('%s must be %s, not %s'):format(name, expected or 'something else', vim.inspect(value))
      end
    end
  end
  if #faults > 0 then
    error('ropewalk: ' .. table.concat(faults, '\nropewalk: '), 0)
  end
  return config
end

return M
