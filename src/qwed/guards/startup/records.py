"""What the installed distributions say they installed, and with which content."""

# Paths stay the strings that Python itself uses; Path would tidy them up.
# ruff: noqa: PTH207

import base64
import binascii
import csv
import glob
from functools import cached_property

import msgspec

from qwed.guards.startup.hostile_files import Content, read_regular

# The largest distributions list some ten thousand files.
_MAX_RECORD_BYTES = 8 * 1024 * 1024


class FileClaim(msgspec.Struct, frozen=True):
    """One distribution lists the file. `sha256` is None where it lists no usable hash."""

    distribution: str
    sha256: str | None
    record: bytes


class InstalledRecords:
    """The RECORD files of one site directory, read at the first question."""

    def __init__(self, site_dir: str) -> None:
        self._site_dir = site_dir

    def claims(self, name: str) -> list[FileClaim]:
        """Who lists this file, given relative to the site directory with forward slashes."""
        return [
            FileClaim(distribution, sha256, record)
            for distribution, record in self._records
            for sha256 in list_hashes(record, name)
        ]

    @cached_property
    def _records(self) -> list[tuple[str, bytes]]:
        records = []
        for directory in sorted(glob.glob(f"{glob.escape(self._site_dir)}/*.dist-info")):
            content = read_regular(f"{directory}/RECORD", _MAX_RECORD_BYTES)
            if isinstance(content, Content):
                name = directory.rpartition("/")[2].removesuffix(".dist-info")
                records.append((name, b"\n" + content.raw))
        return records


def list_hashes(record: bytes, name: str) -> list[str | None]:
    """The hash that a RECORD gives for `name`, once per row that names it."""
    hashes = []
    for start in (f"\n{name},", f'\n"{name}",'):
        position = record.find(start.encode())
        while position >= 0:
            end = record.find(b"\n", position + 1)
            row = record[position + 1 : end if end >= 0 else None]
            hashes.append(_hash_of(row.decode("utf-8", "replace")))
            position = record.find(start.encode(), position + 1)
    return hashes


def _hash_of(row: str) -> str | None:
    fields = next(csv.reader([row]), [])
    algorithm, _, digest = (fields[1] if len(fields) > 1 else "").partition("=")
    if algorithm != "sha256":
        return None
    try:
        return base64.urlsafe_b64decode(digest + "==").hex()
    except (binascii.Error, ValueError):
        return None
