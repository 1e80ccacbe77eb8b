--- Whether what a root contains may be run. The option `trusted` decides, or the person: their word is kept in Neovim's
--- own list of what is trusted (|vim.secure|), where a folder is trusted by its name.

local say = require('ropewalk.review.say')

local api = vim.api

local M = {}

--- What the person said of a root since Neovim started.
---@type table<string, boolean>
local said = {}

--- Roots that were asked about since Neovim started.
---@type table<string, true>
local asked = {}

--- Calls that wait for the person's word on a root.
---@type table<string, fun()[]>
local waiting = {}

---@param folder string
---@return string
local function real(folder)
  local path = vim.fs.normalize(vim.fn.fnamemodify(folder, ':p'))
  return vim.uv.fs_realpath(path) or (path:gsub('(.)/$', '%1'))
end

---@param folder string
---@return string
function M.uri(folder)
  return (vim.uri_from_fname(vim.fs.normalize(vim.fn.fnamemodify(folder, ':p'))):gsub('/$', ''))
end

--- What Neovim's list says of a folder, without asking anybody. |vim.secure.read()| would ask.
---@param folder string
---@return boolean? trusted nil: it is not in the list
function M.remembered(folder)
  local file = io.open(vim.fs.joinpath(vim.fn.stdpath('state') --[[@as string]], 'trust'), 'r')
  if not file then
    return nil
  end
  local wanted, answer = real(folder), nil
  for line in file:lines() do
    local hash, path = line:match('^(%S+) (.+)$')
    if path == wanted then
      answer = hash == 'directory'
    end
  end
  file:close()
  return answer
end

--- Writes a person's word into Neovim's list.
---@param folder string
---@param value boolean
---@return boolean ok
---@return string? fault
function M.remember(folder, value)
  local path = real(folder)
  if vim.fn.isdirectory(path) == 0 then
    return false, 'no such folder: ' .. path
  end
  pcall(vim.fn.mkdir, vim.fn.stdpath('state') --[[@as string]], 'p')
  if not value then
    local ok, done, message = pcall(vim.secure.trust, { action = 'deny', path = path })
    return ok and done, not (ok and done) and tostring(ok and message or done) or nil
  end
  -- Neovim allows by the name of a buffer only. Nobody is to notice this one.
  local ignored = vim.o.eventignore
  vim.o.eventignore = 'all'
  local known = vim.fn.bufnr('^' .. vim.fn.fnameescape(path) .. '/\\?$')
  local bufnr = known > 0 and known or api.nvim_create_buf(false, true)
  local ok, done, message = pcall(function()
    if known <= 0 then
      api.nvim_buf_set_name(bufnr, path)
    end
    return vim.secure.trust({ action = 'allow', bufnr = bufnr })
  end)
  if known <= 0 then
    pcall(api.nvim_buf_delete, bufnr, { force = true })
  end
  vim.o.eventignore = ignored
  return ok and done, not (ok and done) and tostring(ok and message or done) or nil
end

--- What the option `trusted` says of a root.
---@param config ropewalk.Config
---@param root string
---@return boolean|string[] trusted true, false, or URIs of folders
local function by_option(config, root)
  local value = config.trusted
  if value == 'ask' or value == 'remembered' then
    return M.remembered(root) == true
  elseif type(value) == 'function' then
    local ok, answer = pcall(value, root)
    if not ok then
      say.say('the option `trusted` failed: ' .. tostring(answer), vim.log.levels.ERROR)
    end
    return ok and answer == true
  elseif type(value) == 'table' then
    return vim.tbl_map(M.uri, value)
  end
  return value == true
end

--- What a sidecar of `root` is told at its start: what the person said goes before what the option says.
---@param config ropewalk.Config
---@param root string
---@return boolean|string[] trusted true, false, or URIs of folders
function M.of(config, root)
  if said[real(root)] ~= nil then
    return said[real(root)]
  end
  local trusted = by_option(config, root)
  if trusted == true then
    return true
  end
  -- Folders within the root, or beside it.
  local folders = trusted or {} ---@type string[]
  for folder, value in vim.spairs(said) do
    if value then
      folders[#folders + 1] = M.uri(folder)
    end
  end
  return #folders > 0 and folders
end

--- The person said so. It holds until Neovim ends, and, where `trusted` leaves it to them, after that.
---@param config ropewalk.Config
---@param folder string
---@param value boolean
---@return string? fault why it is not remembered
function M.say(config, folder, value)
  said[real(folder)] = value
  if config.trusted == 'ask' or config.trusted == 'remembered' then
    local ok, fault = M.remember(folder, value)
    return not ok and fault or nil
  end
end

--- Whether the person is still to be asked about a root.
---@param config ropewalk.Config
---@param root string
---@return boolean
function M.is_open(config, root)
  return config.trusted == 'ask'
    and not asked[real(root)]
    and said[real(root)] == nil
    and #api.nvim_list_uis() > 0
    and vim.fn.isdirectory(root) == 1
    and M.remembered(root) == nil
end

--- Asks about a root, once. Everything but a clear yes is a no.
---@param root string
---@param done fun(trusted: boolean)
function M.ask(root, done)
  asked[real(root)] = true
  local prompt = require('ropewalk.prompt')
  local visible = require('ropewalk.approve').visible
  local function says(word)
    return function(answer)
      answer(word)
    end
  end
  coroutine.wrap(function()
    local ok, word = pcall(prompt.turn, { method = 'trust' }, function(turn)
      return turn:ask({
        title = 'Ropewalk: do you trust this folder?',
        lines = {
          { text = visible((root:gsub('\n', '\\n'))), group = 'RopewalkTitle' },
          { text = '' },
          { text = 'An agent called a tool here. In a folder that is trusted its commands may run,' },
          { text = "and language servers that run the project's code may start." },
          { text = '' },
          { text = 'Neovim keeps your yes or no (:help trust); :Ropewalk trust and untrust change it.' },
        },
        footers = { 't trust it  n never  q not now', 't trust  n never  q later', 't n q' },
        keys = { t = says('yes'), n = says('no'), q = says(nil), ['<Esc>'] = says(nil), ['<C-c>'] = says(nil) },
      })
    end)
    if not ok then
      vim.lsp.log.error('ropewalk', 'asking about trust', word)
    elseif word then
      said[real(root)] = word == 'yes'
      local kept, fault = M.remember(root, word == 'yes')
      if not kept then
        say.warn('this is not remembered: ' .. tostring(fault))
      end
    end
    done(ok and word == 'yes')
  end)()
end

--- Runs a call once the person has said whether what the root contains may be run, where that is still to be asked. Calls
--- keep their order.
---@param config ropewalk.Config
---@param root string
---@param tell fun(root: string, trusted: boolean) tells the sidecars
---@param act fun()
function M.first(config, root, tell, act)
  if waiting[root] then
    table.insert(waiting[root], act)
  elseif not M.is_open(config, root) then
    act()
  else
    waiting[root] = { act }
    M.ask(root, function(trusted)
      if trusted then
        tell(root, true)
      end
      local calls = waiting[root]
      waiting[root] = nil
      for _, each in ipairs(calls) do
        each()
      end
    end)
  end
end

return M
