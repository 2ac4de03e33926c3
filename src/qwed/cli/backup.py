"""`qwed backup` and `qwed restore`: a store kept whole and put back whole, its ledger verified."""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from qwed import __version__
from qwed.bootstrap import record_keys, signing_key_path, source_of
from qwed.cli.errors import CannotRun
from qwed.cli.shared import print_json
from qwed.domain.json_types import Json
from qwed.domain.times import iso
from qwed.ect.key_files import read_ring
from qwed.ect.keys import KeyRing, KeyUnusable, node_issuer, write_new
from qwed.ledger.states import Waiting
from qwed.settings import MEMORY, PostgresUrl, Settings, read_settings
from qwed.stores import DatabaseInUse, DatabaseUnusable
from qwed.stores.backups import (
    FORMAT,
    KEY_FILE,
    KEY_SUFFIXES,
    BackupManifest,
    files_of,
    new_folder,
    read_manifest,
    verify_copy,
    write_manifest,
)
from qwed.stores.sqlite import own_file
from qwed.stores.sqlite.file_copies import bring_beside, copy_file, is_there, keep_earlier, put_in_place
from qwed.stores.sqlite.ledger import Followed

_COPY: Final = "store.db"
_JSON = click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")
_ALWAYS_LEFT_OUT: Final = (
    "the policy file and the settings",
    "a record key of its own (QWED_RECORD_KEY)",
    "what is under way: steps that were not decided yet, limits in Redis",
)
_KEY: Final = "the signing key"


@click.command()
@click.option("--out", required=True, metavar="FOLDER", help="A folder that is not there yet.")
@click.option("--database", metavar="PATH", help="The store [qwed.db]; a running gateway may own it.")
@click.option("--with-keys", is_flag=True, help="Keep the signing key, too: guard the folder like the key.")
@_JSON
def backup(out: str, database: str | None, with_keys: bool, as_json: bool) -> int:
    """Copy the store while the gateway runs, verify the ledger of the copy, and sign what was kept.

    The folder has its name only when all of it is on the disk. A store that does not verify is not kept.
    """
    settings = read_settings(options={"database": database})
    target = Path(out)
    try:
        with new_folder(target) as folder:
            manifest = _keep(settings, folder, with_keys)
    except (DatabaseInUse, DatabaseUnusable, KeyUnusable) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{target} can't be written: {error.strerror}") from None
    _tell(manifest, as_json, {"backup": str(target)}, f"kept in {target}")
    return 0


@click.command()
@click.argument("folder")
@click.option("--database", metavar="PATH", help="Where to [qwed.db]; no gateway may use it.")
@click.option("--replace", is_flag=True, help="A SQLite file that is there is kept beside, and replaced.")
@click.option("--check", is_flag=True, help="Only say whether the backup is whole; write nothing.")
@_JSON
def restore(folder: str, database: str | None, replace: bool, check: bool, as_json: bool) -> int:
    """Put a backup back, if the deployment's key signed it, no file changed and its ledger verifies.

    A SQLite file appears from one moment to the next; a PostgreSQL database has to be empty and is filled in
    one transaction. The signing key is taken from its place, or from the backup where it holds one.
    """
    settings = read_settings(options={"database": database})
    try:
        answer = _restore(settings, Path(folder), replace=replace, check=check)
    except (DatabaseInUse, DatabaseUnusable, KeyUnusable) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"the backup can't be restored: {error.strerror}") from None
    done = "whole" if check else f"restored to {settings.database}"
    more = {"restored": not check, "key": answer.key_from, "earlier": answer.earlier}
    _tell(answer.manifest, as_json, more, f"{done}; {_KEY}: from {answer.key_from}")
    if not as_json and answer.earlier:
        click.echo(f"the store that was there is kept as {answer.earlier}")
    if not as_json and not check:
        made = iso(answer.manifest.made_ms)
        click.echo(
            f"everything since {made} is undone: revoke again the keys and agents that you revoked since"
        )
    return 0


