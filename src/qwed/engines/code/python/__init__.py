"""Python, by its syntax tree and the flow of its data."""
