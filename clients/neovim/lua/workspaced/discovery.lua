--- Which daemons run: the records they leave below HOME (docs/reference/discovery.md), read without
--- waiting. A record is believed only if it is a regular file of ours, closed to others, in a folder that is, too.

local limits = require("workspaced.limits")
local uv = vim.uv or vim.loop

local M = {}

function M.directory()
  local below = uv.os_uname().sysname == "Darwin" and "Library/Application Support" or ".local/state"
  return ("%s/%s/workspaced/daemons"):format(uv.os_homedir(), below)
end

local function is_private(found, type)
  return found and found.type == type and found.uid == uv.getuid() and found.mode % 64 == 0
end

--- Calls a function of libuv from within the coroutine of `M.scan` and goes on with its result, or nil.
local function await(name, ...)
  local arguments = { ... }
  return coroutine.yield(function(step)
    table.insert(arguments, function(failure, result)
      -- Out of libuv's callback: what runs there may not call the editor.
      vim.schedule(function()
        step(not failure and result or nil)
      end)
    end)
    uv["fs_" .. name](unpack(arguments))
  end)
end

local function read(path)
  local found = await("lstat", path)
  if not is_private(found, "file") or found.size > limits.record_bytes_max then
    return nil
  end
  local descriptor = await("open", path, "r", 0)
  if not descriptor then
    return nil
  end
  -- What was opened need not be what was looked at.
  local text = is_private(await("fstat", descriptor), "file") and await("read", descriptor, limits.record_bytes_max, 0)
  await("close", descriptor)
  return text
end

local function parse(text)
  local understood, wire = pcall(vim.json.decode, text)
  if not understood or type(wire) ~= "table" or wire.workspaced ~= 1 then
    return nil
  end
  if wire.host ~= uv.os_gethostname() or type(wire.socket) ~= "string" or type(wire.vaults) ~= "table" then
    return nil
  end
  for _, vault in ipairs(wire.vaults) do
    if type(vault) ~= "string" then
      return nil
    end
  end
  return { socket = wire.socket, vaults = wire.vaults }
end

local function scan()
  local found, directory = {}, M.directory()
  if not is_private(await("lstat", directory), "directory") then
    return found
  end
  local listing, names = await("scandir", directory), {}
  while listing and #names < limits.records_max do
    local name = uv.fs_scandir_next(listing)
    if not name then
      break
    end
    table.insert(names, name:find("%.json$") and name or nil)
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local text = read(directory .. "/" .. name)
    table.insert(found, text and parse(text) or nil)
  end
  return found
end

--- Calls `done` with every record: {socket, vaults}. Whether somebody listens is seen by connecting.
function M.scan(done)
  local running = coroutine.create(scan)
  local function step(result)
    local worked, value = coroutine.resume(running, result)
    if not worked or coroutine.status(running) == "dead" then
      return done(worked and value or {})
    end
    value(step)
  end
  step()
end

return M
