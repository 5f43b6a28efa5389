--- Actions that wait for a daemon: pins and renames, {type, path or name, to?, id, done?(note, failure), client?}.
--- They keep their id over reconnections, so that however often one is sent, it is one event.

local paths = require("workspaced.paths")

local M = {}

local function drop(action, actions)
  for index = #actions, 1, -1 do
    if actions[index] == action then
      table.remove(actions, index)
    end
  end
end

--- Hands an action to the daemon that serves its note.
local function hand_to(place, note, action, actions)
  local function finish(_, failure)
    drop(action, actions)
    if action.done then
      action.done(note, failure)
    end
  end
  local data = ('{"note":%s}'):format(vim.json.encode(note))
  if action.to then
    local to = action.to_path and paths.note(action.to_path, place.path)
    if not to then
      return finish() -- it left the vault
    end
    data = ('{"from":%s,"to":%s}'):format(vim.json.encode(note), vim.json.encode(to))
  end
  action.client = place.client
  local sent = { type = action.type, data = data, vault = place.vault.id, id = action.id, done = finish }
  table.insert(place.client.outbox, sent)
end

--- Hands on each action whose note has a daemon, and removes it once that has answered; drops those on what is no
--- file. `on_known` is called when it is known where a file lies.
function M.hand_on(actions, places, on_known)
  for index = #actions, 1, -1 do
    local action = actions[index]
    action.path = action.path or paths.real(action.name, on_known)
    if action.to then
      action.to_path = paths.real(action.to, on_known)
    end
    if action.path == false then
      table.remove(actions, index)
    end
  end
  if paths.busy() then
    return
  end
  for _, action in ipairs(vim.list_slice(actions)) do
    local place, note = nil, nil
    if not action.client then
      place, note = paths.nearest(places, action.path)
    end
    if place then
      hand_to(place, note, action, actions)
    elseif action.to and not action.client and not paths.is_markdown(action.path) then
      drop(action, actions) -- a file of no vault, most likely
    end
  end
end

return M
