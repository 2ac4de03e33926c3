"""A proxy that holds the credentials which an agent must not have, and uses them for what was approved."""
