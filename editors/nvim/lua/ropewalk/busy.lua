--- What the user is in the middle of that an edit would break, though the text takes it: Neovim holds places of its own
--- then, which nobody can move along with the text.

local await = require('ropewalk.await')

local api = vim.api

local M = {}

--- How long an edit waits for the user to be through (ms): less than the sidecar waits for the edit.
M.patience_ms = 1200

--- How long completion may take to end once it is told to (ms).
local END_MS = 300

--- How often is looked whether they are (ms).
local LOOK_MS = 20

--- The buffer in whose block of lines is inserted: what is typed comes into the other lines at the end of Insert mode,
--- by their numbers.
---@type integer?
local block_in

--- Whether the command line shows what it would do: that is shown in the buffer, and changes are told to nobody.
---@return boolean
local function is_previewing()
  if vim.o.inccommand == '' or vim.fn.getcmdtype() ~= ':' then
    return false
  end
  local ok, parsed = pcall(api.nvim_parse_cmd, vim.fn.getcmdline(), {})
  if not ok then
    return false
  end
  local own = { substitute = true, smagic = true, snomagic = true }
  local user = api.nvim_get_commands({})[parsed.cmd] or api.nvim_buf_get_commands(0, {})[parsed.cmd]
  return own[parsed.cmd] or user ~= nil and user.preview
end

--- Whether what is typed comes into other lines, too, at the end of Insert mode.
---@return boolean
function M.is_in_block()
  return block_in ~= nil and api.nvim_get_mode().mode:match('^[iR]') ~= nil
end

--- Why a buffer is not to be edited right now.
---@param bufnr integer
---@return string?
local function reason_of(bufnr)
  if is_previewing() then
    return 'the user is typing a command whose outcome the editor shows meanwhile'
  elseif block_in == bufnr and M.is_in_block() then
    return 'the user is inserting in a block of lines'
  end
end

--- Whether completion is on in this buffer: accepting or changing a choice takes away text at a place that was noted
--- when it began.
---@param bufnr integer
---@return boolean
local function is_completing(bufnr)
  return api.nvim_get_current_buf() == bufnr
    and api.nvim_get_mode().mode:match('^[iR]') ~= nil
    and vim.fn.complete_info({ 'mode' }).mode ~= ''
end

--- Ends completion, with the text as it is.
local END = '<Plug>(ropewalk-end-completion)'

--- Waits until `is_through`, or for so long. Runs in a coroutine.
---@param patience_ms integer
---@param is_through fun(): boolean
local function wait(patience_ms, is_through)
  local before = vim.uv.now()
  await.poll(await.await, LOOK_MS, function()
    return is_through() or vim.uv.now() - before >= patience_ms
  end)
end

--- Gives the user a moment to be through with what an edit of the buffer would break. Completion that is on after that
--- is ended with the text as it is. Waits only in a coroutine.
---@param bufnr integer
---@return string? reason why the buffer is not to be edited now
function M.settle(bufnr)
  local function is_free()
    return not reason_of(bufnr) and not is_completing(bufnr)
  end
  if is_free() then
    return nil
  end
  if await.can_wait() then
    wait(M.patience_ms, is_free)
    if is_completing(bufnr) then
      api.nvim_feedkeys(vim.keycode(END), 'mi', false)
      wait(END_MS, is_free)
    end
  end
  return reason_of(bufnr) or is_completing(bufnr) and 'the user is choosing a completion' or nil
end

---@param group integer
function M.setup(group)
  api.nvim_create_autocmd('ModeChanged', {
    group = group,
    pattern = '*:[iR]*',
    desc = 'ropewalk: whether is inserted in a block',
    callback = function(args)
      -- Within Insert mode there are others, such as that of completion.
      if not args.match:match('^[iR]') then
        block_in = args.match:match('^\22') and args.buf or nil
      end
    end,
  })
  vim.keymap.set({ 'n', 'x', 's', 'o', 'c', 't' }, END, '<Nop>')
  vim.keymap.set('i', END, function()
    return vim.fn.complete_info({ 'mode' }).mode ~= '' and '<C-x><C-z>' or ''
  end, { expr = true })
end

return M
