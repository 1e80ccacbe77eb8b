--- Questions of models and of MCP servers, in a terminal with a real screen and real keys.

local S = {}

local ONE = {
  question = 'Which database shall the service use?',
  header = 'Database',
  options = {
    { label = 'PostgreSQL (recommended)', description = 'What the other services have.' },
    { label = 'SQLite', description = 'Nothing to run.' },
  },
  multiple = false,
  custom = true,
}
local MANY = {
  question = 'Which systems?',
  options = { { label = 'Linux' }, { label = 'macOS' }, { label = 'Windows' } },
  multiple = true,
  custom = true,
}
local FREE = { question = 'What is it called?', options = vim.empty_dict(), multiple = false, custom = true }

local function open(T, text)
  local child = T.open_standin(text, 'doc.txt', { restarts = 0, trusted = true }, { 80, 24 })
  child:lua("require('ropewalk.prompt').guard_ms = 0")
  return child
end

local function ask(child, method, params)
  child:lua(
    [[
      local method, params = ...
      -- A list that is empty stays one on the way here.
      for _, question in ipairs(params.questions or {}) do
        if next(question.options) == nil then question.options = {} end
      end
      Standin.reply = nil
      vim.schedule(function() Standin.ask(method, params) end)
    ]],
    method,
    params
  )
end

local function questions(child, ...)
  ask(child, 'ropewalk/ask', { sessionId = 's', callId = 'c', questions = { ... } })
end

local function answer(child)
  child:wait('the answer', 'return Standin.reply ~= nil')
  return child:lua('return vim.json.encode(Standin.reply.result)')
end

local function result(child)
  return vim.json.decode(answer(child))
end

function S.one_option_is_chosen_by_its_number_or_by_enter(T)
  local child = open(T, 'one\n')
  for keys, place in pairs({ ['1'] = 0, ['2'] = 1, ['jj<CR>'] = 0, ['jjjj<CR>'] = 1, ['<CR>jjj<CR>'] = 0 }) do
    questions(child, ONE)
    child:see('Database')
    child:see('Which database shall the service use?')
    child:see('Nothing to run.')
    child:press(keys)
    T.eq({ answers = { { selected = { place } } }, cancelled = false }, result(child), keys)
  end
  T.eq('', child:lua("return vim.fn.execute('messages')"))
end

function S.several_options_are_marked_and_none_is_an_answer(T)
  local child = open(T, 'one\n')
  questions(child, MANY)
  child:see('[ ] macOS')
  child:press('13')
  child:see('[x] Windows')
  child:press('1jjj<Space>')
  child:see('[x] macOS')
  child:press('<CR>')
  T.eq({ answers = { { selected = { 1, 2 } } }, cancelled = false }, result(child))
  questions(child, MANY)
  child:see('[ ] macOS')
  child:press('<CR>')
  T.ok(answer(child):find('"answers":[{"selected":[]}]', 1, true), 'marked none, which is an answer')
  -- Marks and words together.
  questions(child, MANY)
  child:see('[ ] macOS')
  child:press('2o')
  child:see('Enter: send')
  child:press('and BSD<CR>')
  child:see('In your words: and BSD')
  child:see('[x] macOS')
  child:press('<CR>')
  T.eq({ answers = { { selected = { 1 }, text = 'and BSD' } }, cancelled = false }, result(child))
end

function S.words_and_empty_words_and_no_answer_are_three_things(T)
  local child = open(T, 'one\n')
  for keys, expected in pairs({
    ['name<CR>'] = { selected = {}, text = 'name' },
    ['<CR>'] = { selected = {}, text = '' },
    ['two<C-j>lines<CR>'] = { selected = {}, text = 'two\nlines' },
  }) do
    questions(child, FREE)
    child:see('What is it called?')
    child:press('<CR>')
    child:see('Enter: send')
    child:press(keys)
    T.eq({ expected }, result(child).answers, keys)
    T.eq('n', child:lua('return vim.fn.mode()'))
  end
  questions(child, FREE)
  child:see('What is it called?')
  child:press('x')
  T.eq({ answers = { vim.NIL }, cancelled = false }, result(child))
  -- Esc leaves the words, not the question.
  questions(child, FREE)
  child:see('What is it called?')
  child:press('i')
  child:see('Enter: send')
  child:press('gone<Esc>')
  child:see('x no answer')
  child:press('q')
  T.eq({ answers = {}, cancelled = true }, result(child))
  T.eq({ 'one' }, child:lines())
end

