"""Commands for the workspace: publish, state, tools, roles, sharing."""
