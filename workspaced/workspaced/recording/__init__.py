"""What agents were shown: recorded beside the calls, swept within its bounds."""
