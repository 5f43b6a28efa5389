--- From the editor's events to the daemons: coalesces, makes the view, finds who serves it, and keeps at it.
---
--- An event only asks for a look, which comes `coalesce_ms` later and sees everything. A look asks where files really
--- lie (paths.lua); while that is open nothing is published. Each note goes to the daemon, and there to the vault, whose
--- folder is nearest above it; a note in no vault is not published.

local actions = require("workspaced.actions")
local Client = require("workspaced.client")
local discovery = require("workspaced.discovery")
local limits = require("workspaced.limits")
local paths = require("workspaced.paths")
local pausing = require("workspaced.pausing")
local view = require("workspaced.view")
local Sight = require("workspaced.sight")
local uv = vim.uv or vim.loop

local M = {}

local running = false
local options = {}
local state

local function new_state()
  return {
    --- By socket: the open connections, and what was published to each daemon (client.lua).
    clients = {},
    published = {},
    sight = Sight.new(M.touch),
    --- Whether the user is in this editor; it stays true where the terminal does not tell.
    is_focused = true,
    --- Those no daemon has answered yet (actions.lua).
    actions = {},
    --- By buffer: what it was called, while it gets another name.
    renaming = {},
    --- By old path: the renames whose old file may still go.
    renamed = {},
    --- Real paths that discovery has looked for; those no daemon serves.
    sought = {},
    unserved = {},
    retry_ms = limits.retry_first_ms,
    look_timer = uv.new_timer(),
    find_timer = uv.new_timer(),
  }
end

-- What it costs the editor --

local stats = { calls = 0, total_ns = 0, max_ns = 0, looks = 0, views = 0 }

--- The function, its time counted, and doing nothing while the session does not run.
function M.timed(handler)
  return function(...)
    if not running then
      return
    end
    local before = uv.hrtime()
    handler(...)
    local took = uv.hrtime() - before
    stats.calls, stats.total_ns = stats.calls + 1, stats.total_ns + took
    stats.max_ns = math.max(stats.max_ns, took)
  end
end

local look, find

local function in_ms(timer, ms, handler)
  timer:start(ms, 0, vim.schedule_wrap(M.timed(handler)))
end

-- Events --

--- Something may be other than it was.
function M.touch()
  if running and not state.look_timer:is_active() then
    in_ms(state.look_timer, limits.coalesce_ms, function()
      look()
    end)
  end
end

--- A file was written or replaced: it may lie elsewhere now, or exist at last.
function M.file_moved(event)
  paths.forget(vim.api.nvim_buf_get_name(event.buf))
  M.touch()
end

--- The user has gone to another program.
function M.focus_lost()
  state.is_focused = false
  M.touch()
end

--- The user is back: another editor may have published another view, files may have moved.
function M.focus_gained()
  state.is_focused = true
  paths.forget()
  for _, client in pairs(state.clients) do
    client:forget()
  end
  M.touch()
end

--- Only a selection that comes, moves or ends is of interest.
function M.cursor_moved()
  if options.selection and (state.sight.held or view.is_visual()) then
    M.touch()
  end
end

--- What a buffer was called is known only before the new name is there. `:saveas` renames two at once.
function M.before_rename(event)
  local name = vim.api.nvim_buf_get_name(event.buf)
  state.renaming[event.buf] = { name = name, path = view.name(event.buf) and paths.real(name, M.touch) }
end

local function rename_if_gone(renamed, looks)
  paths.gone(renamed.path, function(is_gone)
    if state.renamed[renamed.path] ~= renamed then
      return M.touch() -- it was opened and renamed again
    end
    if is_gone and running then
      M.act({ type = "note_renamed", path = renamed.path, to = renamed.to })
    elseif looks > 1 then
      vim.defer_fn(function()
        rename_if_gone(renamed, looks - 1)
      end, limits.rename_second_look_ms)
      return M.touch()
    end
    state.renamed[renamed.path] = nil
    M.touch()
  end)
end

--- `:saveas` keeps the old file; what renames files takes it away, before or shortly after.
function M.after_rename(event)
  local was, name = state.renaming[event.buf], vim.api.nvim_buf_get_name(event.buf)
  state.renaming[event.buf] = nil
  paths.forget(name)
  M.touch()
  if was and was.path and was.name ~= name then
    paths.forget(was.name)
    local renamed = { path = was.path, to = name }
    state.renamed[was.path] = renamed
    rename_if_gone(renamed, 2)
  end
