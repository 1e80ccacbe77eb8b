--- Pure functions over the text of a buffer: how it is written for the sidecar, what changed in it, where an edit goes.
---
--- Two spellings of a line: *raw* is what Neovim's API gives (a NUL byte shows as a newline, bytes need not be UTF-8),
--- *wire* is what goes to the sidecar (valid UTF-8, a NUL is a NUL). Rows and columns are 0-based; columns are bytes in
--- Neovim and UTF-16 units in the protocol.

local M = {}

--- The text of a buffer, as the sidecar has it.
---@class ropewalk.Text
---@field lines string[] wire spelling, without line ends; never empty
---@field sep '\n'|'\r\n' the line end
---@field eol boolean whether the last line has a line end too
---@field empty boolean whether there is no byte at all (one empty line that is not even a line end)

---@class ropewalk.Position
---@field line integer
---@field character integer

---@class ropewalk.Range
---@field start ropewalk.Position
---@field end ropewalk.Position

--- A replacement in a buffer, in bytes, as `nvim_buf_set_text` takes it.
---@class ropewalk.Splice
---@field row integer
---@field col integer
---@field end_row integer
---@field end_col integer
---@field lines string[]
---@field clear? boolean everything goes, down to the last line end

--- Whether a byte of valid UTF-8 is inside a character, not its first.
---@param byte? integer
local function is_tail(byte)
  return byte ~= nil and byte >= 0x80 and byte < 0xC0
end

--- Whether there are only ASCII characters. Byte by byte: that is compiled, where a pattern is looked for slowly.
---@param s string
---@return boolean
local function is_ascii(s)
  for i = 1, #s do
    if s:byte(i) >= 0x80 then
      return false
    end
  end
  return true
end

--- How long the valid UTF-8 sequence at byte `i` is; nil where there is none. Makes no function, as nothing that does
--- is compiled.
---@param s string
---@param i integer 1-based
---@return integer?
local function sequence(s, i)
  local a, b, c, d = s:byte(i, i + 3)
  if a < 0x80 then
    return 1
  elseif a >= 0xC2 and a <= 0xDF then
    return is_tail(b) and 2 or nil
  elseif a >= 0xE0 and a <= 0xEF then
    -- Overlong forms and surrogates are no UTF-8.
    local low, high = a == 0xE0 and 0xA0 or 0x80, a == 0xED and 0x9F or 0xBF
    return b ~= nil and b >= low and b <= high and is_tail(c) and 3 or nil
  elseif a >= 0xF0 and a <= 0xF4 then
    local low, high = a == 0xF0 and 0x90 or 0x80, a == 0xF4 and 0x8F or 0xBF
    return b ~= nil and b >= low and b <= high and is_tail(c) and is_tail(d) and 4 or nil
  end
  return nil
end

