--- `:Ropewalk`: finds the subcommand, and completes. What they do is in `subcommands.lua` and, for the review, in
--- `review`.

local M = {}

---@class ropewalk.Subcommand
---@field run fun(rest: string, command: vim.api.keyset.create_user_command.command_args)
---@field complete? fun(lead: string, words: string[]): string[]

---@param message string
local function complain(message)
  require('ropewalk.review.say').notify('ropewalk: ' .. message, vim.log.levels.ERROR)
end

--- All subcommands. Those of the review get their words as a list.
---@return table<string, ropewalk.Subcommand>
local function all()
  local commands = vim.tbl_extend('force', {}, require('ropewalk.subcommands').commands)
  for name, command in pairs(require('ropewalk.review').commands) do
    commands[name] = {
      run = function(rest, args)
        command.run(rest == '' and {} or vim.split(rest, '%s+'), args)
      end,
      complete = command.complete,
    }
  end
  return commands
end

---@return string[]
local function names()
  local known = vim.tbl_keys(all())
  table.sort(known)
  return known
end

--- Runs what stands behind `:Ropewalk`.
---@param args vim.api.keyset.create_user_command.command_args
function M.run(args)
  local name, rest = vim.trim(args.args):match('^(%S*)%s*(.*)$')
  local subcommand = all()[name == '' and 'status' or name]
  if not subcommand then
    return complain(('no subcommand %s; there are: %s'):format(vim.inspect(name), table.concat(names(), ', ')))
  elseif not require('ropewalk').config() and name ~= 'build' and name ~= 'health' then
    return complain("call require('ropewalk').setup() first")
  end
  local ok, err = pcall(subcommand.run, rest, args)
  if not ok then
    complain((tostring(err):gsub('^ropewalk: ', '')))
  end
end

---@param lead string
---@param line string
---@param cursor? integer bytes of the line before the cursor
---@return string[]
function M.complete(lead, line, cursor)
  line = line:sub(1, cursor or #line)
  local before = line:sub(1, #line - #lead):gsub('^.-Ropewalk!?%s*', '')
  local words = vim.split(vim.trim(before), '%s+', { trimempty = true })
  if #words == 0 then
    return vim.tbl_filter(function(name)
      return vim.startswith(name, lead)
    end, names())
  end
  local subcommand = all()[words[1]]
  if not subcommand or not subcommand.complete or not require('ropewalk').config() then
    return {}
  end
  local ok, found = pcall(subcommand.complete, lead, vim.list_slice(words, 2))
  return ok and found or {}
end

return M
