"""The settings: what the user's configuration folder, the environment and flags say."""
