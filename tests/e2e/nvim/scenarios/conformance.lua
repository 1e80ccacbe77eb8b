--- Rows of docs/CONFORMANCE.md that no other file shows: the real sidecar in a real Neovim, with real keys.

local S = {}

local SHELF = 'alpha\nbeta\ngamma\n'

--- A Neovim with the sidecar that shows a file of its own.
local function open(T, name, text)
  local child, path, folder = T.open(name, text)
  child:wait('the sidecar', "return #vim.lsp.get_clients({ name = 'ropewalk' }) > 0")
  return child, path, folder
end

--- The buffer holds a text, and the sidecar the same.
local function holds(T, child, path, text)
  T.eq(text, T.truth(child), 'the buffer')
  T.eq(text, T.held(child, path).text, 'what the sidecar has of it')
end

local function edit(T, child, path, old, new)
  return T.call(child, 'edit', { file_path = path, old_string = old, new_string = new })
end

local function done(T, result)
  T.eq('ok', result.status, T.text(result))
  T.eq('all', result.applied)
  return result
end

--- An error that tells the model why, after which nothing is changed.
local function refused(T, result, kind, words)
  T.eq('error', result.status, T.text(result))
  T.eq(kind, result.error.kind, T.text(result))
  T.ok(result.applied == nil or result.applied == 'none', vim.inspect(result))
  T.ok(T.text(result):find(words, 1, true), T.text(result))
end

