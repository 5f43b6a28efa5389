"""The index of a vault: built by crawls, stored in SQLite, read by queries."""
