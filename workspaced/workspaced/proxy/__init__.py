"""An HTTP endpoint between a runtime and its provider that puts context in place."""
