"""Event types: the catalogue, the codec, and the upcasters that convert older versions."""
