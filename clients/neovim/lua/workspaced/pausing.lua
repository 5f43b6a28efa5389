--- Pausing the daemons that this editor tells what it shows, and knowing whether they are paused.
---
--- A pause may begin and end elsewhere, so each connection follows its two events; what the daemon was told meanwhile
--- it holds, and records where the editor has come to when the pause ends.

local M = {}

local UNITS = { { "d", 86400 }, { "h", 3600 }, { "m", 60 }, { "s", 1 } }

--- The seconds of a duration such as 45s, 30m, 1h30m or 2d; nil if it is none.
function M.seconds(duration)
  local rest, seconds = duration, 0
  for _, unit in ipairs(UNITS) do
    local count, behind = rest:match("^(%d+)" .. unit[1] .. "(.*)$")
    if count then
      seconds, rest = seconds + tonumber(count) * unit[2], behind
    end
  end
  return rest == "" and seconds > 0 and seconds or nil
end

--- What a daemon says of its pause: {since, until?}, or nil. Versions of Neovim differ in how they decode null.
function M.of(value)
  return type(value) == "table" and type(value.since) == "string" and value or nil
end

--- The pause after an event of the log.
function M.after(paused, event)
  if event.type == "pause_ended" then
    return nil
  elseif event.type ~= "pause_started" then
    return paused
  end
  return { since = paused and paused.since or event.time, ["until"] = (event.data or {})["until"] }
end

return M
