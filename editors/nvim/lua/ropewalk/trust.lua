--- Whether what a root contains may be run. The option `trusted` decides, or the person: their word is kept in Neovim's
--- own list of what is trusted (|vim.secure|), where a folder is trusted by its name.

local api = vim.api

local M = {}

--- How long keys are ignored once the question is on the screen (ms): they were typed for something else.
M.guard_ms = 300

--- What the person said of a root since Neovim started.
---@type table<string, boolean>
local said = {}

--- Roots that were asked about since Neovim started.
---@type table<string, true>
local asked = {}

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
  elseif not value then
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

--- What a sidecar of `root` is told at its start.
---@param config ropewalk.Config
---@param root string
---@return boolean|string[] trusted true, false, or URIs of folders
function M.of(config, root)
  local value = config.trusted
  if said[real(root)] ~= nil then
    return said[real(root)]
  elseif value == 'ask' or value == 'remembered' then
    return M.remembered(root) == true
  elseif type(value) == 'function' then
    local ok, answer = pcall(value, root)
    if not ok then
      vim.notify('ropewalk: the option `trusted` failed: ' .. tostring(answer), vim.log.levels.ERROR)
    end
    return ok and answer == true
  elseif type(value) == 'table' then
    return vim.tbl_map(M.uri, value)
  end
  return value == true
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

--- Asks about a root, once. Everything but a clear yes is a no. Returns when it is answered.
---@param root string
---@return boolean trusted
function M.ask(root)
  asked[real(root)] = true
  local namespace = api.nvim_create_namespace('ropewalk.trust')
  local shown_ns = vim.uv.hrtime()
  vim.on_key(function(_, typed)
    if vim.uv.hrtime() - shown_ns >= M.guard_ms * 1000000 then
      vim.on_key(nil, namespace)
    elseif typed ~= nil and typed ~= '' then
      return ''
    end
  end, namespace)
  local visible = root:gsub('%c', '?')
  local ok, picked = pcall(
    vim.fn.confirm,
    ('Ropewalk: may what is in %s be run?\nCommands of agents, and language servers that run its code.'):format(visible),
    '&Not now\n&View\n&Deny\n&Trust',
    1,
    'Question'
  )
  vim.on_key(nil, namespace)
  if ok and picked == 2 then
    vim.cmd.sview(vim.fn.fnameescape(root))
  elseif ok and (picked == 3 or picked == 4) then
    said[real(root)] = picked == 4
    M.remember(root, picked == 4)
  end
  return ok and picked == 4
end

return M
