--- `ropewalk/approve`: asks the person about calls. Everything but a clear yes is a no.

local prompt = require('ropewalk.prompt')

local api = vim.api

local M = {}

--- Characters that are not to be seen, or that turn other text around: the first and the last of each range. Controls,
--- odd spaces, zero-width and bidirectional ones, fillers, line separators, BOM, private ones, tags. Not the two
--- selectors by which emoji are drawn.
local HIDDEN = {
  { 0x80, 0xA0 },
  { 0xAD, 0xAD },
  { 0x34F, 0x34F },
  { 0x61C, 0x61C },
  { 0x115F, 0x1160 },
  { 0x1680, 0x1680 },
  { 0x17B4, 0x17B5 },
  { 0x180B, 0x180F },
  { 0x2000, 0x200F },
  { 0x2028, 0x202F },
  { 0x205F, 0x206F },
  { 0x2800, 0x2800 },
  { 0x3164, 0x3164 },
  { 0xE000, 0xF8FF },
  { 0xFE00, 0xFE0D },
  { 0xFEFF, 0xFEFF },
  { 0xFFA0, 0xFFA0 },
  { 0xFFF0, 0xFFFB },
  { 0x1BCA0, 0x1BCA3 },
  { 0x1D173, 0x1D17A },
  { 0xE0000, 0x10FFFF },
}

--- The code of a character beyond ASCII.
---@param char string
---@return integer
local function code_of(char)
  local a, b, c, d = char:byte(1, 4)
  if not c then
    return (a - 0xC0) * 0x40 + (b - 0x80)
  elseif not d then
    return ((a - 0xE0) * 0x40 + (b - 0x80)) * 0x40 + (c - 0x80)
  end
  return (((a - 0xF0) * 0x40 + (b - 0x80)) * 0x40 + (c - 0x80)) * 0x40 + (d - 0x80)
end

---@param code integer
local function is_hidden(code)
  for _, range in ipairs(HIDDEN) do
    if code <= range[2] then
      return code >= range[1]
    end
  end
  return false
end

--- Whether there is nothing but ASCII that is seen. Most text is so, and a diff can be long.
---@param s string
local function is_plain(s)
  for i = 1, #s do
    local byte = s:byte(i)
    if byte >= 127 or byte < 32 and byte ~= 9 and byte ~= 10 then
      return false
    end
  end
  return true
end

--- Text for the screen: what is invisible or would move the cursor or other text is spelled out.
---@param s string
---@return string
function M.visible(s)
  if is_plain(s) then
    return s
  end
  s = s:gsub('[%z\1-\8\11-\31\127]', function(c)
    return ('\\x%02x'):format(c:byte())
  end)
  return (s:gsub('[\192-\247][\128-\191]+', function(char)
    local code = code_of(char)
    return is_hidden(code) and ('\\u{%04x}'):format(code) or nil
  end))
end

