"""SQLite behind the `Tables` port."""

import sqlite3
from pathlib import Path

from qwed.domain.policy import DEFAULT_POLICY, Retention
from qwed.ect.keys import KeyRing
from qwed.gateway.kernel.records import Record
from qwed.stores.errors import DatabaseUnusable
from qwed.stores.sqlite.file import connect_writer, migrate, own, was_cut_off
from qwed.stores.sqlite.group_writer import Writing
from qwed.stores.sqlite.ledger import SqliteLedger
from qwed.stores.sqlite.searches import Searching


class SqliteTables(Searching, Writing):
    def __init__(self, path: Path, ring: KeyRing, *, retention: Retention = DEFAULT_POLICY.retention) -> None:
        # Under another name it would be another lock: a link leads to the file itself.
        path = path.resolve()
        self._owner = own(path)
        try:
            #: Whoever had the file before did not close it.
            self.was_cut_off = was_cut_off(path)
            writer = connect_writer(path)
            migrate(writer, path)
            Searching.__init__(self, path)
            Writing.__init__(self, writer, ring, retention, self._summaries.forget)
        except sqlite3.Error as error:
            self._owner.end()
            raise DatabaseUnusable(f"{path} cannot be opened as a QWED store: {error}") from error
        except BaseException:
            self._owner.end()
            raise
        #: What answers questions about the ledger, on the reader of whoever asks.
        self.ledger = SqliteLedger(self._rows)

    def write(self, records: list[Record]) -> None:
        self._owner.check()
        super().write(records)

    def ping(self) -> None:
        self._owner.check()
        self._owner.check_room()
        super().ping()

    def close(self) -> None:
        self.close_readers()
        self._writer.close()
        self._owner.end()
