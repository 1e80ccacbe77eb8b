--- A person's word: keep, undo, accept, reject. Where something stays as it was, it is said where and why.

local changes = require('ropewalk.review.changes')
local say = require('ropewalk.review.say')

local api = vim.api

local M = {}

--- What is meant: single hunks, or all of a call, a file, a session, or everything.
---@class ropewalk.Meant
---@field scope 'hunk'|'call'|'file'|'session'|'all'
---@field items ropewalk.Item[] those of it that are known

---@param item ropewalk.Item
---@param method string
---@param params table
---@param done fun(err?: table, result?: table)
local function send(item, method, params, done)
  local client = vim.lsp.get_client_by_id(item.client_id)
  if not client then
    return done({ message = 'the sidecar is gone' })
  end
  require('ropewalk.client').request(client, method, params, done)
end

--- The requests that say what is meant, each with an item whose sidecar it goes to.
---@param meant ropewalk.Meant
---@param proposals boolean
---@return { item: ropewalk.Item, params: table }[]
function M.requests(meant, proposals)
  local list, seen = {}, {} ---@type { item: ropewalk.Item, params: table }[], table<string, true>
  for _, item in ipairs(meant.items) do
    local params ---@type table
    if meant.scope == 'hunk' then
      params = { sessionId = item.session_id, hunkId = item.hunk_id }
    elseif meant.scope == 'call' then
      params = { sessionId = item.session_id, callId = item.call_id }
    elseif proposals then
      -- Files and sessions of proposals: file by file, each in its session.
      params = { sessionId = item.session_id, uri = item.uri }
    elseif meant.scope == 'file' then
      params = { uri = item.uri }
    elseif meant.scope == 'session' then
      params = { sessionId = item.session_id }
    else
      params = vim.empty_dict()
    end
    local key = item.client_id .. vim.json.encode({ params.sessionId, params.callId, params.uri, params.hunkId })
    if not seen[key] then
      seen[key] = true
      list[#list + 1] = { item = item, params = params }
    end
  end
  return list
end

--- Sends requests one after the other and gives all answers.
---@param method string
---@param requests { item: ropewalk.Item, params: table }[]
---@param done fun(answers: { item: ropewalk.Item, err?: table, result?: table }[])
local function each(method, requests, done)
  local answers = {} ---@type { item: ropewalk.Item, err?: table, result?: table }[]
  local function go_on(index)
    local request = requests[index]
    if not request then
      return done(answers)
    end
    send(request.item, method, request.params, function(err, result)
      answers[index] = { item = request.item, err = err, result = result }
      go_on(index + 1)
    end)
  end
  go_on(1)
end

--- Where an item is, for a person.
---@param item ropewalk.Item
---@return string
function M.where(item)
  local line = item.start
  local bufnr = changes.buffer(item.client_id, item.uri)
  for _, found in ipairs(bufnr and require('ropewalk.review.marks').list(bufnr) or {}) do
    local other = found.item
    if other.hunk_id == item.hunk_id and other.what == item.what and other.session_id == item.session_id then
      line = found.first + 1
    end
  end
  return ('%s:%d'):format(changes.name(item.uri), line)
end

--- Says of several reasons the first, and how many there are.
---@param done integer
---@param reasons string[]
---@param verb string
local function tell(done, reasons, verb)
  if #reasons == 0 then
    return
  end
  local more = #reasons > 1 and (' (and %d more)'):format(#reasons - 1) or ''
  local some = done > 0 and ('%d %s, %d not'):format(done, verb, #reasons) or ('not %s'):format(verb)
  say.warn(('%s: %s%s'):format(some, reasons[1], more))
end

---@param answers { item: ropewalk.Item, err?: table, result?: table }[]
---@return string[]
local function faults(answers)
  local reasons = {} ---@type string[]
  for _, answer in ipairs(answers) do
    if answer.err then
      reasons[#reasons + 1] = tostring(answer.err.message or answer.err)
    elseif answer.result and answer.result.refused then
      reasons[#reasons + 1] = ('%s: %s'):format(M.where(answer.item), answer.result.refused.message)
    end
  end
  return reasons
end

--- Asks for what has changed at once: the person looks at it.
---@param answers { item: ropewalk.Item }[]
local function look_again(answers)
  for _, answer in ipairs(answers) do
    changes.want(answer.item.client_id, { answer.item.uri })
  end
end

--- What a judgement came to: it is said, and what is left is looked at.
---@param answers { item: ropewalk.Item }[]
---@param count integer how many hunks it was done to
---@param reasons string[] why it was not done to others
---@param verb string
---@param done? fun(any: boolean)
local function conclude(answers, count, reasons, verb, done)
  tell(count, reasons, verb)
  look_again(answers)
  if done then
    done(count > 0)
  end
end

--- The files that the answers tell of, in their order.
---@param answers { result?: table }[]
---@param verb 'accepted'|'rejected'
---@return table[] files
---@return integer hunks in all of them
local function told_of(answers, verb)
  local files, hunks = {}, 0 ---@type table[], integer
  for _, answer in ipairs(answers) do
    for _, file in ipairs(answer.result and answer.result[verb] or {}) do
      files[#files + 1] = file
      hunks = hunks + #file.hunkIds
    end
  end
  return files, hunks
end

---@param meant ropewalk.Meant
---@param done? fun()
function M.keep(meant, done)
  each('ropewalk/keep', M.requests(meant, false), function(answers)
    local kept, reasons = 0, faults(answers)
    for _, answer in ipairs(answers) do
      kept = kept + #(answer.result and answer.result.kept or {})
    end
    if kept == 0 and #reasons == 0 then
      reasons[1] = 'nothing of it is under review any more'
    end
    conclude(answers, kept, reasons, 'kept', done)
  end)
end

--- What an answer to an undo leaves as it was.
---@param client_id integer
---@param result table
---@return integer done
---@return string[] reasons
function M.undone(client_id, result)
  local done, reasons = 0, {} ---@type integer, string[]
  for _, hunk in ipairs(result.hunks or {}) do
    if hunk.outcome == 'undone' or hunk.outcome == 'restored' then
      done = done + 1
    else
      local place = changes.name(hunk.uri)
      for _, item in ipairs(changes.of(client_id, hunk.uri)) do
        if item.what == 'change' and item.hunk_id == hunk.hunkId then
          place = M.where(item)
        end
      end
      local outcome = hunk.outcome == 'partly' and 'in part only: ' or ''
      reasons[#reasons + 1] = ('%s: %s%s'):format(place, outcome, hunk.why or hunk.outcome)
    end
  end
  return done, reasons
end

local namespace = api.nvim_create_namespace('ropewalk.review.judge')

--- Remembers the cursor; the result puts it back to its line and column where the text under it was replaced.
---@return fun()
local function keep_cursor()
  local window, bufnr = api.nvim_get_current_win(), api.nvim_get_current_buf()
  local before = api.nvim_win_get_cursor(window)
  local mark = api.nvim_buf_set_extmark(bufnr, namespace, before[1] - 1, 0, { right_gravity = false })
  return function()
    if not api.nvim_buf_is_loaded(bufnr) then
      return
    end
    local at = api.nvim_buf_get_extmark_by_id(bufnr, namespace, mark, {})
    api.nvim_buf_del_extmark(bufnr, namespace, mark)
    local same = api.nvim_get_current_win() == window and api.nvim_get_current_buf() == bufnr
    if same and at[1] and api.nvim_get_mode().mode == 'n' then
      api.nvim_win_set_cursor(window, { at[1] + 1, before[2] })
    end
  end
end

---@param meant ropewalk.Meant
---@param done? fun()
function M.undo(meant, done)
  local restore = keep_cursor()
  each('ropewalk/undo', M.requests(meant, false), function(answers)
    local undone, reasons, heard = 0, faults(answers), false
    for _, answer in ipairs(answers) do
      if answer.result then
        local more, why = M.undone(answer.item.client_id, answer.result)
        heard = heard or #(answer.result.hunks or {}) > 0
        undone = undone + more
        vim.list_extend(reasons, why)
      end
    end
    if not heard and #reasons == 0 then
      reasons[1] = 'nothing of it is under review any more'
    end
    restore()
    conclude(answers, undone, reasons, 'undone', done)
  end)
end

--- Takes the last undo back.
function M.restore()
  local client_id, undo_id = changes.last_undo()
  local client = client_id and vim.lsp.get_client_by_id(client_id)
  if not client then
    return say.warn('there is no undo to take back')
  end
  require('ropewalk.client').request(client, 'ropewalk/undo', { undoId = undo_id }, function(err, result)
    if err then
      return say.warn(err.message)
    end
    local restored, reasons = M.undone(client.id, result)
    tell(restored, reasons, 'brought back')
    changes.want(client.id)
  end)
end

---@param meant ropewalk.Meant
---@param edited? string applied instead; of one hunk or one file
---@param done? fun(applied: boolean)
function M.accept(meant, edited, done)
  local restore = keep_cursor()
  local requests = M.requests(meant, true)
  for _, request in ipairs(requests) do
    request.params.editedText = edited
    -- The person looks at the text; what servers say of it goes to them and to the model as it comes.
    request.params.diagnostics = { wait = 'none' }
  end
  each('ropewalk/accept', requests, function(answers)
    local reasons = faults(answers)
    local _, accepted = told_of(answers, 'accepted')
    for _, answer in ipairs(answers) do
      for _, remark in ipairs(answer.result and answer.result.notes or {}) do
        reasons[#reasons + 1] = remark
      end
    end
    restore()
    conclude(answers, accepted, reasons, 'accepted', done)
  end)
end

---@param meant ropewalk.Meant
---@param words? string for the model
---@param done? fun()
function M.reject(meant, words, done)
  local requests = M.requests(meant, true)
  for _, request in ipairs(requests) do
    request.params.feedback = words
  end
  each('ropewalk/reject', requests, function(answers)
    local reasons = faults(answers)
    local files, rejected = told_of(answers, 'rejected')
    for _, file in ipairs(files) do
      for _, call in ipairs(file.standUnder or {}) do
        reasons[#reasons + 1] = ('%s: the call %s changed the same lines once more; reject that first'):format(
          changes.name(file.uri),
          call
        )
      end
    end
    conclude(answers, rejected, reasons, 'rejected', done)
  end)
end

return M
