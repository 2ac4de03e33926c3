"""Values and rules, pure: nothing here reads a clock, a file, the environment or the network."""
