"""Commands for the workspace: publish, state, tools, sharing."""