# --- keeping ---------------------------------------------------------------------------------------


def _keep(settings: Settings, folder: Path, with_keys: bool) -> BackupManifest:
    database = _store_of(settings)
    key = signing_key_path(database, settings.data_dir)
    ring = read_ring(key, node_issuer(settings.node_name), source_of(settings.signing_key))
    if with_keys:
        _keep_keys(key, folder)
    if isinstance(database, PostgresUrl):
        manifest = _keep_tables(settings, database, folder, ring)
    else:
        manifest = _keep_file(database, folder, ring)
    manifest = msgspec.structs.replace(manifest, has_keys=with_keys, files=files_of(folder))
    write_manifest(folder, manifest, ring)
    return manifest


def _store_of(settings: Settings) -> Path | PostgresUrl:
    database = settings.database
    if database == MEMORY or isinstance(database, str):
        raise CannotRun("a store in memory ends with its gateway: there is nothing to keep or to put back")
    return database


def _keep_keys(key: Path, folder: Path) -> None:
    (folder / KEY_FILE).parent.mkdir(mode=0o700)
    for suffix in KEY_SUFFIXES:
        source = key.with_name(key.name + suffix)
        if source.exists():
            write_new(folder / f"{KEY_FILE}{suffix}", source.read_bytes())


def _keep_file(path: Path, folder: Path, ring: KeyRing) -> BackupManifest:
    if not is_there(path):
        raise CannotRun(f"there is no store at {path}")
    schema, rows = copy_file(path, folder / _COPY)
    found = verify_copy(folder / _COPY, ring.known())
    return _manifest("sqlite", schema, rows, found)


def _keep_tables(settings: Settings, url: PostgresUrl, folder: Path, ring: KeyRing) -> BackupManifest:
    from qwed.stores.postgres.table_files import copy_tables  # noqa: PLC0415 - an extra

    verified = _Verified(ring)
    keys = record_keys(settings.record_key, signing_key_path(url, settings.data_dir), ring)
    copied = copy_tables(url.reveal(), folder, keys, verified)
    rows = sum(table.rows for table in copied.tables.values())
    manifest = _manifest("postgresql", copied.schema, rows, verified.found)
    return msgspec.structs.replace(
        manifest, tables=copied.tables, sequences=copied.sequences, parts=copied.parts
    )


class _Verified:
    """What the verification of a ledger found."""

    found: Followed

    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring

    def __call__(self, copy: Path, waiting: tuple[Waiting, ...]) -> None:
        self.found = verify_copy(copy, self._ring.known(), waiting, is_copy=True)


def _manifest(kind: Any, schema: int, rows: int, found: Followed) -> BackupManifest:
    return BackupManifest(
        format=FORMAT,
        kind=kind,
        qwed=__version__,
        made_ms=time.time_ns() // 1_000_000,
        schema=schema,
        ledger=found.ledger,
        entries=found.audited.head.seq,
        head=found.audited.head.hash.hex(),
        has_keys=False,
        rows=rows,
        files={},
    )


# --- putting back ----------------------------------------------------------------------------------


class _Restored(msgspec.Struct, frozen=True):
    manifest: BackupManifest
    key_from: str
    earlier: str | None = None


