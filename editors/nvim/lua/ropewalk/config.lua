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

--- A function that answers for a person or a model: it is given the params of the protocol, what to call with the result
--- (nil: no answer), and a function that says what to do when nobody waits for the answer any more.
---@alias ropewalk.Answer fun(params: table, done: fun(result?: table), on_cancel: fun(act: fun()))

---@class ropewalk.Options
---@field cmd? string[]|function
---  The program and its arguments, or what |vim.lsp.ClientConfig| takes as `cmd`. Default: `ropewalk` on the PATH, else
---  the one that was built in the repository of this plugin.
---@field auto_start? boolean Start a sidecar with the first buffer of a root (default true), not only with a call.
---@field trusted? 'ask'|'remembered'|boolean|string[]|fun(root: string): boolean
---  Whether what a root contains may be run: what you said, and where you said nothing, you are asked at its first call
---  (default), or it may not; or: always, never, a list of folders, or a function.
---@field settings? table The sidecar's settings, for instance `{ diagnostics = { ownServers = 'on' } }`.
---@field log? string A file for the sidecar's log; without it the log goes to Neovim's |lsp-log|.
---@field log_lines? integer How many calls the log of calls keeps (default 1000).
---@field root_markers? (string|string[])[] What the root of a buffer holds, as for |vim.fs.root()|.
---@field root_dir? fun(bufnr: integer): string? The root of a buffer, instead of `root_markers`.
---@field filter? fun(bufnr: integer): boolean Which buffers are served (default: files and unnamed ones, by 'buftype').
---@field approve? 'select'|'window'|'confirm'|false|ropewalk.Ask
---  How you are asked for consent: in a window, or by your own |vim.ui.select()| (default); always in a window; by
---  |confirm()|; by a function of your own; or never (all is denied).
---@field ask? 'select'|'window'|false|ropewalk.Answer How you are asked what a model wants to know; false: never.
---@field elicit? 'select'|'window'|false|ropewalk.Answer How you are asked what an MCP server wants to know.
---@field run_agent? ropewalk.Answer Runs an agent to its end; without it there are none.
---@field sample? ropewalk.Answer Asks a model for an MCP server; without it none is asked.
---@field formatter? string|false|fun(client: vim.lsp.Client, bufnr: integer): boolean
---  Which language client formats what agents write: its name, or a function (default: the first that can); false: none.
---@field images? boolean Whether the model that you work with can be shown pictures (default false).
---@field not_sources? string[] Language clients that never report diagnostics, such as completion engines.
---@field review? 'signs'|'lens'|'none'|ropewalk.ReviewOptions
---  How changes of agents are shown for review: by signs and virtual text (default), by code lenses and code actions, or
---  not at all.
---@field restarts? integer How often a sidecar that crashed is started again (default 3).

--- The options with every default filled in.
---@class ropewalk.Config
---@field cmd? string[]|function
---@field auto_start boolean
---@field trusted 'ask'|'remembered'|boolean|string[]|fun(root: string): boolean
---@field settings table
---@field log? string
---@field log_lines integer
---@field root_markers (string|string[])[]
---@field root_dir? fun(bufnr: integer): string?
---@field filter fun(bufnr: integer): boolean
---@field approve 'select'|'window'|'confirm'|false|function
---@field ask 'select'|'window'|false|function
---@field elicit 'select'|'window'|false|function
---@field run_agent? function
---@field sample? function
---@field formatter? string|false|function
---@field images boolean
---@field not_sources string[]
---@field review 'signs'|'lens'|'none'|ropewalk.ReviewOptions
---@field restarts integer

---@return ropewalk.Config
function M.defaults()
  return {
    cmd = nil,
    auto_start = true,
    trusted = 'ask',
    settings = {},
    log = nil,
    log_lines = 1000,
    root_markers = {
      { '.git', '.hg', '.jj' },
      { 'Cargo.toml', 'go.mod', 'package.json', 'pyproject.toml', 'compile_commands.json' },
    },
    root_dir = nil,
    filter = function(bufnr)
      return vim.bo[bufnr].buftype == '' and vim.fn.isdirectory(vim.api.nvim_buf_get_name(bufnr)) == 0
    end,
    approve = 'select',
    ask = 'select',
    elicit = 'select',
    run_agent = nil,
    sample = nil,
    formatter = nil,
    images = false,
    not_sources = { 'copilot', 'GitHub Copilot', 'codeium', 'windsurf', 'supermaven', 'tabnine' },
    review = 'signs',
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

local function boolean(value)
  return type(value) == 'boolean', 'a boolean'
end

local function callable(value)
  return vim.is_callable(value), 'a function'
end

--- One of these words; where `otherwise` says so, a function will do as well.
---@param words any[]
---@param otherwise? string
local function one_of(words, otherwise)
  local spelled = vim.tbl_map(vim.inspect, words)
  spelled[#spelled + 1] = otherwise
  local expected = table.concat(spelled, ', ', 1, #spelled - 1) .. ' or ' .. spelled[#spelled]
  return function(value)
    return vim.list_contains(words, value) or otherwise ~= nil and vim.is_callable(value), expected
  end
end

--- Each option: whether a value will do, and in words what would.
---@type table<string, fun(value: any): boolean, string?>
local checks = {
  cmd = function(value)
    return type(value) == 'function' or strings(value) and #value > 0, 'a non-empty list of strings, or a function'
  end,
  auto_start = boolean,
  images = boolean,
  trusted = function(value)
    return value == 'ask' or value == 'remembered' or type(value) == 'boolean' or type(value) == 'function' or strings(
      value
    ),
      "'ask', 'remembered', a boolean, a list of folders, or a function"
  end,
  settings = function(value)
    local is_named = type(value) == 'table' and (next(value) == nil or not vim.islist(value))
    return is_named and pcall(vim.json.encode, value), 'a table with names, of what JSON can say'
  end,
  log = function(value)
    return is_string(value), 'the path of a file'
  end,
  root_markers = list_of('strings or lists of strings', function(item)
    return is_string(item) or strings(item)
  end),
  log_lines = function(value)
    return type(value) == 'number' and value >= 1 and value % 1 == 0, 'a whole number above 0'
  end,
  root_dir = callable,
  filter = callable,
  run_agent = callable,
  sample = callable,
  approve = one_of({ 'select', 'window', 'confirm', false }, 'a function'),
  ask = one_of({ 'select', 'window', false }, 'a function'),
  elicit = one_of({ 'select', 'window', false }, 'a function'),
  formatter = function(value)
    return value == false or is_string(value) or vim.is_callable(value),
      'the name of a language client, a function, or false'
  end,
  not_sources = strings,
  review = function(value)
    return require('ropewalk.review.options').check(value)
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
