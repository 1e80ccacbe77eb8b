--- `ropewalk/elicit`: a form, or a page, that an MCP server wants a person to see. All words are the server's, and it
--- is said whose they are. Nothing is sent before the person has seen all of what they filled in.

local prompt = require('ropewalk.prompt')

local api = vim.api

local M = {}

local visible = require('ropewalk.approve').visible

--- A field of the form.
---@class ropewalk.Field
---@field name string
---@field kind 'string'|'number'|'integer'|'boolean'|'one'|'many'
---@field title string
---@field about? string
---@field required boolean
---@field values? any[] what there is to choose from
---@field labels? string[]
---@field schema table

--- The choices of a schema: `enum` with `enumNames`, or `oneOf`/`anyOf` of constants with titles.
---@param schema table
---@return any[]? values
---@return string[]? labels
local function choices(schema)
  local titled = schema.oneOf or schema.anyOf
  if type(schema.enum) == 'table' then
    local labels = {} ---@type string[]
    for index, value in ipairs(schema.enum) do
      labels[index] = tostring(type(schema.enumNames) == 'table' and schema.enumNames[index] or value)
    end
    return schema.enum, labels
  elseif type(titled) == 'table' and titled[1] and titled[1].const ~= nil then
    local values, labels = {}, {}
    for index, one in ipairs(titled) do
      values[index], labels[index] = one.const, tostring(one.title or one.const)
    end
    return values, labels
  end
end

--- The fields of a form: those that have to be filled in first, each by name, as JSON objects have no order.
---@param schema any
---@return ropewalk.Field[]
function M.fields(schema)
  local fields = {} ---@type ropewalk.Field[]
  if type(schema) ~= 'table' or type(schema.properties) ~= 'table' then
    return fields
  end
  local required = type(schema.required) == 'table' and schema.required or {}
  for name, property in pairs(schema.properties) do
    if type(property) == 'table' then
      local values, labels = choices(property)
      local kind = values and 'one' or property.type
      if property.type == 'array' and type(property.items) == 'table' then
        values, labels = choices(property.items)
        kind = values and 'many' or 'string'
      elseif not vim.list_contains({ 'one', 'number', 'integer', 'boolean' }, kind) then
        kind = 'string'
      end
      if kind == 'boolean' then
        values, labels = { true, false }, { 'yes', 'no' }
      end
      fields[#fields + 1] = {
        name = name,
        kind = kind,
        title = type(property.title) == 'string' and property.title or name,
        about = type(property.description) == 'string' and property.description or nil,
        required = vim.list_contains(required, name),
        values = values,
        labels = labels,
        schema = property,
      }
    end
  end
  table.sort(fields, function(a, b)
    if a.required ~= b.required then
      return a.required
    end
    return a.name < b.name
  end)
  return fields
end

--- The value of what was written, or why it will not do.
---@param field ropewalk.Field
---@param text string
---@return any value
---@return string? fault
function M.value(field, text)
  local schema = field.schema
  if field.kind == 'number' or field.kind == 'integer' then
    local number = tonumber(vim.trim(text))
    if not number or number ~= number or math.abs(number) == math.huge then
      return nil, 'a number is wanted'
    elseif field.kind == 'integer' and number % 1 ~= 0 then
      return nil, 'a whole number is wanted'
    elseif type(schema.minimum) == 'number' and number < schema.minimum then
      return nil, ('at least %s'):format(schema.minimum)
    elseif type(schema.maximum) == 'number' and number > schema.maximum then
      return nil, ('at most %s'):format(schema.maximum)
    end
    return number
  end
  local length = vim.fn.strchars(text)
  if type(schema.minLength) == 'number' and length < schema.minLength then
    return nil, ('at least %d characters'):format(schema.minLength)
  elseif type(schema.maxLength) == 'number' and length > schema.maxLength then
    return nil, ('at most %d characters'):format(schema.maxLength)
  end
  return text
end