def _restore(settings: Settings, folder: Path, *, replace: bool, check: bool) -> _Restored:
    database = _store_of(settings)
    place = signing_key_path(database, settings.data_dir)
    kept = folder / KEY_FILE
    is_elsewhere = settings.signing_key is not None
    if not (is_elsewhere or place.exists() or kept.exists()):
        raise CannotRun(f"{_KEY} is neither at {place} nor in the backup: put it there first")
    key = kept if _has_key(kept) and not _has_key(place) else place
    ring = read_ring(key, node_issuer(settings.node_name), source_of(settings.signing_key))
    manifest = read_manifest(folder, ring)
    given = "QWED_SIGNING_KEY" if is_elsewhere else str(place)
    answer = _Restored(manifest, given if is_elsewhere or key is place else "the backup")
    if check:
        if manifest.kind == "sqlite":
            verify_copy(folder / _COPY, ring.known())
        return answer
    if (manifest.kind == "postgresql") != isinstance(database, PostgresUrl):
        raise CannotRun(f"the backup is of {manifest.kind}: name such a store with --database")
    if isinstance(database, PostgresUrl):
        if replace:
            raise CannotRun("a PostgreSQL database is not replaced: restore into an empty one")
        # A whole store without its key would look like one that can go on.
        _put_keys(folder, place)
        _fill_database(settings, database, folder, manifest, ring, key)
        return answer
    return _replace_file(database, folder, answer, ring, place, replace)


def _has_key(path: Path) -> bool:
    """The key, or what belongs to one that is in an HSM or a cloud."""
    return path.exists() or path.with_name(f"{path.name}.root").exists()


def _fill_database(
    settings: Settings, url: PostgresUrl, folder: Path, manifest: BackupManifest, ring: KeyRing, key: Path
) -> None:
    from qwed.stores.postgres.table_files import load_tables  # noqa: PLC0415 - an extra

    keys = record_keys(settings.record_key, key, ring)
    with tempfile.TemporaryDirectory(prefix="qwed-restore-") as work:
        load_tables(url.reveal(), folder, manifest, keys, _Verified(ring), Path(work))


def _replace_file(
    path: Path, folder: Path, answer: _Restored, ring: KeyRing, place: Path, replace: bool
) -> _Restored:
    was_there = is_there(path)
    try:
        with own_file(path):
            if was_there and not replace:
                raise CannotRun(f"{path} is there already: --replace keeps it beside, and replaces it")
            part = bring_beside(folder / _COPY, path.resolve(), answer.manifest.files[_COPY])
            try:
                verify_copy(part, ring.known())
                earlier = keep_earlier(path.resolve(), answer.manifest.made_ms) if was_there else None
                _put_keys(folder, place)
                put_in_place(part, path.resolve())
            finally:
                part.unlink(missing_ok=True)
    finally:
        # Only a lock was there.
        if not was_there and path.exists() and not is_there(path):
            path.unlink()
    return msgspec.structs.replace(answer, earlier=None if earlier is None else str(earlier))


def _put_keys(folder: Path, place: Path) -> None:
    """Those that the backup holds and that are not in their place; the one that signs comes last."""
    if place.exists():
        return
    for suffix in reversed(KEY_SUFFIXES):
        source, target = folder / f"{KEY_FILE}{suffix}", place.with_name(place.name + suffix)
        if source.exists() and not target.exists():
            fresh = target.with_name(f"{target.name}.new")
            fresh.unlink(missing_ok=True)
            write_new(fresh, source.read_bytes())
            shutil.move(fresh, target)


def _tell(manifest: BackupManifest, as_json: bool, more: dict[str, Json], done: str) -> None:
    left_out = [*([] if manifest.has_keys else [_KEY]), *_ALWAYS_LEFT_OUT]
    kept = [f"{manifest.rows} rows of the store", *([_KEY] if manifest.has_keys else [])]
    if as_json:
        said = {
            "kind": manifest.kind,
            "made_at": iso(manifest.made_ms),
            "schema": manifest.schema,
            "ledger": {
                "name": manifest.ledger,
                "entries": manifest.entries,
                "head": manifest.head,
                "valid": True,
            },
            "bytes": sum(file.bytes for file in manifest.files.values()),
            "kept": kept,
            "not_kept": left_out,
        }
        print_json({**more, **said})
        return
    click.echo(f"{click.style('VALID', fg='green', bold=True)}  {manifest.entries} entries; {done}")
    for item in kept:
        click.echo(f"       kept: {item}")
    for item in left_out:
        click.echo(f"       not kept: {item}")
