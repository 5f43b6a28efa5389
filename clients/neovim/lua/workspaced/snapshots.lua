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
local function lines(selection)
  local text = selection.text and (',"text":%s'):format(encode(selection.text)) or ""
  return ('"startLine":%d,"endLine":%d%s'):format(selection.startLine, selection.endLine, text)
end

--- The field of the selection; none where selections are not told.
local function selected(vault, selection)
  if selection == false then
    return ""
  end
  local is_here = selection and selection.vault == vault and selection.text ~= ""
  return (',"selection":%s'):format(is_here and "{" .. lines(selection) .. "}" or "null")
end

--- @param source the name of the view.
--- @param vault the vault's id.
--- @param view {active?, tabs}, ids of notes.
--- @param selection, is_focused as in Client.show.
function M.params(source, vault, view, selection, is_focused)
  local tabs = array(vim.tbl_map(tab, view.tabs))
  local active = view.active and encode(view.active) or "null"
  local focused = is_focused and "true" or "false"
  local params = '{"source":%s,"active":%s,"pins":[],"tabs":%s,"vault":%s,"focused":%s%s}'
  return params:format(encode(source), active, tabs, encode(vault), focused, selected(vault, selection))
end

return M
