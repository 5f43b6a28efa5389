"""Commands about what agents asked and were shown."""
