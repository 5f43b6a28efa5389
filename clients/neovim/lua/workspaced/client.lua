--- One connection to a daemon: says hello, then keeps the daemon's picture of this editor equal to the newest view.
---
--- At most one turn is on its way: what differs is written at once, and nothing more until all of it is answered.
--- A view that comes meanwhile takes the place of the one before. So a daemon that is stopped costs one small write,
--- and memory for one view. Nothing here waits: every call of libuv returns at once.

local limits = require("workspaced.limits")
local own = require("workspaced.own")
local pausing = require("workspaced.pausing")
local snapshots = require("workspaced.snapshots")
local uv = vim.uv or vim.loop

local M = {}
M.__index = M

--- Pins outlast the editor, so they are published under a name all editors share; tabs are each editor's own.
local PINS_SOURCE = "neovim"
local VERSION = "0.1.0"
local SOURCE = ("neovim-%d-1"):format(uv.os_getpid())

local encode = vim.json.encode

--- @param published set of paths of the vaults about which the daemon has something; outlasts the connection.
--- @param on {ready = function(), lost = function(reason), paused = function(), later = function(function)}: `later`
--- runs something in the editor's own loop, out of libuv's callbacks, where most of the editor may not be touched;
--- `paused` is called when `client.paused` changed.
function M.new(socket, published, on)
  return setmetatable({
    socket = socket,
    published = published,
    on = on,
    state = "connecting",
    vaults = {},
    writes = 0,
    --- Actions to publish, oldest first: {type, data, vault, id, done}.
    outbox = {},
    _shown = {},
    _views = {},
    _waiting = {},
    _open = 0,
    _ids = 0,
    _unread = "",
  }, M)
end

function M:connect()
  if #self.socket > limits.socket_bytes_max then
    return self:_lose(("the socket's path is longer than %d bytes"):format(limits.socket_bytes_max))
  end
  -- The real path is looked at and connected to: a symlink may lead elsewhere by then.
  uv.fs_realpath(self.socket, self:_step(function(failure, real)
    if not real then
      return self:_lose("nobody listens: " .. failure)
    elseif #real > limits.socket_bytes_max then
      return self:_lose(("the socket's real path is longer than %d bytes"):format(limits.socket_bytes_max))
    end
    own.socket(real, self:_step(function(problem, file)
      if problem then
        return self:_lose(problem)
      end
      self:_dial(real, file)
    end))
  end))
end

--- The function, run in the editor's own loop, if this is still connecting then.
function M:_step(next_step)
  return function(first, second)
    self.on.later(function()
      if self.state == "connecting" then
        next_step(first, second)
      end
    end)
  end
end

--- @param file which file `own.socket` found at the real path: once connected, before the first byte, it must be there.
function M:_dial(real, file)
  self._pipe = uv.new_pipe(false)
  self._pipe:connect(real, self:_step(function(failure)
    if failure then
      return self:_lose("nobody listens: " .. failure)
    end
    own.socket(real, self:_step(function(problem, now)
      if problem or now ~= file then
        return self:_lose(problem or "the socket was replaced while it was connected to")
      end
      self:_greet()
    end))
  end))
end

function M:_greet()
  self.state, self.since = "connected, not answered yet", uv.now()
  self._pipe:read_start(function(failure, data)
    self.on.later(function()
      if self._pipe and data then
        self:_read(data)
      elseif self._pipe then
        self:_lose("the connection broke" .. (failure and ": " .. failure or ""))
      end
    end)
  end)
  local client = ('{"name":"neovim","version":%s,"pid":%d}'):format(encode(VERSION), uv.os_getpid())
  local hello = self:_request("workspaced/hello", ('{"client":%s}'):format(client), function(result)
    if not result or type(result.vaults) ~= "table" then
      return self:_lose("what listens there is no workspaced daemon")
    end
    self.vaults, self.workspace, self.version = result.vaults, result.workspace, result.version
    self.paused = pausing.of(result.paused)
    self.state = "ready"
    self.on.ready()
    self:_follow_pauses(result.clock)
    self.on.paused()
  end)
  self:_write({ hello })
