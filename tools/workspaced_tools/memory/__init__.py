"""The memory folder: the one place that agents may write to, through six commands."""
