"""The single writer: actions are checked, deduplicated, numbered and appended; snapshots; opening a data
directory.
"""
