"""Roles of agents: a system prompt, tools and pins under one name, from the settings or a note."""
