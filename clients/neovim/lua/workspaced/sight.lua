--- What the user is shown, over time: which note was looked at last and is still open, in which order notes came to be
--- shown, whether a selection rests. From that, what each daemon is to see.

local limits = require("workspaced.limits")
local paths = require("workspaced.paths")
local view = require("workspaced.view")

local M = {}
M.__index = M

--- @param on_known function(), called when it is known where a file really lies
function M.new(on_known)
  return setmetatable({
    --- The notes that were current, the latest last: {buf, win, name, path?, closed?}.
    recent = {},
    --- By buffer: when it came to be shown, as a number that only grows.
    order = {},
    shown_count = 0,
    --- The selection last seen in visual mode; the one that counts.
    held = nil,
    selection = nil,
    _on_known = on_known,
  }, M)
end

--- The place of the oldest file that is no Markdown, which most likely is no note; else of the oldest.
local function oldest(entries)
  for index, entry in ipairs(entries) do
    if not paths.is_markdown(entry.name) then
      return index
    end
  end
  return 1
end

--- Puts the current note last among the recent ones, and marks those that were closed: their buffer is gone, or
--- their window was closed and no other shows them. Hidden behind another buffer is not closed.
function M:remember(current)
  local kept = {}
  for _, entry in ipairs(self.recent) do
    local name = view.name(entry.buf)
    if not name then
      entry.closed = true
    elseif not vim.api.nvim_win_is_valid(entry.win) then
      entry.win = view.window_of(entry.buf) or entry.win
      entry.closed = entry.closed or not vim.api.nvim_win_is_valid(entry.win)
    end
    entry.name = name or entry.name
    if not current or entry.buf ~= current.buf then
      table.insert(kept, entry)
    end
  end
  table.insert(kept, current)
  if #kept > limits.recent_max then
    table.remove(kept, oldest(kept))
  end
  self.recent = kept
end

--- The shown notes in the order in which they came to be shown: splits and closed windows reorder nothing.
function M:in_order(shown)
  local order = {}
  table.sort(shown, function(a, b)
    return a.buf < b.buf
  end)
  for _, note in ipairs(shown) do
    order[note.buf] = self.order[note.buf]
    if not order[note.buf] then
      self.shown_count = self.shown_count + 1
      order[note.buf] = self.shown_count
    end
  end
  self.order = order
  table.sort(shown, function(a, b)
    return order[a.buf] < order[b.buf]
  end)
  return shown
end

--- Adds the real path to each note; drops those that have none.
function M:located(notes)
  return vim.tbl_filter(function(note)
    note.path = paths.real(note.name, self._on_known) or nil
    return note.path ~= nil
  end, notes)
end

--- What is selected, once it does not move any more (until then `on_moving` is called); a selection that was left
--- counts until the cursor goes on.
function M:selected(current, on_moving)
  local found, cursor = current and view.selection(), vim.api.nvim_win_get_cursor(0)
  if current and self.selection and self.selection.path ~= current.path then
    self.selection, self.held = nil, nil
  end
  if found then
    found.path, found.buf, found.cursor = current.path, current.buf, cursor
    local same = vim.deep_equal(self.held, found)
    self.held = same and self.held or found
    if not same then
      on_moving()
      return self.selection
    end
    self.selection = self.held
  elseif current and self.held and self.held.buf == current.buf and not vim.deep_equal(self.held.cursor, cursor) then
    self.selection = { path = current.path, startLine = cursor[1], endLine = cursor[1], text = "" }
    self.held = nil
  end
  return self.selection
end

--- What each daemon is to see: for each ready client the arguments of Client.show.
function M:views(places, shown, chosen)
  local found = {}
  local function of(place)
    local it = found[place.client] or { views = {} }
    found[place.client] = it
    it.views[place.vault.id] = it.views[place.vault.id] or { tabs = {} }
    return it, it.views[place.vault.id]
  end
  for index = #self.recent, 1, -1 do
    local entry = self.recent[index]
    local place, note = nil, nil
    if entry.path then
      place, note = paths.nearest(places, entry.path)
    end
    -- One note for each daemon, the latest; where that was closed, none.
    if place and not (found[place.client] and found[place.client].decided) then
      local it, sight = of(place)
      it.decided = true
      if not entry.closed then
        it.focus, sight.active = place.vault.id, note
        if chosen and chosen.path == entry.path then
          it.selection = vim.tbl_extend("force", chosen, { note = note, vault = place.vault.id })
        end
      end
    end
  end
  for _, each in ipairs(shown) do
    local place, note = paths.nearest(places, each.path)
    if place then
      local _, sight = of(place)
      if not vim.tbl_contains(sight.tabs, note) and #sight.tabs < limits.tabs_max then
        table.insert(sight.tabs, note)
      end
    end
  end
  for _, it in pairs(found) do
    for _, sight in pairs(it.views) do
      -- A note alone is the active note; beside others each is a tab too, so that going from one window to the
      -- next neither closes nor opens one.
      if #sight.tabs == 1 and sight.tabs[1] == sight.active then
        sight.tabs = {}
      end
    end
  end
  return found
end

return M
