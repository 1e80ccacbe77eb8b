--- `:Ropewalk`: its subcommands and their completion.

local api = vim.api

local M = {}

---@param message string
local function complain(message)
  vim.notify('ropewalk: ' .. message, vim.log.levels.ERROR)
end

--- Shows lines in a scratch window of their own.
---@param title string
---@param lines string[]
local function show(title, lines)
  vim.cmd('botright new')
  local bufnr = api.nvim_get_current_buf()
  vim.bo[bufnr].buftype, vim.bo[bufnr].bufhidden, vim.bo[bufnr].swapfile = 'nofile', 'wipe', false
  api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable = false
  vim.b[bufnr].ropewalk_title = title
  vim.wo.statusline = ' ' .. title:gsub('%%', '%%%%')
  api.nvim_win_set_height(0, math.min(math.max(#lines, 1), math.floor(vim.o.lines / 2)))
end

--- The result of a call as lines: what a model reads.
---@param result ropewalk.CallResult
---@return string[]
function M.result_lines(result)
  local lines = { ('%s: %s'):format(result.name, result.status) }
  for _, piece in ipairs(result.content or {}) do
    vim.list_extend(lines, vim.split(piece.text or ('[%s]'):format(piece.type), '\n', { plain = true }))
  end
  return lines
end

--- What runs, as lines.
---@return string[]
function M.status_lines()
  local sync = require('ropewalk.sync')
  local lines = {} ---@type string[]
  for _, client in ipairs(require('ropewalk.client').list()) do
    local info = client.server_info or {}
    lines[#lines + 1] = ('%s (%s %s)'):format(client.root_dir or '-', info.name or 'sidecar', info.version or '')
    for _, document in ipairs(sync.list(client.id)) do
      lines[#lines + 1] = ('  %s  version %d, %s%s'):format(
        document.uri,
        document.version,
        document.language,
        vim.bo[document.bufnr].modified and ', unsaved' or ''
      )
    end
  end
  return #lines > 0 and lines or { 'no sidecar runs' }
end

---@type table<string, { run: fun(rest: string), complete?: fun(lead: string): string[] }>
local subcommands = {
  call = {
    run = function(rest)
      local name, json = rest:match('^(%S+)%s*(.*)$')
      if not name then
        return complain('usage: :Ropewalk call TOOL {arguments as JSON}')
      end
      local ok, arguments = pcall(vim.json.decode, json == '' and '{}' or json)
      if not ok or type(arguments) ~= 'table' then
        return complain('the arguments are not a JSON object: ' .. json)
      end
      require('ropewalk').call(name, arguments, function(err, result)
        if err then
          return complain(err.message)
        end
        show('ropewalk: ' .. name, M.result_lines(result))
      end)
    end,
    complete = function(lead)
      local names = {} ---@type string[]
      for _, client in ipairs(require('ropewalk.client').list()) do
        local answer = client:request_sync('ropewalk/listTools', vim.empty_dict(), 500)
        for _, tool in ipairs(answer and answer.result and answer.result.tools or {}) do
          if vim.startswith(tool.name, lead) and not vim.list_contains(names, tool.name) then
            names[#names + 1] = tool.name
          end
        end
      end
      table.sort(names)
      return names
    end,
  },
  status = {
    run = function()
      show('ropewalk: status', M.status_lines())
    end,
  },
  log = {
    run = function()
      local config = require('ropewalk').config()
      vim.cmd.tabedit(vim.fn.fnameescape(config and config.log or vim.lsp.log.get_filename()))
    end,
  },
  start = {
    run = function()
      require('ropewalk').start()
    end,
  },
  stop = {
    run = function()
      if require('ropewalk').stop() == 0 then
        vim.notify('ropewalk: no sidecar runs for this root')
      end
    end,
  },
  trust = {
    run = function(rest)
      local root = rest ~= '' and rest or require('ropewalk.client').root(api.nvim_get_current_buf())
      require('ropewalk').trust(vim.fn.expand(root), true)
    end,
    complete = function(lead)
      return vim.fn.getcompletion(lead, 'dir')
    end,
  },
  untrust = {
    run = function(rest)
      local root = rest ~= '' and rest or require('ropewalk.client').root(api.nvim_get_current_buf())
      require('ropewalk').trust(vim.fn.expand(root), false)
    end,
    complete = function(lead)
      return vim.fn.getcompletion(lead, 'dir')
    end,
  },
}

---@param arguments string everything behind `:Ropewalk`
function M.run(arguments)
  local name, rest = vim.trim(arguments):match('^(%S*)%s*(.*)$')
  local subcommand = subcommands[name == '' and 'status' or name]
  if not subcommand then
    local known = table.concat(vim.fn.sort(vim.tbl_keys(subcommands)), ', ')
    return complain(('no subcommand %s; there are: %s'):format(vim.inspect(name), known))
  end
  if not require('ropewalk').config() then
    return complain("call require('ropewalk').setup() first")
  end
  local ok, err = pcall(subcommand.run, rest)
  if not ok then
    complain(tostring(err))
  end
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local words = vim.split(vim.trim(line:sub(1, #line - #lead)), '%s+')
  if #words <= 1 then
    return vim.tbl_filter(function(name)
      return vim.startswith(name, lead)
    end, vim.fn.sort(vim.tbl_keys(subcommands)))
  end
  local subcommand = subcommands[words[2]]
  if #words == 2 and subcommand and subcommand.complete and require('ropewalk').config() then
    return subcommand.complete(lead)
  end
  return {}
end

return M
