"""What an event is: its types, how it is written and read, and how former versions become present ones."""
