"""The single writer: checks, deduplicates, numbers and appends actions; snapshots; opening a data directory."""
