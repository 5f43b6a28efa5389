"""The gate: limits a view to what one client may see."""
