--- What waits for judgement, in the buffers: signs, added lines in colour, removed and proposed lines as virtual ones.
--- Nothing of it is in the text; all of it moves along with typing.

local changes = require('ropewalk.review.changes')
local sync = require('ropewalk.sync')

local api = vim.api

local M = {}

M.namespace = api.nvim_create_namespace('ropewalk.review')

--- Bytes of a line that are put on the screen: more than any screen is wide.
local WIDEST = 4000

---@type ropewalk.Review
local options

--- An item on the screen.
---@class ropewalk.Drawn
---@field item ropewalk.Item
---@field before string[] the lines that stood, or would go, where it is
---@field size integer how many lines it has there; 0: it is a place between lines
---@field behind boolean that place is behind the line that carries it

--- Items by the mark that moves along with their lines.
---@type table<integer, table<integer, ropewalk.Drawn>> buffer -> mark -> item
local marked = {}

--- How many virtual lines stand above the first line of a buffer, where a window does not show them by itself.
---@type table<integer, integer>
local above_first = {}

--- A line for the screen: tabs as blanks, invisible characters spelled out, not longer than any screen is wide.
---@param line string
---@param tabstop integer
---@return string
function M.displayed(line, tabstop)
  if #line > WIDEST then
    line = line:sub(1, WIDEST + vim.str_utf_start(line, WIDEST + 1)) .. '…'
  end
  line = require('ropewalk.approve').visible(line)
  if not line:find('\t', 1, true) then
    return line
  end
  local parts, column = {}, 0 ---@type string[], integer
  for index, part in ipairs(vim.split(line, '\t', { plain = true })) do
    if index > 1 then
      local blanks = tabstop - column % tabstop
      parts[#parts + 1] = (' '):rep(blanks)
      column = column + blanks
    end
    parts[#parts + 1] = part
    column = column + api.nvim_strwidth(part)
  end
  return table.concat(parts)
end

--- Lines as virtual ones; of many the first.
---@param bufnr integer
---@param lines string[]
---@param group string
---@param noun string
---@return table[]
local function virtual(bufnr, lines, group, noun)
  local shown = #lines
  if options.fold > 0 and #lines > options.fold then
    shown = options.fold - 1
  end
  local dos = vim.bo[bufnr].fileformat == 'dos'
  local blanks = (' '):rep(vim.o.columns)
  local rows = {} ---@type table[]
  for index = 1, shown do
    local line = dos and lines[index]:gsub('\r$', '') or lines[index]
    rows[index] = { { M.displayed(line, vim.bo[bufnr].tabstop), group }, { blanks, group } }
  end
  if shown < #lines then
    rows[shown + 1] = {
      { ('… %d more %s lines (:Ropewalk diff shows all)'):format(#lines - shown, noun), 'RopewalkNote' },
    }
  end
  return rows
end

--- What an item is about: without the lines at both ends that are the same before and after.
---@param item ropewalk.Item
---@param items ropewalk.Item[]
---@return integer start 1-based
---@return integer count
---@return string[] before
---@return string[] after
local function essence(item, items)
  local before = item.what == 'change' and changes.base(item, items) or changes.lines(item.before)
  local after = changes.lines(item.after)
  local here = item.what == 'change' and after or before
  if #here ~= item.count then
    return item.start, item.count, before, after
  end
  local head, tail, least = 0, 0, math.min(#before, #after)
  while head < least and before[head + 1] == after[head + 1] do
    head = head + 1
  end
  while tail < least - head and before[#before - tail] == after[#after - tail] do
    tail = tail + 1
  end
  if head == #before and head == #after then
    -- All is as it was, and there is something to judge still: a line end, say.
    return item.start, item.count, before, after
  end
  return item.start + head,
    item.count - head - tail,
    vim.list_slice(before, head + 1, #before - tail),
    vim.list_slice(after, head + 1, #after - tail)
end

--- Where lines are, 0-based: the first and the last, or for a place between lines the one that carries it and whether
--- the place is behind that.
---@param start integer 1-based
---@param size integer
---@param count integer lines of the buffer
---@return integer first
---@return integer last
---@return boolean behind
local function place(start, size, count)
  local first = math.max(start - 1, 0)
  if size == 0 then
    local behind = first >= count and count > 0
    first = math.min(first, count - 1)
    return first, first, behind
  end
  first = math.min(first, count - 1)
  return first, math.min(first + size - 1, count - 1), false
end

local moves = { created = 'a new file', deleted = 'the file is deleted', mode = 'the mode of the file' }

--- What an item is about where it is not about lines.
---@param item ropewalk.Item
---@return string?
local function note(item)
  local text = moves[item.kind]
  if item.kind == 'moved' then
    local other = item.moved_from or item.moved_to
    text = (item.moved_from and 'moved from ' or 'moved to ') .. (other and changes.name(other) or 'elsewhere')
  elseif item.kind == 'mode' then
    text = ('mode %s -> %s'):format(item.before, item.after)
  end
  if item.what == 'proposal' then
    local session = require('ropewalk.approve').visible(item.session_id)
    text = ('proposed by %s%s'):format(session, text and ': ' .. text or '')
  elseif item.kind == 'created' then
    text = nil
  end
  return text
end

---@param bufnr integer
---@param item ropewalk.Item
---@param items ropewalk.Item[]
---@return integer id
---@return integer rows virtual ones above the first line
---@return ropewalk.Drawn
local function put(bufnr, item, items)
  local count = api.nvim_buf_line_count(bufnr)
  local start, size, before, after = essence(item, items)
  local first, last, behind = place(start, size, count)
  local drawn = { item = item, before = before, size = size, behind = behind } ---@type ropewalk.Drawn
  local proposal = item.what == 'proposal'
  local text_only = item.kind == 'changed' or item.kind == 'created' or item.kind == 'deleted'
  local gone, come = {}, {} ---@type table[], table[]
  if proposal and text_only then
    come = virtual(bufnr, after, 'RopewalkProposedLine', 'proposed')
  elseif text_only then
    gone = virtual(bufnr, before, 'RopewalkRemoved', 'removed')
  end
  local sign = proposal and 'proposed' or size == 0 and 'removed' or #gone > 0 and 'changed' or 'added'
  local has_lines = size > 0 and text_only
  local words = note(item)
  -- Lines put in above push it on; those put in behind the last line do not.
  local mark = { strict = false, right_gravity = not behind } ---@type vim.api.keyset.set_extmark
  if has_lines then
    local text = api.nvim_buf_get_lines(bufnr, last, last + 1, false)[1] or ''
    mark.end_row, mark.end_col, mark.end_right_gravity = last, #text, true
  end
  if options.show ~= 'signs' then
    return api.nvim_buf_set_extmark(bufnr, M.namespace, first, 0, mark), 0, drawn
  end
  mark.sign_text, mark.priority, mark.virt_lines_overflow = options.signs[sign], 9, 'trunc'
  mark.sign_hl_group = 'RopewalkSign' .. sign:sub(1, 1):upper() .. sign:sub(2)
  if has_lines then
    mark.line_hl_group = proposal and 'RopewalkProposed' or 'RopewalkAdded'
  end
  if words then
    mark.virt_text = { { ' ' .. words, 'RopewalkNote' } }
  end
  local id, over = nil, 0 ---@type integer, integer
  if #come > 0 and size > 0 then
    -- The lines that would come stand below those that would go.
    id = api.nvim_buf_set_extmark(bufnr, M.namespace, first, 0, mark)
    api.nvim_buf_set_extmark(bufnr, M.namespace, last, 0, {
      virt_lines = come,
      virt_lines_overflow = 'trunc',
      strict = false,
    })
    return id, 0, drawn
  end
  local rows = #come > 0 and come or gone
  if #rows > 0 then
    mark.virt_lines, mark.virt_lines_above = rows, not behind
    over = not behind and first == 0 and #rows or 0
  end
  id = api.nvim_buf_set_extmark(bufnr, M.namespace, first, 0, mark)
  return id, over, drawn
end

--- Shows what stands above the first line of a buffer in the windows that begin with that line.
---@param bufnr integer
local function uncover(bufnr)
  local rows = above_first[bufnr] or 0
  for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
    api.nvim_win_call(window, function()
      local view = vim.fn.winsaveview()
      local room = api.nvim_win_get_height(window) - vim.fn.winline()
      if view.topline == 1 and view.topfill < rows and room >= rows - view.topfill then
        vim.fn.winrestview({ topline = 1, topfill = rows })
      end
    end)
  end
end

--- Draws a buffer anew.
---@param bufnr integer
---@param items ropewalk.Item[]
function M.draw(bufnr, items)
  if not api.nvim_buf_is_loaded(bufnr) then
    marked[bufnr], above_first[bufnr] = nil, nil
    return
  end
  api.nvim_buf_clear_namespace(bufnr, M.namespace, 0, -1)
  local by_mark, over = {}, 0 ---@type table<integer, ropewalk.Drawn>, integer
  for _, item in ipairs(items) do
    -- What lies under a later change is shown as part of that.
    if not item.under then
      local ok, id, rows, drawn = pcall(put, bufnr, item, items)
      if ok then
        by_mark[id] = drawn
        over = over + rows
      else
        vim.lsp.log.error('ropewalk', 'review', id)
      end
    end
  end
  marked[bufnr] = next(by_mark) and by_mark or nil
  above_first[bufnr] = over > 0 and over or nil
  if over > 0 then
    uncover(bufnr)
  end
end

--- Draws the open documents among files.
---@param client_id integer
---@param uris string[]
function M.draw_files(client_id, uris)
  for _, uri in ipairs(uris) do
    local document = sync.find(client_id, uri)
    if document then
      local items = {} ---@type ropewalk.Item[]
      for _, other in ipairs(sync.of_buffer(document.bufnr)) do
        vim.list_extend(items, changes.of(other.client.id, other.uri))
      end
      M.draw(document.bufnr, items)
    end
  end
end

--- Takes down what a sidecar said that is gone.
---@param client_id integer
function M.forget(client_id)
  for bufnr, by_mark in pairs(vim.tbl_extend('force', {}, marked)) do
    local items, left = {}, false ---@type ropewalk.Item[], boolean
    for _, drawn in pairs(by_mark) do
      if drawn.item.client_id == client_id then
        left = true
      else
        items[#items + 1] = drawn.item
      end
    end
    if left then
      M.draw(bufnr, items)
    end
  end
end

--- An item, and where its lines are now.
---@class ropewalk.Found
---@field item ropewalk.Item
---@field drawn ropewalk.Drawn
---@field first integer 0-based
---@field last integer 0-based

--- The items of a buffer where typing has moved them to, from the top.
---@param bufnr integer
---@return ropewalk.Found[]
function M.list(bufnr)
  local found = {} ---@type ropewalk.Found[]
  for id, drawn in pairs(marked[bufnr] or {}) do
    local mark = api.nvim_buf_get_extmark_by_id(bufnr, M.namespace, id, { details = true })
    if mark[1] then
      local last = mark[3].end_row or mark[1]
      found[#found + 1] = { item = drawn.item, drawn = drawn, first = mark[1], last = math.max(mark[1], last) }
    end
  end
  table.sort(found, function(a, b)
    if a.first ~= b.first then
      return a.first < b.first
    elseif a.last ~= b.last then
      return a.last < b.last
    end
    return a.item.hunk_id < b.item.hunk_id
  end)
  return found
end

--- Whether something waits in a buffer.
---@param bufnr integer
---@return boolean
function M.has(bufnr)
  return marked[bufnr] ~= nil
end

---@param group integer
---@param resolved ropewalk.Review
function M.setup(group, resolved)
  options = resolved
  for bufnr in pairs(marked) do
    if api.nvim_buf_is_loaded(bufnr) then
      api.nvim_buf_clear_namespace(bufnr, M.namespace, 0, -1)
    end
  end
  marked, above_first = {}, {}
  api.nvim_create_autocmd('BufUnload', {
    group = group,
    callback = function(args)
      marked[args.buf], above_first[args.buf] = nil, nil
    end,
  })
  api.nvim_create_autocmd('BufWinEnter', {
    group = group,
    callback = function(args)
      if above_first[args.buf] then
        uncover(args.buf)
      end
    end,
  })
  api.nvim_create_autocmd('WinScrolled', {
    group = group,
    callback = function()
      for key, moved in pairs(vim.v.event) do
        local window = tonumber(key)
        -- Whoever comes back to the top sees all of it; whoever scrolls down from there is let go.
        if window and api.nvim_win_is_valid(window) and type(moved) == 'table' and moved.topline < 0 then
          local bufnr = api.nvim_win_get_buf(window)
          if above_first[bufnr] then
            uncover(bufnr)
          end
        end
      end
    end,
  })
end

return M
