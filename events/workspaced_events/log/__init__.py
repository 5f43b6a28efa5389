"""The event log: CRC-chained text segments, the only truth (ARCHITECTURE.md, "The log")."""
