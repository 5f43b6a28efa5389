"""Event types: the catalogue and the codec."""
