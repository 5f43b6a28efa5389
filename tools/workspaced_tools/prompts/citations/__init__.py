"""The sources of an answer, and where it cites them."""