end

-- Pauses --

--- From the moment of the daemon's greeting on.
function M:_follow_pauses(clock)
  local params = '{"since":%s,"types":["pause_started","pause_ended"]}'
  self:_write({ self:_request("workspaced/subscribe", params:format(encode(clock)), function() end) })
end

--- @param seconds how long; nil: until it is resumed.
--- @param done called with the daemon's refusal, or nil.
function M:pause(seconds, done)
  self:_tell("workspaced/pause", seconds and ('{"forS":%d}'):format(seconds) or "{}", done)
end

function M:resume(done)
  self:_tell("workspaced/resume", "{}", done)
end

function M:_tell(method, params, done)
  self:_write({ self:_request(method, params, function(_, failure)
    done(failure and failure.message)
  end) })
end

function M:_happened(events)
  for _, event in ipairs(type(events) == "table" and events or {}) do
    self.paused = pausing.after(self.paused, event)
  end
  self.on.paused()
end

-- What is published --

--- Shows a view from now on.
--- @param views for each vault's id {active, tabs}.
--- @param focus the id of the vault of the note that was looked at last, or nil.
--- @param selection {vault, note, startLine, endLine, text?}, text "" where only the cursor is; nil: nothing is
--- selected; false: selections are not told.
--- @param is_focused whether the user is in this editor.
function M:show(views, focus, selection, is_focused)
  self._views, self._focus, self._selection, self._is_focused = views, focus, selection, is_focused
  self:pump()
end

--- Forgets what the daemon was shown: somebody else may have shown it something else since.
function M:forget()
  self._shown, self._current = {}, nil
end

--- Writes what the daemon does not know yet, unless it still owes an answer.
function M:pump()
  if self.state ~= "ready" or self._open > 0 then
    return
  end
  local focus = self:_switching_to()
  if #self.vaults > 1 and focus and not self._current then
    return self:_write({ self:_ask_current() })
  end
  local lines = {}
  for _, action in ipairs(self.outbox) do
    table.insert(lines, self:_act(action))
  end
  self.outbox = {}
  if self._current and focus and self._current ~= focus then
    table.insert(lines, self:_switch(focus))
  end
  for _, vault in ipairs(self.vaults) do
    table.insert(lines, self:_differing(vault))
  end
  if #lines > 0 then
    self:_write(lines)
  end
end

--- The vault that is to be current, or nil: an editor that the user is not in switches none.
function M:_switching_to()
  return self._is_focused and self._focus or nil
end

--- Of a daemon with several vaults one is current; agents are answered from that one.
function M:_ask_current()
  return self:_request("workspaced/state", "{}", function(result)
    self._current = result and result.state.currentVaultId
    if type(self._current) ~= "string" then
      self._current = self._focus
    end
  end)
end

function M:_publish(source, type, data, vault, more)
  local action = ('{"type":%s,"data":%s,"vault":%s%s}'):format(encode(type), data, encode(vault), more or "")
  return ('{"source":%s,"actions":[%s]}'):format(encode(source), action)
end

function M:_act(action)
  local id = (',"id":%s'):format(encode(action.id))
  -- Unpinning leaves a tab behind, which is to be this editor's: the next view closes it where no window shows it.
  local source = action.type == "note_pinned" and PINS_SOURCE or SOURCE
  local params = self:_publish(source, action.type, action.data, action.vault, id)
  self._shown = {}
  return self:_request("workspaced/publish", params, function(result, failure)
    if failure and self:_again(failure) then
      table.insert(self.outbox, action)
    else
      action.done(result and true or false, failure and failure.message)
    end
  end)
end

