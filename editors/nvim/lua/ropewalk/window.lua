--- Scratch windows for what a person asked to see.

local api = vim.api

local M = {}

--- Where the user was when something was asked for: a window that comes up later takes the focus only from there.
---@return { window: integer, bufnr: integer }
function M.here()
  return { window = api.nvim_get_current_win(), bufnr = api.nvim_get_current_buf() }
end

--- Whether the user is still where they asked, between two keys: what comes up then may take the keys.
---@param from { window: integer, bufnr: integer }
---@return boolean
function M.waits(from)
  return api.nvim_get_current_win() == from.window
    and api.nvim_get_current_buf() == from.bufnr
    and api.nvim_get_mode().mode == 'n'
end

--- Shows lines in a scratch window of their own, at the bottom. `q` closes it.
---@param title string
---@param lines string[]
---@param from? { window: integer, bufnr: integer } the focus goes there only if the user is still here, in Normal mode
---@param syntax? string
---@return integer bufnr
function M.show(title, lines, from, syntax)
  local enter = not from or M.waits(from)
  local bufnr = api.nvim_create_buf(false, true)
  vim.bo[bufnr].bufhidden, vim.bo[bufnr].swapfile = 'wipe', false
  api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable = false
  vim.b[bufnr].ropewalk_title = title
  if syntax then
    vim.bo[bufnr].syntax = syntax
  end
  local window = api.nvim_open_win(bufnr, enter, {
    split = 'below',
    win = -1,
    height = math.min(math.max(#lines, 1), math.max(math.floor(vim.o.lines / 2), 1)),
  })
  vim.wo[window][0].statusline = ' ' .. title:gsub('%%', '%%%%')
  vim.wo[window][0].number, vim.wo[window][0].relativenumber = false, false
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = bufnr, desc = 'ropewalk: close' })
  return bufnr
end

return M
