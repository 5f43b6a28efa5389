"""What links mean: the resolver, link targets, backlinks."""
