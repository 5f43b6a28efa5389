"""Links and references: the resolver, link targets, backlinks."""
