"""The index of a vault: built by a crawl, kept in SQLite, asked by queries."""
