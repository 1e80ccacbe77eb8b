--- Two texts side by side in a tab of their own: what a file was against what it is, or what it is against what is
--- proposed. And a proposal to be edited before it is accepted.

local changes = require('ropewalk.review.changes')
local judge = require('ropewalk.review.judge')
local marks = require('ropewalk.review.marks')
local say = require('ropewalk.review.say')
local window = require('ropewalk.window')

local api = vim.api

local M = {}

--- The text of a buffer with the changes of agents taken back.
---@param bufnr integer
---@return string[]
function M.base(bufnr)
  local lines = api.nvim_buf_get_lines(bufnr, 0, -1, false)
  local found = marks.list(bufnr)
  for index = #found, 1, -1 do
    local one = found[index]
    local item = one.item
    if item.what == 'change' and item.kind ~= 'moved' and item.kind ~= 'mode' then
      local stood = one.drawn.before
      if vim.bo[bufnr].fileformat == 'dos' then
        stood = vim.tbl_map(function(line)
          return (line:gsub('\r$', ''))
        end, stood)
      end
      local head = vim.list_slice(lines, 1, one.first + (one.drawn.behind and 1 or 0))
      local tail = vim.list_slice(lines, one.drawn.size == 0 and #head + 1 or one.last + 2)
      lines = vim.list_extend(vim.list_extend(head, stood), tail)
    end
  end
  return #lines > 0 and lines or { '' }
end

--- Opens a tab with a buffer and, beside it, a text that cannot be changed.
---@param bufnr integer
---@param lines string[]
---@param name string
---@param left boolean where the text stands
local function side_by_side(bufnr, lines, name, left)
  vim.cmd('tab split')
  api.nvim_set_current_buf(bufnr)
  vim.cmd.diffthis()
  local mine = api.nvim_get_current_win()
  vim.cmd(left and 'leftabove vnew' or 'rightbelow vnew')
  local other = api.nvim_get_current_buf()
  vim.bo[other].buftype, vim.bo[other].bufhidden, vim.bo[other].swapfile = 'nofile', 'wipe', false
  vim.bo[other].buflisted = false
  api.nvim_buf_set_lines(other, 0, -1, false, lines)
  vim.bo[other].modifiable, vim.bo[other].modified = false, false
  pcall(api.nvim_buf_set_name, other, name)
  vim.bo[other].syntax = vim.bo[bufnr].filetype
  vim.keymap.set('n', 'q', '<Cmd>tabclose<CR>', { buffer = other, nowait = true })
  vim.cmd.diffthis()
  api.nvim_set_current_win(mine)
end

--- The text of a document as a session has it, in lines.
---@param item ropewalk.Item
---@param done fun(text: string)
local function proposed_text(item, done)
  local client = vim.lsp.get_client_by_id(item.client_id)
  if not client then
    return say.warn('the sidecar is gone')
  end
  local from = window.here()
  local params = { uri = item.uri, sessionId = item.session_id }
  require('ropewalk.client').request(client, 'ropewalk/documentText', params, function(err, result)
    if err then
      return say.warn(err.message)
    elseif not window.waits(from) then
      return say.say('the proposed text has come; ask once more to see it')
    end
    done(result.text or '')
  end)
end

---@param text string
---@return string[]
local function buffer_lines(text)
  local lines = vim.tbl_map(function(line)
    return (line:gsub('\r$', ''))
  end, (changes.lines(text)))
  return #lines > 0 and lines or { '' }
end

--- Shows the difference for the current buffer, or for what is meant.
---@param bufnr integer
---@param proposal? ropewalk.Item
function M.diff(bufnr, proposal)
  if proposal then
    return proposed_text(proposal, function(text)
      local name = ('ropewalk://proposed/%s/%s'):format(proposal.session_id, changes.name(proposal.uri))
      side_by_side(bufnr, buffer_lines(text), name, false)
    end)
  end
  side_by_side(bufnr, M.base(bufnr), 'ropewalk://before/' .. changes.name(changes.buffer_uri(bufnr)), true)
end

--- Opens what a proposal would put there, to be edited: `:w` accepts it as it is then.
---@param item ropewalk.Item
---@param whole boolean the whole file, not the hunk
function M.edit(item, whole)
  local function open(text)
    local lines, ended = changes.lines(text)
    local dos = #lines > 0 and text:find('\r\n', 1, true) ~= nil and not text:find('[^\r]\n')
    vim.cmd('belowright new')
    local bufnr = api.nvim_get_current_buf()
    api.nvim_buf_set_lines(bufnr, 0, -1, false, dos and buffer_lines(text) or #lines > 0 and lines or { '' })
    vim.bo[bufnr].buftype, vim.bo[bufnr].bufhidden, vim.bo[bufnr].swapfile = 'acwrite', 'wipe', false
    vim.bo[bufnr].buflisted, vim.bo[bufnr].modified = false, false
    local what = whole and changes.name(item.uri) or item.hunk_id
    pcall(api.nvim_buf_set_name, bufnr, ('ropewalk://accept/%s/%s'):format(item.session_id, what))
    local source = changes.buffer(item.client_id, item.uri)
    vim.bo[bufnr].syntax = source and vim.bo[source].filetype or vim.filetype.match({ filename = item.uri }) or ''
    if not whole then
      api.nvim_win_set_height(0, math.max(3, math.min(#lines + 1, math.floor(vim.o.lines / 2))))
    end
    local sent = false
    api.nvim_create_autocmd('BufWriteCmd', {
      buffer = bufnr,
      callback = function()
        if sent then
          return
        end
        local now = api.nvim_buf_get_lines(bufnr, 0, -1, false)
        local empty = #now == 1 and now[1] == ''
        local sep = dos and '\r\n' or '\n'
        local edited = empty and '' or table.concat(now, sep) .. (ended and sep or '')
        sent = true
        local tick = api.nvim_buf_get_changedtick(bufnr)
        -- Also where its window is closed right away: what is not accepted is not lost.
        vim.bo[bufnr].bufhidden = 'hide'
        judge.accept({ scope = whole and 'file' or 'hunk', items = { item } }, edited, function(applied)
          sent = false
          if not api.nvim_buf_is_valid(bufnr) then
            return
          elseif applied and api.nvim_buf_get_changedtick(bufnr) == tick then
            vim.bo[bufnr].modified = false
            -- What was written is in its place now.
            return api.nvim_buf_delete(bufnr, { force = true })
          end
          -- What was refused, or typed since, is the user's still.
          vim.bo[bufnr].modified = true
          if #vim.fn.win_findbuf(bufnr) == 0 then
            api.nvim_open_win(bufnr, false, { split = 'below', win = -1 })
          end
          vim.bo[bufnr].bufhidden = 'wipe'
        end)
        vim.bo[bufnr].modified = false
      end,
    })
  end
  if whole then
    proposed_text(item, open)
  else
    open(item.after)
  end
end

return M
