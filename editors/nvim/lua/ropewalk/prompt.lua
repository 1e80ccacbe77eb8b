--- One question at a time on the screen: a floating window that takes the keys until it is answered.
---
--- The window never moves the cursor of the window that the user is in. Once it is answered the user is where they
--- were, in the mode they were in. Keys that were on their way when it came up answer nothing: they are swallowed until
--- they pause, and what of them was text for Insert mode goes into the text once the question is gone.

local await = require('ropewalk.await')
local busy = require('ropewalk.busy')
local events = require('ropewalk.events')
local layout = require('ropewalk.prompt.layout')
local rpc = require('ropewalk.rpc')

local api = vim.api

require('ropewalk.highlights').define()

local M = {}

--- How long keys are ignored once a question is on the screen, and how long a pause in typing has to be before the
--- next key counts as an answer (ms).
M.guard_ms = 300

local namespace = api.nvim_create_namespace('ropewalk.prompt')
local keys_namespace = api.nvim_create_namespace('ropewalk.prompt.keys')

--- Who asks, and where the user was when the first window of the turn came up.
---@class ropewalk.Turn
---@field client_id? integer
---@field session_id? string
---@field call_ids table<string, true>
---@field cancelled boolean
---@field wake? fun(...)
---@field place? ropewalk.Place
---@field window? integer
---@field spec? ropewalk.PromptSpec
---@field held string[] keys that were text for the place
---@field holding boolean
---@field queued? boolean
local Turn = {}
Turn.__index = Turn

---@class ropewalk.Place
---@field window integer
---@field bufnr integer
---@field mode string
---@field mark? integer where typing goes on

--- The turns that wait, the first of them on the screen.
---@type ropewalk.Turn[]
local queue = {}

--- Whether a macro is recorded or runs, or keys of a mapping wait behind what runs now: they would be taken for
--- answers, and answers for a part of the macro.
---@return boolean
local function has_keys()
  return vim.fn.reg_recording() ~= '' or vim.fn.reg_executing() ~= '' or vim.fn.getchar(1) ~= 0
end

--- Whether the editor is between two keys in a mode that a window can come up in and that can be gone back to.
---@return boolean
local function is_ready()
  local mode = api.nvim_get_mode()
  local plain = mode.mode:match('^nt?$') or mode.mode:match('^[iR][cxv]*$') or mode.mode:match('^[vVsSt\22\19]$')
  local is_between = plain ~= nil and not mode.blocking and vim.fn.getcmdwintype() == ''
  return is_between and not has_keys() and not busy.is_in_block()
end

--- Runs `start` with a function that goes on with the turn, and waits for that. Going on twice does nothing.
---@param start fun(resume: fun(...))
---@return any ...
function Turn:await(start)
  local results = vim.F.pack_len(await.await(function(resume)
    self.wake = resume
    start(resume)
  end, function(err)
    vim.lsp.log.error('ropewalk', 'prompt', err)
  end))
  self.wake = nil
  if self.cancelled then
    return nil
  end
  return vim.F.unpack_len(results)
end

--- Waits until a window can come up.
function Turn:ready()
  if is_ready() or self.cancelled then
    return
  end
  if vim.fn.reg_recording() ~= '' then
    require('ropewalk.review.say').say('a question waits until the macro is recorded')
  end
  self:poll(is_ready)
end

--- Waits until a condition holds.
---@param holds fun(): boolean
function Turn:poll(holds)
  await.poll(function(start)
    self:await(start)
  end, 20, holds)
end

--- Waits until something of somebody else's can come up: where text is typed, until that has paused, for keys that are
--- swallowed then are given back to nobody.
function Turn:pause()
  self:ready()
  local last = vim.uv.hrtime()
  local function has_paused()
    local is_text = api.nvim_get_mode().mode:match('^[iRt]')
    return is_ready() and (not is_text or vim.uv.hrtime() - last >= M.guard_ms * 1000000)
  end
  if self.cancelled or has_paused() then
    return
  end
  vim.on_key(function(_, typed)
    if typed ~= nil and typed ~= '' then
      last = vim.uv.hrtime()
    end
  end, keys_namespace)
  self:poll(has_paused)
  vim.on_key(nil, keys_namespace)
end

--- Whether a typed key is text where someone types.
---@param typed string
local function is_text(typed)
  local is_printable = not typed:find('[%z\1-\31\127]') and typed:byte() ~= 0x80
  return is_printable or typed == '\r' or typed == '\t' or typed == vim.keycode('<BS>')
end

