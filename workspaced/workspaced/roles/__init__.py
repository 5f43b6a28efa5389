"""Roles of agents: a system prompt, tools, pins and a pipeline under one name, from the settings or a note."""
