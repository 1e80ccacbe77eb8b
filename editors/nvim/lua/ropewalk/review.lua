--- Review on the screen: what agents changed and propose, in the buffers and in lists, and the person's word on it.

local changes = require('ropewalk.review.changes')
local compare = require('ropewalk.review.compare')
local go = require('ropewalk.review.go')
local judge = require('ropewalk.review.judge')
local list = require('ropewalk.review.list')
local marks = require('ropewalk.review.marks')
local say = require('ropewalk.review.say')
local sync = require('ropewalk.sync')

local api = vim.api

local M = {}

---@type ropewalk.Review
local options = require('ropewalk.review.options').resolve()

local scopes = { 'hunk', 'call', 'file', 'session', 'all' }

--- The items of one kind that fit.
---@param what 'change'|'proposal'
---@param fits fun(item: ropewalk.Item): boolean
---@return ropewalk.Item[]
local function gather(what, fits)
  local items = {} ---@type ropewalk.Item[]
  for _, entry in ipairs(changes.files()) do
    for _, item in ipairs(entry.file.items) do
      if item.what == what and fits(item) then
        items[#items + 1] = item
      end
    end
  end
  return items
end

--- The lines a command is about: its range, or the line of the cursor.
---@param opts { range?: integer, line1?: integer, line2?: integer }
---@return integer first 1-based
---@return integer last
---@return boolean ranged
local function lines_of(opts)
  if (opts.range or 0) > 0 and opts.line1 and opts.line2 then
    return opts.line1, opts.line2, true
  end
  local row = api.nvim_win_get_cursor(0)[1]
  return row, row, false
end

--- What is at the cursor, or in the range: without a range one hunk, the uppermost.
---@param what 'change'|'proposal'
---@param opts table
---@return ropewalk.Meant
local function here(what, opts)
  local bufnr = api.nvim_get_current_buf()
  local first, last, ranged = lines_of(opts)
  local rows = list.meant(bufnr, first, last)
  if rows then
    rows.items = vim.tbl_filter(function(item)
      return item.what == what
    end, rows.items)
    return rows
  end
  local items = {} ---@type ropewalk.Item[]
  for _, found in ipairs(marks.list(bufnr)) do
    if found.item.what == what and found.first + 1 <= last and found.last + 1 >= first then
      items[#items + 1] = found.item
      if not ranged then
        break
      end
    end
  end
  return { scope = 'hunk', items = items }
end

--- What is meant by a scope, seen from the cursor or by a name.
---@param what 'change'|'proposal'
---@param scope string
---@param name? string of a session or call
---@param opts table
---@return ropewalk.Meant
local function meant(what, scope, name, opts)
  local at = here(what, opts)
  if scope == 'hunk' then
    return at
  end
  local items ---@type ropewalk.Item[]
  local one = at.items[1]
  if scope == 'all' then
    items = gather(what, function()
      return true
    end)
  elseif scope == 'file' then
    local uri = one and one.uri or changes.buffer_uri(api.nvim_get_current_buf())
    items = gather(what, function(item)
      return item.uri == uri
    end)
  elseif scope == 'session' then
    local wanted = name or one and one.session_id
    items = gather(what, function(item)
      return item.session_id == wanted
    end)
  else
    items = gather(what, function(item)
      if name then
        return item.call_id == name
      end
      return one ~= nil and item.call_id == one.call_id and item.session_id == one.session_id
    end)
  end
  return { scope = scope, items = items }
end

--- The scope that words begin with, and the rest of them.
---@param args string[]
---@return string scope
---@return string[] rest
---@return boolean named
local function scope_of(args)
  if args[1] and vim.list_contains(scopes, args[1]) then
    return args[1], vim.list_slice(args, 2), true
  end
  return 'hunk', args, false
end

--- Runs `act` with what is meant; says so where there is nothing.
---@param what 'change'|'proposal'
---@param scope string
---@param name? string
---@param opts table
---@param act fun(meant: ropewalk.Meant)
local function with(what, scope, name, opts, act)
  local found = meant(what, scope, name, opts)
  if #found.items > 0 then
    return act(found)
  end
  local noun = what == 'change' and 'change' or 'proposal'
  local whose = { hunk = 'here', call = 'of that call', file = 'in this file', all = 'at all' }
  whose.session = 'of that session'
  say.say(('there is no %s %s'):format(noun, whose[scope]))
end

---@param lead string
---@param words string[]
---@return string[]
local function starting(lead, words)
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, words)
end

---@param what 'change'|'proposal'
---@return fun(lead: string, words?: string[]): string[]
local function completes(what)
  return function(lead, words)
    words = words or {}
    if #words == 0 then
      return starting(lead, scopes)
    elseif #words > 1 or words[1] ~= 'session' and words[1] ~= 'call' then
      return {}
    end
    local seen, names = {}, {} ---@type table<string, true>, string[]
    for _, item in ipairs(gather(what, function()
      return true
    end)) do
      local name = words[1] == 'session' and item.session_id or item.call_id
      if not seen[name] then
        seen[name] = true
        names[#names + 1] = name
      end
    end
    return starting(lead, names)
  end
end

--- Asks for the words with which to reject.
---@param found ropewalk.Meant
local function reject_with_words(found)
  coroutine.wrap(function()
    local words = require('ropewalk.prompt').turn({}, function(turn)
      return turn:input('Rejected, and the model is told')
    end)
    if words then
      judge.reject(found, vim.trim(words) ~= '' and words or nil)
    end
  end)()
end

---@param args string[]
---@return integer
local function count_of(args)
  local count = tonumber(args[1]) or vim.v.count1
  return math.max(1, math.floor(count))
end

---@class ropewalk.ReviewCommand
---@field run fun(args: string[], opts?: table)
---@field complete? fun(lead: string, words?: string[]): string[]

--- The subcommands of `:Ropewalk`.
---@type table<string, ropewalk.ReviewCommand>
M.commands = {
  next = {
    run = function(args)
      go.hunk(count_of(args))
    end,
  },
  prev = {
    run = function(args)
      go.hunk(-count_of(args))
    end,
  },
  keep = {
    run = function(args, opts)
      local scope, rest = scope_of(args)
      with('change', scope, rest[1], opts or {}, judge.keep)
    end,
    complete = completes('change'),
  },
  undo = {
    run = function(args, opts)
      local scope, rest = scope_of(args)
      with('change', scope, rest[1], opts or {}, judge.undo)
    end,
    complete = completes('change'),
  },
  restore = {
    run = function()
      judge.restore()
    end,
  },
  accept = {
    run = function(args, opts)
      local scope, rest = scope_of(args)
      with('proposal', scope, rest[1], opts or {}, function(found)
        judge.accept(found)
      end)
    end,
    complete = completes('proposal'),
  },
  edit = {
    run = function(args, opts)
      local scope = scope_of(args)
      with('proposal', scope == 'file' and 'file' or 'hunk', nil, opts or {}, function(found)
        compare.edit(found.items[1], scope == 'file')
      end)
    end,
    complete = function(lead)
      return starting(lead, { 'hunk', 'file' })
    end,
  },
  reject = {
    run = function(args, opts)
      local scope, rest = scope_of(args)
      local words = #rest > 0 and table.concat(rest, ' ') or nil
      with('proposal', scope, nil, opts or {}, function(found)
        judge.reject(found, words)
      end)
    end,
    complete = function(lead, words)
      return #(words or {}) == 0 and starting(lead, scopes) or {}
    end,
  },
  ['reject-words'] = {
    run = function(args, opts)
      with('proposal', (scope_of(args)), nil, opts or {}, reject_with_words)
    end,
    complete = function(lead)
      return starting(lead, scopes)
    end,
  },
  quickfix = {
    run = function()
      list.quickfix()
    end,
  },
  diff = {
    run = function(args, opts)
      local proposal = here('proposal', opts or {}).items[1]
      local change = here('change', opts or {}).items[1]
      local item = args[1] == 'proposed' and proposal or args[1] ~= 'proposed' and change or proposal
      if list.meant(api.nvim_get_current_buf(), 1, 1) and item then
        vim.cmd.wincmd('p')
        if not go.to(item.client_id, item.uri, item.start) then
          return
        end
      end
      local bufnr = api.nvim_get_current_buf()
      for _, found in ipairs(marks.list(bufnr)) do
        if found.item.what == 'proposal' then
          proposal = proposal or found.item
        else
          change = change or found.item
        end
      end
      local wants = args[1] == 'proposed' or args[1] ~= 'before' and not change
      if wants and proposal then
        compare.diff(bufnr, proposal)
      elseif not wants and change then
        compare.diff(bufnr)
      else
        say.say('there is nothing to compare this buffer with')
      end
    end,
    complete = function(lead)
      return starting(lead, { 'before', 'proposed' })
    end,
  },
  review = {
    run = function()
      local keys = { K = 'keep', U = 'undo', A = 'accept', R = 'reject', W = 'reject-words', E = 'edit', D = 'diff' }
      list.open(keys, M.act)
    end,
  },
}

--- Does what a mapping stands for; in Visual mode for the lines that are marked.
---@param action string
function M.act(action)
  local opts = {}
  if api.nvim_get_mode().mode:match('^[vV\22]') then
    local from, to = vim.fn.line('v'), vim.fn.line('.')
    opts = { range = 2, line1 = math.min(from, to), line2 = math.max(from, to) }
    vim.cmd('normal! \27')
  end
  M.commands[action].run({}, opts)
end

--- What can be done to all of the lines that are marked.
local ranged = { keep = true, undo = true, accept = true, reject = true, ['reject-words'] = true }

--- The mappings that are there to be mapped to: `<Plug>(ropewalk-next)` and so on, each with the key of the options.
---@return table<string, { plug: string, key?: string, modes: string[] }>
function M.mappings()
  local all = {} ---@type table<string, { plug: string, key?: string, modes: string[] }>
  for action in pairs(require('ropewalk.review.options').keys) do
    all[action] = {
      plug = ('<Plug>(ropewalk-%s)'):format(action),
      key = options.mappings[action],
      modes = ranged[action] and { 'n', 'x' } or { 'n' },
    }
  end
  return all
end

--- Maps in a buffer that a sidecar serves.
---@param bufnr integer
local function map(bufnr)
  for action, mapping in pairs(M.mappings()) do
    local function act()
      M.act(action)
    end
    local desc = 'Ropewalk: ' .. action
    vim.keymap.set(mapping.modes, mapping.plug, act, { buffer = bufnr, desc = desc })
    if mapping.key then
      vim.keymap.set(mapping.modes, mapping.key, act, { buffer = bufnr, desc = desc })
    end
  end
end

--- `ropewalk/changesChanged`.
---@param client_id integer
---@param params { uris?: string[] }
function M.on_changes(client_id, params)
  changes.want(client_id, params.uris)
end

--- A buffer is served from now on, or again.
---@param client vim.lsp.Client
---@param bufnr integer
function M.on_attach(client, bufnr)
  map(bufnr)
  if not changes.knows(client.id) then
    -- Also of an earlier run, and in files that are not open.
    return changes.want(client.id)
  end
  for _, document in ipairs(sync.of_buffer(bufnr)) do
    if document.client.id == client.id then
      changes.want(client.id, { document.uri })
    end
  end
end

---@param group integer
---@param config { review?: any }
function M.setup(group, config)
  options = require('ropewalk.review.options').resolve(config.review)
  require('ropewalk.highlights').define()
  marks.setup(group, options)
  changes.on_news = function(client_id, uris)
    marks.draw_files(client_id, uris)
    list.redraw()
  end
  api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI', 'TextChangedP' }, {
    group = group,
    desc = 'ropewalk: what is under review moves with the text',
    callback = function(args)
      if marks.has(args.buf) then
        for _, document in ipairs(sync.of_buffer(args.buf)) do
          changes.want(document.client.id, { document.uri }, true)
        end
      end
    end,
  })
end

require('ropewalk.events').on('ended', function(_, client_id)
  changes.forget(client_id)
  marks.forget(client_id)
end)

return M
