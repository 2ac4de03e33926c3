"""SQLite behind the `Tables` port."""

import os
import sqlite3
from pathlib import Path

from qwed.domain.policy import DEFAULT_POLICY, Retention
from qwed.ect.keys import KeyRing
from qwed.stores.errors import DatabaseUnusable
from qwed.stores.sqlite.file import connect_writer, migrate, own
from qwed.stores.sqlite.ledger import SqliteLedger
from qwed.stores.sqlite.searching import Searching
from qwed.stores.sqlite.writing import Writing


class SqliteTables(Searching, Writing):
    def __init__(self, path: Path, ring: KeyRing, *, retention: Retention = DEFAULT_POLICY.retention) -> None:
        # Under another name it would be another lock: a link leads to the file itself.
        path = path.resolve()
        self._owner = own(path)
        try:
            writer = connect_writer(path)
            migrate(writer)
            Searching.__init__(self, path)
            Writing.__init__(self, writer, ring, retention, self._summaries.forget)
        except sqlite3.Error as error:
            os.close(self._owner)
            raise DatabaseUnusable(f"{path} cannot be opened as a QWED store: {error}") from error
        except BaseException:
            os.close(self._owner)
            raise
        #: What answers questions about the ledger, on the reader of whoever asks.
        self.ledger = SqliteLedger(self._rows)

    def close(self) -> None:
        self.close_readers()
        self._writer.close()
        os.close(self._owner)
