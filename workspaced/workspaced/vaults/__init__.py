"""The folders that the daemon serves: registers, watches and reconciles them, checks which notes may be shown."""
