"""Records what agents were shown, and sweeps recordings beyond their bounds."""
