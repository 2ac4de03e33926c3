"""The private git directory: blobs and trees in git's own pack format, written and read without git.

Each snapshot adds one pack with what is new in it, so that ten thousand files cost one file and one
flush. Objects are SHA-256 ones (`extensions.objectformat`): an id proves the bytes even against
someone who chose them. Modes are kept in full (100600, not only 100644), which git reads and would
not write.

`catalog` says where each object lies: its id, the number of its pack, the offset in it. It grows
only after its pack has reached the disk, so an object that is named is whole.
"""

import hashlib
import os
import stat
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, NamedTuple

from qwed.guards.workspace.errors import SnapshotDamaged

_CHUNK: Final = 1024 * 1024
_READ_AHEAD: Final = 16 * 1024
_TYPES: Final = {b"tree": 2, b"blob": 3}
_PACK_HEADER: Final = struct.Struct(">4sII")
_CATALOG_ROW: Final = struct.Struct(">32sIQ")
_CONFIG: Final = (
    "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
)


class TreeEntry(NamedTuple):
    """`mode` is the whole of `st_mode`; `id` names a blob, and is empty for a directory."""

    mode: int
    id: str


class FileChanged(Exception):
    """The file grew or shrank while it was read."""


class _Place(NamedTuple):
    pack: int
    offset: int


class ObjectStore:
    """One writer at a time (the guard holds a lock); `publish` makes real what was added."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._packs = directory / "objects" / "pack"
        self._catalog = directory / "catalog"
        self._places: dict[bytes, _Place] = {}
        self._added: dict[bytes, _Place] = {}
        self._number = 0
        self._catalog_size = 0
        self._incoming: IO[bytes] | None = None

    def open(self) -> None:
        for path in (self._packs, self._directory / "refs" / "snapshots"):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, text in (("HEAD", "ref: refs/heads/main\n"), ("config", _CONFIG)):
            if not (self._directory / name).exists():
                (self._directory / name).write_text(text)
        data = self._catalog.read_bytes() if self._catalog.exists() else b""
        self._catalog_size = len(data) - len(data) % _CATALOG_ROW.size
        for object_id, pack, offset in _CATALOG_ROW.iter_unpack(data[: self._catalog_size]):
            self._places[object_id] = _Place(pack, offset)
        self._number = max((place.pack for place in self._places.values()), default=0) + 1

    def close(self) -> None:
        """Drops what was added and not published."""
        if self._incoming is not None:
            self._incoming.close()
            Path(self._incoming.name).unlink(missing_ok=True)
            self._incoming = None
        self._added.clear()

    def add_blob(self, data: bytes) -> str:
        return self._add(b"blob", data)

    def add_tree(self, entries: dict[bytes, TreeEntry]) -> str:
        """One directory; the entries of its subdirectories carry the ids of their trees."""
        ordered = sorted(entries.items(), key=_git_order)
        rows = [b"%o %s\0" % (entry.mode, name) + bytes.fromhex(entry.id) for name, entry in ordered]
        return self._add(b"tree", b"".join(rows))

    def add_file(self, file: int, size: int, *, keep: bool = True) -> str:
        """The id of an open file of `size` bytes; `keep=False` only computes it."""
        if size <= _CHUNK:
            data = b"".join(_chunks(file, size))
            return self.add_blob(data) if keep else blob_id(data)
        object_id = _digest(b"blob", size, _chunks(file, size))
        if keep and not self._has(object_id):
            # Read again rather than held: if it is another content by then, it is refused.
            os.lseek(file, 0, os.SEEK_SET)
            self._append(object_id, b"blob", size, _check(object_id, b"blob", size, _chunks(file, size)))
        return object_id.hex()

    def publish(self) -> None:
        """Finishes the pack, and then tells the catalog of it."""
        if self._incoming is None:
            return
        pack = self._incoming
        pack.seek(0)
        pack.write(_PACK_HEADER.pack(b"PACK", 2, len(self._added)))
        pack.seek(0)
        pack.write(_file_digest(pack))
        pack.flush()
        os.fsync(pack.fileno())
        Path(pack.name).rename(self._pack(self._number))
        flush(self._packs)
        self._append_to_catalog()
        pack.close()
        self._incoming = None
        self._added.clear()

    def read_blob(self, object_id: str) -> bytes:
        return b"".join(self.blob_chunks(object_id))

    def blob_chunks(self, object_id: str) -> Iterator[bytes]:
        """Raises `SnapshotDamaged` at the latest after the last chunk, when the bytes are not the id's."""
        return self._read(object_id, b"blob")

    def size_of(self, object_id: str) -> int:
        with self._open(object_id) as pack:
            return _read_object_size(pack)

    def read_tree(self, object_id: str) -> Iterator[tuple[bytes, TreeEntry]]:
        data = b"".join(self._read(object_id, b"tree"))
        position = 0
        while position < len(data):
            end = data.index(b"\0", position)
            mode, _, name = data[position:end].partition(b" ")
            yield name, TreeEntry(int(mode, 8), data[end + 1 : end + 33].hex())
            position = end + 33

    def _add(self, kind: bytes, data: bytes) -> str:
        object_id = _digest(kind, len(data), (data,))
        if not self._has(object_id):
            self._append(object_id, kind, len(data), (data,))
        return object_id.hex()

    def _has(self, object_id: bytes) -> bool:
        return object_id in self._places or object_id in self._added

    def _append(self, object_id: bytes, kind: bytes, size: int, chunks: Iterable[bytes]) -> None:
        if self._incoming is None:
            self._incoming = (self._packs / "incoming").open("w+b")
            self._incoming.write(bytes(_PACK_HEADER.size))
        offset = self._incoming.tell()
        deflate = zlib.compressobj(1)
        try:
            self._incoming.write(_object_header(_TYPES[kind], size))
            for chunk in chunks:
                self._incoming.write(deflate.compress(chunk))
            self._incoming.write(deflate.flush())
        except FileChanged:
            self._incoming.seek(offset)
            self._incoming.truncate()
            raise
        self._added[object_id] = _Place(self._number, offset)

    def _append_to_catalog(self) -> None:
        with self._catalog.open("ab") as catalog:
            # Behind the last whole row, should a crash have left half of one.
            catalog.truncate(self._catalog_size)
            for object_id, place in self._added.items():
                catalog.write(_CATALOG_ROW.pack(object_id, *place))
            catalog.flush()
            os.fsync(catalog.fileno())
            self._catalog_size = catalog.tell()
        self._places |= self._added

    def _read(self, object_id: str, kind: bytes) -> Iterator[bytes]:
        with self._open(object_id) as pack:
            size = _read_object_size(pack)
            yield from _check(bytes.fromhex(object_id), kind, size, _inflate(pack))

    @contextmanager
    def _open(self, object_id: str) -> Iterator[IO[bytes]]:
        """The pack, at the object. Whatever cannot be read from it is damage."""
        place = self._places.get(bytes.fromhex(object_id))
        if place is None:
            raise SnapshotDamaged(f"object {object_id} is missing")
        try:
            with self._pack(place.pack).open("rb") as pack:
                pack.seek(place.offset)
                yield pack
        except (OSError, zlib.error, EOFError, FileChanged) as error:
            raise SnapshotDamaged(f"object {object_id} is not what was stored ({error})") from None

    def _pack(self, number: int) -> Path:
        return self._packs / f"pack-{number:08d}.pack"


def flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def blob_id(data: bytes) -> str:
    return _digest(b"blob", len(data), (data,)).hex()


def _git_order(item: tuple[bytes, TreeEntry]) -> bytes:
    name, entry = item
    return name + b"/" if stat.S_ISDIR(entry.mode) else name


def _digest(kind: bytes, size: int, chunks: Iterable[bytes]) -> bytes:
    digest = hashlib.sha256(b"%s %d\0" % (kind, size))
    for chunk in chunks:
        digest.update(chunk)
    return digest.digest()


def _chunks(file: int, size: int) -> Iterator[bytes]:
    """Exactly `size` bytes of an open file."""
    total = 0
    while (chunk := os.read(file, _CHUNK)) and (total := total + len(chunk)) <= size:
        yield chunk
    if total != size:
        raise FileChanged("its size changed while it was read")


def _check(object_id: bytes, kind: bytes, size: int, chunks: Iterable[bytes]) -> Iterator[bytes]:
    digest = hashlib.sha256(b"%s %d\0" % (kind, size))
    for chunk in chunks:
        digest.update(chunk)
        yield chunk
    if digest.digest() != object_id:
        raise FileChanged("its content is another")


def _object_header(type_number: int, size: int) -> bytes:
    """Three bits of type, then the size: four bits, and seven in each further byte."""
    header = bytearray([type_number << 4 | size & 0x0F])
    size >>= 4
    while size:
        header[-1] |= 0x80
        header.append(size & 0x7F)
        size >>= 7
    return bytes(header)


def _read_object_size(pack: IO[bytes]) -> int:
    byte = _read_byte(pack)
    size, shift = byte & 0x0F, 4
    while byte & 0x80:
        byte = _read_byte(pack)
        size |= (byte & 0x7F) << shift
        shift += 7
    return size


def _read_byte(pack: IO[bytes]) -> int:
    byte = pack.read(1)
    if not byte:
        raise EOFError("the pack ends too early")
    return byte[0]


def _inflate(pack: IO[bytes]) -> Iterator[bytes]:
    inflate = zlib.decompressobj()
    while not inflate.eof:
        data = inflate.unconsumed_tail or pack.read(_READ_AHEAD)
        if not data:
            raise EOFError("the pack ends too early")
        yield inflate.decompress(data, _CHUNK)


def _file_digest(file: IO[bytes]) -> bytes:
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    return digest.digest()
