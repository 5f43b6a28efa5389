--- Whether a socket lies where nobody but us can have put it: libuv does not give the credentials of a peer.

local uv = vim.uv or vim.loop

local M = {}

local GROUP_WRITE, OTHERS_WRITE, STICKY = 16, 2, 512

local function has(mode, bit)
  return math.floor(mode / bit) % 2 == 1
end

--- What is wrong with a folder above a socket, or nil.
local function folder_problem(folder, found)
  if found.type ~= "directory" then
    return ("the folder %s above the socket was replaced"):format(folder)
  elseif found.uid ~= uv.getuid() and found.uid ~= 0 then
    return ("the folder %s above the socket belongs to another user"):format(folder)
  end
  -- In a sticky folder, such as /tmp, nobody else can remove or rename what is ours.
  local is_open = has(found.mode, GROUP_WRITE) or has(found.mode, OTHERS_WRITE)
  if is_open and not has(found.mode, STICKY) then
    return ("others can write to %s, a folder above the socket"):format(folder)
  end
end

local function file_problem(found)
  if found.type ~= "socket" then
    return "what lies there is no socket"
  elseif found.uid ~= uv.getuid() then
    return "the socket belongs to another user"
  end
end

--- Calls `done` with what is wrong, or with nil and which file it is. From the top down: where nobody else may change
--- a folder, what was seen in it stays.
--- @param real an absolute path without symlinks.
function M.socket(real, done)
  local function look(from)
    local slash = real:find("/", from, true)
    local path = slash and (slash == 1 and "/" or real:sub(1, slash - 1)) or real
    uv.fs_lstat(path, function(failure, found)
      if not found then
        return done("nobody listens: " .. failure)
      end
      local problem
      if slash then
        problem = folder_problem(path, found)
      else
        problem = file_problem(found)
      end
      if problem then
        return done(problem)
      elseif slash then
        return look(slash + 1)
      end
      done(nil, ("%.0f:%.0f"):format(found.dev, found.ino))
    end)
  end
  look(1)
end

return M
