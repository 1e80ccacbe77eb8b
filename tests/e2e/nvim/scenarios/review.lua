--- Changes and proposals under review, with the real sidecar, in a terminal with a real screen and real keys.

local S = {}

local TEN = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n'

--- Opens a file in a Neovim with the sidecar.
local function open(T, text, options)
  local folder = T.folder()
  local path = folder .. '/a.txt'
  T.write(path, text)
  options = vim.tbl_extend('force', {
    trusted = true,
    review = { mappings = true },
    settings = T.QUIET.settings,
  }, options or {})
  local child = T.start_sidecar(folder, options, { 80, 30 })
  child:lua('vim.o.signcolumn, vim.g.mapleader = "yes", " "')
  child:visit(path)
  child:lua("require('ropewalk.prompt').guard_ms = 0")
  return child, path, folder
end

local function edit(T, child, path, old, new)
  local result = T.call(child, 'edit', { file_path = path, old_string = old, new_string = new })
  T.eq('ok', result.status, T.text(result))
  return result
end

local function propose(T, child, name, arguments, session)
  session = session or 'shy'
  T.request(child, 'ropewalk/openSession', { sessionId = session, apply = 'propose' })
  local result = T.request(child, 'ropewalk/callTool', { sessionId = session, name = name, arguments = arguments })
  T.eq('ok', result.status, T.text(result))
  T.eq('none', result.applied)
  return result
end

