"""What a daemon can do, without any socket."""
