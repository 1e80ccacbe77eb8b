--- What the adapter can do, and its answers to what a sidecar asks and tells.

local approve = require('ropewalk.approve')
local await = require('ropewalk.await').await
local diagnostics = require('ropewalk.diagnostics')
local edit = require('ropewalk.edit')
local events = require('ropewalk.events')
local log = require('ropewalk.log')
local rpc = require('ropewalk.rpc')
local say = require('ropewalk.review.say')
local sync = require('ropewalk.sync')

local api = vim.api

local M = {}

--- Whether changes are shown by code lenses.
---@param config ropewalk.Config
local function shows_lenses(config)
  return require('ropewalk.review.options').resolve(config.review).show == 'lens'
end

--- What we can do, told at `initialize`.
---@param config ropewalk.Config
---@return table
function M.capabilities(config)
  return {
    general = { positionEncodings = { 'utf-16' } },
    workspace = {
      applyEdit = true,
      workspaceEdit = { documentChanges = true },
      codeLens = { refreshSupport = shows_lenses(config) },
    },
    experimental = {
      ropewalk = {
        approve = config.approve ~= false,
        ask = config.ask ~= false,
        runAgent = config.run_agent ~= nil,
        runTool = true,
        save = true,
        format = config.formatter ~= false,
        resync = true,
        elicit = config.elicit ~= false,
        sample = config.sample ~= nil,
        diagnostics = true,
        images = config.images,
        events = true,
        -- A CR is content for Neovim.
        lineBreaks = 'lf',
        review = shows_lenses(config) and 'lens' or 'none',
        ownsCommands = true,
      },
    },
  }
end

--- Tells everybody who listens of a notification.
---@param event string
---@param also? fun(client_id: integer, params: table)
---@return lsp.Handler
local function tell(event, also)
  return function(_, params, ctx)
    if also then
      also(ctx.client_id, params)
    end
    events.fire(event, params, ctx.client_id)
  end
end

--- Answers with a function of the user's: `act(params, done, on_cancel)`. Errors are contained.
---@param act fun(params: table, done: fun(result: any), on_cancel: fun(act: fun()))
---@param fallback any the answer where it fails or is taken back
---@return lsp.Handler
local function ask_user(act, fallback)
  return function(_, params)
    return await(function(done)
      rpc.on_cancel(params, function()
        done(fallback)
      end)
      coroutine.wrap(function()
        local ok, err = pcall(act, params, function(result)
          done(result == nil and fallback or result)
        end, function(cancelled)
          rpc.on_cancel(params, cancelled)
        end)
        if not ok then
          vim.lsp.log.error('ropewalk', 'a function of the options', err)
          say.say('a function of the options failed: ' .. tostring(err), vim.log.levels.ERROR)
          done(fallback)
        end
      end)()
    end)
  end
end

--- Reads buffers anew whose files the sidecar changed on the disk. Where that would be a question (the buffer has
--- changes of its own, or 'autoread' is off), Neovim asks when the user comes to it, and nothing comes up now.
---@param client_id integer
---@param params { changes: { uri: string }[] }
local function check_files(client_id, params)
  for _, change in ipairs(params.changes or {}) do
    local document = sync.find(client_id, change.uri)
    local bufnr = document and document.bufnr
    if bufnr and api.nvim_buf_is_loaded(bufnr) and not vim.bo[bufnr].modified then
      local autoread = vim.bo[bufnr].autoread
      if autoread == nil then
        autoread = vim.go.autoread
      end
      if autoread then
        vim.cmd('silent! checktime ' .. bufnr)
      end
    end
  end
end

