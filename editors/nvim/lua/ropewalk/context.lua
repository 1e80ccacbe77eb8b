--- `ropewalk/didChangeContext`: what the user looks at. Told when it changed, at most every 100 ms and before each call;
--- a key costs no more than a look at whether a timer runs.

local sidecars = require('ropewalk.sidecars')
local sync = require('ropewalk.sync')

local api = vim.api

local M = {}

--- How long changes are gathered (ms).
M.pause_ms = 100

---@class ropewalk.Context
---@field uri? string
---@field selections table[]
---@field visibleRange? table
---@field openEditors string[]

--- What a sidecar was told last.
---@type table<integer, ropewalk.Context>
local told = {}

--- The window of a document that had the focus last. A pane that one types into is no document: the user still looks
--- at what is beside it.
---@type integer?
local focused

---@type uv.uv_timer_t?
local timer

---@param document ropewalk.Document
---@param row integer 0-based
---@param col integer bytes, 0-based; what is behind the end is the end
---@return { line: integer, character: integer }
local function position(document, row, col)
  local lines = document.text.lines
  if row >= #lines then
    return { line = math.max(#lines - 1, 0), character = vim.str_utfindex(lines[#lines] or '', 'utf-16') }
  end
  local line = lines[row + 1]
  return { line = row, character = vim.str_utfindex(line, 'utf-16', math.min(math.max(col, 0), #line), false) }
end

--- The byte after the character that begins at `col` or around it.
---@param document ropewalk.Document
---@param row integer 0-based
---@param col integer bytes, 0-based
---@return integer
local function after(document, row, col)
  local line = document.text.lines[row + 1] or ''
  return col >= #line and #line or col + 1 + vim.str_utf_end(line, col + 1)
end

--- The selections of a window: those of a Visual or Select mode, where it has the keys, else the cursor.
---@param document ropewalk.Document
---@param window integer
---@return table[]
local function selections(document, window)
  local mode = window == api.nvim_get_current_win() and vim.fn.mode() or 'n'
  local kind = ({ v = 'v', V = 'V', ['\22'] = '\22', s = 'v', S = 'V', ['\19'] = '\22' })[mode]
  if not kind then
    local cursor = api.nvim_win_get_cursor(window)
    local place = position(document, cursor[1] - 1, cursor[2])
    return { { start = place, ['end'] = place } }
  end
  local regions = vim.fn.getregionpos(vim.fn.getpos('v'), vim.fn.getpos('.'), { type = kind })
  local ranges = {} ---@type table[]
  for _, region in ipairs(regions) do
    local first, last = region[1], region[2]
    local row, end_row = first[2] - 1, last[2] - 1
    ranges[#ranges + 1] = {
      start = position(document, row, kind == 'V' and 0 or math.max(first[3] - 1, 0)),
      -- A column of 0 is a line without a character there.
      ['end'] = position(
        document,
        end_row,
        kind == 'V' and math.huge or last[3] == 0 and 0 or after(document, end_row, last[3] - 1)
      ),
    }
  end
  if kind ~= '\22' and #ranges > 1 then
    return { { start = ranges[1].start, ['end'] = ranges[#ranges]['end'] } }
  end
  return ranges
end

--- The window whose document counts as looked at.
---@return integer?
local function focus()
  local window = api.nvim_get_current_win()
  if #sync.of_buffer(api.nvim_win_get_buf(window)) > 0 then
    focused = window
  end
  if not focused or not api.nvim_win_is_valid(focused) then
    focused = nil
  end
  return focused
end

--- What the user looks at of a sidecar's documents.
---@param client_id integer
---@return ropewalk.Context
function M.now(client_id)
  ---@type ropewalk.Context
  local context = { selections = {}, openEditors = {} }
  local seen = {} ---@type table<integer, true>
  for _, tab in ipairs(api.nvim_list_tabpages()) do
    for _, window in ipairs(api.nvim_tabpage_list_wins(tab)) do
      local bufnr = api.nvim_win_get_buf(window)
      local document = not seen[bufnr] and sync.get(client_id, bufnr)
      seen[bufnr] = true
      if document then
        context.openEditors[#context.openEditors + 1] = document.uri
      end
    end
  end
  local window = focus()
  local document = window and sync.get(client_id, api.nvim_win_get_buf(window))
  if window and document then
    context.uri = document.uri
    context.selections = selections(document, window)
    context.visibleRange = {
      start = position(document, vim.fn.line('w0', window) - 1, 0),
      ['end'] = position(document, vim.fn.line('w$', window) - 1, math.huge),
    }
  end
  return context
end

--- Tells a sidecar what has changed for it.
---@param client vim.lsp.Client
function M.tell(client)
  local ok, context = pcall(M.now, client.id)
  if not ok then
    vim.lsp.log.error('ropewalk', 'what is looked at', context)
  elseif not vim.deep_equal(context, told[client.id]) then
    told[client.id] = context
    client:notify('ropewalk/didChangeContext', context)
  end
end

local function tell_all()
  for _, client in ipairs(sidecars.list()) do
    M.tell(client)
  end
end

--- Something may have changed.
local function later()
  timer = timer or assert(vim.uv.new_timer())
  if not timer:is_active() then
    timer:start(M.pause_ms, 0, vim.schedule_wrap(tell_all))
  end
end

--- The sidecar is gone.
---@param client_id integer
function M.forget(client_id)
  told[client_id] = nil
end

---@param group integer
function M.setup(group)
  sync.listen(later)
  api.nvim_create_autocmd({
    'CursorMoved',
    'CursorMovedI',
    'ModeChanged',
    'TextChanged',
    'TextChangedI',
    'WinEnter',
    'BufWinEnter',
    'BufWinLeave',
    'WinClosed',
    'WinScrolled',
    'WinResized',
    'TabClosed',
  }, { group = group, desc = 'ropewalk: what the user looks at', callback = later })
end

return M
