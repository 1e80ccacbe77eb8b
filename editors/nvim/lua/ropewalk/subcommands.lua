--- The subcommands of `:Ropewalk`, but for those of the review.

local window = require('ropewalk.window')

local api = vim.api

local M = {}

---@param message string
---@param level? integer
local function say(message, level)
  require('ropewalk.review.say').say(message, level)
end

---@param message string
local function complain(message)
  say(message, vim.log.levels.ERROR)
end

--- A callback that shows what came, or complains.
---@param act fun(result: any)
---@return fun(err?: ropewalk.Error, result?: any)
local function with(act)
  return function(err, result)
    if err then
      return complain(err.message)
    end
    act(result)
  end
end

---@param list string[]
---@param lead string
---@return string[]
local function starting(list, lead)
  local seen = {} ---@type table<string, true>
  local found = vim.tbl_filter(function(word)
    local fits = vim.startswith(word, lead) and not seen[word]
    seen[word] = true
    return fits
  end, list)
  table.sort(found)
  return found
end

--- Asks a sidecar that runs and waits for the answer, for completion: at most half a second, and none is started.
---@param method string
---@param params table
---@return any
local function ask_now(method, params)
  local clients = require('ropewalk.client')
  local client = clients.running(clients.target(api.nvim_get_current_buf()))
  local answer = client and client:request_sync(method, next(params) and params or vim.empty_dict(), 500)
  return answer and answer.result
end

