"""Commands about the workspace: publish, state, tools, sharing."""
