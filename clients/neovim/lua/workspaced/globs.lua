--- Which files that are no Markdown a vault holds, by the globs that its daemon names: gitignore's syntax, of which the
--- last that names a path decides.

local M = {}

--- What the daemon counts as images, which are never notes.
local IMAGES = {}
for _, ending in ipairs({ "avif", "bmp", "gif", "heic", "jpeg", "jpg", "png", "svg", "webp" }) do
  IMAGES[ending] = true
end

local known = {}

--- The pattern of one glob, in Vim's very nomagic form, without its `!`.
local function pattern(glob)
  local is_folder = glob:sub(-1) == "/"
  glob = glob:gsub("/$", "")
  local parts = { "\\C\\V\\^", glob:find("/", 1, true) and "" or "\\(\\.\\*/\\)\\?" }
  glob = glob:gsub("^/", "")
  local at = 1
  while at <= #glob do
    local rest = glob:sub(at)
    local class = rest:match("^%[[!^]?%]?[^%]]*%]")
    if rest:find("^%*%*/") and (at == 1 or glob:sub(at - 1, at - 1) == "/") then
      table.insert(parts, "\\(\\.\\*/\\)\\?")
      at = at + 3
    elseif rest == "**" and (at == 1 or glob:sub(at - 1, at - 1) == "/") then
      table.insert(parts, "\\.\\+")
      at = at + 2
    elseif rest:sub(1, 1) == "*" then
      table.insert(parts, "\\[^/]\\*")
      at = at + #rest:match("^%*+")
    elseif rest:sub(1, 1) == "?" then
      table.insert(parts, "\\[^/]")
      at = at + 1
    elseif class then
      table.insert(parts, "\\" .. class:gsub("^%[!", "[^"))
      at = at + #class
    else
      local literal = rest:match("^\\(.)") or rest:sub(1, 1)
      table.insert(parts, literal == "\\" and "\\\\" or literal)
      at = at + (rest:sub(1, 1) == "\\" and 2 or 1)
    end
  end
  -- What names a folder names all below it.
  return table.concat(parts) .. (is_folder and "/\\.\\*\\$" or "\\(/\\.\\*\\)\\?\\$")
end

local function compiled(glob)
  if known[glob] == nil then
    local plain = glob:gsub("^!", "")
    local ok, regex = pcall(vim.regex, pattern(plain))
    known[glob] = ok and { regex = regex, lifts = plain ~= glob } or false
  end
  return known[glob]
end

--- Whether the globs name the path, which is relative to the vault.
function M.name(globs, path)
  if type(globs) ~= "table" or IMAGES[(path:match("%.([^./]*)$") or ""):lower()] then
    return false
  end
  for index = #globs, 1, -1 do
    local found = compiled(globs[index])
    if found and found.regex:match_str(path) then
      return not found.lifts
    end
  end
  return false
end

return M
