"""`workspaced service install`: has the daemon start with the user's session, by systemd or launchd."""
