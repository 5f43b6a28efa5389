"""Commands that read and change a log."""
