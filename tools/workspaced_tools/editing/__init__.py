"""What editors ask about notes: names to complete, links with the ranges where they stand."""