--- Adds text, line by line; lines after its first are marked as its own, so that no text can pass for one of ours.
---@param lines ropewalk.PromptLine[]
---@param label string
---@param text string
---@param group? string
local function add(lines, label, text, group)
  for index, part in ipairs(vim.split(text, '\n', { plain = true })) do
    local lead = index == 1 and label or '  ┆ '
    lines[#lines + 1] = { text = lead .. M.visible(part), group = group }
  end
end

---@param diff string
---@return ropewalk.PromptLine[]
local function diff_lines(diff)
  local groups = { ['+'] = 'RopewalkAdded', ['-'] = 'RopewalkRemoved', ['@'] = 'RopewalkPlace' }
  local lines = {} ---@type ropewalk.PromptLine[]
  for _, text in ipairs(vim.split(diff:gsub('\n$', ''), '\n', { plain = true })) do
    local group = groups[text:sub(1, 1)]
    if text:match('^%-%-%- ') or text:match('^%+%+%+ ') then
      group = lines[1] and group or 'RopewalkPlace'
    end
    lines[#lines + 1] = { text = M.visible(text), group = group }
  end
  return lines
end

--- What the person reads of a call: nothing is left out.
---@param call ropewalk.ApproveCall
---@return ropewalk.PromptLine[]
function M.describe(call)
  local lines = {} ---@type ropewalk.PromptLine[]
  add(lines, 'Ropewalk wants to run: ', call.name, 'RopewalkTitle')
  local why = ('%s (risk: %s)'):format(call.reason, call.risk)
  add(lines, 'Why you are asked: ', why, call.risk == 'high' and 'RopewalkRisk' or nil)
  for _, target in ipairs(call.targets or {}) do
    add(lines, 'It reaches: ', target)
  end
  if call.suggestedRule then
    add(lines, 'Session and always allow: ', call.suggestedRule)
  else
    add(lines, 'Session and always allow: ', 'what the sidecar counts as like this call; no single rule says it')
  end
  lines[#lines + 1] = { text = '' }
  local arguments = type(call.arguments) == 'table' and call.arguments or { arguments = call.arguments }
  local command = arguments.command
  if type(command) == 'string' then
    add(lines, '$ ', command, 'RopewalkCommand')
  end
  if call.diff and call.diff ~= '' then
    vim.list_extend(lines, diff_lines(call.diff))
    return lines
  end
  local others = {} ---@type table<string, any>
  for name, value in pairs(arguments) do
    if name ~= 'command' or type(value) ~= 'string' then
      others[name] = value
    end
  end
  if next(others) then
    for name, value in vim.spairs(others) do
      add(lines, M.visible(tostring(name)) .. ': ', type(value) == 'string' and value or vim.inspect(value))
    end
  end
  return lines
end

--- The same as plain lines.
---@param call ropewalk.ApproveCall
---@return string[]
function M.lines(call)
  return vim.tbl_map(function(line)
    return line.text
  end, M.describe(call))
end

--- Shows the lines beside a picker that somebody else draws; the result closes them.
---@param call ropewalk.ApproveCall
---@return fun()
local function show_beside(call)
  local lines = M.lines(call)
  local bufnr = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable = false
  vim.bo[bufnr].bufhidden = 'wipe'
  if call.diff then
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

---@param consent any
local function is_known(consent)
  return vim.iter(choices):any(function(choice)
    return choice.consent == consent
  end)
end

---@class ropewalk.Decision
---@field decision ropewalk.Consent
---@field feedback? string
---@field rest? boolean it counts for the calls behind it, too

--- By the picker that the user has set up for everything.
---@param turn ropewalk.Turn
---@param call ropewalk.ApproveCall
---@return ropewalk.Decision
local function by_select(turn, call)
  turn:pause()
  local close = show_beside(call)
  local ok, choice = pcall(turn.await, turn, function(resume)
    prompt.guard()
    vim.ui.select(choices, {
      prompt = ('Ropewalk: run %s?'):format(M.visible(call.name)),
      kind = 'ropewalk.approve',
      format_item = function(item)
        return item.label
      end,
    }, resume)
  end)
  close()
  if not ok then
    error(choice, 0)
  end
  return { decision = choice and choice.consent or 'deny' }
end

--- By a line at the bottom that waits for one key.
---@param turn ropewalk.Turn
---@param call ropewalk.ApproveCall
---@return ropewalk.Decision
local function by_confirm(turn, call)
  turn:pause()
  local close = show_beside(call)
  prompt.guard()
  local message = ('Ropewalk: run %s?'):format(M.visible(call.name))
  local ok, picked = pcall(vim.fn.confirm, message, '&No\n&Yes\n&Session\n&Always', 1, 'Question')
  close()
  return { decision = (choices[ok and picked or 1] or choices[1]).consent }
end

--- What stands behind this call, so that a word on all of them is no word on the unknown.
---@param lines ropewalk.PromptLine[]
---@param calls ropewalk.ApproveCall[]
---@param index integer
local function add_others(lines, calls, index)
  if index == #calls then
    return
  end
  lines[#lines + 1] = { text = '' }
  lines[#lines + 1] = { text = 'Behind it wait (Y and N answer for these, too):', group = 'RopewalkTitle' }
  for i = index + 1, #calls do
    local call = calls[i]
    local what = type(call.arguments) == 'table' and type(call.arguments.command) == 'string' and call.arguments.command
      or table.concat(call.targets or {}, ', ')
    add(lines, ('%d of %d: %s: '):format(i, #calls, M.visible(call.name)), what)
  end
end

--- By a window of our own.
---@param turn ropewalk.Turn
---@param calls ropewalk.ApproveCall[]
---@param index integer
---@return ropewalk.Decision
local function by_window(turn, calls, index)
  local call = calls[index]
  local lines = M.describe(call)
  add_others(lines, calls, index)
  local function says(decision)
    return function(done)
      done(decision)
    end
  end
  local no = says({ decision = 'deny' })
  local keys = {
    y = says({ decision = 'once' }),
    s = says({ decision = 'session' }),
    a = says({ decision = 'always' }),
    n = no,
    q = no,
    ['<Esc>'] = no,
    ['<C-c>'] = no,
    ['<CR>'] = no,
    w = says('words'),
  }
  local footers = {
    'y once  s session  a always  n no  w no, with words',
    'y once s session a always n no w words',
    'y once s sess. a always n no w why',
    'y s a | n w',
  }
  local title = 'Ropewalk asks'
  if #calls > 1 then
    title = ('%s: %d of %d'):format(title, index, #calls)
  end
  if index < #calls then
    keys.Y, keys.N = says({ decision = 'once', rest = true }), says({ decision = 'deny', rest = true })
    footers = {
      'y once  s session  a always  n no  w no, with words  Y/N all of these',
      'y once s session a always n no w words Y/N all',
      'y once s ses. a alw. n no w why Y/N all',
      'y s a | n w | Y N',
    }
  end
  while true do
    local decision = turn:ask({ title = title, lines = lines, footers = footers, keys = keys })
    if decision ~= 'words' then
      return decision or { decision = 'deny' }
    end
    local words = turn:input('No, and the model is told')
    if words then
      return { decision = 'deny', feedback = vim.trim(words) ~= '' and words or nil }
    elseif not turn:is_open() then
      return { decision = 'deny' }
    end
  end
end

--- Whether `vim.ui.select` is Neovim's own: a list without what is to be decided, and the window does better.
---@return boolean
function M.is_own_select()
  return require('ropewalk.review.say').is_from(vim.ui.select, '[/\\]vim[/\\]ui%.lua$')
end

--- Asks about one call and waits for the answer.
---@param turn ropewalk.Turn
---@param ask 'select'|'window'|'confirm'|function
---@param calls ropewalk.ApproveCall[]
---@param index integer
---@return ropewalk.Decision
local function decide(turn, ask, calls, index)
  local call = calls[index]
  local ok, decision = pcall(function()
    if type(ask) == 'function' then
      local consent, feedback = turn:await(function(resume)
        ask(call, resume)
      end)
      return { decision = consent, feedback = feedback }
    elseif #api.nvim_list_uis() == 0 then
      return { decision = 'deny', feedback = 'nobody is at the editor' }
    elseif ask == 'confirm' then
      return by_confirm(turn, call)
    elseif ask == 'select' and not M.is_own_select() then
      return by_select(turn, call)
    end
    return by_window(turn, calls, index)
  end)
  if not ok then
    vim.lsp.log.error('ropewalk', 'approve', decision)
    return { decision = 'deny', feedback = 'the editor could not ask' }
  end
  if not is_known(decision.decision) then
    decision.decision = 'deny'
  end
  -- A function of the user's may give anything.
  decision.feedback = type(decision.feedback) == 'string' and decision.feedback or nil
  return decision
end

--- The handler. Runs in a coroutine.
---@param params { sessionId: string, calls: ropewalk.ApproveCall[] }
---@param ask 'select'|'window'|'confirm'|false|function
---@param client_id? integer who asks, so that the question can be taken back
---@return { decisions: table[] }?
---@return table? err the question was taken back
function M.handle(params, ask, client_id)
  local decisions = {} ---@type table[]
  if not ask then
    for _, call in ipairs(params.calls) do
      decisions[#decisions + 1] = { callId = call.callId, decision = 'deny', feedback = 'questions are switched off' }
    end
    return { decisions = decisions }
  end
  local _, cancelled = prompt.turn({
    client_id = client_id,
    params = params,
    session_id = params.sessionId,
    call_ids = vim.tbl_map(function(call)
      return call.callId
    end, params.calls),
  }, function(turn)
    local decision ---@type ropewalk.Decision?
    for index, call in ipairs(params.calls) do
      if turn.cancelled then
        return
      end
      if not decision or not decision.rest then
        decision = decide(turn, ask, params.calls, index)
      end
      decisions[index] = { callId = call.callId, decision = decision.decision, feedback = decision.feedback }
    end
  end)
  if cancelled then
    return prompt.taken_back()
  end
  return { decisions = decisions }
end

return M