--- The answers, by method.
---@param config ropewalk.Config
---@return table<string, lsp.Handler>
function M.handlers(config)
  local handlers = {
    ['workspace/applyEdit'] = function(_, params, ctx)
      return edit.handle(params, ctx.client_id)
    end,
    ['ropewalk/resync'] = function(_, params, ctx)
      local document = sync.find(ctx.client_id, params.uri)
      if not document then
        return nil,
          vim.lsp.rpc_response_error(vim.lsp.protocol.ErrorCodes.InvalidParams, 'not open: ' .. tostring(params.uri))
      end
      return sync.read(document)
    end,
    ['ropewalk/pullDiagnostics'] = function(_, params, ctx)
      return diagnostics.pull(params, ctx.client_id)
    end,
    ['ropewalk/save'] = function(_, params, ctx)
      return require('ropewalk.save').handle(params, ctx.client_id)
    end,
    ['ropewalk/format'] = function(_, params, ctx)
      return require('ropewalk.format').handle(params, ctx.client_id, config.formatter)
    end,
    ['ropewalk/approve'] = function(_, params, ctx)
      for _, call in ipairs(params.calls or {}) do
        log.expect(params.sessionId, call.callId, call.name, call.arguments)
      end
      return approve.handle(params, config.approve, ctx.client_id)
    end,
    ['ropewalk/runTool'] = function(_, params)
      return require('ropewalk.tools').run(params)
    end,
    ['ropewalk/toolEvent'] = tell('toolEvent', log.hear),
    ['ropewalk/filesChanged'] = tell('filesChanged', check_files),
    ['ropewalk/changesChanged'] = tell('changesChanged', function(client_id, params)
      require('ropewalk.review').on_changes(client_id, params)
    end),
    ['ropewalk/approvalsChanged'] = tell('approvalsChanged'),
    ['ropewalk/jobsChanged'] = tell('jobsChanged'),
    ['ropewalk/toolsChanged'] = tell('toolsChanged'),
    ['ropewalk/todosChanged'] = tell('todosChanged'),
    ['ropewalk/modeChanged'] = tell('modeChanged'),
    ['ropewalk/lateDiagnostics'] = tell('lateDiagnostics'),
    -- Neovim's own would wait for a key where the message is longer than the line.
    ['window/showMessage'] = function(_, params)
      local levels = { vim.log.levels.ERROR, vim.log.levels.WARN }
      say.say(tostring(params.message), levels[params.type])
    end,
    ['workspace/codeLens/refresh'] = function(_, _, ctx)
      -- Where lenses are shown; who shows them elsewhere, too, listens to the event.
      local client = vim.lsp.get_client_by_id(ctx.client_id)
      for bufnr in pairs(client and client.attached_buffers or {}) do
        if #vim.lsp.codelens.get(bufnr) > 0 then
          vim.lsp.codelens.refresh({ bufnr = bufnr })
        end
      end
      return vim.NIL
    end,
  }
  if config.ask ~= false then
    handlers['ropewalk/ask'] = function(_, params, ctx)
      return require('ropewalk.ask').handle(params, config.ask, ctx.client_id)
    end
  end
  if config.elicit ~= false then
    handlers['ropewalk/elicit'] = type(config.elicit) == 'function' and ask_user(config.elicit, { action = 'cancel' })
      or function(_, params, ctx)
        return require('ropewalk.elicit').handle(params, config.elicit, ctx.client_id)
      end
  end
  if config.run_agent then
    handlers['ropewalk/runAgent'] =
      ask_user(config.run_agent, { output = 'The agent gave no answer.', status = 'failed' })
  end
  if config.sample then
    handlers['ropewalk/sample'] = function(_, params)
      local answer = ask_user(config.sample, vim.NIL)(nil, params)
      if answer == vim.NIL then
        return nil, vim.lsp.rpc_response_error(vim.lsp.protocol.ErrorCodes.RequestFailed, 'no model answered')
      end
      return answer.result and answer or { result = answer }
    end
  end
  -- Where questions are off, this way of asking is off too.
  if config.approve == false then
    handlers['window/showMessageRequest'] = function()
      return vim.NIL
    end
  end
  return handlers
end

--- What the lenses and code actions of a review run.
---@return table<string, fun(command: lsp.Command, ctx: table)>
function M.commands()
  local function run(command, ctx)
    local client = vim.lsp.get_client_by_id(ctx.client_id)
    if client then
      client:request(
        'workspace/executeCommand',
        { command = command.command, arguments = command.arguments },
        function(err)
          if err then
            say.say(err.message, vim.log.levels.ERROR)
          end
        end,
        ctx.bufnr
      )
    end
  end
  return {
    ['ropewalk.accept'] = run,
    ['ropewalk.keep'] = run,
    ['ropewalk.reject'] = run,
    ['ropewalk.undo'] = run,
  }
end

return M
