"""Which daemons run on this machine, for which folders; starting one where none does."""
