"""What all commands do in one way: their options, `ask` a daemon, `open_log`, `output` as text or JSON."""
