"""What providers accept, write and report, one file each; a prompt as the body of a request."""
