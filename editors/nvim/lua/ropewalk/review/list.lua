--- All that waits for judgement, as a quickfix list and as a buffer of its own by session, call, file and hunk.

local changes = require('ropewalk.review.changes')
local go = require('ropewalk.review.go')
local marks = require('ropewalk.review.marks')
local say = require('ropewalk.review.say')
local here = require('ropewalk.window')

local api = vim.api

local M = {}

local TITLE = 'Ropewalk: changes to judge'
local NAME = 'ropewalk://review'

---@param text string
---@return string
local function brief(text)
  local line = changes.lines(text)[1] or ''
  return marks.displayed(vim.trim(line), 8)
end

--- An item in words, in one line.
---@param item ropewalk.Item
---@return string
function M.describe(item)
  local verbs = { changed = 'changed', created = 'new file', deleted = 'deleted file', moved = 'moved', mode = 'mode' }
  local parts = { (item.what == 'proposal' and 'proposed: ' or '') .. (verbs[item.kind] or item.kind) }
  if item.kind == 'moved' then
    local other = item.moved_from or item.moved_to
    parts[#parts + 1] = (item.moved_from and 'from ' or 'to ') .. (other and changes.name(other) or '?')
  else
    if item.before ~= '' then
      parts[#parts + 1] = '-' .. brief(item.before)
    end
    if item.after ~= '' then
      parts[#parts + 1] = '+' .. brief(item.after)
    end
  end
  if item.touched then
    parts[#parts + 1] = '(you changed it, too)'
  end
  if item.under then
    parts[#parts + 1] = ('(under %s)'):format(item.under.callId)
  end
  return require('ropewalk.approve').visible(table.concat(parts, '  '))
end

--- Where an item is now, 1-based.
---@param item ropewalk.Item
---@param buffers table<integer, ropewalk.Found[]> what was looked up already
---@return integer first
---@return integer last
local function lines_of(item, buffers)
  local bufnr = changes.buffer(item.client_id, item.uri)
  if bufnr then
    buffers[bufnr] = buffers[bufnr] or marks.list(bufnr)
    for _, found in ipairs(buffers[bufnr]) do
      if found.item == item then
        return found.first + 1, found.last + 1
      end
    end
  end
  return item.start, item.start + math.max(item.count - 1, 0)
end

--- The items as entries of a quickfix list: one for each hunk, files that are deleted or not open among them.
---@return vim.quickfix.entry[]
function M.entries()
  local entries, buffers = {}, {} ---@type vim.quickfix.entry[], table<integer, ropewalk.Found[]>
  for _, each in ipairs(changes.files()) do
    for _, item in ipairs(each.file.items) do
      local first, last = lines_of(item, buffers)
      local bufnr = changes.buffer(item.client_id, item.uri)
      local ok, name = pcall(vim.uri_to_fname, item.uri)
      entries[#entries + 1] = {
        bufnr = bufnr,
        filename = not bufnr and (ok and name or item.uri) or nil,
        lnum = first,
        end_lnum = last,
        type = item.what == 'proposal' and 'N' or 'I',
        text = ('%s  [%s, %s]'):format(M.describe(item), item.session_id, item.call_id),
      }
    end
  end
  return entries
end

--- Fills the quickfix list anew, in place where it is ours already, and opens it.
function M.quickfix()
  local from = here.here()
  changes.refresh(function()
    local entries = M.entries()
    local mine = vim.fn.getqflist({ title = 1 }).title == TITLE
    vim.fn.setqflist({}, mine and 'r' or ' ', { title = TITLE, items = entries })
    if #entries == 0 then
      return say.say('nothing waits for your judgement')
    end
    if here.waits(from) then
      vim.cmd('botright copen')
    else
      say.say('the list is filled (:copen)')
    end
  end)
end

--- A row of the overview.
---@class ropewalk.Row
---@field scope 'hunk'|'call'|'file'|'session'
---@field items ropewalk.Item[]
---@field call? boolean a file of one call only

---@type ropewalk.Row[]
local rows = {}

--- The overview: its lines, their rows, and their groups.
---@return string[]
---@return ropewalk.Row[]
---@return table<integer, string>
function M.overview()
  local visible = require('ropewalk.approve').visible
  local sessions, order = {}, {} ---@type table<string, table>, string[]
  local counts = { change = 0, proposal = 0 }
  for _, each in ipairs(changes.files()) do
    for _, item in ipairs(each.file.items) do
      counts[item.what] = counts[item.what] + 1
      local session = sessions[item.session_id]
      if not session then
        session = { items = {}, calls = {}, order = {} }
        sessions[item.session_id] = session
        order[#order + 1] = item.session_id
      end
      table.insert(session.items, item)
      local call = session.calls[item.call_id]
      if not call then
        call = { items = {}, files = {}, order = {} }
        session.calls[item.call_id] = call
        table.insert(session.order, item.call_id)
      end
      table.insert(call.items, item)
      if not call.files[item.uri] then
        call.files[item.uri] = {}
        table.insert(call.order, item.uri)
      end
      table.insert(call.files[item.uri], item)
    end
  end
  local lines, found, groups, buffers = {}, {}, {}, {}
  local function add(line, row, group)
    lines[#lines + 1] = line
    found[#lines], groups[#lines] = row, group
  end
  local heading = ('%d changes and %d proposals wait for your judgement'):format(counts.change, counts.proposal)
  add(heading, nil, 'RopewalkTitle')
  local keys = 'Enter go there  K keep  U undo  A accept  R reject  W reject with words  E edit  D diff  q close'
  add(keys, nil, 'RopewalkFaint')
  table.sort(order)
  for _, session_id in ipairs(order) do
    local session = sessions[session_id]
    add('session ' .. visible(session_id), { scope = 'session', items = session.items }, 'RopewalkTitle')
    for _, call_id in ipairs(session.order) do
      local call = session.calls[call_id]
      add('  call ' .. visible(call_id), { scope = 'call', items = call.items }, 'RopewalkPlace')
      for _, uri in ipairs(call.order) do
        -- A file below a call stands for what that call did in it, which takes a word on each hunk.
        add('    ' .. changes.name(uri), { scope = 'hunk', items = call.files[uri] })
        for _, item in ipairs(call.files[uri]) do
          local group = item.what == 'proposal' and 'RopewalkSignProposed' or nil
          local line = ('      %5d  %s'):format((lines_of(item, buffers)), M.describe(item))
          add(line, { scope = 'hunk', items = { item } }, group)
        end
      end
    end
  end
  if say.last then
    add('', nil)
    add('Said last: ' .. say.last, nil, 'RopewalkFaint')
  end
  return lines, found, groups
end

---@return integer?
local function overview_buffer()
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_get_name(bufnr) == NAME then
      -- One that a restored session brought has no keys: it makes room.
      if api.nvim_buf_is_loaded(bufnr) and vim.b[bufnr].ropewalk_review then
        return bufnr
      end
      pcall(api.nvim_buf_delete, bufnr, { force = true })
    end
  end
end

local namespace = api.nvim_create_namespace('ropewalk.review.overview')

--- Writes the overview anew where it is open; the cursor stays with its row.
function M.redraw()
  local bufnr = overview_buffer()
  if not bufnr then
    return
  end
  local lines, found, groups = M.overview()
  if vim.deep_equal(lines, api.nvim_buf_get_lines(bufnr, 0, -1, false)) then
    rows = found
    return
  end
  vim.bo[bufnr].modifiable = true
  api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable, vim.bo[bufnr].modified = false, false
  rows = found
  api.nvim_buf_clear_namespace(bufnr, namespace, 0, -1)
  for row, group in pairs(groups) do
    api.nvim_buf_set_extmark(bufnr, namespace, row - 1, 0, { end_col = #lines[row], hl_group = group })
  end
end

--- What rows of the overview stand for; nil in any other buffer.
---@param bufnr integer
---@param first integer 1-based
---@param last integer
---@return ropewalk.Meant?
function M.meant(bufnr, first, last)
  if bufnr ~= overview_buffer() then
    return nil
  end
  if first == last then
    local row = rows[first]
    return row and { scope = row.scope, items = row.items } or { scope = 'hunk', items = {} }
  end
  local items, seen = {}, {} ---@type ropewalk.Item[], table<ropewalk.Item, true>
  for number = first, last do
    for _, item in ipairs(rows[number] and rows[number].items or {}) do
      if not seen[item] then
        seen[item] = true
        items[#items + 1] = item
      end
    end
  end
  return { scope = 'hunk', items = items }
end

--- Goes to what the row of the cursor stands for, in the window that the overview was opened from.
local function visit()
  local row = rows[api.nvim_win_get_cursor(0)[1]]
  local item = row and row.items[1]
  if not item then
    return
  end
  local line = lines_of(item, {})
  if not go.can_open(item.client_id, item.uri) then
    return say.warn(('%s is not there; :Ropewalk undo brings it back'):format(changes.name(item.uri)))
  end
  vim.cmd.wincmd('p')
  if api.nvim_get_current_buf() == overview_buffer() then
    vim.cmd('aboveleft new')
  end
  go.to(item.client_id, item.uri, line)
end

--- Opens the overview.
---@param keys table<string, string> key -> action
---@param run fun(action: string)
function M.open(keys, run)
  local from = here.here()
  changes.refresh(function()
    -- Its keys judge at once: they are not for who types elsewhere by now.
    local enter = here.waits(from)
    local bufnr = overview_buffer()
    local window = bufnr and vim.fn.win_findbuf(bufnr)[1]
    if window then
      if enter then
        api.nvim_set_current_win(window)
      end
      return M.redraw()
    end
    bufnr = api.nvim_create_buf(false, true)
    window = api.nvim_open_win(bufnr, enter, { split = 'below', win = -1 })
    vim.bo[bufnr].bufhidden, vim.bo[bufnr].swapfile = 'wipe', false
    vim.b[bufnr].ropewalk_review = true
    api.nvim_buf_set_name(bufnr, NAME)
    vim.bo[bufnr].filetype = 'ropewalk-review'
    vim.wo[window][0].wrap, vim.wo[window][0].cursorline, vim.wo[window][0].number = false, true, false
    M.redraw()
    local height = math.max(3, math.min(api.nvim_buf_line_count(bufnr), math.floor(vim.o.lines / 2)))
    api.nvim_win_set_height(window, height)
    local function map(key, act)
      vim.keymap.set('n', key, act, { buffer = bufnr, nowait = true })
    end
    map('<CR>', visit)
    map('q', '<Cmd>close<CR>')
    for key, action in pairs(keys) do
      vim.keymap.set({ 'n', 'x' }, key, function()
        run(action)
      end, { buffer = bufnr, nowait = true })
    end
  end)
end

return M
