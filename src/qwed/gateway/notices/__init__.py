"""Who is told of what happens."""
