--- `:checkhealth workspaced`

local M = {}

-- Its names moved twice: module `health` in 0.7, vim.health.report_* in 0.8 and 0.9, vim.health.* since.
local health = vim.health or require("health")
local start = health.start or health.report_start
local ok = health.ok or health.report_ok
local warn = health.warn or health.report_warn
local fail = health.error or health.report_error
local info = health.info or health.report_info

local SERVE = { "Start one with `workspaced start DIR`.", "`workspaced status --all` lists those that run." }

local function check_daemons(status)
  for _, each in ipairs(status.daemons) do
    if each.state == "ready" then
      ok(("connected to workspaced %s on %s"):format(each.version or "?", each.socket))
      for _, vault in ipairs(each.vaults) do
        info(("vault %s at %s; active note: %s"):format(vault.id, vault.path, vault.active or "none"))
      end
    else
      warn(("%s: %s"):format(each.socket, each.state), { "A daemon that is stopped or busy takes up again by itself." })
    end
    if each.problem then
      warn(each.problem)
    end
  end
  for _, path in ipairs(status.unserved) do
    warn(("no daemon serves %s"):format(path), SERVE)
  end
  if #status.daemons == 0 and #status.unserved == 0 then
    info("no note is open, so no daemon is looked for")
  end
  if status.problem and #status.daemons == 0 then
    warn("the last daemon was lost: " .. status.problem, SERVE)
  end
end

function M.check()
  start("workspaced")
  if vim.fn.has("nvim-0.7") == 0 then
    return fail("Neovim 0.7 or newer is needed")
  end
  ok(("Neovim %d.%d.%d"):format(vim.version().major, vim.version().minor, vim.version().patch))
  local status = require("workspaced").status()
  if not (vim.uv or vim.loop).getuid then
    return fail("this system has no Unix sockets that belong to a user")
  elseif not status.running then
    return fail("not started", { "Is the plugin on the runtimepath? Is `g:loaded_workspaced` set by hand?" })
  end
  check_daemons(status)
  local stats = status.stats
  local mean = stats.calls > 0 and stats.total_ns / stats.calls / 1e6 or 0
  local cost = "cost the editor %.3f ms an event, at most %.1f ms; %d events, %d views"
  info(cost:format(mean, stats.max_ns / 1e6, stats.calls, stats.views))
end

return M