function S.what_was_answered_before_the_questions_were_closed_counts(T)
  local child = open(T, 'one\n')
  for _, way in ipairs({ 'q', '<Esc>', ':q<CR>', '<C-w>p:only<CR>' }) do
    questions(child, ONE, MANY, FREE)
    child:see('Database (1 of 3)')
    child:press('2')
    child:see('(2 of 3)')
    child:press('x')
    child:see('(3 of 3)')
    child:press(way)
    T.eq({ answers = { { selected = { 1 } }, vim.NIL }, cancelled = true }, result(child), way)
    T.eq(1, child:lua('return #vim.api.nvim_list_wins()'))
  end
end

function S.insert_mode_goes_on_after_words_were_written(T)
  local child = open(T, 'one\n')
  child:press('A typ')
  questions(child, FREE)
  child:see('What is it called?')
  child:press('<CR>')
  child:see('Enter: send')
  child:press('name<CR>')
  T.eq({ { selected = {}, text = 'name' } }, result(child).answers)
  child:wait('Insert mode', "return vim.fn.mode() == 'i' and vim.api.nvim_win_get_config(0).relative == ''")
  child:press('ed')
  T.eq({ 'one typed' }, child:lines())
end

function S.keys_on_their_way_choose_nothing(T)
  local child = open(T, 'one\n')
  child:lua("require('ropewalk.prompt').guard_ms = math.huge")
  questions(child, ONE)
  child:see('Database')
  child:press('1q')
  T.ok(not child:lua('return Standin.reply ~= nil'))
  child:lua("require('ropewalk.prompt').guard_ms = 0")
  child:press('2')
  T.eq({ { selected = { 1 } } }, result(child).answers)
end

