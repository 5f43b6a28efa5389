"""`workspaced hook`: gives an agent's runtime what to tell the agent, when a hook of the runtime runs."""
