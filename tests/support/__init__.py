"""What tests share: imported as `support`, since pytest puts `tests/` on the path (see pyproject.toml)."""
