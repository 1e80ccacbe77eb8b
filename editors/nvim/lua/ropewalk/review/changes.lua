--- What waits for a person's judgement, as the sidecars have it: asked for anew when they say that it changed, and when
--- typing among it has paused.

local sync = require('ropewalk.sync')

local api = vim.api

local M = {}

--- How long after the sidecar's word, and after the last key, it is asked (ms).
M.settle_ms = 30
M.typing_ms = 300

--- Something to judge.
---@class ropewalk.Item
---@field what 'change'|'proposal'
---@field client_id integer
---@field uri string
---@field session_id string
---@field call_id string
---@field hunk_id string
---@field kind 'changed'|'created'|'deleted'|'moved'|'mode'
---@field start integer 1-based line; with a count of 0 a place before it
---@field count integer
---@field before string
---@field after string what stands, or would stand, there
---@field touched boolean
---@field under? { sessionId: string, callId: string } a later change of the same lines
---@field moved_from? string
---@field moved_to? string

---@class ropewalk.ReviewFile
---@field uri string
---@field version? integer
---@field items ropewalk.Item[]

---@class ropewalk.ReviewState
---@field files table<string, ropewalk.ReviewFile>
---@field undos { undoId: string, uris: string[] }[]
---@field wanted table<string, true> URIs to ask about
---@field all boolean everything is to be asked about
---@field asking boolean
---@field urgent boolean it was the sidecar that said so: keys do not put that off
---@field timer? uv.uv_timer_t

---@type table<integer, ropewalk.ReviewState>
local states = {}

--- Called with a client and the URIs whose items are other ones now.
---@type fun(client_id: integer, uris: string[])
M.on_news = function() end

---@param client_id integer
---@return ropewalk.ReviewState
local function state_of(client_id)
  local state = states[client_id]
  if not state then
    state = { files = {}, undos = {}, wanted = {}, all = false, asking = false, urgent = false }
    states[client_id] = state
  end
  return state
end

--- The answer to `ropewalk/changes` as files.
---@param client_id integer
---@param result table
---@return table<string, ropewalk.ReviewFile>
function M.read(client_id, result)
  local files = {} ---@type table<string, ropewalk.ReviewFile>
  local function add(what, file, session_id, moved_to)
    local into = files[file.uri] or { uri = file.uri, items = {} }
    files[file.uri] = into
    into.version = file.version or into.version
    for _, hunk in ipairs(file.hunks or {}) do
      into.items[#into.items + 1] = {
        what = what,
        client_id = client_id,
        uri = file.uri,
        session_id = session_id or hunk.sessionId,
        call_id = hunk.callId,
        hunk_id = hunk.hunkId,
        kind = hunk.kind,
        start = hunk.lines.start,
        count = hunk.lines.count,
        before = hunk.before,
        after = what == 'change' and hunk.now or hunk.after,
        made = hunk.after,
        touched = hunk.touched or false,
        under = hunk.under,
        moved_from = hunk.movedFrom,
        moved_to = moved_to,
      }
    end
  end
  for _, file in ipairs(result.files or {}) do
    add('change', file)
  end
  for _, file in ipairs(result.proposals or {}) do
    add('proposal', file, file.sessionId, file.movedTo)
  end
  return files
end

---@param client_id integer
---@param after integer ms
---@param urgent boolean
local function later(client_id, after, urgent)
  local state = state_of(client_id)
  if state.urgent and not urgent then
    return
  end
  state.urgent = urgent
  state.timer = state.timer or assert(vim.uv.new_timer())
  state.timer:start(
    after,
    0,
    vim.schedule_wrap(function()
      M.ask(client_id)
    end)
  )
end

