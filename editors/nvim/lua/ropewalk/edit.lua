--- `workspace/applyEdit`: the edit of one document, at exactly its version, as one undo step. Answers truthfully.

local busy = require('ropewalk.busy')
local rpc = require('ropewalk.rpc')
local sync = require('ropewalk.sync')
local text = require('ropewalk.text')

local api = vim.api

local M = {}

local namespace = api.nvim_create_namespace('ropewalk.edit')

--- Ends the undo step that is open in the buffer, so that the next change starts its own: also in Insert mode, where an
--- edit would otherwise be undone together with the typing around it.
---@param bufnr integer
local function break_undo(bufnr)
  api.nvim_buf_call(bufnr, function()
    vim.cmd('noautocmd let &l:undolevels = &l:undolevels')
  end)
end

--- Remembers where the windows of a buffer have their cursors; the result puts them back to the same text.
---@param bufnr integer
---@return fun()
local function keep_cursors(bufnr)
  local kept = {} ---@type { window: integer, mark: integer }[]
  for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
    local cursor = api.nvim_win_get_cursor(window)
    local row, col = cursor[1] - 1, cursor[2]
    local ok, mark = pcall(api.nvim_buf_set_extmark, bufnr, namespace, row, col, {
      -- Text put in at the beginning of the line pushes the line on; text put in where someone types comes after it.
      right_gravity = col == 0,
    })
    if ok then
      kept[#kept + 1] = { window = window, mark = mark }
    end
  end
  return function()
    for _, entry in ipairs(kept) do
      local place = api.nvim_buf_get_extmark_by_id(bufnr, namespace, entry.mark, {})
      api.nvim_buf_del_extmark(bufnr, namespace, entry.mark)
      if place[1] and api.nvim_win_is_valid(entry.window) and api.nvim_win_get_buf(entry.window) == bufnr then
        local now = api.nvim_win_get_cursor(entry.window)
        if now[1] ~= place[1] + 1 or now[2] ~= place[2] then
          pcall(api.nvim_win_set_cursor, entry.window, { place[1] + 1, place[2] })
        end
      end
    end
  end
end

--- Remembers where the selection of Visual or Select mode began in a buffer; the result puts that end back to the same
--- text. Neovim moves only the other end, the cursor, along with the text.
---@param bufnr integer
---@return fun() before the cursors are put back
local function keep_selection(bufnr)
  local mode = api.nvim_get_mode().mode
  if api.nvim_get_current_buf() ~= bufnr or not mode:match('^[vVsS\22\19]') then
    return function() end
  end
  local function begins()
    local place = vim.fn.getpos('v')
    return { place[2], math.max(place[3] - 1, 0) }
  end
  local before = begins()
  local line = api.nvim_buf_get_lines(bufnr, before[1] - 1, before[1], false)[1] or ''
  local mark = api.nvim_buf_set_extmark(bufnr, namespace, before[1] - 1, math.min(before[2], #line), {
    right_gravity = before[2] == 0,
  })
  local curswant = vim.fn.winsaveview().curswant
  return function()
    local place = api.nvim_buf_get_extmark_by_id(bufnr, namespace, mark, {})
    api.nvim_buf_del_extmark(bufnr, namespace, mark)
    if not place[1] or place[1] + 1 == before[1] and place[2] == before[2] then
      return
    end
    -- The ends change places, so that the one to be moved is where the cursor is, and back.
    local swap = mode:match('^[sS\19]') and 'noautocmd normal! \7o\7' or 'noautocmd normal! o'
    vim.cmd(swap)
    api.nvim_win_set_cursor(0, { place[1] + 1, place[2] })
    vim.cmd(swap)
    vim.fn.winrestview({ curswant = curswant })
  end
end

--- Remembers the local marks of a buffer; the result puts back those that the change deleted.
---@param bufnr integer
---@return fun()
local function keep_marks(bufnr)
  local function read()
    local marks = {} ---@type table<string, integer[]>
    for _, mark in ipairs(vim.fn.getmarklist(bufnr)) do
      if mark.mark:match("^'[a-z]$") then
        marks[mark.mark:sub(2)] = { mark.pos[2], math.max(mark.pos[3] - 1, 0) }
      end
    end
    return marks
  end
  local before = read()
  return function()
    local after = read()
    local count = api.nvim_buf_line_count(bufnr)
    for name, place in pairs(before) do
      if not after[name] then
        local row = math.min(place[1], count)
        local line = api.nvim_buf_get_lines(bufnr, row - 1, row, false)[1] or ''
        pcall(api.nvim_buf_set_mark, bufnr, name, row, math.min(place[2], #line), {})
      end
    end
  end
end

--- Lets the other language clients of a buffer see the change now: Neovim holds changes back for up to 150 ms, and the
--- sidecar waits for what they report about it.
---@param document ropewalk.Document
local function hurry(document)
  local found, tracking = pcall(require, 'vim.lsp._changetracking')
  if not found then
    return
  end
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = document.bufnr })) do
    if client.id ~= document.client.id then
      pcall(tracking.flush, client, document.bufnr)
    end
  end