--- Once, when the sidecar's next edit has arrived and is not applied yet, keys are typed: the person is quicker.
local function before_edit(child, keys)
  child:lua(
    [[
      Quicker, Answers = ..., {}
      local client = vim.lsp.get_clients({ name = 'ropewalk' })[1]
      local apply = client.handlers['workspace/applyEdit']
      client.handlers['workspace/applyEdit'] = function(...)
        if Quicker then
          local typed = vim.keycode(Quicker)
          Quicker = nil
          vim.api.nvim_feedkeys(typed, 'ntx', false)
        end
        local answer = apply(...)
        Answers[#Answers + 1] = answer
        return answer
      end
    ]],
    keys
  )
end

function S.a_stale_edit_is_refused_and_computed_anew(T)
  local child, path = open(T, 'shelf.txt', SHELF)
  before_edit(child, 'ggOtop<Esc>')
  done(T, edit(T, child, path, 'beta', 'BETA'))
  holds(T, child, path, 'top\nalpha\nBETA\ngamma\n')
  local answers = child:lua('return Answers')
  T.eq({ false, true }, { answers[1].applied, answers[2].applied })
  T.ok(answers[1].failureReason:find('version', 1, true), answers[1].failureReason)
  T.eq(2, #answers)
  T.eq(SHELF, T.read(path), 'the file on the disk')
  child:press('u')
  holds(T, child, path, 'top\nalpha\nbeta\ngamma\n')
end

function S.a_stale_edit_whose_place_is_gone_changes_nothing(T)
  local child, path = open(T, 'shelf.txt', SHELF)
  before_edit(child, '/beta<CR>ccown words<Esc>')
  refused(T, edit(T, child, path, 'beta', 'BETA'), 'conflict', 'own words')
  holds(T, child, path, 'alpha\nown words\ngamma\n')
end

function S.a_refused_edit_is_told(T)
  local child, path = open(T, 'shelf.txt', SHELF)
  child:press(':set nomodifiable<CR>')
  refused(T, edit(T, child, path, 'beta', 'BETA'), 'conflict', 'not modifiable')
  holds(T, child, path, SHELF)
  T.eq(SHELF, T.read(path))
  child:press(':set modifiable<CR>')
  done(T, edit(T, child, path, 'beta', 'BETA'))
  holds(T, child, path, 'alpha\nBETA\ngamma\n')
end

function S.a_read_only_file_is_not_edited(T)
  local child, path = open(T, 'shelf.txt', SHELF)
  child:lua('vim.uv.fs_chmod(..., 292)', path)
  child:press(':set readonly<CR>')
  refused(T, edit(T, child, path, 'beta', 'BETA'), 'conflict', 'read-only')
  holds(T, child, path, SHELF)
  T.eq(SHELF, T.read(path))
end

function S.a_file_without_a_buffer_is_written_on_the_disk(T)
  local child, path, folder = open(T, 'open.txt', SHELF)
  local closed, last = folder .. '/closed.txt', folder .. '/last.txt'
  T.write(closed, SHELF)
  T.write(last, SHELF)
  local buffers = child:lua('return #vim.api.nvim_list_bufs()')
  done(T, edit(T, child, closed, 'beta', 'BETA'))
  T.eq('alpha\nBETA\ngamma\n', T.read(closed))
  T.eq(buffers, child:lua('return #vim.api.nvim_list_bufs()'), 'no buffer was made for it')
  -- And one whose buffer is gone.
  child:visit(last)
  child:press(':bdelete<CR>')
  done(T, edit(T, child, last, 'gamma', 'GAMMA'))
  T.eq('alpha\nbeta\nGAMMA\n', T.read(last))
  T.eq(path, child:lua('return vim.api.nvim_buf_get_name(0)'))
  holds(T, child, path, SHELF)
end

function S.a_buffer_that_is_closed_unsaved_and_opened_again(T)
  local child, path, folder = open(T, 'shelf.txt', SHELF)
  T.write(folder .. '/other.txt', 'other\n')
  child:press('Godelta<Esc>')
  holds(T, child, path, SHELF .. 'delta\n')
  child:press(':edit! other.txt<CR>:bwipeout! shelf.txt<CR>')
  -- The disk is what counts for a file that nobody has open.
  local told = T.text(T.call(child, 'read', { file_path = path }))
  T.ok(told:find('gamma', 1, true) and not told:find('delta', 1, true), told)
  child:visit(path)
  holds(T, child, path, SHELF)
  done(T, edit(T, child, path, 'beta', 'BETA'))
  holds(T, child, path, 'alpha\nBETA\ngamma\n')
  child:press(':edit!<CR>')
  holds(T, child, path, SHELF)
  done(T, edit(T, child, path, 'gamma', 'GAMMA'))
  holds(T, child, path, 'alpha\nbeta\nGAMMA\n')
end

function S.undo_in_insert_mode_takes_back_the_edit_and_leaves_the_typing(T)
  local child, path = open(T, 'shelf.txt', SHELF)
  child:press('Godel')
  done(T, edit(T, child, path, 'beta', 'BETA\nBETA'))
  holds(T, child, path, 'alpha\nBETA\nBETA\ngamma\ndel\n')
  child:press('<C-o>u')
  T.eq('i', child:lua('return vim.fn.mode()'), 'still in Insert mode')
  holds(T, child, path, 'alpha\nbeta\ngamma\ndel\n')
  child:press('<C-o>G<End>ta<Esc>')
  holds(T, child, path, 'alpha\nbeta\ngamma\ndelta\n')
end

function S.crlf_stays_through_typing_an_edit_and_a_save(T)
  local child, path = open(T, 'dos.txt', 'alpha\r\nbeta\r\ngamma\r\n')
  child:press('ggOtop<Esc>')
  done(T, edit(T, child, path, 'beta', 'BETA\nmore'))
  holds(T, child, path, 'top\r\nalpha\r\nBETA\r\nmore\r\ngamma\r\n')
  child:press(':write<CR>')
  T.eq('top\r\nalpha\r\nBETA\r\nmore\r\ngamma\r\n', T.read(path))
end

function S.a_byte_order_mark_stays(T)
  local child, path, folder = open(T, 'mark.txt', '\239\187\191alpha\nbeta\n')
  T.eq(true, child:lua('return vim.bo.bomb'))
  -- No edit can find it: it is no part of the text.
  done(T, edit(T, child, path, 'alpha', 'ALPHA'))
  holds(T, child, path, 'ALPHA\nbeta\n')
  child:press('ggOtop<Esc>:write<CR>')
  T.eq('\239\187\191top\nALPHA\nbeta\n', T.read(path))
  -- And in a file that nobody has open.
  local closed = folder .. '/closed.txt'
  T.write(closed, '\239\187\191alpha\r\nbeta')
  done(T, edit(T, child, closed, 'alpha', 'ALPHA'))
  T.eq('\239\187\191ALPHA\r\nbeta', T.read(closed))
end

function S.a_missing_final_newline_is_added_by_a_save_alone(T)
  local child, path = open(T, 'shelf.txt', 'alpha\nbeta')
  done(T, edit(T, child, path, 'beta', 'BETA'))
  holds(T, child, path, 'alpha\nBETA')
  -- As 'fixendofline' has it, which Neovim sets by default; 'endofline' stays off all the same.
  child:press(':write<CR>')
  T.eq('alpha\nBETA\n', T.read(path))
  T.eq(false, child:lua('return vim.bo.endofline'))
  local document = T.held(child, path)
  T.eq({ 'alpha\nBETA\n', false }, { document.text, document.unsaved }, 'the file as it is now')
  done(T, edit(T, child, path, 'alpha\nBETA\n', 'ALPHA\nbeta\ngamma\n'))
  child:press('Godelta<Esc>')
  T.eq('ALPHA\nbeta\ngamma\ndelta\n', T.held(child, path).text)
  child:press(':write<CR>')
  T.eq('ALPHA\nbeta\ngamma\ndelta\n', T.read(path))
  T.eq(false, T.held(child, path).unsaved)
  -- Where the person does not want that, it is missing.
  child:press(':set nofixendofline<CR>')
  holds(T, child, path, 'ALPHA\nbeta\ngamma\ndelta')
  T.eq(true, T.held(child, path).unsaved)
  done(T, edit(T, child, path, 'delta', 'DELTA'))
  child:press(':write<CR>')
  T.eq('ALPHA\nbeta\ngamma\nDELTA', T.read(path))
  holds(T, child, path, 'ALPHA\nbeta\ngamma\nDELTA')
  -- And what is read from the disk counts as it is there.
  child:press(':set fixendofline<CR>')
  T.write(path, 'new\ntext')
  child:press(':edit!<CR>')
  holds(T, child, path, 'new\ntext')
end

function S.a_hundred_thousand_lines(T)
  local lines = {}
  for number = 1, 100000 do
    lines[number] = ('line %06d of the shelf'):format(number)
  end
  local text = table.concat(lines, '\n') .. '\n'
  local child, path = open(T, 'long.txt', text)
  child:press('ggOtop<Esc>')
  local index = child:lua("return Call('edit', ...)", {
    file_path = path,
    old_string = 'line 099999 of the shelf',
    new_string = 'line 099999 of the agent',
  })
  child:type('Aped meanwhile<Esc>')
  done(T, child:wait('the result', 'return Results[...]', index).result)
  child:wait('the typing', "return vim.fn.getline(1) == 'topped meanwhile'")
  lines[99999] = 'line 099999 of the agent'
  text = 'topped meanwhile\n' .. table.concat(lines, '\n') .. '\n'
  -- A difference would be too long to be shown.
  T.ok(text == T.truth(child), 'the buffer')
  T.ok(text == T.held(child, path).text, 'what the sidecar has of it')
end

function S.two_windows_on_a_buffer_stay_where_they_are(T)
  local lines = {}
  for number = 1, 400 do
    lines[number] = tostring(number)
  end
  local child, path = open(T, 'numbers.txt', table.concat(lines, '\n') .. '\n')
  -- A window below at line 300, and the person in the one above at line 10.
  child:press(':set lines=40 scrolloff=0<CR>:split<CR><C-w>j300Gzt5j<C-w>k10Gzt3j')
  local WHERE = [[
    local places = {}
    for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      vim.api.nvim_win_call(window, function()
        places[#places + 1] = { vim.fn.getline('.'), vim.fn.getline(vim.fn.line('w0')) }
      end)
    end
    return { places = places, current = vim.fn.winnr() }
  ]]
  local before = child:lua(WHERE)
  T.eq({ places = { { '13', '10' }, { '305', '300' } }, current = 1 }, before)
  done(T, edit(T, child, path, '\n150\n151\n', '\n150\nin between\nand once more\n151\n'))
  T.eq('and once more', child:lua('return vim.fn.getline(152)'))
  T.eq(before, child:lua(WHERE), 'each shows what it showed, and has its cursor there')
  child:press('u')
  T.eq('151', child:lua('return vim.fn.getline(151)'))
end

function S.a_file_that_gets_another_name_while_it_is_open(T)
  local child, path, folder = open(T, 'shelf.txt', SHELF)
  local renamed = folder .. '/renamed.txt'
  child:press('Godelta<Esc>')
  -- As plugins for files do it, through Neovim's own function.
  child:lua('vim.lsp.util.rename(...)', path, renamed)
  child:wait('the new name', 'return vim.api.nvim_buf_get_name(0) == ...', renamed)
  child:followed()
  done(T, edit(T, child, renamed, 'beta', 'BETA'))
  holds(T, child, renamed, 'alpha\nBETA\ngamma\ndelta\n')
  T.eq('error', edit(T, child, path, 'alpha', 'ALPHA').status, 'nothing has the old name')
  T.eq(nil, vim.uv.fs_stat(path), 'and no file is made')
  -- And by the name of the buffer alone, with the file still where it was.
  child:press(':file third.txt<CR>')
  done(T, edit(T, child, folder .. '/third.txt', 'gamma', 'GAMMA'))
  holds(T, child, folder .. '/third.txt', 'alpha\nBETA\nGAMMA\ndelta\n')
  child:press(':write!<CR>')
  T.eq('alpha\nBETA\nGAMMA\ndelta\n', T.read(folder .. '/third.txt'))
end

function S.combined_characters_before_the_edit(T)
  local child, path = open(T, 'signs.txt', 's = "👩‍👩‍👧 e\u{301} 🇩🇪 か\u{3099}"; 😀 more\n')
  child:press('0i😀 <Esc>')
  done(T, edit(T, child, path, '😀 more', '😎 less'))
  holds(T, child, path, '😀 s = "👩‍👩‍👧 e\u{301} 🇩🇪 か\u{3099}"; 😎 less\n')
  child:press('u')
  holds(T, child, path, '😀 s = "👩‍👩‍👧 e\u{301} 🇩🇪 か\u{3099}"; 😀 more\n')
end

return S