--- The wire spelling of a raw line. Each byte that is no UTF-8 becomes U+FFFD; the second result says that one did.
---@param raw string
---@return string wire
---@return boolean lossy
function M.wire(raw)
  local line = raw:find('\n', 1, true) and raw:gsub('\n', '\0') or raw
  if is_ascii(line) then
    return line, false
  end
  local lossy = false
  local i = 1
  while i <= #line do
    local length = sequence(line, i)
    if not length then
      lossy = true
      break
    end
    i = i + length
  end
  if not lossy then
    return line, false
  end
  local parts = {} ---@type string[]
  i = 1
  while i <= #line do
    local length = sequence(line, i)
    parts[#parts + 1] = length and line:sub(i, i + length - 1) or '\239\191\189'
    i = i + (length or 1)
  end
  return table.concat(parts), true
end

--- The length of valid UTF-8 in UTF-16 units; with `bytes`, of its first so many bytes.
---@param s string
---@param bytes? integer
---@return integer
function M.units(s, bytes)
  bytes = bytes or #s
  if is_ascii(s) then
    return bytes
  end
  local units = 0
  for i = 1, bytes do
    local byte = s:byte(i)
    if byte < 0x80 or byte >= 0xC0 then
      units = units + (byte >= 0xF0 and 2 or 1)
    end
  end
  return units
end

--- The byte offset of a UTF-16 offset in valid UTF-8; nil beyond the end and in the middle of a character.
---@param s string
---@param units integer
---@return integer?
function M.bytes(s, units)
  if is_ascii(s) then
    return units <= #s and units or nil
  end
  local seen, i = 0, 1
  while seen < units and i <= #s do
    local byte = s:byte(i)
    seen = seen + (byte >= 0xF0 and 2 or 1)
    i = i + (byte >= 0xF0 and 4 or byte >= 0xE0 and 3 or byte >= 0xC0 and 2 or 1)
  end
  return seen == units and i - 1 or nil
end

--- The whole text.
---@param text ropewalk.Text
---@return string
function M.join(text)
  if text.empty then
    return ''
  end
  return table.concat(text.lines, text.sep) .. (text.eol and text.sep or '')
end

--- The position behind the last byte.
---@param text ropewalk.Text
---@return ropewalk.Position
local function last(text)
  if text.empty then
    return { line = 0, character = 0 }
  elseif text.eol then
    return { line = #text.lines, character = 0 }
  end
  return { line = #text.lines - 1, character = M.units(text.lines[#text.lines]) }
end

--- Whether a position behind byte `col` of a line lies between a CR and the LF that follows it: a place that LSP lacks.
---@param text ropewalk.Text
---@param row integer
---@param col integer
local function splits_crlf(text, row, col)
  local line = text.lines[row + 1]
  return col == #line and line:sub(-1) == '\r' and (text.eol or row + 1 < #text.lines)
end

--- How many bytes two lines share at their beginning, to a character boundary.
---@param a string
---@param b string
---@return integer
local function common_prefix(a, b)
  local n = math.min(#a, #b)
  local i = 0
  while i < n and a:byte(i + 1) == b:byte(i + 1) do
    i = i + 1
  end
  -- A character that differs in its later bytes differs as a whole.
  while i > 0 and (is_tail(a:byte(i + 1)) or is_tail(b:byte(i + 1))) do
    i = i - 1
  end
  return i
end

--- How many bytes two lines share at their end, at most `limit`, to a character boundary.
---@param a string
---@param b string
---@param limit integer
---@return integer
local function common_suffix(a, b, limit)
  local i = 0
  while i < limit and a:byte(#a - i) == b:byte(#b - i) do
    i = i + 1
  end
  while i > 0 and is_tail(a:byte(#a - i + 1)) do
    i = i - 1
  end
  return i
end

--- Replaces the lines `[first, last)` of `text` by `new` (wire spelling) in place, and tells what that changes for the
--- sidecar: a content change of `textDocument/didChange`, as small as whole characters allow.
---@param text ropewalk.Text
---@param first integer
---@param last_row integer
---@param new string[]
---@param empty boolean whether no byte is left
---@return { range?: ropewalk.Range, text: string }
function M.change(text, first, last_row, new, empty)
  local lines = text.lines
  local count = #lines
  last_row = math.min(last_row, count)
  local before_end = last(text)
  local was_empty = text.empty

  -- What is left once equal lines at both ends are gone.
  local head, old_count, new_count = 0, last_row - first, #new
  while head < old_count and head < new_count and lines[first + head + 1] == new[head + 1] do
    head = head + 1
  end
  local tail = 0
  while
    tail < old_count - head
    and tail < new_count - head
    and lines[last_row - tail] == new[new_count - tail]
  do
    tail = tail + 1
  end
  local from, to = first + head, last_row - tail
  local added = vim.list_slice(new, head + 1, new_count - tail)

  ---@type { range?: ropewalk.Range, text: string }?
  local change
  if not was_empty and not empty then
    if to > from and #added > 0 then
      local old_first, old_last = lines[from + 1], lines[to]
      local prefix = common_prefix(old_first, added[1])
      local limit = math.min(#old_last, #added[#added])
      if to - from == 1 or #added == 1 then
        -- The suffix must not reach into the prefix of the line that both share.
        limit = math.min(
          to - from == 1 and #old_last - prefix or #old_last,
          #added == 1 and #added[1] - prefix or #added[#added]
        )
      end
      local suffix = common_suffix(old_last, added[#added], limit)
      local stop = #old_last - suffix
      if not splits_crlf(text, from, prefix) and not splits_crlf(text, to - 1, stop) then
        local parts = vim.list_slice(added, 1, #added)
        parts[#parts] = parts[#parts]:sub(1, #parts[#parts] - suffix)
        parts[1] = parts[1]:sub(prefix + 1)
        change = {
          range = {
            start = { line = from, character = M.units(old_first, prefix) },
            ['end'] = { line = to - 1, character = M.units(old_last, stop) },
          },
          text = table.concat(parts, text.sep),
        }
      end
    end
    if not change and (to < count or text.eol) then
      local parts = vim.list_slice(added, 1, #added)
      parts[#parts + 1] = ''
      change = {
        range = { start = { line = from, character = 0 }, ['end'] = { line = to, character = 0 } },
        text = table.concat(parts, text.sep),
      }
    elseif not change and from > 0 and not splits_crlf(text, from - 1, #lines[from]) then
      local parts = vim.list_slice(added, 1, #added)
      table.insert(parts, 1, '')
      change = {
        range = { start = { line = from - 1, character = M.units(lines[from]) }, ['end'] = before_end },
        text = table.concat(parts, text.sep),
      }
    end
  end

  local delta = new_count - old_count
  if delta ~= 0 then
    table.move(lines, last_row + 1, count, last_row + 1 + delta)
    for i = count + delta + 1, count do
      lines[i] = nil
    end
  end
  table.move(new, 1, new_count, first + 1, lines)
  if #lines == 0 then
    lines[1] = ''
  end
  text.empty = empty

  return change
    or { range = { start = { line = 0, character = 0 }, ['end'] = before_end }, text = M.join(text) }
end

--- The pieces of a new text between its line ends. In a buffer of CRLF lines the CR belongs to the line end; in others
--- it is content.
---@param new string
---@param sep string
---@return string[]
local function pieces(new, sep)
  local parts = vim.split(new, '\n', { plain = true })
  if sep == '\r\n' then
    for i = 1, #parts - 1 do
      parts[i] = parts[i]:gsub('\r$', '')
    end
  end
  return parts
end

---@param a ropewalk.Position
---@param b ropewalk.Position
local function before(a, b)
  return a.line < b.line or a.line == b.line and a.character < b.character
end

---@param a ropewalk.Position
---@param b ropewalk.Position
local function same(a, b)
  return a.line == b.line and a.character == b.character
end

--- Where the edits of the sidecar go in the buffer: replacements from the last to the first, none touching another.
--- A final line end is an attribute of the buffer that an undo would not bring back, so edits neither add nor remove
--- it. Refuses, with the reason, whatever does not lie in the text exactly.
---@param text ropewalk.Text
---@param edits { range: ropewalk.Range, newText: string }[]
---@return ropewalk.Splice[]?
---@return string? reason
function M.plan(text, edits)
  local sorted = {} ---@type { start: ropewalk.Position, stop: ropewalk.Position, new: string, index: integer }[]
  for index, edit in ipairs(edits) do
    local start, stop = edit.range.start, edit.range['end']
    if before(stop, start) then
      return nil, ('edit %d: its range ends before it starts'):format(index)
    end
    sorted[index] = { start = start, stop = stop, new = edit.newText, index = index }
  end
  table.sort(sorted, function(a, b)
    if not same(a.start, b.start) then
      return before(a.start, b.start)
    end
    -- An insertion comes before the replacement that starts at its place; equal ones keep their order.
    local a_empty, b_empty = same(a.start, a.stop), same(b.start, b.stop)
    if a_empty ~= b_empty then
      return a_empty
    end
    return a.index < b.index
  end)
  local merged = {} ---@type typeof(sorted)
  for _, edit in ipairs(sorted) do
    local previous = merged[#merged]
    if previous and before(edit.start, previous.stop) then
      return nil, ('edits %d and %d overlap'):format(previous.index, edit.index)
    elseif previous and same(previous.stop, edit.start) then
      previous.stop, previous.new = edit.stop, previous.new .. edit.new
    else
      merged[#merged + 1] = edit
    end
  end

  local count = #text.lines
  local finish = last(text)
  local splices = {} ---@type ropewalk.Splice[]
  for i = #merged, 1, -1 do
    local edit = merged[i]
    local cols = {} ---@type integer[]
    for n, position in ipairs({ edit.start, edit.stop }) do
      if position.line < count then
        cols[n] = M.bytes(text.lines[position.line + 1], position.character)
      elseif same(position, finish) then
        cols[n] = -1
      end
      if not cols[n] or text.empty and not same(position, finish) then
        return nil,
          ('edit %d: line %d, character %d is not a place in the document'):format(
            edit.index,
            position.line,
            position.character
          )
      end
    end

    local splice = {
      row = edit.start.line,
      col = cols[1],
      end_row = edit.stop.line,
      end_col = cols[2],
      lines = pieces(edit.new, text.sep),
    }
    local to_end = same(edit.stop, finish)
    local ends_line = #splice.lines > 1 and splice.lines[#splice.lines] == ''
    if text.empty then
      splice.row, splice.col, splice.end_row, splice.end_col = 0, 0, 0, 0
      if ends_line then
        table.remove(splice.lines)
      end
    elseif to_end and text.eol then
      splice.end_row, splice.end_col = count - 1, #text.lines[count]
      if splice.col == -1 then
        splice.row, splice.col = splice.end_row, splice.end_col
        table.insert(splice.lines, 1, '')
        if edit.new == '' then
          splice.lines = { '' }
        elseif ends_line then
          table.remove(splice.lines)
        end
      elseif ends_line then
        table.remove(splice.lines)
      elseif edit.new == '' and splice.col == 0 then
        if splice.row == 0 then
          splice.clear = true
        else
          splice.row, splice.col = splice.row - 1, #text.lines[splice.row]
        end
      end
    elseif to_end and ends_line then
      table.remove(splice.lines)
    end

    local gone = splice.row == splice.end_row
      and text.lines[splice.row + 1]:sub(splice.col + 1, splice.end_col) == splice.lines[1]
      and #splice.lines == 1
      and not splice.clear
    if not gone then
      splices[#splices + 1] = splice
    end
  end
  if #splices == 0 then
    return nil, "nothing is left to change: the final line end is kept as 'endofline' has it"
  end
  return splices
end

return M
