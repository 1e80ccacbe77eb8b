--- Waiting in a coroutine for something that calls back.

local M = {}

--- The coroutine that runs, or nil outside of one.
---@return thread?
local function running()
  local thread, is_main = coroutine.running()
  return not is_main and thread or nil
end

--- Whether this is a coroutine, which may wait.
---@return boolean
function M.can_wait()
  return running() ~= nil
end

--- Gives `start` a function to call when it is done, waits for that, and returns what it was called with. Only its first
--- call counts. Errors of `start` are raised. To be called in a coroutine.
---@param start fun(done: fun(...: any))
---@param failed? fun(err: string) hears of an error by which the coroutine ended later; without, the person does
---@return any ...
function M.await(start, failed)
  local thread = assert(running(), 'ropewalk: not in a coroutine')
  local results ---@type table?
  local waiting = false
  start(function(...)
    if results then
      return
    end
    results = { n = select('#', ...), ... }
    if waiting then
      -- Whoever calls back may be in the middle of something, or in a place where little is allowed.
      vim.schedule(function()
        if coroutine.status(thread) == 'suspended' then
          local ok, err = coroutine.resume(thread)
          if not ok and failed then
            failed(err)
          elseif not ok then
            require('ropewalk.review.say').notify(debug.traceback(thread, tostring(err)), vim.log.levels.ERROR)
          end
        end
      end)
    end
  end)
  -- Others may resume a coroutine that is theirs before we are done.
  while not results do
    waiting = true
    coroutine.yield()
  end
  return unpack(results, 1, results.n)
end

--- Looks every `every_ms` whether a condition holds, and waits until it does.
---@param wait fun(start: fun(done: fun())) how it is waited: `M.await`, or one that can be ended from outside
---@param every_ms integer
---@param holds fun(): boolean
function M.poll(wait, every_ms, holds)
  local timer = assert(vim.uv.new_timer())
  wait(function(done)
    timer:start(
      every_ms,
      every_ms,
      vim.schedule_wrap(function()
        if holds() then
          done()
        end
      end)
    )
  end)
  timer:stop()
  timer:close()
end

--- For functions that take a callback or, in a coroutine, wait without one: runs `start` with the callback, or waits.
---@param callback? fun(...: any)
---@param start fun(done: fun(...: any)): any what it returns is returned when there is a callback
---@return any ...
function M.either(callback, start)
  if callback then
    return start(callback)
  elseif not M.can_wait() then
    error('ropewalk: give a callback, or call this in a coroutine', 3)
  end
  return M.await(start)
end

return M
