--- The plugin's face: settings, commands, and the editor's events that may change what its user looks at.
---
--- Every event only says "look again": the whole view is made anew (view.lua, session.lua), so that a lost or
--- doubled event costs nothing.

local M = {}

--- Of settings; an unknown key is an error.
local TYPES = { socket = "string", selection = "boolean" }

M.options = {
  --- The daemon's socket. Default: $WORKSPACED_SOCKET, else the daemon that serves the file's folder.
  socket = nil,
  --- Whether visual selections are published.
  selection = true,
}

--- Settings; may be left out. May be called before or after the start.
function M.setup(options)
  for key, value in pairs(options or {}) do
    if not TYPES[key] then
      error(("workspaced: there is no setting %q; there are socket and selection."):format(key), 2)
    end
    if type(value) ~= TYPES[key] then
      error(("workspaced: expected `%s` to be a %s, got a %s."):format(key, TYPES[key], type(value)), 2)
    end
  end
  M.options = vim.tbl_extend("force", M.options, options or {})
  if vim.v.vim_did_enter == 1 then
    M.stop()
    M.start()
  end
end

--- Begins to tell. Does nothing where it has begun.
function M.start()
  local session = require("workspaced.session")
  if not session.start(M.options) then
    return
  end
  local group = vim.api.nvim_create_augroup("workspaced", { clear = true })
  local function on(events, handler, pattern)
    vim.api.nvim_create_autocmd(events, { group = group, pattern = pattern, callback = session.timed(handler) })
  end
  on({ "BufEnter", "BufWinEnter", "BufWinLeave", "BufDelete", "BufWipeout" }, session.touch)
  on({ "WinEnter", "WinClosed", "TabEnter", "TabClosed" }, session.touch)
  on("OptionSet", session.touch, { "buflisted", "buftype", "previewwindow" })
  on({ "BufWritePost", "FileChangedShellPost" }, session.file_moved)
  on("BufFilePre", session.before_rename)
  on("BufFilePost", session.after_rename)
  on("FocusGained", session.focus_gained)
  on("FocusLost", session.focus_lost)
  on({ "ModeChanged", "CursorMoved" }, session.cursor_moved)
  on("VimLeavePre", M.stop)
end

--- Takes the view back and ends. `start` begins again.
function M.stop()
  pcall(vim.api.nvim_del_augroup_by_name, "workspaced")
  require("workspaced.session").stop()
end

--- Pins the note of the current window, once a daemon serves it.
function M.pin()
  require("workspaced.session").pin("note_pinned")
end

--- Unpins the note of the current window, once a daemon serves it.
function M.unpin()
  require("workspaced.session").pin("note_unpinned")
end

--- Pauses the connected daemons: nothing is recorded or answered, until they are resumed.
--- @param duration such as 30m, after which they resume by themselves; nil or empty: they do not.
function M.pause(duration)
  require("workspaced.session").pause(duration or "")
end

--- Ends a pause.
function M.resume()
  require("workspaced.session").resume()
end

--- For a statusline: "paused" while a connected daemon is, else empty.
function M.statusline()
  return M.status().paused and "paused" or ""
end

--- What is published to which daemon, and the time it took: see session.lua.
function M.status()
  return require("workspaced.session").status()
end

function M.print_status()
  local status, lines = M.status(), {}
  for _, each in ipairs(status.daemons) do
    table.insert(lines, ("workspaced: %s, %s"):format(each.socket, each.state))
    if each.paused then
      table.insert(lines, ("  paused since %s, until %s"):format(each.paused.since, each.paused["until"] or "resumed"))
    end
    for _, vault in ipairs(each.vaults) do
      table.insert(lines, ("  vault %s at %s"):format(vault.id, vault.path))
      table.insert(lines, ("    active %s"):format(vault.active or "-"))
      for _, note in ipairs(vault.tabs) do
        table.insert(lines, ("    tab    %s"):format(note))
      end
    end
    if each.problem then
      table.insert(lines, "  " .. each.problem)
    end
  end
  for _, path in ipairs(status.unserved) do
    table.insert(lines, ("No daemon serves %s; start one with `workspaced start DIR`."):format(path))
  end
  if status.problem then
    table.insert(lines, status.problem)
  end
  if #lines == 0 then
    table.insert(lines, status.running and "workspaced: no note is open." or "workspaced: not started.")
  end
  vim.api.nvim_echo({ { table.concat(lines, "\n") } }, true, {})
end

return M
