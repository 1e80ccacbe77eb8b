--- `ropewalk/approve`: asks the person about calls. Everything but a clear yes is a no.

local api = vim.api

local M = {}

--- How long keys are ignored once a question is on the screen (ms): they were typed for something else.
M.guard_ms = 300

--- Text for the screen: what is invisible or would move the cursor or other text is spelled out.
---@param s string
---@return string
function M.visible(s)
  s = s:gsub('[%z\1-\8\11-\31\127]', function(c)
    return ('\\x%02x'):format(c:byte())
  end)
  -- C1 controls, zero-width and bidirectional characters, line separators, BOM, soft hyphen, tag characters.
  local spelled = {} ---@type string[]
  for _, position in ipairs(vim.str_utf_pos(s)) do
    local char = s:sub(position, position + vim.str_utf_end(s, position))
    local code = vim.fn.char2nr(char)
    local hidden = code >= 0x80 and code <= 0x9F
      or code == 0xAD
      or code == 0x61C
      or code == 0x180E
      or code >= 0x200B and code <= 0x200F
      or code >= 0x2028 and code <= 0x202E
      or code >= 0x2060 and code <= 0x206F
      or code == 0xFEFF
      or code >= 0xE0000 and code <= 0xE007F
    spelled[#spelled + 1] = hidden and ('\\u{%04x}'):format(code) or char
  end
  return table.concat(spelled)
end

--- What the person reads of a call, line by line: nothing is left out.
---@param call ropewalk.ApproveCall
---@return string[]
function M.lines(call)
  local lines = {
    ('Ropewalk wants to run: %s'):format(call.name),
    ('Why you are asked: %s (risk: %s)'):format(call.reason, call.risk),
  }
  for _, target in ipairs(call.targets or {}) do
    lines[#lines + 1] = 'It reaches: ' .. target
  end
  lines[#lines + 1] = ''
  local body = call.diff
  if not body or body == '' then
    body = vim.inspect(call.arguments)
  end
  vim.list_extend(lines, vim.split(body:gsub('\n$', ''), '\n', { plain = true }))
  return vim.tbl_map(M.visible, lines)
end

--- Swallows keys until the question has been on the screen long enough to be seen.
local function guard()
  local namespace = api.nvim_create_namespace('ropewalk.approve')
  local shown_ns = vim.uv.hrtime()
  vim.on_key(function(_, typed)
    if vim.uv.hrtime() - shown_ns >= M.guard_ms * 1000000 then
      vim.on_key(nil, namespace)
    elseif typed ~= nil and typed ~= '' then
      return ''
    end
  end, namespace)
end

--- Shows the lines beside the question; the result closes them.
---@param lines string[]
---@param diff boolean
---@return fun()
local function show(lines, diff)
  local bufnr = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable = false
  vim.bo[bufnr].bufhidden = 'wipe'
  if diff then
    vim.bo[bufnr].syntax = 'diff'
  end
  local width = math.max(20, math.min(vim.o.columns - 4, 120))
  local height = math.max(1, math.min(#lines, math.floor(vim.o.lines * 0.6)))
  local window = api.nvim_open_win(bufnr, false, {
    relative = 'editor',
    row = 1,
    col = math.max(0, math.floor((vim.o.columns - width) / 2)),
    width = width,
    height = height,
    style = 'minimal',
    border = 'rounded',
    title = ' Ropewalk ',
    zindex = 45,
  })
  vim.wo[window].wrap = true
  vim.cmd.redraw()
  return function()
    if api.nvim_win_is_valid(window) then
      api.nvim_win_close(window, true)
    end
  end
end

---@type { consent: ropewalk.Consent, label: string }[]
local choices = {
  { consent = 'deny', label = 'No' },
  { consent = 'once', label = 'Yes, this time' },
  { consent = 'session', label = 'Yes, and calls like it in this session' },
  { consent = 'always', label = 'Yes, always' },
}

---@param call ropewalk.ApproveCall
---@param answer fun(consent: ropewalk.Consent, feedback?: string)
local function by_select(call, answer)
  guard()
  vim.ui.select(choices, {
    prompt = ('Ropewalk: run %s?'):format(M.visible(call.name)),
    kind = 'ropewalk.approve',
    format_item = function(choice)
      return choice.label
    end,
  }, function(choice)
    answer(choice and choice.consent or 'deny')
  end)
end

---@param call ropewalk.ApproveCall
---@param answer fun(consent: ropewalk.Consent, feedback?: string)
local function by_confirm(call, answer)
  guard()
  local prompt = ('Ropewalk: run %s?'):format(M.visible(call.name))
  local picked = vim.fn.confirm(prompt, '&No\n&Yes\n&Session\n&Always', 1, 'Question')
  answer((choices[picked] or choices[1]).consent)
end

--- Asks about one call and waits for the answer. Runs in a coroutine.
---@param ask 'select'|'confirm'|function
---@param call ropewalk.ApproveCall
---@return { callId: string, decision: ropewalk.Consent, feedback?: string }
local function decide(ask, call)
  local running = assert(coroutine.running())
  ---@type { callId: string, decision: ropewalk.Consent, feedback?: string }?
  local decision
  local waiting = false
  local close = function() end
  local function answer(consent, feedback)
    if decision then
      return
    end
    local known = vim.iter(choices):any(function(choice)
      return choice.consent == consent
    end)
    decision = { callId = call.callId, decision = known and consent or 'deny', feedback = feedback }
    if waiting then
      vim.schedule(function()
        coroutine.resume(running)
      end)
    end
  end
  local ok, err = pcall(function()
    if type(ask) == 'function' then
      ask(call, answer)
    elseif #api.nvim_list_uis() == 0 then
      answer('deny', 'nobody is at the editor')
    else
      close = show(M.lines(call), call.diff ~= nil)
      if ask == 'confirm' then
        by_confirm(call, answer)
      else
        by_select(call, answer)
      end
    end
  end)
  if not ok then
    vim.lsp.log.error('ropewalk', 'approve', err)
    answer('deny', 'the editor could not ask')
  end
  if not decision then
    waiting = true
    coroutine.yield()
  end
  close()
  return assert(decision)
end

--- Questions of several sidecars come one after the other.
---@type thread[]
local queue = {}

--- The handler. Runs in a coroutine.
---@param params { sessionId: string, calls: ropewalk.ApproveCall[] }
---@param ask 'select'|'confirm'|false|function
---@return { decisions: table[] }
function M.handle(params, ask)
  local decisions = {} ---@type table[]
  if not ask then
    for _, call in ipairs(params.calls) do
      decisions[#decisions + 1] = { callId = call.callId, decision = 'deny', feedback = 'questions are switched off' }
    end
    return { decisions = decisions }
  end
  local running = assert(coroutine.running())
  queue[#queue + 1] = running
  if queue[1] ~= running then
    coroutine.yield()
  end
  for _, call in ipairs(params.calls) do
    decisions[#decisions + 1] = decide(ask, call)
  end
  table.remove(queue, 1)
  local following = queue[1]
  if following then
    vim.schedule(function()
      coroutine.resume(following)
    end)
  end
  return { decisions = decisions }
end

return M
