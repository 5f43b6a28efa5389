"""The vault: opening its files safely, reading notes, caching them, finding them by name and by link."""
