--- What a view is on the wire: the parameters of workspaced/snapshot. Pure.

local M = {}

local encode = vim.json.encode

--- JSON by hand where a list may be empty: versions of Neovim differ in how they encode {}.
local function array(list)
  return "[" .. table.concat(list, ",") .. "]"
end

local function tab(note)
  return ('{"note":%s}'):format(encode(note))
end

--- The lines of a selection and its text, as fields.
function M.lines(selection)
  local text = selection.text and (',"text":%s'):format(encode(selection.text)) or ""
  return ('"startLine":%d,"endLine":%d%s'):format(selection.startLine, selection.endLine, text)
end

--- What only daemons with the capability `focus` take; others refuse fields that they do not know.
local function more_fields(vault, more)
  local focused = (',"focused":%s'):format(more.is_focused and "true" or "false")
  local selection = more.selection
  if selection == false then
    return focused
  end
  local is_here = selection and selection.vault == vault and selection.text ~= ""
  return focused .. (',"selection":%s'):format(is_here and "{" .. M.lines(selection) .. "}" or "null")
end

--- @param source the name of the view.
--- @param vault the vault's id.
--- @param view {active?, tabs}, ids of notes.
--- @param more {is_focused, selection}, for daemons that know focus, else nil. `selection` is as in Client.show.
function M.params(source, vault, view, more)
  local tabs = array(vim.tbl_map(tab, view.tabs))
  local active = view.active and encode(view.active) or "null"
  local params = '{"source":%s,"active":%s,"pins":[],"tabs":%s,"vault":%s%s}'
  return params:format(encode(source), active, tabs, encode(vault), more and more_fields(vault, more) or "")
end

return M
