"""Findings: what is worth looking at in a log, each kind in a module."""