end

--- Why the buffer does not take edits, if so.
---@param document ropewalk.Document
---@param version integer
---@return string?
local function refusal(document, version)
  local bufnr = document.bufnr
  if not sync.check(document) then
    return 'the buffer is no longer what the sidecar has; it was opened anew'
  elseif version ~= document.version then
    return ('the edit is for version %d, the buffer is at version %d'):format(version, document.version)
  elseif not vim.bo[bufnr].modifiable then
    return "the buffer is not modifiable ('nomodifiable')"
  elseif vim.bo[bufnr].readonly then
    return "the buffer is read-only ('readonly')"
  end
end

--- Whether the lines that a replacement touches hold exactly what the sidecar has of them: bytes that are not UTF-8
--- would be lost.
---@param document ropewalk.Document
---@param splice ropewalk.Splice
---@return boolean
local function is_exact(document, splice)
  for row, raw in ipairs(api.nvim_buf_get_lines(document.bufnr, splice.row, splice.end_row + 1, false)) do
    if (raw:gsub('\n', '\0')) ~= document.text.lines[splice.row + row] then
      return false
    end
  end
  return true
end

--- Applies the edits of one document.
---@param document ropewalk.Document
---@param version integer
---@param edits { range: ropewalk.Range, newText: string }[]
---@return string? reason why nothing was applied
function M.apply(document, version, edits)
  local bufnr = document.bufnr
  local reason = refusal(document, version)
  if reason then
    return reason
  end
  local splices
  splices, reason = text.plan(document.text, edits)
  if not splices then
    return reason
  end
  for _, splice in ipairs(splices) do
    if not is_exact(document, splice) then
      return 'the place holds bytes that are not UTF-8'
    end
  end

  local restore_cursors, restore_marks = keep_cursors(bufnr), keep_marks(bufnr)
  local restore_selection = keep_selection(bufnr)
  break_undo(bufnr)
  local done = 0
  local ok, err = sync.batch(document, function()
    for _, splice in ipairs(splices) do
      if splice.clear then
        api.nvim_buf_set_lines(bufnr, splice.row, splice.end_row + 1, true, {})
      else
        api.nvim_buf_set_text(bufnr, splice.row, splice.col, splice.end_row, splice.end_col, splice.lines)
      end
      done = done + 1
    end
  end)
  break_undo(bufnr)
  if not ok and done > 0 then
    -- The first replacements are in: without the others they are taken back as the one step that they are.
    pcall(api.nvim_buf_call, bufnr, function()
      vim.cmd('silent noautocmd undo')
    end)
  end
  restore_marks()
  restore_selection()
  restore_cursors()
  hurry(document)
  if not ok then
    return tostring(err)
  end
end

---@param reason string
local function refuse(reason)
  return { applied = false, failureReason = reason }
end

--- The handler.
---@param params lsp.ApplyWorkspaceEditParams
---@param client_id integer
---@return lsp.ApplyWorkspaceEditResult
function M.handle(params, client_id)
  local edit = params.edit or {}
  local changes = edit.documentChanges
  if not changes or edit.changes and next(edit.changes) then
    return refuse('only edits with versions (documentChanges) are applied')
  elseif #changes ~= 1 or changes[1].kind or not changes[1].textDocument then
    return refuse('only edits of exactly one document are applied')
  end
  local change = changes[1]
  local version = change.textDocument.version
  if type(version) ~= 'number' then
    return refuse('the edit names no version')
  end
  local document = sync.find(client_id, change.textDocument.uri)
  if not document then
    return refuse('the document is not open: ' .. tostring(change.textDocument.uri))
  end
  local cancelled = false
  rpc.on_cancel(params, function()
    cancelled = true
  end)
  local reason = busy.settle(document.bufnr)
  if cancelled or document.closed then
    return refuse(cancelled and 'it was taken back' or 'the document was closed: ' .. document.uri)
  end
  reason = reason or M.apply(document, version, change.edits or {})
  if reason then
    return refuse(reason)
  end
  return { applied = true }
end

return M