--- Takes over what a sidecar answered about some URIs, or all.
---@param client_id integer
---@param asked? string[]
---@param results table[]
local function take(client_id, asked, results)
  local state = state_of(client_id)
  local old, news = state.files, {} ---@type table<string, ropewalk.ReviewFile>, table<string, true>
  local found = {} ---@type table<string, ropewalk.ReviewFile>
  for index, result in ipairs(results) do
    for uri, file in pairs(M.read(client_id, result)) do
      -- A file that would be moved is named by both of its places, and told in full only by its own.
      if not asked or asked[index] == uri then
        found[uri] = file
      end
    end
    state.undos = result.undos or {}
  end
  if asked then
    for _, uri in ipairs(asked) do
      state.files[uri] = found[uri]
      news[uri] = true
    end
  else
    state.files = found
    for uri in pairs(vim.tbl_extend('force', old, found)) do
      news[uri] = true
    end
  end
  local stale = false
  for uri in pairs(news) do
    local file, document = state.files[uri], sync.find(client_id, uri)
    if file and document and file.version and file.version ~= document.version then
      -- Keys came in between: the lines are those of another text. What is on the screen has moved along with them.
      state.wanted[uri], news[uri] = true, nil
      stale = true
    end
  end
  M.on_news(client_id, vim.tbl_keys(news))
  if stale then
    later(client_id, M.settle_ms, true)
  end
end

--- Asks for what is to be asked about, one round at a time.
---@param client_id integer
function M.ask(client_id)
  local client, state = vim.lsp.get_client_by_id(client_id), state_of(client_id)
  state.urgent = false
  if state.asking or not client or client:is_stopped() then
    return
  end
  local uris = vim.tbl_keys(state.wanted)
  table.sort(uris)
  local all = state.all or #uris > 10
  if not all and #uris == 0 then
    return
  end
  state.wanted, state.all, state.asking = {}, false, true
  local results, waiting, failed = {}, all and 1 or #uris, false
  for index = 1, waiting do
    local params = all and vim.empty_dict() or { uri = uris[index] }
    require('ropewalk.client').request(client, 'ropewalk/changes', params, function(err, result)
      results[index] = result or {}
      failed = failed or err ~= nil
      waiting = waiting - 1
      if waiting > 0 or not states[client_id] then
        return
      end
      state.asking = false
      if err then
        vim.lsp.log.error('ropewalk', 'changes', err.message)
      end
      if not failed then
        take(client_id, not all and uris or nil, results)
      end
      if state.all or next(state.wanted) then
        later(client_id, M.settle_ms, true)
      end
    end)
  end
end

--- Something is to be asked about soon.
---@param client_id integer
---@param uris? string[] all where there are none
---@param typed? boolean only because of typing, which is waited out
function M.want(client_id, uris, typed)
  local state = state_of(client_id)
  state.all = state.all or not uris
  for _, uri in ipairs(uris or {}) do
    state.wanted[uri] = true
  end
  later(client_id, typed and M.typing_ms or M.settle_ms, not typed)
end

--- Asks every sidecar for everything, and calls `done` when all have answered.
---@param done fun()
function M.refresh(done)
  local clients = require('ropewalk.client').list()
  local waiting = #clients
  if waiting == 0 then
    return done()
  end
  for _, client in ipairs(clients) do
    require('ropewalk.client').request(client, 'ropewalk/changes', vim.empty_dict(), function(err, result)
      if not err then
        take(client.id, nil, { result or {} })
      end
      waiting = waiting - 1
      if waiting == 0 then
        done()
      end
    end)
  end
end

--- Whether a sidecar has been asked before.
---@param client_id integer
---@return boolean
function M.knows(client_id)
  return states[client_id] ~= nil
end

--- The sidecar is gone: so is what it said.
---@param client_id integer
function M.forget(client_id)
  local state = states[client_id]
  if not state then
    return
  end
  if state.timer then
    state.timer:stop()
    state.timer:close()
  end
  states[client_id] = nil
  M.on_news(client_id, vim.tbl_keys(state.files))
end

