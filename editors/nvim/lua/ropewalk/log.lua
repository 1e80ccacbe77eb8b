--- The log of calls: a line for each, whoever made it. Enter in a line shows the whole result.

local say = require('ropewalk.review.say')
local window = require('ropewalk.window')

local api = vim.api

local M = {}

--- How many calls are kept.
M.limit = 1000

--- At most so much of a result is shown (bytes).
local SHOWN = 8 * 1024 * 1024

---@class ropewalk.LogEntry
---@field client_id integer
---@field session string
---@field call string
---@field name string
---@field subject string
---@field status 'running'|'ok'|'error'|'denied'|'cancelled'|'superseded'
---@field clock string when it began
---@field began integer ns
---@field seconds? number
---@field number integer counts from 1, also over those that are gone

---@type ropewalk.LogEntry[]
local entries = {}
--- How many entries are gone from the beginning.
local gone = 0
---@type table<string, ropewalk.LogEntry>
local by_call = {}

--- What is known of calls before they are told of: their tool and what it is about.
---@type table<string, { name: string, subject: string }>
local expected = {}
---@type string[]
local expected_order = {}

---@type integer?
local bufnr

--- What the buffer of the log is called.
local NAME = 'ropewalk://calls'

--- One line of text for the screen, not too long.
---@param text string
---@param most? integer cells
---@return string
local function one_line(text, most)
  text = vim.trim((text:gsub('%c+', ' ')))
  most = most or 80
  return vim.fn.strchars(text) > most and vim.fn.strcharpart(text, 0, most - 1) .. '…' or text
end

--- What a call is about, in its order of telling most.
local subjects = { 'file_path', 'path', 'command', 'pattern', 'url', 'query', 'description', 'name', 'id' }

---@param arguments any
---@return string
local function subject_of(arguments)
  if type(arguments) == 'string' then
    local ok, decoded = pcall(vim.json.decode, arguments)
    if not ok or type(decoded) ~= 'table' then
      return one_line(arguments)
    end
    arguments = decoded
  end
  for _, key in ipairs(subjects) do
    local value = type(arguments) == 'table' and arguments[key]
    if type(value) == 'string' and value ~= '' then
      return one_line(key:find('path') and vim.fn.fnamemodify(value, ':~:.') or value)
    end
  end
  return ''
end

--- What was changed, where nobody said what the call is about.
---@param result table
---@return string
local function subject_of_result(result)
  local edits = type(result.edits) == 'table' and result.edits or {}
  if edits[1] then
    local ok, path = pcall(vim.uri_to_fname, edits[1].uri)
    local more = #edits > 1 and (' and %d more'):format(#edits - 1) or ''
    return one_line((ok and vim.fn.fnamemodify(path, ':~:.') or edits[1].uri) .. more)
  end
  local first = type(result.content) == 'table' and result.content[1]
  return first and first.text and one_line(first.text:match('^[^\n]*')) or ''
end

---@param session string
---@param call string
---@return string
local function key_of(session, call)
  return session .. '\0' .. call
end

