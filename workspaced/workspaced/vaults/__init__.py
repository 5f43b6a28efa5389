"""The folders that the daemon serves: watched, reconciled, and which notes of them may be shown."""
