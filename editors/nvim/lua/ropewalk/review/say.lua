--- Words to the person, each in one line that never waits for a key.

local M = {}

--- What was said last, in full.
---@type string?
M.last = nil

--- Whether `vim.notify` is Neovim's own, which writes to the bottom line and waits for a key when that is too short.
local function is_plain()
  return debug.getinfo(vim.notify, 'S').source:match('vim[/\\]_[%w_/\\]+%.lua$') ~= nil
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
  vim.notify(message, level or vim.log.levels.INFO)
end

---@param message string
function M.warn(message)
  M.say(message, vim.log.levels.WARN)
end

return M
