--- The command. Everything else waits for `require('ropewalk').setup()`.

if vim.g.loaded_ropewalk then
  return
end
vim.g.loaded_ropewalk = true

vim.api.nvim_create_user_command('Ropewalk', function(args)
  require('ropewalk.command').run(args.args)
end, {
  nargs = '*',
  desc = 'Ropewalk: call, status, log, start, stop, trust, untrust',
  complete = function(lead, line)
    return require('ropewalk.command').complete(lead, line)
  end,
})