--- A field as a question.
---@param field ropewalk.Field
---@param message string
---@param fault? string
---@return ropewalk.AskQuestion
local function question(field, message, fault)
  local parts = { message, '', field.title .. (field.required and ' (has to be filled in)' or ' (may be left out)') }
  if field.about then
    parts[#parts + 1] = field.about
  end
  local default = field.schema.default
  if default ~= nil and default ~= vim.NIL then
    parts[#parts + 1] = 'The server suggests: ' .. (type(default) == 'string' and default or vim.json.encode(default))
  end
  if fault then
    parts[#parts + 1] = 'Not so: ' .. fault
  end
  local options = {} ---@type ropewalk.AskOption[]
  for index, label in ipairs(field.labels or {}) do
    options[index] = { label = label }
  end
  return { question = table.concat(parts, '\n'), options = options, multiple = field.kind == 'many', custom = false }
end

---@param turn ropewalk.Turn
---@param lines ropewalk.PromptLine[]
---@param title string
---@param yes string
---@return 'accept'|'decline'|'cancel'
local function confirm(turn, lines, title, yes)
  local function says(word)
    return function(done)
      done(word)
    end
  end
  return turn:ask({
    title = title,
    lines = lines,
    footers = { ('y %s  n decline  q close'):format(yes), 'y yes  n no  q close', 'y n q' },
    keys = {
      y = says('accept'),
      n = says('decline'),
      q = says('cancel'),
      ['<Esc>'] = says('cancel'),
      ['<C-c>'] = says('cancel'),
    },
  }) or 'cancel'
end

---@param turn ropewalk.Turn
---@param params table
---@param title string
---@param how 'select'|'window'
local function form(turn, params, title, how)
  local ask = require('ropewalk.ask')
  local content = vim.empty_dict()
  local lines = {} ---@type ropewalk.PromptLine[]
  ask.add(lines, '', params.message, 'RopewalkTitle')
  lines[#lines + 1] = { text = '' }
  local fields = M.fields(params.requestedSchema)
  for index, field in ipairs(fields) do
    local fault ---@type string?
    while true do
      local heading = ('%s (%d of %d)'):format(title, index, #fields)
      local reply = ask.one(turn, question(field, params.message, fault), heading, how)
      if turn.cancelled or reply.closed then
        return { action = 'cancel' }
      elseif reply.skipped and field.required then
        return { action = 'decline' }
      elseif reply.skipped then
        break
      end
      local value
      if field.kind == 'many' then
        value = vim.tbl_map(function(place)
          return field.values[place + 1]
        end, reply.answer.selected)
      elseif field.values then
        value = field.values[reply.answer.selected[1] + 1]
      else
        value, fault = M.value(field, reply.answer.text or '')
      end
      if value ~= nil then
        content[field.name] = value
        ask.add(lines, field.title .. ': ', type(value) == 'string' and value or vim.json.encode(value))
        break
      end
    end
  end
  local action = confirm(turn, lines, title .. ': send this?', 'send')
  return { action = action, content = action == 'accept' and content or nil }
end

---@param turn ropewalk.Turn
---@param params table
---@param title string
local function page(turn, params, title)
  local lines = {} ---@type ropewalk.PromptLine[]
  require('ropewalk.ask').add(lines, '', params.message, 'RopewalkTitle')
  lines[#lines + 1] = { text = '' }
  require('ropewalk.ask').add(lines, 'It wants to open: ', tostring(params.url))
  local action = confirm(turn, lines, title, 'open')
  if action == 'accept' then
    -- Only pages: a file or a program would be opened by whatever the system has for it.
    if not tostring(params.url):match('^https?://') then
      return { action = 'decline' }
    end
    local _, err = vim.ui.open(params.url)
    if err then
      require('ropewalk.review.say').warn(err)
      return { action = 'cancel' }
    end
  end
  return { action = action }
end

--- The handler. Runs in a coroutine.
---@param params table
---@param how? 'select'|'window'|false
---@param client_id? integer
---@return table? result
---@return table? err the question was taken back
function M.handle(params, how, client_id)
  if how == false or #api.nvim_list_uis() == 0 then
    return { action = 'cancel' }
  end
  local who = {
    client_id = client_id,
    params = params,
    session_id = params.sessionId,
    call_ids = { params.callId },
  }
  local title = ('The MCP server %s asks'):format(visible(tostring(params.server):gsub('\n', ' ')))
  local ok, result, cancelled = pcall(prompt.turn, who, function(turn)
    if params.mode == 'url' then
      return page(turn, params, title)
    end
    return form(turn, params, title, how or 'select')
  end)
  if not ok then
    vim.lsp.log.error('ropewalk', 'elicit', result)
    return { action = 'cancel' }
  elseif cancelled then
    return prompt.taken_back()
  end
  return result
end

return M
