"""What tests of several machines share: a simulated server, virtual time, and real servers on loopback."""
