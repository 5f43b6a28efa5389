"""What a tool sees: the view, the ports behind it, and the values that cross them."""
