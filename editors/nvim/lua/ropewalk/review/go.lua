--- To the next and the previous hunk, through the files.

local changes = require('ropewalk.review.changes')
local marks = require('ropewalk.review.marks')
local say = require('ropewalk.review.say')

local api = vim.api

local M = {}

--- Where there is something to judge in a file that can be gone to: 1-based lines, from the top, each once.
---@param client_id integer
---@param file ropewalk.ReviewFile
---@return integer[]
local function lines_of(client_id, file)
  local bufnr = changes.buffer(client_id, file.uri)
  local found, lines = bufnr and marks.list(bufnr) or {}, {} ---@type ropewalk.Found[], integer[]
  for _, one in ipairs(found) do
    lines[#lines + 1] = one.first + 1
  end
  if #found == 0 then
    for _, item in ipairs(file.items) do
      if not item.under then
        lines[#lines + 1] = item.start
      end
    end
  end
  table.sort(lines)
  return vim.fn.uniq(lines)
end

--- Whether there is a file to go to.
---@param client_id integer
---@param uri string
---@return boolean
function M.can_open(client_id, uri)
  if changes.buffer(client_id, uri) then
    return true
  end
  local ok, name = pcall(vim.uri_to_fname, uri)
  return ok and vim.uv.fs_stat(name) ~= nil
end

--- Goes to a line of a file in the current window.
---@param client_id integer
---@param uri string
---@param line integer 1-based
---@return boolean
function M.to(client_id, uri, line)
  local bufnr = changes.buffer(client_id, uri)
  if bufnr ~= api.nvim_get_current_buf() then
    local ok, err ---@type boolean, any
    if bufnr then
      vim.bo[bufnr].buflisted = true
      ok, err = pcall(vim.cmd.buffer, bufnr)
    elseif M.can_open(client_id, uri) then
      ok, err = pcall(vim.cmd.edit, vim.fn.fnameescape(vim.uri_to_fname(uri)))
    else
      ok, err = false, 'the file is not there (any more): ' .. changes.name(uri)
    end
    if not ok then
      say.warn((tostring(err):gsub('^.-:(E%d+:)', '%1')))
      return false
    end
  else
    vim.cmd("normal! m'")
  end
  api.nvim_win_set_cursor(0, { math.max(1, math.min(line, api.nvim_buf_line_count(0))), 0 })
  vim.cmd('silent! normal! ^zv')
  return true
end

--- Goes `count` hunks forward, or back where it is negative; from the last file to the first.
---@param count integer
function M.hunk(count)
  local places = {} ---@type { client_id: integer, uri: string, line: integer }[]
  local bufnr, row = api.nvim_get_current_buf(), api.nvim_win_get_cursor(0)[1]
  -- Before or at the cursor, in the order of files and lines.
  local before, at, own = 0, 0, nil ---@type integer, integer, string?
  local files = vim.tbl_filter(function(entry)
    return M.can_open(entry.client_id, entry.file.uri)
  end, changes.files())
  local here = changes.buffer_uri(bufnr)
  for _, entry in ipairs(files) do
    local uri = entry.file.uri
    own = changes.buffer(entry.client_id, uri) == bufnr and uri or nil
    for _, line in ipairs(lines_of(entry.client_id, entry.file)) do
      places[#places + 1] = { client_id = entry.client_id, uri = uri, line = line }
      if own and line < row or not own and uri < here then
        before = before + 1
      elseif own and line == row then
        at = at + 1
      end
    end
  end
  if #places == 0 then
    return say.say('nothing waits for your judgement')
  end
  local index = count > 0 and before + at + count or before + 1 + count
  local place = places[(index - 1) % #places + 1]
  M.to(place.client_id, place.uri, place.line)
end

return M
