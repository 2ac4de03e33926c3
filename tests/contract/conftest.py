"""The shelves of every suite here: the same stores, opened and closed alike."""

from tests.contract.test_stores import kind, shelf, shelve

__all__ = ["kind", "shelf", "shelve"]
