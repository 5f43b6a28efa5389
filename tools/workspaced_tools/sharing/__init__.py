"""The gate: what of a view a client may be shown."""
