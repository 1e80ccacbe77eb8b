--- `ropewalk/ask` and `ropewalk/elicit`: asks the person what a model, or an MCP server, wants to know.
---
--- An answer, an empty answer and no answer are three things: an empty one was given, none was not.

local prompt = require('ropewalk.prompt')
local rpc = require('ropewalk.rpc')

local api = vim.api

local M = {}

---@class ropewalk.AskOption
---@field label string
---@field description? string

---@class ropewalk.AskQuestion
---@field question string
---@field header? string
---@field options ropewalk.AskOption[]
---@field multiple boolean
---@field custom boolean

---@class ropewalk.AskAnswer
---@field selected (integer|string)[] 0-based places
---@field text? string

--- What the person did with one question.
---@class ropewalk.Reply
---@field answer? ropewalk.AskAnswer
---@field skipped? boolean it was left without an answer
---@field closed? boolean they want none of the questions

local visible = require('ropewalk.approve').visible

---@param lines ropewalk.PromptLine[]
---@param lead string
---@param text string
---@param group? string
function M.add(lines, lead, text, group)
  local indent = (' '):rep(vim.fn.strdisplaywidth(lead))
  for index, part in ipairs(vim.split(text, '\n', { plain = true })) do
    lines[#lines + 1] = { text = (index == 1 and lead or indent) .. visible(part), group = group }
  end
end

--- A question on the screen, and which of its lines stand for which option.
---@param question ropewalk.AskQuestion
---@param chosen table<integer, boolean> 1-based
---@param text? string
---@return ropewalk.PromptLine[]
---@return table<integer, integer> line -> 1-based option
function M.describe(question, chosen, text)
  local lines, options = {}, {} ---@type ropewalk.PromptLine[], table<integer, integer>
  M.add(lines, '', question.question, 'RopewalkTitle')
  lines[#lines + 1] = { text = '' }
  for index, option in ipairs(question.options) do
    local first = #lines + 1
    local lead = question.multiple and (chosen[index] and '[x] ' or '[ ] ') or ''
    M.add(lines, ('%2d  %s'):format(index, lead), option.label, chosen[index] and 'RopewalkChosen' or nil)
    if option.description and option.description ~= '' then
      M.add(lines, '      ', option.description, 'RopewalkFaint')
    end
    for row = first, #lines do
      options[row] = index
    end
  end
  if text then
    M.add(lines, 'In your words: ', text, 'RopewalkChosen')
  end
  return lines, options
end

---@param question ropewalk.AskQuestion
---@return string[]
local function footers(question)
  local parts, short = {}, {} ---@type string[], string[]
  local function offer(long, brief)
    parts[#parts + 1], short[#short + 1] = long, brief
  end
  if #question.options > 0 and question.multiple then
    offer('1-9/Space toggle', '1-9/Space')
    offer('Enter done', 'Enter')
  elseif #question.options > 0 then
    offer('1-9/Enter choose', '1-9/Enter')
  else
    offer('Enter write', 'Enter')
  end
  if #question.options > 0 and question.custom then
    offer('o own words', 'o own')
  end
  offer('x no answer', 'x none')
  offer('q close all', 'q close')
  return { table.concat(parts, '  '), table.concat(short, ' '), 'Enter o x q' }
end

--- The options that were chosen, as the protocol names them: 0-based, in their order.
---@param question ropewalk.AskQuestion
---@param chosen table<integer, boolean> by 1-based index
---@return integer[]
local function selected_of(question, chosen)
  local selected = {} ---@type integer[]
  for index = 1, #question.options do
    if chosen[index] then
      selected[#selected + 1] = index - 1
    end
  end
  return selected
end

--- By the window.
---@param turn ropewalk.Turn
---@param question ropewalk.AskQuestion
---@param title string
---@return ropewalk.Reply
local function by_window(turn, question, title)
  local chosen, text, row = {}, nil, nil ---@type table<integer, boolean>, string?, integer?
  local function answer()
    return { answer = { selected = selected_of(question, chosen), text = text } }
  end
  while true do
    local lines, options = M.describe(question, chosen, text)
    local function closes(done)
      done({ closed = true })
    end
    ---@type ropewalk.PromptSpec
    local spec
    local function pick(index, done)
      if not question.options[index] then
        return
      elseif not question.multiple then
        return done({ answer = { selected = { index - 1 } } })
      end
      chosen[index] = not chosen[index]
      spec.lines, options = M.describe(question, chosen, text)
      turn:redraw()
    end
    spec = {
      title = title,
      lines = lines,
      footers = footers(question),
      row = row,
      keys = {
        q = closes,
        ['<Esc>'] = closes,
        ['<C-c>'] = closes,
        x = function(done)
          done({ skipped = true })
        end,
        ['<CR>'] = function(done, at)
          if question.multiple and #question.options > 0 then
            done(answer())
          elseif #question.options == 0 then
            done('write')
          elseif options[at] then
            pick(options[at], done)
          end
        end,
        ['<Space>'] = function(done, at)
          if question.multiple and options[at] then
            pick(options[at], done)
          end
        end,
      },
    }
    for index = 1, math.min(9, #question.options) do
      spec.keys[tostring(index)] = function(done)
        pick(index, done)
      end
    end
    if question.custom or #question.options == 0 then
      for _, key in ipairs({ 'o', 'i' }) do
        spec.keys[key] = function(done, at)
          row = at
          done('write')
        end
      end
    end
    local reply = turn:ask(spec)
    if reply ~= 'write' then
      return reply or { closed = true }
    end
    local words = turn:input(visible((question.question:match('^[^\n]*'))), text)
    if words then
      text = words
      if not question.multiple or #question.options == 0 then
        return { answer = { selected = {}, text = words } }
      end
    elseif not turn:is_open() then
      return { closed = true }
    end
  end
end

local OWN, NONE, DONE = 'In your own words', 'Leave it unanswered', 'Done'

---@param turn ropewalk.Turn
---@param options table
---@return string?
local function ui_input(turn, options)
  return turn:await(function(resume)
    vim.ui.input(options, resume)
  end)
end

--- By the pickers that the user has set up for everything.
---@param turn ropewalk.Turn
---@param question ropewalk.AskQuestion
---@param title string
---@return ropewalk.Reply
local function by_ui(turn, question, title)
  turn:pause()
  local ask = visible(title .. ': ' .. question.question:gsub('\n', ' '))
  if #question.options == 0 then
    local words = ui_input(turn, { prompt = ask .. ' ' })
    return words and { answer = { selected = {}, text = words } } or { skipped = true }
  end
  local chosen, text = {}, nil ---@type table<integer, boolean>, string?
  while true do
    local items = {} ---@type { label: string, index?: integer }[]
    for index, option in ipairs(question.options) do
      local about = option.description and option.description ~= '' and ': ' .. option.description or ''
      local lead = question.multiple and (chosen[index] and '[x] ' or '[ ] ') or ''
      items[index] = { label = visible((lead .. option.label .. about):gsub('\n', ' ')), index = index }
    end
    if question.custom then
      items[#items + 1] = { label = OWN }
    end
    items[#items + 1] = { label = NONE }
    if question.multiple then
      items[#items + 1] = { label = DONE }
    end
    local item = turn:await(function(resume)
      prompt.guard()
      vim.ui.select(items, {
        prompt = ask,
        kind = 'ropewalk.ask',
        format_item = function(one)
          return one.label
        end,
      }, resume)
    end)
    if not item then
      return { closed = true }
    elseif item.label == NONE and not item.index then
      return { skipped = true }
    elseif item.label == OWN and not item.index then
      text = ui_input(turn, { prompt = ask .. ' ' }) or text
      if text and not question.multiple then
        return { answer = { selected = {}, text = text } }
      end
    elseif item.label == DONE and not item.index then
      return { answer = { selected = selected_of(question, chosen), text = text } }
    elseif question.multiple then
      chosen[item.index] = not chosen[item.index]
    else
      return { answer = { selected = { item.index - 1 } } }
    end
  end
end

--- Asks one question by whichever means.
---@param turn ropewalk.Turn
---@param question ropewalk.AskQuestion
---@param title string
---@param how 'select'|'window'
---@return ropewalk.Reply
function M.one(turn, question, title, how)
  if how ~= 'window' and not require('ropewalk.approve').is_own_select() then
    return by_ui(turn, question, title)
  end
  return by_window(turn, question, title)
end

--- The handler. Runs in a coroutine.
---@param params { sessionId: string, callId: string, questions: ropewalk.AskQuestion[] }
---@param how? 'select'|'window'|false|function a function gets the params, what to call with the result, and what to
---  call with what is to be done when the question is taken back
---@param client_id? integer who asks, so that the question can be taken back
---@return table? result
---@return table? err the question was taken back
function M.handle(params, how, client_id)
  if how == false or type(how) ~= 'function' and #api.nvim_list_uis() == 0 then
    return { answers = {}, cancelled = true }
  end
  local result = { answers = {}, cancelled = false }
  local who = {
    client_id = client_id,
    params = params,
    session_id = params.sessionId,
    call_ids = { params.callId },
  }
  local ok, _, cancelled = pcall(prompt.turn, who, function(turn)
    if type(how) == 'function' then
      local given = turn:await(function(resume)
        how(params, resume, function(act)
          rpc.on_cancel(params, act)
        end)
      end)
      result = given or { answers = {}, cancelled = true }
      return
    end
    for index, question in ipairs(params.questions) do
      local title = question.header and visible(question.header:gsub('\n', ' ')) or 'Ropewalk: a question'
      if #params.questions > 1 then
        title = ('%s (%d of %d)'):format(title, index, #params.questions)
      end
      local reply = M.one(turn, question, title, how or 'select')
      if turn.cancelled then
        return
      elseif reply.closed then
        result.cancelled = true
        return
      end
      result.answers[index] = reply.answer or vim.NIL
    end
  end)
  if not ok then
    vim.lsp.log.error('ropewalk', 'ask', _)
    return { answers = result.answers, cancelled = true }
  elseif cancelled then
    return prompt.taken_back()
  end
  return result
end

--- What an MCP server asks; the handler of `ropewalk/elicit`. Runs in a coroutine.
---@param params table
---@param how? 'select'|'window'|false
---@param client_id? integer
---@return table? result
---@return table? err
function M.elicit(params, how, client_id)
  return require('ropewalk.elicit').handle(params, how, client_id)
end

return M
