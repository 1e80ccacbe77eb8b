--- The command. Everything else waits for `require('ropewalk').setup()`.

if vim.g.loaded_ropewalk then
  return
end
vim.g.loaded_ropewalk = true

vim.api.nvim_create_user_command('Ropewalk', function(args)
  require('ropewalk.command').run(args)
end, {
  nargs = '*',
  range = true,
  desc = 'Ropewalk: calls, sessions, review and more, see :help :Ropewalk',
  complete = function(lead, line, cursor)
    return require('ropewalk.command').complete(lead, line, cursor)
  end,
})
