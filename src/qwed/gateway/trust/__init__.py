"""Trust: how it changes, and the scores behind it."""
