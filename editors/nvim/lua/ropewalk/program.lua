--- The program: where it is, and how it is built from the repository that this plugin lies in. Nothing is built without
--- being asked for, and nothing is downloaded but what cargo needs for that.

local M = {}

--- The repository around this plugin, if it is still in it.
---@return string?
function M.repository()
  local source = debug.getinfo(1, 'S').source:gsub('^@', '')
  local file = vim.uv.fs_realpath(source) or source
  local root = vim.fs.normalize(vim.fn.fnamemodify(file, ':p:h:h:h:h:h'))
  local handle = io.open(root .. '/Cargo.toml', 'r')
  if not handle then
    return nil
  end
  local text = handle:read('*a')
  handle:close()
  return text:find('\nname = "ropewalk"', 1, true) and root or nil
end

--- What a build puts its program, whether it is there or not; nil outside of a repository.
---@return string?
function M.built()
  local root = M.repository()
  return root and root .. '/target/release/ropewalk'
end

--- The command line of the sidecar: the option `cmd`, else `ropewalk` on the PATH, else the one that was built here.
---@param config ropewalk.Config
---@return string[]|function|nil cmd nil where there is no such program
---@return string? fault what is missing, in words
function M.find(config)
  local cmd = config.cmd
  if type(cmd) == 'function' then
    return cmd
  elseif cmd then
    if vim.fn.executable(cmd[1]) == 1 then
      return cmd
    end
    return nil, ('no program %s (the option `cmd`)'):format(vim.inspect(cmd[1]))
  elseif vim.fn.executable('ropewalk') == 1 then
    return { 'ropewalk' }
  end
  local built = M.built()
  if built and vim.fn.executable(built) == 1 then
    return { built }
  end
  return nil, 'no program "ropewalk" on the PATH' .. (built and ', and none built in ' .. M.repository() or '')
end

--- What a person can do where there is no program.
---@return string
function M.advice()
  return M.repository() and 'build it with :Ropewalk build, or set `cmd`'
    or 'install it (cargo install --path . in its repository), or set `cmd`'
end

---@type fun(err?: string, program?: string)[]? who waits for the build that runs
local waiting

--- Where the output of the last build is.
---@return string
function M.log()
  return vim.fs.joinpath(vim.fn.stdpath('log') --[[@as string]], 'ropewalk-build.log')
end

--- Shows how far it is, in one line that never needs a key to go away.
---@param line string
local function show(line)
  if vim.fn.mode():match('^[cr]') then
    return
  end
  local text = 'ropewalk: ' .. vim.trim(line:gsub('%c', ' '))
  vim.api.nvim_echo({ { vim.fn.strcharpart(text, 0, math.max(vim.o.columns - 13, 10)) } }, false, {})
end

--- Builds the program, in the background. Only one build runs at a time; who asks meanwhile waits for that one.
---@param callback fun(err?: string, program?: string) called exactly once
function M.build(callback)
  local root = M.repository()
  if not root then
    return callback('this plugin is not in its repository, so there is nothing to build')
  elseif vim.fn.executable('cargo') == 0 then
    return callback('no program "cargo"; install Rust (https://rustup.rs)')
  elseif waiting then
    waiting[#waiting + 1] = callback
    return
  end
  waiting = { callback }
  local path = M.log()
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local out = io.open(path, 'w')
  local tail = {} ---@type string[]
  local rest = ''
  local shown = 0

  local function hear(_, chunk)
    if not chunk then
      return
    elseif out then
      out:write(chunk)
    end
    local lines = vim.split(rest .. chunk, '\n', { plain = true })
    rest = table.remove(lines)
    for _, line in ipairs(lines) do
      tail[#tail + 1] = line
    end
    while #tail > 20 do
      table.remove(tail, 1)
    end
    local now = vim.uv.now()
    if #lines > 0 and now - shown >= 200 then
      shown = now
      vim.schedule(function()
        if waiting and #tail > 0 then
          show(tail[#tail])
        end
      end)
    end
  end

  local function done(err)
    local callbacks = waiting or {}
    waiting = nil
    if out then
      out:close()
    end
    show(err and 'the build failed' or 'built ' .. M.built())
    for _, each in ipairs(callbacks) do
      each(err, not err and M.built() or nil)
    end
  end

  show('building in ' .. root)
  local ok, fault = pcall(vim.system, { 'cargo', 'build', '--release', '--locked' }, {
    cwd = root,
    -- The program is looked for in the repository's own folder.
    env = { CARGO_TARGET_DIR = root .. '/target', CARGO_TERM_COLOR = 'never' },
    stdout = hear,
    stderr = hear,
  }, function(process)
    vim.schedule(function()
      if process.code == 0 then
        done()
      else
        tail[#tail + 1] = rest ~= '' and rest or nil
        local last = table.concat(vim.list_slice(tail, math.max(#tail - 4, 1)), '\n')
        done(('cargo ended with exit code %d:\n%s\nAll of it: %s'):format(process.code, last, path))
      end
    end)
  end)
  if not ok then
    done(tostring(fault))
  end
end

--- Builds the program and waits, at most an hour; other things go on meanwhile.
---@return string? err
---@return string? program
function M.build_and_wait()
  local result ---@type table?
  M.build(function(...)
    result = { ... }
  end)
  vim.wait(3600000, function()
    return result ~= nil
  end, 50)
  return unpack(result or { 'the build took too long' }, 1, 2)
end

return M
