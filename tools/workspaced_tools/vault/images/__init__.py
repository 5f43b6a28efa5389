"""The images that notes embed: which file an address means, who may see it, and its bytes."""
