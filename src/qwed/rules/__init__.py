"""Rules of a policy: their language, what it can be said about them, and what they say of an action."""
