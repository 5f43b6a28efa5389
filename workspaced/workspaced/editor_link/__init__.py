"""`workspaced ide`: the link that Claude Code has to an editor, for every editor that publishes to us."""
