"""Commands that fit workspaced into the user's system: completion, manual, paths, and how it goes again."""
