"""The images that notes embed: which file an address means, and its bytes."""
