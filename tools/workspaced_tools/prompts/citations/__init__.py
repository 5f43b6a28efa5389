"""The sources and citations of an answer."""
