"""Floor 1: what happened. Actions, events, the log, the fold, replay.

Knows nothing of vault files, tools, sockets or event loops; `workspaced_tools` and `workspaced` build on it.
"""
