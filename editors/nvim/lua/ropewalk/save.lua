--- `ropewalk/save`: writes buffers as `:write` does, with all its autocommands, and without a question, a message or
--- another window.

local sync = require('ropewalk.sync')

local api = vim.api

local M = {}

--- The file of a buffer as it was when the buffer was read or written: what Neovim itself compares.
---@type table<integer, string>
local stamps = {}

---@param bufnr integer
---@return string? stamp nil where there is no file
local function stamp(bufnr)
  local stat = vim.uv.fs_stat(api.nvim_buf_get_name(bufnr))
  return stat and ('%d.%d %d'):format(stat.mtime.sec, stat.mtime.nsec, stat.size) or nil
end

--- Notes that buffer and file are one now.
---@param bufnr integer
local function note(bufnr)
  stamps[bufnr] = stamp(bufnr) or 'none'
end

--- Whether somebody else wrote the file since the buffer was read. `:write` would ask about that.
---@param bufnr integer
---@return boolean
local function changed_outside(bufnr)
  local now = stamp(bufnr)
  return now ~= nil and stamps[bufnr] ~= nil and stamps[bufnr] ~= now
end

--- Whether the file would hold other characters than the buffer: `:write` puts a mark in the place of those that its
--- encoding does not have, and only says so afterwards.
---@param bufnr integer
---@return string?
local function unwritable(bufnr)
  local encoding = vim.bo[bufnr].fileencoding
  if encoding == '' or encoding:match('^u[tc][fs]') then
    return nil
  end
  local text = table.concat(api.nvim_buf_get_lines(bufnr, 0, -1, false), '\r')
  local there = text:find('[\128-\255]') and vim.iconv(text, 'utf-8', encoding)
  if there == false or there and vim.iconv(there, encoding, 'utf-8') == text then
    return nil
  end
  return ("the text has characters that the encoding of the file lacks ('fileencoding' %s)"):format(encoding)
end

--- Why a buffer cannot be written, if that can be told before.
---@param bufnr integer
---@return string?
local function refusal(bufnr)
  local buftype = vim.bo[bufnr].buftype
  if api.nvim_buf_get_name(bufnr) == '' then
    return 'the buffer has no name yet'
  elseif buftype ~= '' and buftype ~= 'acwrite' then
    return ("the buffer is not a file's ('buftype' %s)"):format(buftype)
  elseif vim.bo[bufnr].readonly then
    return "the buffer is read-only ('readonly')"
  elseif changed_outside(bufnr) then
    return 'the file has changed on the disk since it was read; decide in the editor (:edit! or :write!)'
  end
  return unwritable(bufnr)
end

--- Writes one buffer.
---@param bufnr integer
---@return string? reason why it is not written
function M.write(bufnr)
  if not vim.bo[bufnr].modified and (stamp(bufnr) or vim.bo[bufnr].buftype == 'acwrite') then
    return nil
  end
  local reason = refusal(bufnr)
  if reason then
    return reason
  end
  local confirm = vim.o.confirm
  if confirm then
    -- Where it is set, what would be an error becomes a question.
    vim.cmd('noautocmd set noconfirm')
  end
  local ok, err = pcall(api.nvim_buf_call, bufnr, function()
    vim.cmd('silent lockmarks write')
  end)
  if confirm then
    vim.cmd('noautocmd set confirm')
  end
  if not ok then
    return (tostring(err):gsub('^.-(E%d+:)', '%1'):gsub('^.-Vim%b():', ''))
  elseif vim.bo[bufnr].modified then
    return 'the buffer is still modified after :write'
  end
end

--- The handler.
---@param params { uris: string[] }
---@param client_id integer
---@return { failed: { uri: string, reason: string }[] }
function M.handle(params, client_id)
  local failed = {} ---@type { uri: string, reason: string }[]
  for _, uri in ipairs(params.uris or {}) do
    local document = sync.find(client_id, uri)
    local reason = 'not open: ' .. uri
    if document then
      reason = M.write(document.bufnr)
    end
    if reason then
      failed[#failed + 1] = { uri = uri, reason = reason }
    end
  end
  return { failed = failed }
end

---@param group integer
function M.setup(group)
  api.nvim_create_autocmd({ 'BufReadPost', 'BufWritePost', 'FileChangedShellPost', 'BufNewFile' }, {
    group = group,
    desc = 'ropewalk: buffer and file are one',
    callback = function(args)
      -- A buffer that is modified after its file changed was not read anew, and `:write OTHER` writes another file.
      local kept = args.event == 'FileChangedShellPost' and vim.bo[args.buf].modified
      local elsewhere = args.event == 'BufWritePost' and args.match ~= api.nvim_buf_get_name(args.buf)
      if not kept and not elsewhere then
        note(args.buf)
      end
    end,
  })
  api.nvim_create_autocmd('BufWipeout', {
    group = group,
    callback = function(args)
      stamps[args.buf] = nil
    end,
  })
  sync.listen(function(document, event)
    if event == 'open' and not stamps[document.bufnr] then
      note(document.bufnr)
    end
  end)
end

return M
