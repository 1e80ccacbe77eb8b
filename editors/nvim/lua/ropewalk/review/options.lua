--- The option `review`: how changes of agents are shown, and by which keys they are judged.

local M = {}

---@class ropewalk.ReviewOptions
---@field show? 'signs'|'lens'|'none'
---@field mappings? boolean|table<string, string> true: the default keys; a table: action -> key, nothing else is mapped
---@field fold? integer more removed or proposed lines than these are shown cut, 0: all are shown
---@field signs? table<'added'|'changed'|'removed'|'proposed', string> one or two cells each

---@class ropewalk.Review
---@field show 'signs'|'lens'|'none'
---@field mappings table<string, string>
---@field fold integer
---@field signs table<string, string>

--- The keys where `mappings = true`.
---@type table<string, string>
M.keys = {
  next = ']r',
  prev = '[r',
  keep = '<Leader>rk',
  undo = '<Leader>ru',
  accept = '<Leader>ra',
  reject = '<Leader>rr',
  ['reject-words'] = '<Leader>rw',
  edit = '<Leader>re',
  diff = '<Leader>rd',
  review = '<Leader>rv',
}

local shows = { 'signs', 'lens', 'none' }

--- Whether a value will do, and in words what would.
---@param value any
---@return boolean
---@return string
function M.check(value)
  local expected = "'signs', 'lens', 'none' or a table of show, mappings, fold and signs"
  if type(value) == 'string' then
    return vim.list_contains(shows, value), expected
  elseif type(value) ~= 'table' then
    return false, expected
  end
  for name, given in pairs(value) do
    local ok ---@type boolean
    if name == 'show' then
      ok = vim.list_contains(shows, given)
    elseif name == 'mappings' then
      ok = type(given) == 'boolean' or type(given) == 'table'
      for action, key in pairs(type(given) == 'table' and given or {}) do
        if not M.keys[action] or type(key) ~= 'string' or key == '' then
          local known = vim.tbl_keys(M.keys)
          table.sort(known)
          return false, 'a table whose mappings are keys of ' .. table.concat(known, ', ')
        end
      end
    elseif name == 'fold' then
      ok = type(given) == 'number' and given >= 0 and given % 1 == 0
    elseif name == 'signs' then
      ok = type(given) == 'table'
      for sign, text in pairs(ok and given or {}) do
        local width = type(text) == 'string' and vim.fn.strdisplaywidth(text) or 0
        ok = ok and vim.list_contains({ 'added', 'changed', 'removed', 'proposed' }, sign) and width >= 1 and width <= 2
      end
    end
    if not ok then
      return false, expected
    end
  end
  return true, expected
end

--- The option with every default filled in.
---@param value? string|ropewalk.ReviewOptions
---@return ropewalk.Review
function M.resolve(value)
  local given = type(value) == 'table' and value or { show = value }
  local mappings = given.mappings
  local fancy = vim.o.encoding == 'utf-8'
  local signs = { added = '┃', changed = '┃', removed = '▁', proposed = '┆' }
  if not fancy then
    signs = { added = '+', changed = '~', removed = '_', proposed = '?' }
  end
  return {
    show = given.show or 'signs',
    mappings = mappings == true and M.keys or type(mappings) == 'table' and mappings or {},
    fold = given.fold or 10,
    signs = vim.tbl_extend('force', signs, given.signs or {}),
  }
end

return M