function S.pickers_of_the_users_own_are_used(T)
  local child = open(T, 'one\n')
  child:lua([[
    Shown = {}
    vim.ui.select = function(items, options, done)
      local labels = vim.tbl_map(options.format_item, items)
      Shown[#Shown + 1] = labels
      local wanted = table.remove(Picks, 1)
      for index, label in ipairs(labels) do
        if wanted and label:find(wanted, 1, true) then return done(items[index], index) end
      end
      done(nil)
    end
    vim.ui.input = function(options, done) done(Words) end
  ]])
  local function by(picks, words, ...)
    child:lua('Picks, Words = ...', picks, words)
    questions(child, ...)
    return result(child)
  end
  T.eq({ { selected = { 1 } } }, by({ 'SQLite' }, nil, ONE).answers)
  T.eq({ { selected = {}, text = 'mine' } }, by({ 'own words' }, 'mine', ONE).answers)
  T.eq({ { selected = { 0, 2 } } }, by({ 'Linux', 'Windows', 'Done' }, nil, MANY).answers)
  T.eq({ vim.NIL }, by({ 'unanswered' }, nil, ONE).answers)
  T.eq({ { selected = {}, text = '' } }, by({}, '', FREE).answers)
  T.eq({ answers = {}, cancelled = true }, by({}, nil, ONE))
end

function S.nobody_at_the_editor_and_questions_switched_off(T)
  local child = open(T, 'one\n')
  child:lua('vim.api.nvim_list_uis = function() return {} end')
  questions(child, ONE)
  T.eq({ answers = {}, cancelled = true }, result(child))
  ask(child, 'ropewalk/elicit', { server = 'x', message = 'm', mode = 'form', requestedSchema = vim.empty_dict() })
  T.eq({ action = 'cancel' }, result(child))
end

local FORM = {
  server = 'tracker',
  message = 'Where shall the issue go?',
  mode = 'form',
  requestedSchema = {
    type = 'object',
    properties = {
      title = { type = 'string', title = 'Title', minLength = 3 },
      count = { type = 'integer', minimum = 1, maximum = 9 },
      urgent = { type = 'boolean' },
      kind = { type = 'string', enum = { 'bug', 'wish' }, enumNames = { 'A bug', 'A wish' } },
      tags = { type = 'array', items = { type = 'string', enum = { 'ui', 'core' } } },
      note = { type = 'string', description = 'Anything else?' },
    },
    required = { 'title', 'count' },
  },
}

function S.a_form_is_filled_in_field_by_field_and_seen_before_it_is_sent(T)
  local child = open(T, 'one\n')
  ask(child, 'ropewalk/elicit', FORM)
  child:see('The MCP server tracker asks (1 of 6)')
  child:see('count (has to be filled in)')
  local function write(words)
    child:press('<CR>')
    child:see('Enter: send')
    child:press(words .. '<CR>')
  end
  write('many')
  child:see('Not so: a number is wanted')
  write('11')
  child:see('Not so: at most 9')
  write('4')
  child:see('Title (has to be filled in)')
  write('ab')
  child:see('Not so: at least 3 characters')
  write('abc')
  child:see('kind (may be left out)')
  child:see('A wish')
  child:press('2')
  child:see('Anything else?')
  child:press('x')
  child:see('tags (may be left out)')
  child:press('2<CR>')
  child:see('urgent (may be left out)')
  child:press('2')
  child:see('send this?')
  child:see('urgent: false')
  child:see('Title: abc')
  child:press('y')
  T.eq({
    action = 'accept',
    content = { count = 4, title = 'abc', kind = 'wish', tags = { 'core' }, urgent = false },
  }, result(child))
end

function S.a_form_is_declined_or_closed(T)
  local child = open(T, 'one\n')
  ask(child, 'ropewalk/elicit', FORM)
  child:see('(1 of 6)')
  child:press('x')
  T.eq({ action = 'decline' }, result(child))
  ask(child, 'ropewalk/elicit', FORM)
  child:see('(1 of 6)')
  child:press('<Esc>')
  T.eq({ action = 'cancel' }, result(child))
  local empty = { server = 'x', message = 'Go on?', mode = 'form', requestedSchema = { type = 'object' } }
  for key, action in pairs({ y = 'accept', n = 'decline', q = 'cancel' }) do
    ask(child, 'ropewalk/elicit', empty)
    child:see('Go on?')
    child:press(key)
    T.eq(action, result(child).action, key)
  end
  ask(child, 'ropewalk/elicit', empty)
  child:see('Go on?')
  child:press('y')
  T.ok(answer(child):find('"content":{}', 1, true), 'an object, not a list')
end

function S.a_page_is_opened_only_after_a_yes(T)
  local child = open(T, 'one\n')
  child:lua('vim.ui.open = function(url) Opened = url end')
  local page = { server = 'x', message = 'Sign in', mode = 'url', url = 'https://example.org/a' }
  ask(child, 'ropewalk/elicit', page)
  child:see('It wants to open: https://example.org/a')
  child:press('n')
  T.eq({ action = 'decline' }, result(child))
  T.eq(vim.NIL, child:lua('return Opened'))
  ask(child, 'ropewalk/elicit', page)
  child:see('It wants to open: https://example.org/a')
  child:press('y')
  T.eq({ action = 'accept' }, result(child))
  T.eq('https://example.org/a', child:lua('return Opened'))
  ask(child, 'ropewalk/elicit', { server = 'x', message = 'Sign in', mode = 'url', url = 'file:///etc/passwd' })
  child:see('file:///etc/passwd')
  child:press('y')
  T.eq({ action = 'decline' }, result(child))
end

--- The real sidecar's tool.
local function project(T)
  local child = T.open('a.txt', 'one\n', { trusted = true, settings = T.QUIET.settings }, { 80, 24 })
  child:lua("require('ropewalk.prompt').guard_ms = 0")
  return child
end

function S.a_model_asks_and_hears(T)
  local child = project(T)
  child:lua("Call('question', ...)", { questions = { ONE } })
  child:see('Which database shall the service use?')
  child:press('2')
  local done = child:wait('the result', 'return Results[1]').result
  T.eq('ok', done.status, T.text(done))
  T.ok(T.text(done):find('SQLite', 1, true), T.text(done))
  child:lua("Call('question', ...)", { questions = { ONE } })
  child:see('Which database shall the service use?')
  child:press('x')
  done = child:wait('the result', 'return Results[2]').result
  T.ok(not T.text(done):find('="SQLite', 1, true), T.text(done))
end

function S.a_question_that_is_taken_back_goes(T)
  local child = project(T)
  child:lua([[
    Cancel = require('ropewalk').call('question', { questions = { ... } }, function(err, result)
      Done = result or err
    end)
  ]], ONE)
  child:see('Which database shall the service use?')
  child:press('o')
  child:see('Enter: send')
  child:type('half a wo')
  child:lua("require('ropewalk.prompt').ended = function() end; Cancel()")
  child:wait('the end', 'return Done')
  T.eq('cancelled', child:lua('return Done.status'))
  child:wait('no window', 'return #vim.api.nvim_list_wins() == 1')
  child:wait('Normal mode', "return vim.fn.mode() == 'n'")
  T.eq({ 'one' }, child:lines())
end

return S
