--- Every bound of the plugin, in one place. Units are the last word of a name.

return {
  --- Events within this time are one look at the editor.
  coalesce_ms = 25,
  --- A selection is published once it has not moved for this long.
  selection_settle_ms = 200,
  --- Between tries to find or reach a daemon: doubled from the first to the last.
  retry_first_ms = 50,
  retry_max_ms = 10000,
  --- A connection that held this long begins with the first pause again when it breaks.
  stable_ms = 1000,
  --- A file renamed in the editor may lose its old name only afterwards: looked at again after this.
  rename_second_look_ms = 1000,
  --- Who pins a note hears after this if no daemon took it.
  patience_ms = 2000,
  --- Of longer selections only the lines are published.
  selection_bytes_max = 65536,
  --- The daemon keeps no more.
  tabs_max = 10,
  --- Pins and renames that wait for a daemon; the oldest go first.
  actions_max = 100,
  --- Notes remembered for having been active.
  recent_max = 50,
  --- Paths whose real path is remembered, and paths known to have been looked up.
  paths_max = 1000,
  answer_bytes_max = 8 * 1024 * 1024,
  record_bytes_max = 64 * 1024,
  records_max = 256,
  --- As the daemon has it for a note.
  note_chars_max = 1024,
  name_bytes_max = 255,
  --- Of a socket's path; the lesser of Linux and macOS is 103, and libuv cuts a longer one without a word.
  socket_bytes_max = (vim.uv or vim.loop).os_uname().sysname == "Darwin" and 103 or 107,
}
