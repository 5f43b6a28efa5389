"""Version of the distribution, read by the build and by `workspaced --version`."""

__version__ = "0.1.0"
