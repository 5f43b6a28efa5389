"""`python -m workspaced`."""

from .cli import main

main()
