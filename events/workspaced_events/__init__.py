"""Floor 1: actions, events, the log, its projections, replay.

Knows nothing of vault files, tools, sockets or event loops; `workspaced_tools` and `workspaced` build on it.
"""
