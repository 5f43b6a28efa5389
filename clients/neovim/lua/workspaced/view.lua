--- What the editor shows of notes, as it is this very moment. Reads the editor, changes nothing, touches no file.

local limits = require("workspaced.limits")
local paths = require("workspaced.paths")

local M = {}

--- The absolute name of a buffer that may hold a note: of a file, open or listed. Else nil.
function M.name(buf)
  if not vim.api.nvim_buf_is_valid(buf) or vim.bo[buf].buftype ~= "" then
    return nil
  end
  if not vim.api.nvim_buf_is_loaded(buf) and not vim.bo[buf].buflisted then
    return nil
  end
  local name = vim.api.nvim_buf_get_name(buf)
  return name:find("^/.*[^/]$") and paths.is_utf8(name) and name or nil
end

local function floats(win)
  return vim.api.nvim_win_get_config(win).relative ~= ""
end

--- The note of the current window: {buf, win, name}, or nil in a floating window or another buffer.
function M.current()
  local win = vim.api.nvim_get_current_win()
  local buf = vim.api.nvim_win_get_buf(win)
  local name = not floats(win) and M.name(buf)
  return name and { buf = buf, win = win, name = name } or nil
end

--- The notes in windows of all tab pages, each once: {buf, win, name}. Unlisted buffers count in the preview window
--- only: elsewhere a plugin shows them for a purpose of its own.
function M.shown()
  local found, seen = {}, {}
  for _, page in ipairs(vim.api.nvim_list_tabpages()) do
    for _, win in ipairs(vim.api.nvim_tabpage_list_wins(page)) do
      local buf = vim.api.nvim_win_get_buf(win)
      local name = not seen[buf] and not floats(win) and M.name(buf)
      if name and (vim.bo[buf].buflisted or vim.wo[win].previewwindow) then
        seen[buf] = true
        table.insert(found, { buf = buf, win = win, name = name })
      end
    end
  end
  return found
end

--- A window that shows the buffer, in any tab page, or nil.
function M.window_of(buf)
  return vim.fn.win_findbuf(buf)[1]
end

function M.is_visual()
  return vim.api.nvim_get_mode().mode:find("^[vV\22]") ~= nil
end

--- Bytes `first` to `last` of a line, widened to whole characters.
local function slice(line, first, last)
  while first > 1 and line:find("^[\128-\191]", first) do
    first = first - 1
  end
  while line:find("^[\128-\191]", last + 1) do
    last = last + 1
  end
  return line:sub(first, last)
end

local function selected_text(buf, mode, from, to)
  local first, last = from[2], to[2]
  local offset = vim.api.nvim_buf_get_offset
  if offset(buf, last) - offset(buf, first - 1) > limits.selection_bytes_max then
    return nil
  end
  local lines = vim.api.nvim_buf_get_lines(buf, first - 1, last, false)
  if mode == "v" then
    lines[#lines] = slice(lines[#lines], 1, to[3])
    lines[1] = slice(lines[1], from[3], #lines[1])
  elseif mode == "\22" then
    local left, right = math.min(from[3], to[3]), math.max(from[3], to[3])
    for number, line in ipairs(lines) do
      lines[number] = slice(line, left, right)
    end
  end
  local text = table.concat(lines, "\n")
  return paths.is_utf8(text) and text or nil
end

--- What is selected in the current window, in visual mode: {startLine, endLine, text?}; else nil. A block is taken
--- by bytes, not by columns of the screen.
function M.selection()
  local mode = vim.api.nvim_get_mode().mode:sub(1, 1)
  if not M.is_visual() then
    return nil
  end
  local from, to = vim.fn.getpos("v"), vim.fn.getpos(".")
  if from[2] > to[2] or (from[2] == to[2] and from[3] > to[3]) then
    from, to = to, from
  end
  local text = selected_text(vim.api.nvim_get_current_buf(), mode, from, to)
  return { startLine = from[2], endLine = to[2], text = text }
end

return M
