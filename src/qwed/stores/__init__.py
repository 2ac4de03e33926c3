"""The gateway's `Store` port on real storage.

`HotStore` keeps what decisions need in memory and makes admission atomic; `Tables` are where the
truth lives: in dictionaries, or in a SQLite file behind one writer thread.
"""

from qwed.stores.errors import DatabaseInUse, DatabaseUnusable
from qwed.stores.memory import open_memory
from qwed.stores.sqlite import open_sqlite

__all__ = ["DatabaseInUse", "DatabaseUnusable", "open_memory", "open_sqlite"]
