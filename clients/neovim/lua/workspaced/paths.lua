--- Where files really lie, found without waiting: a disk may hang, the editor may not.

local limits = require("workspaced.limits")
local uv = vim.uv or vim.loop

local M = {}

local known, known_count = {}, 0
local asked, asked_count = {}, 0

--- Whether some question is open; then a view would be made of half the truth.
function M.busy()
  return asked_count > 0
end

--- Forgets where a file lies, or where all do.
function M.forget(name)
  if name then
    known[name] = nil
  else
    known, known_count = {}, 0
  end
  -- An answer on its way may be older than what made us forget.
  asked = {}
end

local function dirname(path)
  return path:match("^(.*)/[^/]*$") .. "/"
end

--- Calls `done` with the real path of an absolute one, or false. A file that is not there yet lies where its folder
--- does; a symlink that leads nowhere lies nowhere.
local function resolve(name, done)
  uv.fs_realpath(name, function(_, path)
    if path then
      return done(path)
    end
    uv.fs_lstat(name, function(_, there)
      if there then
        return done(false)
      end
      uv.fs_realpath(dirname(name), function(_, folder)
        done(folder and folder:gsub("/$", "") .. "/" .. name:match("[^/]*$") or false)
      end)
    end)
  end)
end

--- The real path of an absolute one; false where there is none; nil while it is being asked for, then `on_known` is
--- called once the answer is there.
function M.real(name, on_known)
  if known[name] ~= nil or asked[name] then
    return known[name]
  end
  local token = {}
  asked[name], asked_count = token, asked_count + 1
  resolve(name, vim.schedule_wrap(function(path)
    asked_count = asked_count - 1
    if asked[name] == token then
      asked[name] = nil
      if known_count >= limits.paths_max then
        known, known_count = {}, 0
      end
      known[name], known_count = path, known_count + 1
    end
    on_known()
  end))
end

--- Calls `done` with whether a file of this name is gone; counts as an open question until then.
function M.gone(path, done)
  asked_count = asked_count + 1
  uv.fs_lstat(path, vim.schedule_wrap(function(failure, there)
    asked_count = asked_count - 1
    done(not there and failure ~= nil and failure:find("ENOENT", 1, true) ~= nil)
  end))
end

--- Whether a text is UTF-8 (RFC 3629): the daemon refuses a whole line for one wrong byte.
function M.is_utf8(text)
  local at = text:find("[\128-\255]")
  while at do
    local byte = text:byte(at)
    local low, high, more = 0x80, 0xBF, 0
    if byte >= 0xC2 and byte <= 0xDF then
      more = 1
    elseif byte >= 0xE0 and byte <= 0xEF then
      more = 2
      low, high = byte == 0xE0 and 0xA0 or low, byte == 0xED and 0x9F or high
    elseif byte >= 0xF0 and byte <= 0xF4 then
      more = 3
      low, high = byte == 0xF0 and 0x90 or low, byte == 0xF4 and 0x8F or high
    else
      return false
    end
    for offset = 1, more do
      local follows = text:byte(at + offset)
      if not follows or follows < low or follows > high then
        return false
      end
      low, high = 0x80, 0xBF
    end
    at = text:find("[\128-\255]", at + more + 1)
  end
  return true
end

function M.is_markdown(path)
  return path:lower():find("%.md$") ~= nil
end

--- Of `places` the one nearest above a real path, whether or not that is a note there; or nil.
function M.above(places, path)
  local best
  for _, place in ipairs(places) do
    local root = place.path:gsub("/+$", "") .. "/"
    if path:sub(1, #root) == root and (not best or #place.path > #best.path) then
      best = place
    end
  end
  return best
end

--- The note, or other file, a real path is in the vault at `root` (a real path too), or nil where it is none: the
--- daemon's rules, since one path it refuses would cost the whole view.
function M.note(path, root)
  root = root:gsub("/+$", "") .. "/"
  if path:sub(1, #root) ~= root then
    return nil
  end
  local note = path:sub(#root + 1)
  if ("/" .. note):find("/[./]") or not M.is_utf8(note) then
    return nil
  end
  for name in note:gmatch("[^/]+") do
    if #name > limits.name_bytes_max then
      return nil
    end
  end
  local _, continuations = note:gsub("[\128-\191]", "")
  return #note - continuations <= limits.note_chars_max and note or nil
end

--- Of `places` (each with a `path`) the one nearest above a real path in which it is a note, and that note.
function M.nearest(places, path)
  local best, note
  for _, place in ipairs(places) do
    local found = M.note(path, place.path)
    if found and (not best or #place.path > #best.path) then
      best, note = place, found
    end
  end
  return best, note
end

return M
