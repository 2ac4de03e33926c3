"""Why a store cannot be opened."""


class DatabaseInUse(Exception):
    """Another process owns the file."""


class DatabaseUnusable(Exception):
    """This cannot be opened as a QWED store; the message says why."""