--- Somebody is about to make a call: what it is about is not told with its events.
---@param session? string
---@param call string
---@param name string
---@param arguments any
function M.expect(session, call, name, arguments)
  local key = key_of(session or 'default', call)
  if not expected[key] then
    expected_order[#expected_order + 1] = key
    if #expected_order > 200 then
      expected[table.remove(expected_order, 1)] = nil
    end
  end
  expected[key] = { name = name, subject = subject_of(arguments) }
end

--- The line of an entry.
---@param entry ropewalk.LogEntry
---@return string
local function line_of(entry)
  local took = entry.seconds and ('%8.2f s'):format(entry.seconds) or '        …'
  return ('%s  %-10s %s  %-12s  %-10s  %s'):format(
    entry.clock,
    entry.status,
    took,
    one_line(entry.session, 24),
    one_line(entry.name, 24),
    entry.subject
  )
end

---@param act fun(bufnr: integer)
local function change(act)
  if bufnr and api.nvim_buf_is_loaded(bufnr) then
    vim.bo[bufnr].modifiable = true
    act(bufnr)
    vim.bo[bufnr].modifiable, vim.bo[bufnr].modified = false, false
  end
end

--- Writes an entry to the end. Windows whose cursor is in the last line go on with it, others stay.
---@param entry ropewalk.LogEntry
local function append(entry)
  change(function(buffer)
    local count = api.nvim_buf_line_count(buffer)
    local following = vim.tbl_filter(function(each)
      return api.nvim_win_get_cursor(each)[1] == count
    end, vim.fn.win_findbuf(buffer))
    local first = #entries == 1
    api.nvim_buf_set_lines(buffer, first and 0 or -1, -1, false, { line_of(entry) })
    for _, each in ipairs(following) do
      api.nvim_win_set_cursor(each, { api.nvim_buf_line_count(buffer), 0 })
    end
  end)
end

--- Writes an entry where it is.
---@param entry ropewalk.LogEntry
local function rewrite(entry)
  local row = entry.number - gone - 1
  if row >= 0 then
    change(function(buffer)
      api.nvim_buf_set_lines(buffer, row, row + 1, false, { line_of(entry) })
    end)
  end
end

---@param entry ropewalk.LogEntry
local function forget_oldest(entry)
  gone = gone + 1
  local key = entry.client_id .. key_of(entry.session, entry.call)
  if by_call[key] == entry then
    by_call[key] = nil
  end
  change(function(buffer)
    api.nvim_buf_set_lines(buffer, 0, 1, false, {})
  end)
end

--- A `ropewalk/toolEvent` came.
---@param client_id integer
---@param params { sessionId: string, callId: string, kind: string, name?: string, detail?: any }
function M.hear(client_id, params)
  local key = key_of(params.sessionId, params.callId)
  local known = expected[key]
  local entry = by_call[client_id .. key]
  local result = params.kind == 'complete' and type(params.detail) == 'table' and params.detail or nil
  -- A call may be refused before it starts; and an id may be used again.
  if params.kind == 'start' or result and (not entry or entry.status ~= 'running') then
    entry = {
      client_id = client_id,
      session = params.sessionId,
      call = params.callId,
      name = params.name or result and result.name or known and known.name or '?',
      subject = known and known.subject or '',
      status = 'running',
      clock = os.date('%H:%M:%S') --[[@as string]],
      began = vim.uv.hrtime(),
      number = gone + #entries + 1,
    }
    entries[#entries + 1] = entry
    by_call[client_id .. key] = entry
    append(entry)
    while #entries > M.limit do
      forget_oldest(table.remove(entries, 1))
    end
  end
  if result then
    expected[key] = nil
    entry.status = result.status or 'ok'
    entry.name = result.name or entry.name
    entry.seconds = (vim.uv.hrtime() - entry.began) / 1e9
    if entry.subject == '' then
      entry.subject = subject_of_result(result)
    end
    rewrite(entry)
  end
end

--- The sidecar is gone, and its calls with it.
---@param client_id integer
function M.forget(client_id)
  for _, entry in ipairs(entries) do
    if entry.client_id == client_id and entry.status == 'running' then
      entry.status, entry.seconds = 'cancelled', (vim.uv.hrtime() - entry.began) / 1e9
      rewrite(entry)
    end
  end
end

--- All of an output, page by page. Runs in a coroutine.
---@param root string
---@param session string
---@param call string
---@return string? err
---@return string? text
local function whole(root, session, call)
  local ropewalk = require('ropewalk')
  local pieces, size = {}, 0 ---@type string[], integer
  local offset, column ---@type integer?, integer?
  repeat
    local options = { root = root, session_id = session, call_id = call, offset = offset, column = column }
    local err, page = ropewalk.output(options)
    if err then
      return err.message
    elseif not page.found then
      return page.remark ~= '' and page.remark or 'the output is kept no longer'
    end
    pieces[#pieces + 1] = page.text
    size = size + #page.text
    if offset == page.nextOffset and column == page.nextColumn then
      break
    end
    offset, column = page.nextOffset, page.nextColumn
  until not offset or size > SHOWN
  if offset then
    pieces[#pieces + 1] = ('\n[there is more, from line %d on]'):format(offset)
  end
  return nil, table.concat(pieces)
end

--- Shows the whole result of the call in a line of the log.
---@param row integer 1-based
function M.show(row)
  local entry = entries[row]
  if not entry then
    return
  end
  local client = vim.lsp.get_client_by_id(entry.client_id)
  if entry.status == 'running' then
    return say.say('the call still runs')
  elseif not client or client:is_stopped() then
    return say.warn('its sidecar has ended, and its outputs with it')
  end
  local from = window.here()
  coroutine.wrap(function()
    local err, text = whole(client.root_dir, entry.session, entry.call)
    if err then
      return say.warn(err)
    end
    local title = ('ropewalk: %s %s (%s)'):format(entry.name, entry.call, entry.status)
    window.show(title, vim.split(text:gsub('\n$', ''), '\n', { plain = true }), from)
  end)()
end

--- The calls that are kept, oldest first.
---@return ropewalk.LogEntry[]
function M.entries()
  return entries
end

---@return integer
local function buffer()
  if bufnr and api.nvim_buf_is_loaded(bufnr) then
    return bufnr
  end
  -- A session that was restored may have brought an empty buffer of that name.
  local named = vim.tbl_filter(function(each)
    return api.nvim_buf_get_name(each) == NAME
  end, api.nvim_list_bufs())[1]
  bufnr = named or api.nvim_create_buf(false, true)
  if named then
    vim.fn.bufload(bufnr)
    vim.bo[bufnr].buftype, vim.bo[bufnr].buflisted, vim.bo[bufnr].modifiable = 'nofile', false, true
  else
    api.nvim_buf_set_name(bufnr, NAME)
  end
  vim.bo[bufnr].bufhidden, vim.bo[bufnr].swapfile, vim.bo[bufnr].undolevels = 'hide', false, -1
  vim.bo[bufnr].filetype = 'ropewalk-log'
  api.nvim_buf_set_lines(bufnr, 0, -1, false, vim.tbl_map(line_of, entries))
  vim.bo[bufnr].modifiable, vim.bo[bufnr].modified = false, false
  vim.keymap.set('n', '<CR>', function()
    M.show(api.nvim_win_get_cursor(0)[1])
  end, { buffer = bufnr, desc = 'ropewalk: the whole result' })
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = bufnr, desc = 'ropewalk: close' })
  return bufnr
end

--- Opens the log, with the cursor at its end; goes there if it is open in this tab page.
function M.open()
  local log = buffer()
  for _, each in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(each) == log then
      return api.nvim_set_current_win(each)
    end
  end
  local height = math.max(math.floor(vim.o.lines / 3), 1)
  local opened = api.nvim_open_win(log, true, { split = 'below', win = -1, height = height })
  vim.wo[opened][0].wrap, vim.wo[opened][0].cursorline = false, true
  vim.wo[opened][0].number, vim.wo[opened][0].relativenumber = false, false
  vim.wo[opened][0].winbar =
    'began     how it does     took  session       tool        about   (Enter: its result, q: close)'
  api.nvim_win_set_cursor(opened, { api.nvim_buf_line_count(log), 0 })
end

return M
