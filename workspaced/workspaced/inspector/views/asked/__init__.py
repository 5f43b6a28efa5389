"""Views of recorded calls: the list, one of them, two side by side, and searches of a log."""