--- The items of a file, in the order of the text.
---@param client_id integer
---@param uri string
---@return ropewalk.Item[]
function M.of(client_id, uri)
  local state = states[client_id]
  return state and state.files[uri] and state.files[uri].items or {}
end

--- All files with something to judge, by name.
---@return { client_id: integer, file: ropewalk.ReviewFile }[]
function M.files()
  local list = {} ---@type { client_id: integer, file: ropewalk.ReviewFile }[]
  for client_id, state in pairs(states) do
    for _, file in pairs(state.files) do
      if #file.items > 0 then
        list[#list + 1] = { client_id = client_id, file = file }
      end
    end
  end
  table.sort(list, function(a, b)
    if a.file.uri ~= b.file.uri then
      return a.file.uri < b.file.uri
    end
    return a.client_id < b.client_id
  end)
  return list
end

--- The last undo that can be taken back, and whose it is.
---@return integer? client_id
---@return string? undo_id
function M.last_undo()
  for client_id, state in pairs(states) do
    local last = state.undos[#state.undos]
    if last then
      return client_id, last.undoId
    end
  end
end

--- The buffer of a file, where there is one that is loaded.
---@param client_id integer
---@param uri string
---@return integer?
function M.buffer(client_id, uri)
  local document = sync.find(client_id, uri)
  if document then
    return document.bufnr
  end
  local ok, name = pcall(vim.uri_to_fname, uri)
  local bufnr = ok and vim.fn.bufnr('^' .. vim.fn.escape(name, '\\*?[]{}^$,') .. '$') or -1
  return bufnr ~= -1 and api.nvim_buf_is_loaded(bufnr) and bufnr or nil
end

--- The URI of a buffer, as its sidecar knows it.
---@param bufnr integer
---@return string
function M.buffer_uri(bufnr)
  local document = sync.of_buffer(bufnr)[1]
  return document and document.uri or vim.uri_from_bufnr(bufnr)
end

--- A file as a person names it.
---@param uri string
---@return string
function M.name(uri)
  local ok, name = pcall(vim.uri_to_fname, uri)
  return require('ropewalk.approve').visible(ok and vim.fn.fnamemodify(name, ':~:.') or uri)
end

---@param item ropewalk.Item
---@param other ropewalk.Item
local function lies_under(item, other)
  return item.under ~= nil
    and item.under.callId == other.call_id
    and item.under.sessionId == other.session_id
    and item.start == other.start
    and item.count == other.count
end

--- The lines of a text, without their ends; whether its last line has an end.
---@param text string
---@return string[]
---@return boolean
function M.lines(text)
  if text == '' then
    return {}, true
  end
  local lines = vim.split(text, '\n', { plain = true })
  local ended = lines[#lines] == ''
  if ended then
    lines[#lines] = nil
  end
  return lines, ended
end

---@param lines string[]
---@param wanted string[]
---@return integer? index of the first line
local function find(lines, wanted)
  for from = 1, #lines - #wanted + 1 do
    local same = true
    for offset = 1, #wanted do
      if lines[from + offset - 1] ~= wanted[offset] then
        same = false
        break
      end
    end
    if same then
      return from
    end
  end
end

--- What stood where an item is before any agent changed it: with what lies under it taken back, too.
---@param item ropewalk.Item
---@param items ropewalk.Item[] those of its file
---@return string[]
function M.base(item, items)
  local lines = M.lines(item.before)
  for index = #items, 1, -1 do
    local lower = items[index]
    if lower ~= item and lies_under(lower, item) then
      local made, stood = M.lines(lower.made or lower.after), M.base(lower, items)
      local from = #made > 0 and find(lines, made)
      if from then
        local joined = vim.list_slice(lines, 1, from - 1)
        vim.list_extend(joined, stood)
        lines = vim.list_extend(joined, lines, from + #made)
      elseif #made == 0 then
        -- Where among the lines it was is not told: it is shown behind them.
        vim.list_extend(lines, stood)
      end
    end
  end
  return lines
end

return M