--- The sessions that are known: those that were opened here, and those of the calls in the log.
---@return string[]
local function sessions()
  local ids = { 'default' }
  for _, session in ipairs(require('ropewalk').sessions()) do
    ids[#ids + 1] = session.id
  end
  for _, entry in ipairs(require('ropewalk.log').entries()) do
    ids[#ids + 1] = entry.session
  end
  return ids
end

---@param lead string
---@param words string[]
---@return string[]
local function complete_session(lead, words)
  return #words == 0 and starting(sessions(), lead) or {}
end

---@param rest string
---@return string?
local function session_of(rest)
  return rest ~= '' and rest or nil
end

--- Where a session is: the sidecar that it was opened in, else that of the current buffer.
---@param id? string
---@return table
local function at(id)
  for _, session in ipairs(require('ropewalk').sessions()) do
    if session.id == id then
      return { session_id = id, root = session.root }
    end
  end
  for _, entry in ipairs(require('ropewalk.log').entries()) do
    local client = entry.session == id and vim.lsp.get_client_by_id(entry.client_id)
    if client then
      return { session_id = id, root = client.root_dir }
    end
  end
  return { session_id = id }
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
    for _, session in ipairs(require('ropewalk').sessions()) do
      if session.root == client.root_dir then
        lines[#lines + 1] = ('  session %s  %s'):format(
          session.id,
          session.info and session.info.mode or 'is being opened'
        )
      end
    end
  end
  return #lines > 0 and lines or { 'no sidecar runs' }
end

---@param value any
---@return string[]
local function json_lines(value)
  return vim.split(vim.inspect(value), '\n', { plain = true })
end

local modes = { 'build', 'danger', 'explore', 'plan', 'review' }

---@param value boolean
---@return ropewalk.Subcommand
local function trusts(value)
  return {
    run = function(rest)
      local root = rest ~= '' and vim.fn.expand(rest) or require('ropewalk.client').target(api.nvim_get_current_buf())
      if vim.fn.isdirectory(root) == 0 then
        return complain('no such folder: ' .. root)
      end
      local fault = require('ropewalk').trust(root, value)
      say(('%s is %s'):format(root, value and 'trusted' or 'not trusted'))
      if fault then
        say('until Neovim ends; it could not be remembered: ' .. fault, vim.log.levels.WARN)
      end
    end,
    complete = function(lead)
      return vim.fn.getcompletion(lead, 'dir')
    end,
  }
end

---@type table<string, ropewalk.Subcommand>
M.commands = {
  build = {
    run = function()
      require('ropewalk').build()
    end,
  },
  buildlog = {
    run = function()
      vim.cmd.tabedit(vim.fn.fnameescape(require('ropewalk.program').log()))
    end,
  },
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
      local from = window.here()
      require('ropewalk').call(
        name,
        arguments,
        with(function(result)
          window.show('ropewalk: ' .. name, M.result_lines(result), from)
        end)
      )
    end,
    complete = function(lead, words)
      local answer = #words == 0 and ask_now('ropewalk/listTools', { includeDeferred = true }) or nil
      return starting(
        vim.tbl_map(function(tool)
          return tool.name
        end, answer and answer.tools or {}),
        lead
      )
    end,
  },
  cancel = {
    run = function(rest)
      require('ropewalk').cancel(
        at(session_of(rest)),
        with(function(result)
          say(('%d call(s) cancelled'):format(result.cancelled))
        end)
      )
    end,
    complete = complete_session,
  },
  grants = {
    run = function(rest)
      local words = vim.split(rest, '%s+', { trimempty = true })
      local from = window.here()
      local options = {}
      if words[1] == 'revoke' then
        options = words[2] == 'all' and { revoke_all = true } or { revoke = vim.list_slice(words, 2) }
        if not words[2] then
          return complain('usage: :Ropewalk grants revoke all, or the ids that :Ropewalk grants shows')
        end
      end
      require('ropewalk').grants(
        options,
        with(function(grants)
          window.show(
            'ropewalk: what you have allowed and denied',
            #grants > 0 and json_lines(grants) or { 'nothing' },
            from
          )
        end)
      )
    end,
    complete = function(lead, words)
      if #words == 0 then
        return starting({ 'revoke' }, lead)
      end
      local answer = ask_now('ropewalk/grants', {})
      local ids = { 'all' }
      for _, grant in ipairs(answer and answer.grants or {}) do
        ids[#ids + 1] = grant.id
      end
      return starting(ids, lead)
    end,
  },
  health = {
    run = function()
      vim.cmd.checkhealth('ropewalk')
    end,
  },
  jobs = {
    run = function(rest)
      local from = window.here()
      require('ropewalk').jobs(
        at(session_of(rest)),
        with(function(jobs)
          local lines = vim.tbl_map(function(job)
            return ('%s  %-8s %s%s'):format(
              job.id,
              job.state,
              job.label,
              job.detail and '  (' .. job.detail .. ')' or ''
            )
          end, jobs)
          window.show('ropewalk: jobs', #lines > 0 and lines or { 'none' }, from)
        end)
      )
    end,
    complete = complete_session,
  },
  log = {
    run = function()
      require('ropewalk.log').open()
    end,
  },
  logfile = {
    run = function()
      local config = require('ropewalk').config()
      vim.cmd.tabedit(vim.fn.fnameescape(config and config.log or vim.lsp.log.get_filename()))
    end,
  },
  mode = {
    run = function(rest)
      local mode, id = rest:match('^(%S*)%s*(.*)$')
      local options = at(session_of(id))
      if mode == '' then
        return require('ropewalk').status(
          options,
          with(function(status)
            say(('session %s: %s'):format(status.sessionId, status.mode))
          end)
        )
      end
      require('ropewalk').set_mode(
        mode,
        options,
        with(function(session)
          say(('session %s: %s'):format(session.sessionId, session.mode))
        end)
      )
    end,
    complete = function(lead, words)
      return #words == 0 and starting(modes, lead) or #words == 1 and starting(sessions(), lead) or {}
    end,
  },
  restart = {
    run = function()
      require('ropewalk').restart(
        nil,
        with(function()
          say('the sidecar runs again')
        end)
      )
    end,
  },
  session = {
    run = function(rest)
      local from = window.here()
      require('ropewalk').status(
        at(session_of(rest)),
        with(function(status)
          window.show('ropewalk: session ' .. status.sessionId, json_lines(status), from)
        end)
      )
    end,
    complete = complete_session,
  },
  settings = {
    run = function()
      local shown = vim.deepcopy(require('ropewalk').config() or {})
      window.show('ropewalk: the options in force', json_lines(shown), nil, 'lua')
    end,
  },
  start = {
    run = function()
      require('ropewalk').start()
    end,
  },
  status = {
    run = function()
      window.show('ropewalk: status', M.status_lines())
    end,
  },
  stop = {
    run = function()
      if require('ropewalk').stop() == 0 then
        say('no sidecar runs for this root')
      end
    end,
  },
  ['stop-job'] = {
    run = function(rest)
      local id, session = rest:match('^(%S+)%s*(.*)$')
      if not id then
        return complain('usage: :Ropewalk stop-job ID [SESSION]; :Ropewalk jobs shows the ids')
      end
      local options = at(session_of(session))
      options.id = id
      require('ropewalk').stop_job(
        options,
        with(function(result)
          say(result.stopped and ('the job %s is stopped'):format(id) or ('the job %s has ended already'):format(id))
        end)
      )
    end,
    complete = function(lead, words)
      if #words == 1 then
        return starting(sessions(), lead)
      end
      local answer = #words == 0 and ask_now('ropewalk/jobs', {}) or nil
      local ids = vim.tbl_map(function(job)
        return job.state == 'running' and job.id or ''
      end, answer and answer.jobs or {})
      return starting(
        vim.tbl_filter(function(id)
          return id ~= ''
        end, ids),
        lead
      )
    end,
  },
  todos = {
    run = function(rest)
      local from = window.here()
      require('ropewalk').todos(
        at(session_of(rest)),
        with(function(todos)
          local lines = vim.tbl_map(function(todo)
            return ('%-11s %s'):format(todo.status, (todo.content:gsub('%c+', ' ')))
          end, todos)
          window.show('ropewalk: task list', #lines > 0 and lines or { 'empty' }, from)
        end)
      )
    end,
    complete = complete_session,
  },
  tools = {
    run = function(rest)
      local from = window.here()
      local options = at(session_of(rest))
      options.include_deferred = true
      require('ropewalk').list_tools(
        options,
        with(function(tools)
          local lines = vim.tbl_map(function(tool)
            local first = (tool.description or ''):match('^[^\n]*')
            return ('%-16s %s'):format(tool.name, tool.unavailable and 'unavailable' or first)
          end, tools)
          window.show('ropewalk: tools', lines, from)
        end)
      )
    end,
    complete = complete_session,
  },
  trust = trusts(true),
  untrust = trusts(false),
}

return M
