--- Where the window of a question goes, and what is in it, on the screen as it is.

local api = vim.api

local M = {}

local namespace = api.nvim_create_namespace('ropewalk.prompt.layout')

--- A line of a question.
---@class ropewalk.PromptLine
---@field text string without a line end
---@field group? string a highlight group for the whole line

---@class ropewalk.PromptSpec
---@field title string
---@field lines ropewalk.PromptLine[]
---@field footers string[] what the keys do, the fullest first: the first that fits is shown
---@field keys table<string, fun(done: fun(value: any), row: integer)> row: 1-based line of the cursor
---@field row? integer 1-based line that the cursor begins in

--- The first of the footers that fits.
---@param footers string[]
---@param width integer
local function footer_for(footers, width)
  for _, footer in ipairs(footers) do
    if vim.fn.strdisplaywidth(footer) + 2 <= width then
      return ' ' .. footer .. ' '
    end
  end
  return footers[#footers]
end

--- Where a window goes and what is round it, on the screen as it is.
---@param spec ropewalk.PromptSpec
---@param window? integer once it is there, its text counts as it is wrapped
---@return vim.api.keyset.win_config
function M.geometry(spec, window)
  local columns, rows = vim.o.columns, vim.o.lines - vim.o.cmdheight
  local bordered = rows >= 5 and columns >= 12
  local frame = bordered and 2 or 0
  local width = math.max(1, math.min(columns - frame - (columns > 60 and 4 or 0), 110))
  local most = math.max(1, rows - frame - (rows > 20 and 4 or 0))
  local needed = #spec.lines
  if window then
    local config = { relative = 'editor', row = 0, col = 0, width = width, height = most }
    api.nvim_win_set_config(window, config)
    needed = api.nvim_win_text_height(window, {}).all
  end
  local height = math.max(1, math.min(needed, most))
  local border = vim.o.winborder ~= '' and vim.o.winborder ~= 'none' and vim.o.winborder or 'rounded'
  local config = {
    relative = 'editor',
    row = math.max(0, math.floor((rows - height - frame) / 2)),
    col = math.max(0, math.floor((columns - width - frame) / 2)),
    width = width,
    height = height,
    border = bordered and border or 'none',
  }
  if bordered then
    local more = needed > height and ' (scroll: j k)' or ''
    local title = ' ' .. spec.title .. more .. ' '
    config.title = vim.fn.strdisplaywidth(title) <= width and title or vim.fn.strcharpart(title, 0, width)
    config.footer = footer_for(spec.footers, width)
  end
  return config
end

---@param spec ropewalk.PromptSpec
---@param bufnr integer
function M.fill(spec, bufnr)
  vim.bo[bufnr].modifiable = true
  local lines = vim.tbl_map(function(line)
    return line.text
  end, spec.lines)
  api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable = false
  api.nvim_buf_clear_namespace(bufnr, namespace, 0, -1)
  for row, line in ipairs(spec.lines) do
    if line.group then
      api.nvim_buf_set_extmark(bufnr, namespace, row - 1, 0, {
        end_row = row - 1,
        end_col = #line.text,
        hl_group = line.group,
      })
    end
  end
end

return M
