"""What happens in the worlds. Each scenario takes a `Stage`: a number, chance, and how to open its world."""
