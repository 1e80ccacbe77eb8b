--- Words to the person, each in one line that never waits for a key.

local M = {}

--- What was said last, in full.
---@type string?
M.last = nil

--- Whether something that plugins put their own in place of is still a function of Neovim's. What they put there may be
--- a table that can be called.
---@param value any
---@param pattern string of the file it would be from
---@return boolean
function M.is_from(value, pattern)
  return type(value) == 'function' and debug.getinfo(value, 'S').source:match(pattern) ~= nil
end

--- Whether `vim.notify` is Neovim's own, which writes to the bottom line and waits for a key when that is too short.
local function is_plain()
  return M.is_from(vim.notify, 'vim[/\\]_[%w_/\\]+%.lua$')
end

--- `vim.notify`, which may be a plugin's: where that fails, whoever had something to say goes on all the same.
---@param message string
---@param level integer
function M.notify(message, level)
  local ok, err = pcall(vim.notify, message, level)
  if not ok then
    vim.lsp.log.error('ropewalk', 'vim.notify failed', err, message)
  end
end

---@param message string
---@param level? integer
function M.say(message, level)
  message = require('ropewalk.approve').visible((('ropewalk: ' .. message):gsub('%s*\n%s*', ' ')))
  M.last = message
  local room = vim.v.echospace
  if is_plain() and vim.fn.strdisplaywidth(message) > room then
    message = vim.fn.strcharpart(message, 0, math.max(room - 1, 1)) .. '…'
    while vim.fn.strdisplaywidth(message) > room and #message > 3 do
      message = vim.fn.strcharpart(message, 0, vim.fn.strchars(message) - 2) .. '…'
    end
  end
  M.notify(message, level or vim.log.levels.INFO)
end

---@param message string
function M.warn(message)
  M.say(message, vim.log.levels.WARN)
end

return M
