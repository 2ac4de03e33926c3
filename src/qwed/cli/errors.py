"""What stops a command, as a sentence."""


class CannotReach(Exception):
    """Neither a gateway nor the store; the message says what to do."""