function M:_switch(focus)
  self._current = focus
  local data = ('{"vaultId":%s}'):format(encode(focus))
  return self:_request("workspaced/publish", self:_publish(SOURCE, "vault_switched", data, focus), function(_, failure)
    self._current = not failure and focus or nil
    if failure then
      self:_again(failure)
    end
  end)
end

local EMPTY = { tabs = {} }

--- The request that shows a vault's view, or nil if the daemon has it. No empty view for a vault of which nothing was
--- published: an editor without notes leaves no event.
function M:_differing(vault)
  local view = self._views[vault.id] or EMPTY
  local is_empty = not view.active and #view.tabs == 0
  local params = snapshots.params(SOURCE, vault.id, view, self._selection, self._is_focused)
  if self._shown[vault.id] == params or (is_empty and not self.published[vault.path]) then
    return nil
  end
  self._shown[vault.id] = params
  self.published[vault.path] = true
  return self:_request("workspaced/snapshot", params, function(_, failure)
    if not failure then
      self.problem = nil
      self.published[vault.path] = not is_empty or nil
    elseif self:_again(failure) and self._shown[vault.id] == params then
      self._shown[vault.id] = nil
    end
  end)
end

--- Notes a refusal; true if it is to be tried again, which then happens by itself.
function M:_again(failure)
  self.problem = failure.message
  local data = type(failure.data) == "table" and failure.data or {}
  if data.code ~= "BUSY" then
    return false
  end
  vim.defer_fn(function()
    self:pump()
  end, tonumber(data.retryAfterMs) or limits.retry_first_ms)
  return true
end

-- Lines --

function M:_request(method, params, on_answer)
  self._ids, self._open = self._ids + 1, self._open + 1
  self._waiting[self._ids] = on_answer
  return ('{"jsonrpc":"2.0","id":%d,"method":%s,"params":%s}\n'):format(self._ids, encode(method), params)
end

function M:_write(lines)
  self.writes = self.writes + 1
  self._pipe:write(table.concat(lines), function(failure)
    if failure then
      self.on.later(function()
        self:_lose("the connection broke: " .. failure)
      end)
    end
  end)
end

function M:_read(data)
  self._unread = self._unread .. data
  while self._pipe do
    local line, rest = self._unread:match("^([^\n]*)\n(.*)$")
    if not line then
      break
    end
    self._unread = rest
    self:_take(line)
  end
  if #self._unread > limits.answer_bytes_max then
    self:_lose("an answer has no end")
  end
end

function M:_take(line)
  local understood, message = pcall(vim.json.decode, line)
  if not understood or type(message) ~= "table" then
    return self:_lose("what listens there speaks no JSON-RPC")
  end
  if message.method == "workspaced/event" and type(message.params) == "table" then
    return self:_happened(message.params.events)
  end
  local on_answer = self._waiting[message.id]
  if not on_answer then
    return
  end
  self._waiting[message.id], self._open = nil, self._open - 1
  local failure = type(message.error) == "table" and message.error or nil
  if failure then
    failure.message = type(failure.message) == "string" and failure.message or "the daemon refused"
  end
  on_answer(type(message.result) == "table" and message.result or nil, failure)
  self:pump()
end

-- Ends --

function M:_lose(reason)
  if self.state == "closed" then
    return
  end
  self:_close()
  self.problem = reason
  self.on.lost(reason)
end

function M:_close()
  self.state = "closed"
  if self._pipe and not self._pipe:is_closing() then
    self._pipe:close()
  end
  self._pipe = nil
end

--- Takes the view back, as far as that goes without waiting, and closes.
function M:bye()
  if self.state == "ready" then
    self._shown, self._views, self._focus, self._selection = {}, {}, nil, nil
    for _, vault in ipairs(self.vaults) do
      local line = self:_differing(vault)
      -- Into the kernel's buffer now or never: what libuv keeps for later dies with the editor.
      if line then
        self._pipe:try_write(line)
      end
    end
  end
  self:_close()
end

return M
