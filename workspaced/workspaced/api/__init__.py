"""The daemon's methods, one module for each capability, and their table."""