--- Swallows keys until the question has been on the screen long enough to be seen and typing has paused.
---@param hold? fun(typed: string) gets the keys
function M.guard(hold)
  local quiet_since = vim.uv.hrtime()
  vim.on_key(function(_, typed)
    local now = vim.uv.hrtime()
    if now - quiet_since >= M.guard_ms * 1000000 then
      vim.on_key(nil, keys_namespace)
    elseif typed ~= nil and typed ~= '' then
      quiet_since = now
      if hold then
        hold(typed)
      end
      return ''
    end
  end, keys_namespace)
end

---@param turn ropewalk.Turn
local function guard(turn)
  M.guard(function(typed)
    -- What follows a key that is a command is no text any more.
    turn.holding = turn.holding and is_text(typed)
    if turn.holding then
      turn.held[#turn.held + 1] = typed
    end
  end)
end

---@return ropewalk.Place
local function here()
  local window = api.nvim_get_current_win()
  local place = { window = window, bufnr = api.nvim_win_get_buf(window), mode = api.nvim_get_mode().mode }
  if place.mode:match('^[iR]') then
    local cursor = api.nvim_win_get_cursor(window)
    -- As for edits: text put in at the beginning of the line pushes the line on, other text comes after the typing.
    place.mark = api.nvim_buf_set_extmark(place.bufnr, namespace, cursor[1] - 1, cursor[2], {
      right_gravity = cursor[2] == 0,
    })
  end
  return place
end

--- Brings the user back to where they were, unless they have gone elsewhere meanwhile.
---@param place ropewalk.Place
---@param ours boolean whether the question had the keys
---@param held string[]
local function go_back(place, ours, held)
  local mark = place.mark
  local at = mark and api.nvim_buf_is_valid(place.bufnr)
    and api.nvim_buf_get_extmark_by_id(place.bufnr, namespace, mark, {})
  if at then
    api.nvim_buf_del_extmark(place.bufnr, namespace, mark)
  end
  if not ours or not api.nvim_win_is_valid(place.window) or api.nvim_win_get_buf(place.window) ~= place.bufnr then
    return
  end
  vim.cmd(('noautocmd call nvim_set_current_win(%d)'):format(place.window))
  if at and at[1] then
    local line = api.nvim_buf_get_lines(place.bufnr, at[1], at[1] + 1, false)[1] or ''
    local beyond = at[2] >= #line
    api.nvim_win_set_cursor(place.window, { at[1] + 1, math.min(at[2], #line) })
    local starts = { i = 'startinsert', R = 'startreplace', Rv = 'startgreplace' }
    vim.cmd(starts[place.mode:match('^Rv') or place.mode:sub(1, 1)] .. (beyond and '!' or ''))
    for _, key in ipairs(held) do
      -- In a character the byte that begins special keys is no such beginning.
      api.nvim_feedkeys(key, 'mt', key:byte() ~= 0x80)
    end
  elseif place.mode == 't' then
    vim.cmd.startinsert()
  elseif place.mode:match('^[vV\22]') then
    vim.cmd('noautocmd normal! gv')
  elseif place.mode:match('^[sS\19]') then
    vim.cmd('noautocmd normal! gv\7')
  end
end

--- Puts the window up, instead of the one of the turn that is there.
---@param turn ropewalk.Turn
---@param spec ropewalk.PromptSpec
---@param bufnr integer
local function put_up(turn, spec, bufnr)
  local place = turn.place
  if not place then
    place = here()
    turn.place = place
    turn.holding = place.mark ~= nil
  end
  local before = turn.window
  if before == api.nvim_get_current_win() and api.nvim_win_is_valid(place.window) then
    -- The window before ours is the user's, also for CTRL-W p and when ours is closed.
    vim.cmd(('noautocmd call nvim_set_current_win(%d)'):format(place.window))
  end
  local config = layout.geometry(spec)
  config.style, config.zindex, config.noautocmd = 'minimal', 60, true
  local window = api.nvim_open_win(bufnr, true, config)
  turn.window, turn.spec = window, spec
  vim.wo[window].wrap, vim.wo[window].linebreak, vim.wo[window].smoothscroll = true, false, true
  vim.wo[window].cursorline, vim.wo[window].winfixbuf = true, true
  vim.wo[window].foldenable, vim.wo[window].scrolloff = false, 0
  api.nvim_win_set_config(window, layout.geometry(spec, window))
  if api.nvim_get_mode().mode:match('^[iRt]') then
    vim.cmd.stopinsert()
  end
  if before and api.nvim_win_is_valid(before) then
    vim.cmd(('noautocmd call nvim_win_close(%d, v:true)'):format(before))
  end
end

---@return integer
local function scratch()
  local bufnr = api.nvim_create_buf(false, true)
  vim.bo[bufnr].bufhidden = 'wipe'
  return bufnr
end

--- Calls `lost` once the window or its buffer is gone; the result stops that.
---@param bufnr integer
---@param window integer
---@param lost fun()
---@return fun()
local function watch(bufnr, window, lost)
  local closed = api.nvim_create_autocmd('WinClosed', { pattern = tostring(window), callback = lost })
  local wiped = api.nvim_create_autocmd({ 'BufWipeout', 'BufUnload' }, { buffer = bufnr, callback = lost })
  return function()
    pcall(api.nvim_del_autocmd, closed)
    pcall(api.nvim_del_autocmd, wiped)
  end
end

--- Asks; what a key says is the answer. Nil: the window was closed, or the question was taken back.
---@param spec ropewalk.PromptSpec
---@return any
function Turn:ask(spec)
  self:ready()
  if self.cancelled then
    return nil
  end
  local bufnr = scratch()
  layout.fill(spec, bufnr)
  local stop = function() end
  local ok, err ---@type boolean, string?
  local value = self:await(function(resume)
    ok, err = pcall(put_up, self, spec, bufnr)
    if not ok then
      return resume(nil)
    end
    stop = watch(bufnr, assert(self.window), function()
      resume(nil)
    end)
    for key, run in pairs(spec.keys) do
      vim.keymap.set('n', key, function()
        run(resume, api.nvim_win_get_cursor(0)[1])
      end, { buffer = bufnr, nowait = true })
    end
    for key, moved in pairs({ j = 'gj', k = 'gk', ['<Down>'] = 'gj', ['<Up>'] = 'gk' }) do
      if not spec.keys[key] then
        vim.keymap.set('n', key, moved, { buffer = bufnr, nowait = true })
      end
    end
    if spec.row then
      api.nvim_win_set_cursor(assert(self.window), { spec.row, 0 })
    end
    guard(self)
  end)
  stop()
  if not ok then
    vim.lsp.log.error('ropewalk', 'prompt', err)
  end
  return value
end

--- Whether the last window of the turn is still there.
---@return boolean
function Turn:is_open()
  return not self.cancelled and self.window ~= nil and api.nvim_win_is_valid(self.window)
end

--- Redraws the question after its lines have changed.
function Turn:redraw()
  local window, spec = self.window, self.spec
  if window and spec and api.nvim_win_is_valid(window) then
    local view = api.nvim_win_call(window, vim.fn.winsaveview)
    layout.fill(spec, api.nvim_win_get_buf(window))
    api.nvim_win_set_config(window, layout.geometry(spec, window))
    api.nvim_win_call(window, function()
      vim.fn.winrestview(view)
    end)
  end
end

--- Waits until the window of ours is out of Insert mode: Neovim leaves that only once a callback has returned, and
--- could not go back to where the user was before.
function Turn:settle()
  while self.window and api.nvim_get_current_win() == self.window and api.nvim_get_mode().mode:match('^[iRt]') do
    vim.cmd.stopinsert()
    self:await(function(resume)
      vim.defer_fn(resume, 2)
    end)
  end
end

--- Asks for words; nil: none were given (Esc), which is not the same as empty ones. Enter gives them, Ctrl-J begins
--- another line.
---@param title string
---@param text? string what is there to begin with
---@return string?
function Turn:input(title, text)
  self:ready()
  if self.cancelled then
    return nil
  end
  local bufnr = scratch()
  api.nvim_buf_set_lines(bufnr, 0, -1, false, vim.split(text or '', '\n', { plain = true }))
  local spec = {
    title = title,
    lines = { { text = '' }, { text = '' }, { text = '' } },
    footers = { 'Enter: send  Ctrl-J: new line  Esc: back', 'Enter: send  Esc: back', 'Enter  Esc' },
    keys = {},
  }
  local stop = function() end
  local value = self:await(function(resume)
    local ok, err = pcall(put_up, self, spec, bufnr)
    if not ok then
      vim.lsp.log.error('ropewalk', 'prompt', err)
      return resume(nil)
    end
    vim.wo[self.window].cursorline = false
    stop = watch(bufnr, assert(self.window), function()
      resume(nil)
    end)
    local function map(modes, key, run)
      vim.keymap.set(modes, key, run, { buffer = bufnr, nowait = true })
    end
    map({ 'n', 'i' }, '<CR>', function()
      resume(table.concat(api.nvim_buf_get_lines(bufnr, 0, -1, false), '\n'))
    end)
    map({ 'n', 'i' }, '<Esc>', function()
      resume(nil)
    end)
    map({ 'n', 'i' }, '<C-c>', function()
      resume(nil)
    end)
    map('n', 'q', function()
      resume(nil)
    end)
    map('i', '<C-j>', '<CR>')
    vim.cmd.startinsert({ bang = true })
  end)
  stop()
  self:settle()
  return value
end

--- Takes the window down and brings the user back.
---@param turn ropewalk.Turn
local function finish(turn)
  vim.on_key(nil, keys_namespace)
  local window, place = turn.window, turn.place
  local current = api.nvim_get_current_win()
  local ours = window ~= nil and (current == window or not api.nvim_win_is_valid(window))
  -- A window that was closed by hand has left the keys to the one before it.
  if place and window and not api.nvim_win_is_valid(window) then
    ours = current == place.window
  end
  if place then
    go_back(place, ours, turn.held)
  end
  if window and api.nvim_win_is_valid(window) then
    vim.cmd(('noautocmd call nvim_win_close(%d, v:true)'):format(window))
  end
  turn.window = nil
end

---@param turn ropewalk.Turn
local function leave(turn)
  for index, other in ipairs(queue) do
    if other == turn then
      table.remove(queue, index)
      break
    end
  end
  local following = queue[1]
  if following and following.wake and following.queued then
    following.wake()
  end
end

---@param turn ropewalk.Turn
local function cancel(turn)
  turn.cancelled = true
  if turn.wake then
    turn.wake()
  end
end

--- Runs `body` when no other question is on the screen. Runs in a coroutine.
---@generic T
---@param who { client_id?: integer, params?: table, session_id?: string, call_ids?: string[] }
---  `params` are those of the request as the handler got them, so that the sidecar can take it back
---@param body fun(turn: ropewalk.Turn): T
---@return T? result nil where it was cancelled
---@return boolean cancelled nobody waits for the answer any more
function M.turn(who, body)
  assert(await.can_wait(), 'ropewalk: not in a coroutine')
  local turn = setmetatable({
    client_id = who.client_id,
    session_id = who.session_id,
    call_ids = {},
    cancelled = false,
    held = {},
    holding = false,
  }, Turn)
  for _, call_id in ipairs(who.call_ids or {}) do
    turn.call_ids[call_id] = true
  end
  queue[#queue + 1] = turn
  if who.params then
    rpc.on_cancel(who.params, function()
      cancel(turn)
    end)
  end
  while queue[1] ~= turn and not turn.cancelled do
    turn.queued = true
    turn:await(function() end)
    turn.queued = false
  end
  local ok, result = true, nil
  if not turn.cancelled then
    ok, result = pcall(body, turn)
    turn:settle()
    local ended, err = pcall(finish, turn)
    if not ended then
      vim.lsp.log.error('ropewalk', 'prompt', err)
    end
  end
  leave(turn)
  if not ok then
    error(result, 0)
  end
  return result, turn.cancelled
end

---@param fits fun(turn: ropewalk.Turn): boolean
local function cancel_all(fits)
  for _, turn in ipairs(vim.list_slice(queue)) do
    if fits(turn) then
      cancel(turn)
    end
  end
end

--- A call has ended: nobody waits for an answer about it. So a question goes also where the wire is not ours, and the
--- sidecar's word that it takes it back cannot be told from others.
---@param client_id integer
---@param session_id string
---@param call_id string
function M.ended(client_id, session_id, call_id)
  cancel_all(function(turn)
    if turn.client_id ~= client_id or turn.session_id ~= session_id or not turn.call_ids[call_id] then
      return false
    end
    turn.call_ids[call_id] = nil
    return next(turn.call_ids) == nil
  end)
end

--- The sidecar is gone, and nobody waits for any of its answers.
---@param client_id integer
function M.forget(client_id)
  cancel_all(function(turn)
    return turn.client_id == client_id
  end)
end

--- How many questions wait, the one on the screen included.
---@return integer
function M.waiting()
  return #queue
end

--- What the handler of a question that was taken back answers: the sidecar wants no answer, the protocol does.
function M.taken_back()
  return nil, vim.lsp.rpc_response_error(vim.lsp.protocol.ErrorCodes.RequestCancelled, 'the question was taken back')
end

events.on('toolEvent', function(params, client_id)
  if params.kind == 'complete' then
    M.ended(client_id, params.sessionId, params.callId)
  end
end)

events.on('ended', function(_, client_id)
  M.forget(client_id)
end)

api.nvim_create_autocmd('VimResized', {
  group = api.nvim_create_augroup('ropewalk.prompt', { clear = true }),
  callback = function()
    if queue[1] then
      queue[1]:redraw()
    end
  end,
})

return M
