--- `ropewalk/format`: what a language client of the buffer would make of a document, as edits that are not applied.

local await = require('ropewalk.await').await
local rpc = require('ropewalk.rpc')
local sync = require('ropewalk.sync')

local M = {}

local FORMAT = 'textDocument/formatting'

---@param message string
local function fail(message)
  -- ContentModified, which is how servers say it.
  return nil, { code = -32801, message = message }
end

--- Who formats a buffer: whom the option `formatter` names, else the first that can.
---@param bufnr integer
---@param wanted string|false|fun(client: vim.lsp.Client, bufnr: integer): boolean|nil
---@return vim.lsp.Client?
local function formatter(bufnr, wanted)
  if wanted == false then
    return nil
  end
  local clients = vim.lsp.get_clients({ bufnr = bufnr, method = FORMAT })
  table.sort(clients, function(a, b)
    return a.id < b.id
  end)
  for _, client in ipairs(clients) do
    if client.name ~= 'ropewalk' then
      if wanted == nil or wanted == client.name then
        return client
      elseif type(wanted) == 'function' then
        local ok, answer = pcall(wanted, client, bufnr)
        if ok and answer then
          return client
        end
      end
    end
  end
end

--- A position as another client counts, in UTF-16.
---@param document ropewalk.Document
---@param place { line: integer, character: integer }
---@param encoding 'utf-8'|'utf-16'|'utf-32'
---@return { line: integer, character: integer }
local function convert(document, place, encoding)
  local lines = document.text.lines
  if place.line >= #lines then
    if document.text.eol and not document.text.empty then
      return { line = #lines, character = 0 }
    end
    -- Others may be told of a final line end that is not there.
    return { line = math.max(#lines - 1, 0), character = vim.str_utfindex(lines[#lines] or '', 'utf-16') }
  end
  local line = lines[place.line + 1]
  local byte = vim.str_byteindex(line, encoding, place.character, false)
  return { line = place.line, character = vim.str_utfindex(line, 'utf-16', math.min(byte, #line), false) }
end

--- Edits as another client counts, for the sidecar.
---@param document ropewalk.Document
---@param edits lsp.TextEdit[]
---@param encoding 'utf-8'|'utf-16'|'utf-32'
---@return lsp.TextEdit[]
function M.convert(document, edits, encoding)
  return vim.tbl_map(function(edit)
    return {
      range = {
        start = convert(document, edit.range.start, encoding),
        ['end'] = convert(document, edit.range['end'], encoding),
      },
      newText = (edit.newText:gsub('\r\n?', '\n'):gsub('\n', document.text.sep)),
    }
  end, edits)
end

--- The handler. Runs in a coroutine.
---@param params { uri: string, version: integer }
---@param client_id integer
---@param wanted string|false|fun(client: vim.lsp.Client, bufnr: integer): boolean|nil
function M.handle(params, client_id, wanted)
  local document = sync.find(client_id, params.uri)
  if not document then
    return fail('not open: ' .. tostring(params.uri))
  elseif not sync.check(document) or document.version ~= params.version then
    return fail(('the buffer is at version %d, not %s'):format(document.version, tostring(params.version)))
  elseif document.lossy then
    return fail('the buffer holds bytes that are not UTF-8')
  end
  local bufnr = document.bufnr
  local client = formatter(bufnr, wanted)
  if not client then
    return vim.NIL
  end
  local err, edits = await(function(done)
    local sent, id = client:request(FORMAT, {
      textDocument = { uri = vim.uri_from_bufnr(bufnr) },
      options = {
        tabSize = vim.lsp.util.get_effective_tabstop(bufnr),
        insertSpaces = vim.bo[bufnr].expandtab,
      },
    }, function(err, result)
      done(err, result)
    end, bufnr)
    if not sent then
      return done({ message = client.name .. ' does not run any more' })
    end
    rpc.on_cancel(params, function()
      client:cancel_request(id)
      done({ message = 'taken back' })
    end)
  end)
  if err then
    return nil, { code = -32603, message = ('%s: %s'):format(client.name, err.message or 'failed') }
  elseif document.closed or not sync.check(document) or document.version ~= params.version then
    return fail('the buffer has changed meanwhile')
  elseif type(edits) ~= 'table' then
    -- Servers say null where there is nothing to change.
    return { edits = {} }
  end
  return { edits = M.convert(document, edits, client.offset_encoding) }
end

return M
