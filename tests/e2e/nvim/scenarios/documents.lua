--- The adapter's documents, against the stand-in: its copy equals the buffer to the byte, whatever is done to it.

local S = {}

--- Does random things to a buffer and compares after each; `setup` prepares it.
local CHAOS = [[
  local seed, steps, setup = ...
  math.randomseed(seed)
  vim.cmd(setup)
  local bufnr = vim.api.nvim_get_current_buf()
  local sync = require('ropewalk.sync')
  vim.wait(5000, function() return #sync.of_buffer(bufnr) > 0 end, 1)
  local document = sync.of_buffer(bufnr)[1]
  local bits = { 'a', 'ß', '😀', 'e\u{301}', '\u{2028}', '\t', ' ', 'xyz', '<CR>', 'foo<CR>bar', '<C-v><C-m>',
    '<C-v>000', '\u{85}', '<C-v>012', '<BS>', '<C-w>', '<C-u>', 'if x {' }
  local function one(list) return list[math.random(#list)] end
  local moves = { 'gg', 'G', 'j', 'k', '0', '$', 'w', 'b', 'l', 'h', '3j', '2k', 'H', 'L', '^', '}', '{' }
  local acts = {
    function() return 'i' .. one(bits) .. one(bits) .. '<Esc>' end,
    function() return 'A' .. one(bits) .. '<Esc>' end,
    function() return 'o' .. one(bits) .. '<Esc>' end,
    function() return 'O' .. one(bits) .. one(bits) .. '<Esc>' end,
    function() return one { 'dd', 'dj', 'dk', 'dG', 'dgg', 'D', 'x', 'X', 'dw', 'db', 'J', '3J', 'gJ', 'cc<Esc>',
      's<Esc>' } end,
    function() return one { 'yyp', 'yyP', 'p', 'P', 'yj', 'yw', '3p', 'ddp', 'xp' } end,
    function() return one { 'u', 'u', 'uu', '<C-r>', 'U', '2u', 'g-', 'g+' } end,
    function() return one { '>>', '<<', '~', 'g~~', 'gUU', 'r😀', 'ra', '<C-a>', '==' } end,
    function() return one { ':m0<CR>', ':m$<CR>', ':t.<CR>', ':t0<CR>', ':%s/a/bb/ge<CR>', ':%s/$/z/e<CR>',
      ':g/x/d<CR>',
      ':%s/\\n//e<CR>', ':s/o/\\r/ge<CR>', ':sort<CR>', ':%d<CR>', ':.,$d<CR>', ':1d<CR>', ':$d<CR>', ':%join<CR>',
      ':put =\'one\'<CR>', ':0put =\'zero\'<CR>', ':retab<CR>', ':v/o/d<CR>', ':%!cat<CR>' } end,
    function() return one { 'v', 'V', '<C-v>' } .. one(moves) .. one(moves)
      .. one { 'd', 'y', 'p', 'rX', 'J', 'Ihi<Esc>', 'Aho<Esc>', 'c<Esc>', '>', 'u' } end,
    function() return one { ':set noeol<CR>', ':set eol<CR>', ':set ff=dos<CR>', ':set ff=unix<CR>' } end,
  }
  local done = {}
  for step = 1, steps do
    local keys = one(moves) .. one(acts)()
    done[#done + 1] = keys
    vim.api.nvim_feedkeys(vim.keycode(keys .. '<Esc>'), 'ntx', false)
    vim.wait(0)
    local held = Standin.docs[document.uri]
    -- A buffer that an undo makes void is void only after the event; the check before every call sees that.
    local before = held and held.text
    local opened = #Standin.sent('textDocument/didOpen')
    sync.check(document)
    held = Standin.docs[document.uri]
    local reopened = #Standin.sent('textDocument/didOpen') > opened
    local truth = Standin.truth(bufnr)
    local needless = reopened and before ~= '\n' and before ~= '\r\n' and not keys:find(':set')
    if not held or held.text ~= truth or #Standin.faults > 0 or needless then
      return { step = step, done = vim.list_slice(done, math.max(1, step - 6)), held = held and held.text,
        before = before, truth = truth, faults = Standin.faults, reopened = reopened }
    end
    if vim.fn.line('$') > 200 then vim.cmd('silent 50,$d') end
  end
  return { step = steps, ok = true, reopened = #Standin.sent('textDocument/didOpen') }
]]

local function chaos(T, seeds, setup)
  local folder = T.folder()
  T.write(folder .. '/plain.txt', 'one\ntwo\nthree\n')
  T.write(folder .. '/noeol.txt', 'one\ntwo\nthree')
  T.write(folder .. '/dos.txt', 'one\r\ntwo\r\nthree\r\n')
  T.write(folder .. '/mixed.txt', 'one\r\ntwo\nth\rree\r\n')
  T.write(folder .. '/newline.txt', '\n')
  T.write(folder .. '/void.txt', '')
  for _, seed in ipairs(seeds) do
    local child = T.start_standin(folder)
    local out = child:lua(CHAOS, seed, 150, setup)
    T.ok(out.ok, ('seed %d, %s: %s'):format(seed, setup, vim.inspect(out)))
    child:stop()
  end
end

function S.chaos_plain(T)
  chaos(T, { 1, 2, 3 }, 'edit plain.txt')
end

function S.chaos_noeol(T)
  chaos(T, { 4, 5, 6 }, 'edit noeol.txt')
end

function S.chaos_dos(T)
  chaos(T, { 7, 8, 9 }, 'edit dos.txt')
end

function S.chaos_mixed(T)
  chaos(T, { 10, 11, 12 }, 'edit mixed.txt')
end

function S.chaos_void(T)
  chaos(T, { 13, 14 }, 'edit void.txt')
  chaos(T, { 15, 16 }, 'edit newline.txt')
  chaos(T, { 17, 18 }, 'enew')
end

return S
