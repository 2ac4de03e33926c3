"""The decision: from a proposed action to a recorded answer."""
