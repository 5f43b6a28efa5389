-- Loaded at start-up: commands, and a start once the editor is up. Everything else is loaded when needed.
-- `let g:loaded_workspaced = 1` before this keeps the plugin out.

if vim.g.loaded_workspaced then
  return
end
vim.g.loaded_workspaced = 1

if vim.fn.has("nvim-0.7") == 0 then
  vim.api.nvim_err_writeln("workspaced needs Neovim 0.7 or newer.")
  return
end

local function command(name, method, desc)
  vim.api.nvim_create_user_command(name, function()
    require("workspaced")[method]()
  end, { desc = desc })
end

command("WorkspacedPin", "pin", "Pin the note of the current window")
command("WorkspacedUnpin", "unpin", "Unpin the note of the current window")
command("WorkspacedResume", "resume", "End a pause")
vim.api.nvim_create_user_command("WorkspacedPause", function(given)
  require("workspaced").pause(given.args)
end, { nargs = "?", desc = "Have nothing recorded or answered, such as for 30m" })
command("WorkspacedStatus", "print_status", "Say which daemon is told what")

if vim.v.vim_did_enter == 1 then
  require("workspaced").start()
else
  vim.api.nvim_create_autocmd("VimEnter", {
    once = true,
    callback = function()
      require("workspaced").start()
    end,
  })
end