end

-- Actions --

local ids = 0

--- Publishes an action on a note, now or once a daemon serves it: {type, path, to?, done?}.
function M.act(action)
  ids = ids + 1
  action.id = ("neovim-%d-%d-%d"):format(uv.os_getpid(), uv.hrtime() % 1e12, ids)
  table.insert(state.actions, action)
  if #state.actions > limits.actions_max then
    table.remove(state.actions, 1)
  end
  M.touch()
end

local function say(text, level)
  vim.notify("workspaced: " .. text, level or vim.log.levels.INFO)
end

--- Pins or unpins the note of the current window.
function M.pin(type)
  local current = view.current()
  if not running or not current then
    return say(running and "this window shows no file." or "not started.", vim.log.levels.WARN)
  end
  local verb = type == "note_pinned" and "pinned" or "unpinned"
  local action = {
    type = type,
    name = current.name,
    done = function(note, failure)
      if failure then
        say(failure, vim.log.levels.WARN)
      else
        say(("%s %s"):format(verb, note))
      end
    end,
  }
  M.act(action)
  vim.defer_fn(function()
    if running and vim.tbl_contains(state.actions, action) then
      say(("no daemon took %s yet; it is told once one does."):format(current.name), vim.log.levels.WARN)
    end
  end, limits.patience_ms)
end

--- Tells every connected daemon, by `tell(client, done)`, and says what became of it.
local function tell_all(verb, tell)
  local told = 0
  for _, client in pairs(running and state.clients or {}) do
    if client.state == "ready" then
      told = told + 1
      tell(client, function(failure)
        say(failure or ("%s %s"):format(verb, client.workspace), failure and vim.log.levels.WARN)
      end)
    end
  end
  if told == 0 then
    say(running and "no daemon is connected." or "not started.", vim.log.levels.WARN)
  end
end

--- @param duration such as 30m; empty: until it is resumed.
function M.pause(duration)
  local seconds = duration ~= "" and pausing.seconds(duration) or nil
  if duration ~= "" and not seconds then
    return say(("%q is no duration such as 45s, 30m, 1h30m or 2d."):format(duration), vim.log.levels.WARN)
  end
  tell_all("paused", function(client, done)
    client:pause(seconds, done)
  end)
end

function M.resume()
  tell_all("resumed", function(client, done)
    client:resume(done)
  end)
end

-- Who serves what --

--- Every vault of the connected daemons, as places for paths.nearest.
local function served()
  local places = {}
  for _, client in pairs(state.clients) do
    for _, vault in ipairs(client.state == "ready" and client.vaults or {}) do
      table.insert(places, { path = vault.path, vault = vault, client = client })
    end
  end
  return places
end

-- The view --