--- The marks of the current buffer, from the top: `{ row, sign, group, virtual lines }`, rows 0-based.
local function marks(child)
  return child:lua([[
    local found = {}
    local namespace = require('ropewalk.review.marks').namespace
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
      local details = mark[4]
      local rows = {}
      for _, row in ipairs(details.virt_lines or {}) do rows[#rows + 1] = row[1][1] end
      found[#found + 1] = {
        mark[2],
        details.end_row or mark[2],
        details.sign_text and vim.trim(details.sign_text) or '',
        details.line_hl_group or '',
        table.concat(rows, '|'),
      }
    end
    return found
  ]])
end

--- Waits until so many marks are there, and gives them.
local function marked(child, count)
  child:wait(
    count .. ' marks',
    [[
      local namespace = require('ropewalk.review.marks').namespace
      return #vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, {}) == ...
    ]],
    count
  )
  return marks(child)
end

local function nothing_asked(T, child)
  T.eq('n', child:lua('return vim.api.nvim_get_mode().mode'))
  T.eq(false, vim.rpcrequest(child.channel, 'nvim_get_mode').blocking, 'no key is waited for')
end

local function row_of(child)
  return child:lua('return vim.api.nvim_win_get_cursor(0)[1]')
end

function S.hunks_are_shown_where_they_are_and_move_with_typing(T)
  local child, path = open(T, TEN)
  edit(T, child, path, 'three\n', 'THREE\n3b\n')
  edit(T, child, path, 'six\n', '')
  edit(T, child, path, 'ten', 'ten\neleven')
  T.eq({
    { 2, 3, '┃', 'RopewalkAdded', 'three' },
    { 6, 6, '▁', '', 'six' },
    { 10, 10, '┃', 'RopewalkAdded', '' },
  }, marked(child, 3))
  -- What was there stands above what is there, and neither is in the text.
  local screen = child:screen()
  T.eq({ '  two', '  three', '┃ THREE', '┃ 3b', '  four', '  five', '  six', '▁ seven' }, vim.list_slice(screen, 2, 9))
  local attributes = child:lua([[
    return vim.tbl_map(function(row) return vim.fn.screenattr(row, 4) end, { 2, 3, 4, 5, 6 })
  ]])
  T.ok(attributes[2] ~= attributes[1] and attributes[3] ~= attributes[1], vim.inspect(attributes))
  T.ok(attributes[2] ~= attributes[3] and attributes[3] == attributes[4] and attributes[5] == attributes[1])
  -- Typing above moves them at once, whatever the sidecar says later.
  child:lua("require('ropewalk.review.changes').want = function() end")
  child:press('ggOzero<CR>zero<Esc>')
  T.eq({ 4, 8, 12 }, vim.tbl_map(function(mark)
    return mark[1]
  end, marks(child)))
  T.eq(1, child:lua("return #vim.api.nvim_list_wins()"))
end

function S.the_edges_of_a_file(T)
  local child, path = open(T, TEN)
  edit(T, child, path, 'one\n', '')
  edit(T, child, path, 'ten\n', '')
  T.eq({ { 0, 0, '▁', '', 'one' }, { 7, 7, '▁', '', 'ten' } }, marked(child, 2))
  local screen = child:screen()
  T.eq({ '  one', '▁ two' }, vim.list_slice(screen, 1, 2), 'above the first line')
  T.eq({ '▁ nine', '  ten' }, vim.list_slice(screen, 9, 10), 'below the last line')
  -- All of it.
  T.call(child, 'read', { file_path = path })
  T.eq('ok', T.call(child, 'write', { file_path = path, content = '' }).status)
  child:wait('the empty buffer', "return vim.api.nvim_buf_line_count(0) == 1")
  child:see('nine')
  T.eq('▁', child:screen()[11]:sub(1, #'▁'), table.concat(child:screen(), '\n'))
  child:press('iagain<Esc>')
  child:wait('one line', "return vim.api.nvim_get_current_line() == 'again'")
  -- An undo brings back what is not in the way.
  nothing_asked(T, child)
end

function S.crlf_tabs_wide_and_very_long_lines(T)
  local child, path = open(T, 'a\tb\r\n漢字\tc\r\n' .. ('x'):rep(20000) .. '\r\nlast\r\n')
  T.eq('dos', child:lua('return vim.bo.fileformat'))
  edit(T, child, path, 'a\tb', 'A')
  edit(T, child, path, '漢字\tc', 'B')
  edit(T, child, path, ('x'):rep(20000), 'C')
  child:lua('vim.bo.tabstop = 8')
  local found = marked(child, 3)
  T.eq({ 0, 0, '┃', 'RopewalkAdded', 'a       b' }, found[1])
  T.eq('漢字    c', found[2][5])
  T.ok(#found[3][5] < 5000 and found[3][5]:sub(-3) == '…', 'cut on the screen')
  child:press('2Gx')
  T.eq({ 'A', '', 'C', 'last' }, child:lines())
end

function S.many_removed_lines_are_shown_cut_and_two_windows_show_the_same(T)
  local child, path = open(T, TEN, { review = { fold = 4 } })
  edit(T, child, path, 'two\nthree\nfour\nfive\nsix\nseven\n', '')
  local found = marked(child, 1)
  T.eq({ 1, 1, '▁', '', 'two|three|four|… 3 more removed lines (:Ropewalk diff shows all)' }, found[1])
  child:press(':split<CR>')
  local count = 0
  for _, row in ipairs(child:screen()) do
    count = count + (row:find('… 3 more removed lines', 1, true) and 1 or 0)
  end
  T.eq(2, count, 'in both windows')
end

function S.reloading_and_unloading(T)
  local child, path = open(T, TEN)
  edit(T, child, path, 'three', 'THREE')
  marked(child, 1)
  child:press(':w<CR>:e<CR>')
  T.eq({ { 2, 2, '┃', 'RopewalkAdded', 'three' } }, marked(child, 1))
  child:press(':enew<CR>:bdelete 1<CR>')
  T.eq(false, child:lua("return require('ropewalk.review.marks').has(1)"))
  child:lua('vim.cmd.edit(...)', path)
  T.eq({ { 2, 2, '┃', 'RopewalkAdded', 'three' } }, marked(child, 1))
  -- Nothing is shown any more when the sidecar is gone.
  child:lua("require('ropewalk').stop(0)")
  marked(child, 0)
end

function S.one_hunk_is_kept_and_one_undone_by_keys_between_typing(T)
  local child, path = open(T, TEN)
  child:press('ggOtyped<Esc>')
  edit(T, child, path, 'three', 'THREE')
  child:press('Gotyped too<Esc>')
  edit(T, child, path, 'eight', 'EIGHT')
  marked(child, 2)
  child:press('gg]r')
  T.eq(4, row_of(child))
  child:press(' rk')
  marked(child, 1)
  T.eq(4, row_of(child), 'the cursor stays')
  child:press('ccTHREE and mine<Esc>]r')
  T.eq(9, row_of(child))
  child:press('l ru')
  marked(child, 0)
  T.eq({ 9, 1 }, child:lua('return vim.api.nvim_win_get_cursor(0)'), 'the cursor stays')
  local lines = vim.split('typed\n' .. TEN:gsub('three', 'THREE and mine') .. 'typed too', '\n')
  T.eq(lines, child:lines())
  child:press(':Ropewalk restore<CR>')
  marked(child, 1)
  T.eq('EIGHT', child:lines()[9])
  nothing_asked(T, child)
end

function S.what_an_undo_leaves_is_told_in_one_line(T)
  local child, path = open(T, TEN)
  edit(T, child, path, 'three', 'THREE')
  marked(child, 1)
  child:press('3GccTHREE, but mine<Esc>')
  child:press(' ru')
  child:see('a.txt:3')
  nothing_asked(T, child)
  T.ok(child:lines()[3]:find('mine', 1, true), vim.inspect(child:lines()))
  child:press('gg')
  child:press(' ru')
  child:see('there is no change here')
  nothing_asked(T, child)
end

function S.next_and_previous_go_over_files_and_round(T)
  local child, path, folder = open(T, TEN)
  T.write(folder .. '/b.txt', TEN)
  edit(T, child, path, 'two', 'TWO')
  edit(T, child, path, 'nine', 'NINE')
  edit(T, child, folder .. '/b.txt', 'five', 'FIVE')
  marked(child, 2)
  child:wait('the other file', "return #require('ropewalk.review.changes').files() == 2")
  local function at()
    return child:lua("return { vim.fn.expand('%:t'), vim.fn.line('.') }")
  end
  for _, step in ipairs({
    { ']r', { 'a.txt', 2 } },
    { ']r', { 'a.txt', 9 } },
    { ']r', { 'b.txt', 5 } },
    { ']r', { 'a.txt', 2 } },
    { '[r', { 'b.txt', 5 } },
    { '[r', { 'a.txt', 9 } },
    { '2]r', { 'a.txt', 2 } },
  }) do
    child:press(step[1])
    T.eq(step[2], at(), step[1])
  end
  -- A closed fold opens.
  child:press(':set foldmethod=manual<CR>:8,10fold<CR>gg]r]r')
  T.eq({ 'a.txt', 9 }, at())
  T.eq(-1, child:lua('return vim.fn.foldclosed(9)'))
end

function S.a_range_a_call_a_file_and_a_session_are_judged(T)
  local child, path = open(T, TEN)
  edit(T, child, path, 'one', 'ONE')
  edit(T, child, path, 'three', 'THREE')
  edit(T, child, path, 'nine', 'NINE')
  marked(child, 3)
  child:press('ggV3j ru')
  marked(child, 1)
  T.eq({ 'one', 'two', 'three' }, vim.list_slice(child:lines(), 1, 3))
  child:press(':Ropewalk keep file<CR>')
  marked(child, 0)
  T.eq('NINE', child:lines()[9])
  edit(T, child, path, 'one', 'ONE')
  edit(T, child, path, 'three', 'THREE')
  marked(child, 2)
  child:press(':1,1Ropewalk undo<CR>')
  marked(child, 1)
  T.eq('one', child:lines()[1])
  child:press('3G:Ropewalk undo call<CR>')
  marked(child, 0)
  edit(T, child, path, 'one', 'ONE')
  edit(T, child, path, 'three', 'THREE')
  marked(child, 2)
  T.eq({ 'default' }, child:lua("return vim.fn.getcompletion('Ropewalk keep session ', 'cmdline')"))
  child:press(':Ropewalk undo session default<CR>')
  marked(child, 0)
  T.eq({ 'one', 'two', 'three' }, vim.list_slice(child:lines(), 1, 3))
  edit(T, child, path, 'one', 'ONE')
  marked(child, 1)
  child:press(':Ropewalk keep all<CR>')
  marked(child, 0)
  T.eq('ONE', child:lines()[1])
end

function S.a_proposal_is_shown_and_accepted_or_rejected(T)
  local child, path = open(T, TEN)
  propose(T, child, 'edit', { file_path = path, old_string = 'three', new_string = 'THREE\n3b' })
  propose(T, child, 'edit', { file_path = path, old_string = 'six\n', new_string = 'six\nsix and a half\n' })
  propose(T, child, 'edit', { file_path = path, old_string = 'nine\n', new_string = '' })
  local found = marked(child, 4)
  T.eq({ 2, 2, '┆', 'RopewalkProposed' }, vim.list_slice(found[1], 1, 4))
  T.eq({ 2, 2, '', '', 'THREE|3b' }, found[2])
  T.eq({ 6, 6, '┆', '', 'six and a half' }, found[3])
  T.eq({ 8, 8, '┆', 'RopewalkProposed', '' }, found[4])
  T.eq({ '┆ three  proposed by shy', '  THREE', '  3b', '  four' }, vim.list_slice(child:screen(), 3, 6))
  T.eq(vim.split(TEN:gsub('\n$', ''), '\n'), child:lines(), 'nothing is in the text')
  child:press('ggOtyped<Esc>')
  child:press(']r ra')
  -- What was accepted is judged: it waits for nobody any more.
  marked(child, 2)
  T.eq(4, row_of(child), 'the cursor stays')
  T.eq({ 'typed', 'one', 'two', 'THREE', '3b', 'four' }, vim.list_slice(child:lines(), 1, 6))
  child:press(']r rr')
  marked(child, 1)
  child:press(']r')
  child:press(' rw')
  child:see('Rejected, and the model is told')
  child:press('nine stays<CR>')
  child:wait('the text', "return vim.fn.expand('%:t') == 'a.txt'")
  marked(child, 0)
  T.ok(vim.list_contains(child:lines(), 'nine'))
  local next_call = T.request(child, 'ropewalk/callTool', {
    sessionId = 'shy',
    name = 'read',
    arguments = { file_path = path },
  })
  T.ok(T.text(next_call):find('nine stays', 1, true), T.text(next_call))
end

function S.a_proposal_is_edited_and_accepted_by_writing(T)
  local child, path = open(T, TEN)
  propose(T, child, 'edit', { file_path = path, old_string = 'three', new_string = 'THREE\n3b' })
  marked(child, 2)
  child:press('3G re')
  T.eq({ 'THREE', '3b' }, child:lines())
  child:press('A and mine<Esc>:w<CR>')
  child:wait('the buffer to go', "return vim.fn.expand('%:t') == 'a.txt'")
  T.eq({ 'two', 'THREE and mine', '3b', 'four' }, vim.list_slice(child:lines(), 2, 5))
  -- The whole file; and what is not written is not accepted.
  propose(T, child, 'edit', { file_path = path, old_string = 'nine', new_string = 'NINE' })
  child:wait('the proposal', "return #require('ropewalk.review.marks').list(vim.api.nvim_get_current_buf()) == 1")
  child:press(':Ropewalk edit file<CR>')
  child:wait('the text', "return vim.api.nvim_buf_get_name(0):find('ropewalk://accept', 1, true) ~= nil")
  T.eq(11, #child:lines())
  child:press(':q!<CR>')
  T.eq('nine', child:lines()[10])
  child:press(':Ropewalk edit file<CR>')
  child:wait('the text', "return vim.api.nvim_buf_get_name(0):find('ropewalk://accept', 1, true) ~= nil")
  child:press('Goeleven<Esc>:wq<CR>')
  child:wait('the last line', "return vim.fn.bufnr('a.txt') == vim.fn.bufnr('%') and vim.fn.line('$') == 12")
  T.eq({ 'NINE', 'ten', 'eleven' }, vim.list_slice(child:lines(), 10, 12))
  nothing_asked(T, child)
end

function S.the_quickfix_list_has_every_hunk(T)
  local child, path, folder = open(T, TEN)
  T.write(folder .. '/b.txt', 'b\n')
  edit(T, child, path, 'three', 'THREE')
  edit(T, child, folder .. '/b.txt', 'b', 'B')
  T.call(child, 'write', { file_path = folder .. '/new.txt', content = 'x\ny\n' })
  propose(T, child, 'write', { file_path = folder .. '/proposed.txt', content = 'p\n' })
  marked(child, 1)
  child:press('ggOtyped<Esc>:Ropewalk quickfix<CR>')
  child:wait('the list', 'return vim.bo.buftype == "quickfix"')
  local list = child:lua([[
    return vim.tbl_map(function(entry)
      local name = vim.fn.fnamemodify(vim.fn.bufname(entry.bufnr), ':t')
      return { name, entry.lnum, entry.type, entry.text:gsub('%s+%[.*$', '') .. '' }
    end, vim.fn.getqflist())
  ]])
  T.eq({
    { 'a.txt', 4, 'I', 'changed  -three  +THREE' },
    { 'b.txt', 1, 'I', 'changed  -b  +B' },
    { 'new.txt', 1, 'I', 'new file  +x' },
    { 'proposed.txt', 1, 'N', 'proposed: new file' },
    { 'proposed.txt', 1, 'N', 'proposed: changed  +p' },
  }, list)
  child:press('<CR>')
  T.eq({ 'a.txt', 4 }, child:lua("return { vim.fn.expand('%:t'), vim.fn.line('.') }"))
  child:press(':Ropewalk keep<CR>')
  marked(child, 0)
  child:press(':Ropewalk quickfix<CR>')
  child:wait('the list', 'return #vim.fn.getqflist() == 4')
  T.eq(1, child:lua('return vim.fn.getqflist({ nr = "$" }).nr'), 'the same list')
end

function S.differences_side_by_side(T)
  local child, path = open(T, TEN)
  edit(T, child, path, 'three', 'THREE')
  edit(T, child, path, 'THREE', 'THREE!')
  edit(T, child, path, 'ten\n', '')
  edit(T, child, path, 'one\n', '')
  marked(child, 3)
  child:press('ggOtyped<Esc>')
  child:press(':Ropewalk diff<CR>')
  child:wait('the tab', 'return #vim.api.nvim_list_tabpages() == 2')
  local before = child:lua([[
    local windows = vim.api.nvim_tabpage_list_wins(0)
    return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(windows[1]), 0, -1, false)
  ]])
  local expected = vim.split(TEN:gsub('\n$', ''), '\n')
  table.insert(expected, vim.list_contains(before, 'typed') and vim.fn.index(before, 'typed') + 1 or 1, 'typed')
  T.eq(expected, before)
  T.eq({ true, true }, child:lua([[
    return vim.tbl_map(function(window) return vim.wo[window].diff end, vim.api.nvim_tabpage_list_wins(0))
  ]]))
  child:press('<C-w>wq')
  T.eq(1, child:lua('return #vim.api.nvim_list_tabpages()'))
  T.eq(false, child:lua('return vim.wo.diff'))
  child:press(':Ropewalk keep all<CR>')
  marked(child, 0)
  propose(T, child, 'edit', { file_path = path, old_string = 'five', new_string = 'FIVE' })
  marked(child, 2)
  child:press(':Ropewalk diff<CR>')
  child:wait('the tab', 'return #vim.api.nvim_list_tabpages() == 2')
  local proposed = child:lua([[
    local windows = vim.api.nvim_tabpage_list_wins(0)
    return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(windows[2]), 0, -1, false)
  ]])
  T.ok(vim.list_contains(proposed, 'FIVE') and not vim.list_contains(proposed, 'five'), vim.inspect(proposed))
end

function S.the_overview_is_judged_by_the_same_keys(T)
  local child, path, folder = open(T, TEN)
  T.write(folder .. '/b.txt', 'b\n')
  edit(T, child, path, 'three', 'THREE')
  edit(T, child, path, 'nine', 'NINE')
  edit(T, child, folder .. '/b.txt', 'b', 'B')
  propose(T, child, 'edit', { file_path = path, old_string = 'five', new_string = 'FIVE' })
  marked(child, 4)
  child:press(':Ropewalk review<CR>')
  child:see('3 changes and 1 proposals wait')
  child:see('session default')
  child:see('session shy')
  local function to(text)
    child:press('gg/' .. text .. '<CR>')
  end
  to('THREE')
  child:press('U')
  child:see('2 changes and 1 proposals wait')
  T.eq('three', child:lines(1)[3])
  to('FIVE')
  child:press('A')
  child:see('2 changes and 0 proposals wait')
  T.eq('FIVE', child:lines(1)[5])
  to('NINE')
  child:press('<CR>')
  T.eq({ 'a.txt', 9 }, child:lua("return { vim.fn.expand('%:t'), vim.fn.line('.') }"))
  child:press('<C-w>p')
  to('session default')
  child:press('K')
  child:see('0 changes and 0 proposals wait')
  child:press('q')
  T.eq(1, child:lua('return #vim.api.nvim_list_wins()'))
  nothing_asked(T, child)
end

function S.the_users_colours_and_keys_count(T)
  local child, path = open(T, TEN, { review = { mappings = { next = 'gn' }, signs = { changed = 'AI' } } })
  T.eq('DiffAdd', child:lua("return vim.api.nvim_get_hl(0, { name = 'RopewalkAdded' }).link"))
  child:lua("vim.api.nvim_set_hl(0, 'RopewalkAdded', { link = 'Search' }); require('ropewalk.highlights').define()")
  T.eq('Search', child:lua("return vim.api.nvim_get_hl(0, { name = 'RopewalkAdded' }).link"))
  edit(T, child, path, 'three', 'THREE')
  T.eq('AI', marked(child, 1)[1][3])
  child:press('gggn')
  T.eq(3, row_of(child))
  T.eq('', child:lua("return vim.fn.maparg(']r', 'n')"))
  T.ok(child:lua("return vim.fn.maparg('<Plug>(ropewalk-keep)', 'x') ~= ''"))
  local wrong = { review = { mappings = { nxt = 'x' } } }
  local fault = child:lua("return select(2, pcall(require('ropewalk').setup, ...))", wrong)
  T.ok(fault:find('review must be', 1, true), fault)
end

function S.typing_does_not_wait_for_the_review(T)
  local child, path = open(T, (TEN):rep(50))
  child:press('Go')
  local change = { file_path = path, old_string = "five\nsix\nseven", new_string = "x", replace_all = true }
  local index = child:lua("return Call('edit', ...)", change)
  local text = ('all of this is typed while hunks come '):rep(4)
  child:type(text)
  child:wait('the result', 'return Results[...]', index)
  child:wait('the typing', 'return vim.api.nvim_get_current_line() == ...', text)
  T.eq('i', child:lua('return vim.fn.mode()'))
end

return S
