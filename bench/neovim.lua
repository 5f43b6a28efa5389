--- Run by bench/neovim.py in a headless Neovim: works as a user does, and writes what the plugin's callbacks took in
--- each step, in nanoseconds, as JSON to $BENCH_OUT. Before, the daemon $BENCH_PID gets the signal $BENCH_SIGNAL.

local session = require("workspaced.session")
local uv = vim.uv or vim.loop
local timed = session.timed
local sum_ns = 0

--- Every callback of the plugin in the editor's loop goes through this.
function session.timed(handler)
  local counted = timed(handler)
  return function(...)
    local before = uv.hrtime()
    counted(...)
    sum_ns = sum_ns + uv.hrtime() - before
  end
end

local function status()
  return require("workspaced").status()
end

local function is_told()
  local daemon = status().daemons[1]
  return daemon and daemon.state == "ready" and daemon.unanswered == 0 and daemon.vaults[1].active ~= nil
end

local function edit(number)
  vim.cmd(("edit n%02d.md"):format(number % 20))
end

local function work()
  local pid, signal = tonumber(vim.env.BENCH_PID), vim.env.BENCH_SIGNAL
  for number = 0, 19 do
    edit(number)
  end
  assert(vim.wait(20000, is_told, 5), vim.inspect(status()))
  if signal ~= "" then
    uv.kill(pid, signal)
  end
  local taken = {}
  for number = 1, tonumber(vim.env.BENCH_STEPS) do
    sum_ns = 0
    edit(number)
    vim.cmd("normal! Vj")
    vim.cmd("normal! " .. vim.api.nvim_replace_termcodes("<Esc>", true, true, true))
    vim.cmd(number % 5 == 0 and "split | wincmd p | close" or "doautocmd CursorMoved")
    vim.wait(number % 2 == 0 and 30 or 0) -- the loop runs, every other time long enough for a look
    table.insert(taken, sum_ns)
  end
  local file = assert(io.open(vim.env.BENCH_OUT, "w"))
  file:write(vim.json.encode(taken))
  file:close()
  if signal == "sigstop" then
    uv.kill(pid, "sigcont")
  end
  vim.cmd("qall!")
end

vim.api.nvim_create_autocmd("VimEnter", { callback = vim.schedule_wrap(work) })