--- Notes which of the paths nobody serves, and goes to look for who might.
local function seek(places, notes)
  local unserved, strangers, is_new, owed = {}, false, false, false
  for _, note in ipairs(notes) do
    if paths.nearest(places, note.path) then
      -- somebody serves it
    elseif not paths.is_markdown(note.path) then
      strangers = strangers or not paths.above(places, note.path)
    elseif not vim.tbl_contains(unserved, note.path) then
      table.insert(unserved, note.path)
    end
    if not state.sought[note.path] then
      is_new = true
    end
  end
  for socket, published in pairs(state.published) do
    owed = owed or (not state.clients[socket] and next(published) ~= nil)
  end
  state.unserved, state.wanted = unserved, notes
  if is_new then
    state.retry_ms = limits.retry_first_ms
    find()
  elseif (#unserved > 0 or strangers or owed) and not state.find_timer:is_active() then
    in_ms(state.find_timer, state.retry_ms, find)
  end
end

local function look_again_once_settled()
  in_ms(state.look_timer, limits.selection_settle_ms, look)
end

--- Looks at the editor and tells what is other than it was.
function look()
  stats.looks = stats.looks + 1
  local sight, current = state.sight, view.current()
  sight:remember(current)
  local shown = sight:located(sight:in_order(view.shown()))
  local open = vim.tbl_filter(function(entry)
    return not entry.closed
  end, sight:located(sight.recent))
  local places = served()
  actions.hand_on(state.actions, places, M.touch)
  if paths.busy() then
    return -- the answer looks again
  end
  local noted = current and current.path and current or nil
  local chosen = options.selection and sight:selected(noted, look_again_once_settled) or nil
  seek(places, vim.list_extend(open, shown))
  local views = sight:views(places, shown, chosen)
  for _, client in pairs(state.clients) do
    local it = views[client] or { views = {} }
    client:show(it.views, it.focus, options.selection and it.selection, state.is_focused)
  end
  stats.views = stats.views + 1
end

-- Finding and losing daemons --

local function connect(socket)
  if state.clients[socket] then
    return
  end
  state.published[socket] = state.published[socket] or {}
  local client
  client = Client.new(socket, state.published[socket], {
    ready = M.touch,
    paused = function()
      pcall(vim.api.nvim_exec_autocmds, "User", { pattern = "WorkspacedPaused", modeline = false })
      vim.cmd("redrawstatus!")
    end,
    later = function(handler)
      vim.schedule(M.timed(handler))
    end,
    lost = function(reason)
      if not running or state.clients[socket] ~= client then
        return
      end
      state.clients[socket], state.problem = nil, ("%s: %s"):format(socket, reason)
      for _, action in ipairs(state.actions) do
        action.client = action.client ~= client and action.client or nil
      end
      if client.since and uv.now() - client.since > limits.stable_ms then
        state.retry_ms = limits.retry_first_ms
      end
      M.touch()
    end,
  })
  state.clients[socket] = client
  client:connect()
end

local function fixed_socket()
  local named = options.socket or vim.env.WORKSPACED_SOCKET
  return named and named ~= "" and (named:gsub("^~/", uv.os_homedir() .. "/")) or nil
end

local function connect_all(records)
  local places = {}
  for _, record in ipairs(records) do
    for _, path in ipairs(record.vaults) do
      table.insert(places, { path = path, socket = record.socket })
    end
  end
  if vim.tbl_count(state.sought) > limits.paths_max then
    state.sought = {}
  end
  for _, note in ipairs(state.wanted) do
    state.sought[note.path] = true
    local place = paths.nearest(places, note.path)
    if place then
      connect(place.socket)
    end
  end
  for socket, published in pairs(state.published) do
    if next(published) ~= nil then
      connect(socket)
    end
  end
  M.touch()
end

--- Connects to every daemon that serves an open note, or that still shows one which is closed. The pause before the
--- next time grows; `seek` decides whether there is one.
function find()
  state.find_timer:stop()
  if state.finding then
    return
  end
  state.retry_ms = math.min(state.retry_ms * 2, limits.retry_max_ms)
  local socket, of = fixed_socket(), state
  if socket then
    for _, note in ipairs(state.wanted) do
      state.sought[note.path] = true
    end
    return connect(socket)
  end
  state.finding = true
  discovery.scan(M.timed(function(records)
    if state == of then
      state.finding = false
      connect_all(records)
    end
  end))
end

-- Life --

--- Begins; false where it has begun, or cannot here.
function M.start(settings)
  if running or not uv.getuid then
    return false
  end
  running, options, state = true, settings, new_state()
  M.touch()
  return true
end

--- Takes every view back and ends.
function M.stop()
  if not running then
    return
  end
  running = false
  for _, timer in ipairs({ state.look_timer, state.find_timer }) do
    timer:stop()
    timer:close()
  end
  for _, client in pairs(state.clients) do
    client:bye()
  end
end

--- What is published to which daemon, for people and health checks; and the time it took the editor.
function M.status()
  local status = { running = running, paused = false, daemons = {}, unserved = {}, stats = vim.deepcopy(stats) }
  if not running then
    return status
  end
  status.unserved, status.problem, status.waiting = state.unserved, state.problem, #state.actions
  status.renames = vim.tbl_count(state.renamed)
  for socket, client in pairs(state.clients) do
    local shown = { socket = socket, state = client.state, version = client.version, problem = client.problem }
    shown.vaults, shown.writes, shown.unanswered = {}, client.writes, client._open
    shown.paused, status.paused = client.paused, status.paused or client.paused ~= nil
    for _, vault in ipairs(client.vaults) do
      local sight = client._views[vault.id] or { tabs = {} }
      table.insert(shown.vaults, { id = vault.id, path = vault.path, active = sight.active, tabs = sight.tabs })
    end
    table.insert(status.daemons, shown)
  end
  return status
end

return M
