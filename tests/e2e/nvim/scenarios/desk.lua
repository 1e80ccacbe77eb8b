--- What a person uses beside the agent: the command, the log of calls, the health check, the options, the build, and
--- the help.

local S = {}

--- A `cargo` that says some lines and makes the program.
local CARGO = [[#!/bin/sh
echo "   Compiling ropewalk" >&2
[ "$1 $2 $3" = "build --release --locked" ] || exit 3
[ -e fail ] && { echo "error: it does not compile" >&2; exit 101; }
mkdir -p target/release && ln -sf %s target/release/ropewalk
echo "    Finished" >&2
]]

function S.the_log_of_calls_grows_and_leaves_the_cursor_alone(T)
  local child, path = T.open('a.txt', 'one\ntwo\n', { settings = T.QUIET.settings, log_lines = 6 })
  T.call(child, 'read', { file_path = path })
  child:press(':Ropewalk log<CR>')
  T.eq('ropewalk-log', child:lua('return vim.bo.filetype'))
  local function status(row)
    return child:lines()[row]:match('^%d+:%d+:%d+  (%S+)')
  end
  T.eq('ok', status(1))
  T.ok(child:lines()[1]:find('default%s+read%s+a.txt'), child:lines()[1])
  T.call(child, 'read', { file_path = 'nowhere.txt' })
  T.eq({ 2, 0 }, child:lua('return vim.api.nvim_win_get_cursor(0)'), 'at the end it goes on')
  T.eq('error', status(2))
  child:press('gg')
  T.call(child, 'edit', { file_path = path, old_string = 'two', new_string = '2' }, { session_id = 's' })
  T.eq({ 1, 0 }, child:lua('return vim.api.nvim_win_get_cursor(0)'), 'elsewhere it stays')
  T.ok(child:lines()[3]:find('  s%s+edit%s+a.txt'), child:lines()[3])
  -- Enter shows all of the result.
  child:press('3G<CR>')
  child:wait('the result', 'return vim.b.ropewalk_title')
  T.ok(table.concat(child:lines(), '\n'):find('+2', 1, true), table.concat(child:lines(), '\n'))
  child:press('q')
  -- No more than so many lines; the cursor stays on its line.
  child:lua([[vim.fn.win_gotoid(vim.fn.win_findbuf(vim.fn.bufnr('ropewalk://calls'))[1])]])
  child:press('2G')
  local line = child:lines()[2]
  for _ = 1, 4 do
    T.call(child, 'read', { file_path = path })
  end
  T.eq(6, #child:lines())
  T.eq(line, child:lua('return vim.api.nvim_get_current_line()'))
  T.eq(false, child:lua('return vim.bo.modified'))
end

function S.a_long_result_is_shown_whole(T)
  local folder = T.folder()
  local lines = {}
  for i = 1, 30000 do
    lines[i] = ('line %d of a long file with some words in it'):format(i)
  end
  T.write(folder .. '/long.txt', table.concat(lines, '\n') .. '\n')
  local child = T.start_sidecar(folder, { trusted = true, settings = T.QUIET.settings })
  child:lua('vim.cmd.edit(...)', folder .. '/a.txt')
  local result = T.call(child, 'bash', { command = 'cat long.txt', description = 'Show' })
  T.ok(result.output.truncated, 'the model gets a part')
  child:press(':Ropewalk log<CR>')
  child:press('<CR>')
  child:wait('the result', 'return vim.b.ropewalk_title')
  local shown = child:lines()
  T.ok(vim.list_contains(shown, lines[15000]), 'the middle is there')
  T.ok(#shown >= 30000, ('%d lines'):format(#shown))
end

function S.each_subcommand_completes_and_does_what_it_says(T)
  local child, path = T.open('a.txt', 'one\n', { settings = T.QUIET.settings, trusted = true })
  T.call(child, 'read', { file_path = path }, { session_id = 'mine' })
  local function complete(line)
    return child:lua("return vim.fn.getcompletion('Ropewalk ' .. ..., 'cmdline')", line)
  end
  local all = complete('')
  for _, name in ipairs({
    'build',
    'call',
    'cancel',
    'grants',
    'health',
    'jobs',
    'log',
    'logfile',
    'mode',
    'restart',
    'session',
    'settings',
    'start',
    'status',
    'stop',
    'stop-job',
    'todos',
    'tools',
    'trust',
    'untrust',
  }) do
    T.ok(vim.list_contains(all, name), name)
  end
  T.eq({ 'explore' }, complete('mode e'))
  T.eq({ 'mine' }, complete('mode plan m'))
  T.eq({ 'mine' }, complete('session m'))
  T.eq({ 'read' }, complete('call rea'))
  T.eq({}, complete('call read x'))
  T.eq({ 'all' }, complete('grants revoke a'))
  local function shows(command, text)
    child:press(':Ropewalk ' .. command .. '<CR>')
    child:wait(command, 'return vim.b.ropewalk_title')
    local shown = table.concat(child:lines(), '\n')
    T.ok(shown:find(text, 1, true), command .. ': ' .. shown)
    child:press('q')
  end
  shows('tools', 'read ')
  shows('todos', 'empty')
  shows('grants', 'nothing')
  shows('status', 'version')
  shows('settings', 'root_markers')
  shows('session mine', 'mine')
  child:press(':Ropewalk mode review mine<CR>')
  child:wait('the mode', "return vim.fn.execute('messages'):find('session mine: review', 1, true)")
  T.call(child, 'bash', { command = 'sleep 600', description = 'Wait', background = true })
  shows('jobs', 'running')
  local job = complete('stop-job ')[1]
  T.ok(job, 'the job is offered')
  child:press((':Ropewalk stop-job %s<CR>'):format(job))
  child:wait('the job to stop', "return vim.fn.execute('messages'):find('is stopped', 1, true)")
  child:press(':Ropewalk nonsense<CR>')
  T.ok(child:lua("return vim.fn.execute('messages')"):find('no subcommand "nonsense"', 1, true))
  local before = child:lua("return require('ropewalk.client').list()[1].id")
  child:press(':Ropewalk restart<CR>')
  child:wait('another sidecar', "return vim.fn.execute('messages'):find('runs again', 1, true)")
  T.ok(child:lua("return require('ropewalk.client').list()[1].id") ~= before)
  T.eq('ok', T.call(child, 'read', { file_path = path }).status)
end

function S.a_result_that_comes_while_the_user_types_takes_no_focus(T)
  local child, path = T.open('a.txt', 'one\n')
  child:lua([[
    local call = require('ropewalk').call
    require('ropewalk').call = function(name, arguments, callback)
      Release = function() call(name, arguments, callback) end
    end
  ]])
  child:press((':Ropewalk call read {"file_path": "%s"}<CR>'):format(path))
  child:press('Gotyp')
  child:lua('Release()')
  child:wait('the result', 'return #vim.api.nvim_list_wins() == 2')
  T.eq('i', child:lua('return vim.fn.mode()'))
  child:press('ed<Esc>')
  T.eq({ 'one', 'typed' }, child:lines())
end

function S.health_says_what_is_so(T)
  local child, path, folder = T.open('a.txt', 'one\n', { settings = T.QUIET.settings, trusted = 'ask' })
  child:lua([[
    Ruff = vim.lsp.start({ name = 'ruff', cmd = { 'ruff', 'server' }, offset_encoding = 'utf-8' })
    vim.ui.select = function() end
    vim.lsp.handlers['workspace/applyEdit'] = function() end
  ]])
  child:wait('ruff', 'local c = vim.lsp.get_client_by_id(Ruff); return c and c.initialized')
  child:press(':Ropewalk health<CR>')
  local text = table.concat(child:lines(), '\n')
  for _, expected in ipairs({
    'Neovim 0.11',
    'ropewalk 0',
    T.sidecar,
    'a sidecar runs for ' .. folder,
    'not trusted',
    'ruff (utf-8)',
    'counts in utf-16',
    'vim.ui.select is that of',
    'vim.lsp.handlers["workspace/applyEdit"] is that of',
  }) do
    T.ok(text:find(expected, 1, true), expected .. ' is not in\n' .. text)
  end
  T.ok(not text:find('ERROR', 1, true), text)
  T.eq('one\n', T.read(path))
  -- Nothing is there.
  child:lua([[
    vim.cmd('%bwipeout!')
    vim.env.PATH = '/nowhere'
    require('ropewalk').stop()
    require('ropewalk.program').built = function() return '/nowhere/ropewalk' end
    require('ropewalk').setup({ auto_start = false })
  ]])
  child:press(':checkhealth ropewalk<CR>')
  text = table.concat(child:lines(), '\n')
  T.ok(text:find('no program "ropewalk" on the PATH', 1, true), text)
  T.ok(text:find(':Ropewalk build', 1, true), text)
end

function S.options_say_what_is_expected(T)
  local child = T.start(T.folder())
  local function try(code)
    return child:lua('return select(2, pcall(loadstring(...)))', "require('ropewalk').setup " .. code)
  end
  for code, expected in pairs({
    ['{ ask = "loud" }'] = 'ask must be "select", "window", false or a function, not "loud"',
    ['{ log_lines = 0 }'] = 'log_lines must be a whole number above 0, not 0',
    ['{ formatter = {} }'] = 'formatter must be the name of a language client, a function, or false, not {}',
    ['{ run_agent = true }'] = 'run_agent must be a function, not true',
    ['{ trusted = "yes" }'] = "trusted must be 'ask', 'remembered', a boolean, a list of folders, or a function",
    ['{ images = 1 }'] = 'images must be a boolean, not 1',
    ['{ colour = 1 }'] = 'unknown option "colour"; there are: approve, ask, auto_start',
  }) do
    T.ok(try(code):find(expected, 1, true), try(code))
  end
end

function S.the_program_is_built_where_the_plugin_lies_when_asked(T)
  local repository = T.folder()
  T.write(repository .. '/Cargo.toml', '[package]\nname = "ropewalk"\n')
  vim.fn.mkdir(repository .. '/editors', 'p')
  vim.system({ 'cp', '-r', T.plugin, repository .. '/editors/nvim' }):wait()
  T.write(repository .. '/bin/cargo', CARGO:format(T.sidecar))
  vim.system({ 'chmod', '+x', repository .. '/bin/cargo' }):wait()
  T.write(repository .. '/a.txt', 'one\n')
  local child = T.start(repository)
  child:lua(
    [[
      local repository = ...
      vim.opt.runtimepath:prepend(repository .. '/editors/nvim')
      vim.opt.runtimepath:remove(vim.opt.runtimepath:get()[2])
      vim.env.PATH = repository .. '/bin:/usr/bin:/bin'
      for name in pairs(package.loaded) do
        if name:match('^ropewalk') then package.loaded[name] = nil end
      end
      Said = {}
      vim.notify = function(message) Said[#Said + 1] = message end
      require('ropewalk').setup({ settings = { diagnostics = { ownServers = 'off' } } })
      vim.cmd.edit('a.txt')
    ]],
    repository
  )
  T.eq({ 0, 1 }, child:lua('return { #vim.lsp.get_clients({ _uninitialized = true }), #Said }'))
  T.ok(child:lua('return Said[1]'):find(':Ropewalk build', 1, true), child:lua('return Said[1]'))
  T.eq(nil, vim.uv.fs_stat(repository .. '/target'), 'nothing is built unasked')
  T.write(repository .. '/fail', '')
  child:lua('vim.cmd.Ropewalk("build")')
  child:wait('the failure', 'return Said[2]')
  T.ok(child:lua('return Said[2]'):find('does not compile', 1, true), child:lua('return Said[2]'))
  vim.uv.fs_unlink(repository .. '/fail')
  child:lua('vim.cmd.Ropewalk("build")')
  child:wait('the buffer that waited', "return #require('ropewalk.sync').of_buffer(vim.api.nvim_get_current_buf()) > 0")
  T.eq(repository .. '/target/release/ropewalk', child:lua("return require('ropewalk.program').built()"))
  -- For plugin managers, with an answer.
  T.eq(
    { repository .. '/target/release/ropewalk' },
    child:lua("return { select(2, require('ropewalk').build({ wait = true })) }")
  )
  T.ok(T.read(child:lua("return require('ropewalk.program').log()")):find('Finished', 1, true))
end

function S.the_help_has_tags_for_its_links_and_narrow_lines(T)
  local folder = T.folder()
  vim.system({ 'cp', '-r', T.plugin .. '/doc', folder .. '/doc' }):wait()
  local child = T.start(folder)
  child:lua('vim.cmd.helptags(...)', folder .. '/doc')
  local tags = T.read(folder .. '/doc/tags')
  local missing = {}
  for _, name in ipairs(child:lua("return vim.tbl_keys(require('ropewalk'))")) do
    if not tags:find(('ropewalk.%s()\t'):format(name), 1, true) then
      missing[#missing + 1] = name .. '()'
    end
  end
  for _, name in ipairs(child:lua("return vim.fn.getcompletion('Ropewalk ', 'cmdline')")) do
    if not tags:find((':Ropewalk-%s\t'):format(name), 1, true) then
      missing[#missing + 1] = ':' .. name
    end
  end
  for name in
    child
      :lua("return table.concat(vim.fn.readfile(...), '\\n')", T.plugin .. '/lua/ropewalk/config.lua')
      :match('class ropewalk.Options(.-)class ropewalk.Config')
      :gmatch('%-%-%-@field ([%w_]+)')
  do
    if not tags:find(('ropewalk.Options.%s\t'):format(name), 1, true) then
      missing[#missing + 1] = 'option ' .. name
    end
  end
  table.sort(missing)
  T.eq({}, missing, 'not in the help')
  local known = tags .. T.read(child:lua("return vim.env.VIMRUNTIME .. '/doc/tags'"))
  local dead = {}
  for _, page in ipairs({ 'ropewalk.txt', 'ropewalk-review.txt' }) do
    for number, line in ipairs(vim.split(T.read(folder .. '/doc/' .. page), '\n')) do
      T.ok(vim.fn.strdisplaywidth(line) <= 78, ('line %d of %s is too wide: %s'):format(number, page, line))
      for link in line:gmatch('|([^|%s]+)|') do
        if not ('\n' .. known):find('\n' .. link .. '\t', 1, true) then
          dead[#dead + 1] = ('%s:%d |%s|'):format(page, number, link)
        end
      end
    end
  end
  T.eq({}, dead, 'links that lead nowhere')
end

return S
