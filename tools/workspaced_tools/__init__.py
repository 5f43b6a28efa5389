"""Floor 2: what can be asked. The vault's files, the tools, prompt context.

Builds on `workspaced_events`; knows nothing of sockets, event loops or the daemon.
"""
