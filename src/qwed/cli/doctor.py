"""`qwed doctor`: what is wrong with this installation, and how to fix it."""

import asyncio
import base64
import hashlib
import importlib.metadata
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

import qwed
from qwed import __version__
from qwed.cli.doctor_gateway import OK, WARNING, WRONG, DoctorFinding, compare_gateway
from qwed.cli.serve import policy_path
from qwed.cli.shared import print_json
from qwed.guards.startup import StartupHookGuard, accept, load_accepted
from qwed.installation import DISTRIBUTION, PACKAGES, REMEDY, describe_intrusion
from qwed.settings import MEMORY, PostgresUrl, Settings, SettingsError, read_settings
from qwed.stores.errors import DatabaseUnusable

_MARKS = {OK: ("✓", "green"), WARNING: ("!", "yellow"), WRONG: ("✗", "red")}
_LIBRARIES = ("sqlglot", "z3-solver", "sympy", "google-re2", "tree-sitter", "jsonschema-rs", "cryptography")


@click.command()
@click.option("--trust-startup", is_flag=True, help="Accept the start-up hooks found now, by content.")
@click.option("--database", metavar="PATH", help="The store to look at [qwed.db].")
@click.option("--deep", is_flag=True, help="Look at every page and index of the store, too.")
@click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")
def doctor(trust_startup: bool, database: str | None, deep: bool, as_json: bool) -> int:
    """Say what is wrong with this installation and how to fix it. Exit code 1 when something is."""
    try:
        settings = read_settings(options={"database": database})
    except SettingsError as error:
        findings = [DoctorFinding("settings", WRONG, str(error), "correct or unset the variable")]
    else:
        if trust_startup:
            _trust(settings)
        checks = (*_CHECKS, _storage) if deep else _CHECKS
        findings = [finding for check in checks for finding in check(settings)]
    if as_json:
        print_json({"version": __version__, "findings": findings})
    else:
        _print(findings)
    return 1 if any(finding.state == WRONG for finding in findings) else 0


def _print(findings: list[DoctorFinding]) -> None:
    click.echo(f"QWED {__version__}")
    for finding in findings:
        mark, colour = _MARKS[finding.state]
        click.echo(f"{click.style(mark, fg=colour, bold=True)} {finding.check}: {finding.says}")
        if finding.fix:
            click.echo(f"    fix: {finding.fix}")


def _trust(settings: Settings) -> None:
    file = settings.startup_trust_file
    found = StartupHookGuard(accepted=load_accepted(file)).inspect()
    refused = accept(found, file)
    click.echo(f"accepted {len(found) - len(refused)} start-up hook(s) in {file}", err=True)


def _python(settings: Settings) -> Iterator[DoctorFinding]:
    yield DoctorFinding("python", OK, ".".join(map(str, sys.version_info[:3])))


def _sqlite(settings: Settings) -> Iterator[DoctorFinding]:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info >= (3, 51, 3):
        yield DoctorFinding("sqlite", OK, version)
    else:
        yield DoctorFinding(
            "sqlite",
            WARNING,
            f"{version} has the WAL-reset race that 3.51.3 fixed; one gateway process avoids it",
            "let only one process write the file (QWED makes sure of its own), or upgrade SQLite",
        )


def _libraries(settings: Settings) -> Iterator[DoctorFinding]:
    missing = [name for name in _LIBRARIES if not _is_installed(name)]
    if missing:
        fix = "pip install 'qwed-gateway[server]'"
        yield DoctorFinding(
            "libraries", WRONG, f"missing {', '.join(missing)}: their engines prove nothing", fix
        )
    else:
        yield DoctorFinding("libraries", OK, "all engines can be loaded")


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _installation(settings: Settings) -> Iterator[DoctorFinding]:
    folder = Path(qwed.__file__).parents[1]
    replaced = _find_replaced_files()
    if intrusion := describe_intrusion(folder):
        yield DoctorFinding("installation", WRONG, intrusion.removesuffix(f": {REMEDY}"), REMEDY)
    elif not replaced:
        yield DoctorFinding("installation", OK, f"{DISTRIBUTION} {__version__} in {folder}")
    if replaced:
        some = ", ".join(replaced[:3]) + (f" and {len(replaced) - 3} more" if len(replaced) > 3 else "")
        yield DoctorFinding("installation", WRONG, f"not as it was installed: {some}", REMEDY)
    for owner in _owners_of_the_command() - {DISTRIBUTION}:
        says = f"the command qwed belongs to {owner}; python -m qwed is always ours"
        yield DoctorFinding("installation", WRONG, says, REMEDY)


def _find_replaced_files() -> list[str]:
    """Files of ours whose content is not the one that was installed; none where we run from a checkout."""
    try:
        files = importlib.metadata.files(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    ours = (file for file in files if file.parts[0] in PACKAGES and file.hash)
    return [str(file) for file in ours if not _is_as_listed(file)]


def _is_as_listed(file: importlib.metadata.PackagePath) -> bool:
    assert file.hash is not None
    try:
        digest = hashlib.new(file.hash.mode, Path(file.locate()).read_bytes()).digest()
    except OSError:
        return False
    return base64.urlsafe_b64encode(digest).decode().rstrip("=") == file.hash.value


def _owners_of_the_command() -> set[str]:
    found = importlib.metadata.entry_points(group="console_scripts", name="qwed")
    return {point.dist.name for point in found if point.dist is not None}


def _startup(settings: Settings) -> Iterator[DoctorFinding]:
    try:
        found = StartupHookGuard(accepted=load_accepted(settings.startup_trust_file)).inspect()
    except (RuntimeError, OSError, ValueError) as error:
        yield DoctorFinding(
            "start-up hooks", WRONG, str(error), "remove the file it names, or make it yours alone"
        )
        return
    if not found:
        yield DoctorFinding("start-up hooks", OK, "each one is explained")
    for hook in found:
        yield DoctorFinding(
            "start-up hooks",
            WRONG,
            f"{hook.path}: {hook.why}",
            hook.remedy or "remove it; or, if you know it: qwed doctor --trust-startup",
        )


def _policy(settings: Settings) -> Iterator[DoctorFinding]:
    from qwed.bootstrap import read_policy  # noqa: PLC0415 - loads the engines' rules

    path = policy_path(settings)
    try:
        policy = read_policy(path)
    except (OSError, ValueError) as error:
        yield DoctorFinding("policy", WRONG, str(error), "correct the file; see 'qwed policy check'")
    else:
        yield DoctorFinding("policy", OK, f"{path or 'built-in'}, {policy.version[:19]}…")


def _database_server(url: PostgresUrl) -> Iterator[DoctorFinding]:
    from qwed.stores.postgres.schema import schema_version  # noqa: PLC0415 - an extra

    try:
        version = asyncio.run(schema_version(url.reveal()))
    except DatabaseUnusable as error:
        yield DoctorFinding("store", WRONG, f"{url}: {error}", "start the server, or correct --database")
    else:
        yield DoctorFinding("store", OK, f"{url}, schema version {version}")
        yield from _record_keys(url)


def _record_keys(url: PostgresUrl) -> Iterator[DoctorFinding]:
    """Which keys have to stay where they are."""
    from qwed.stores.postgres.seals import named_keys  # noqa: PLC0415 - an extra

    try:
        named = asyncio.run(named_keys(url.reveal()))
    except DatabaseUnusable as error:
        yield DoctorFinding("record keys", WARNING, str(error), "start a gateway on it once")
    else:
        told = ", ".join(f"{name} ({rows} rows)" for name, rows in named.items())
        yield DoctorFinding("record keys", OK, told or "no row names one yet")


def _store(settings: Settings) -> Iterator[DoctorFinding]:
    if settings.database == MEMORY:
        yield DoctorFinding("store", WARNING, "in memory: everything is forgotten at the end", "use a file")
        return
    if isinstance(settings.database, PostgresUrl):
        yield from _database_server(settings.database)
        return
    path = Path(settings.database)
    folder = path.absolute().parent
    if not folder.is_dir():
        yield DoctorFinding("store", WRONG, f"there is no directory {folder}", f"mkdir -p {folder}")
    elif not os.access(folder, os.W_OK):
        yield DoctorFinding(
            "store", WRONG, f"{folder} can't be written", "change its owner or use another --database"
        )
    elif not path.exists():
        yield DoctorFinding("store", OK, f"{path} is made at the first start")
    else:
        yield from _existing_store(path, settings)


def _existing_store(path: Path, settings: Settings) -> Iterator[DoctorFinding]:
    from qwed.cli.ledger_store import deployment_keys  # noqa: PLC0415
    from qwed.ledger.audit import Tampering  # noqa: PLC0415
    from qwed.stores.sqlite.ledger import verify_ledger  # noqa: PLC0415

    try:
        found = verify_ledger(path, deployment_keys(settings, path))
    except click.ClickException as error:
        yield DoctorFinding("ledger", WRONG, error.message, "restore the signing key from a backup")
    except sqlite3.Error as error:
        yield DoctorFinding(
            "store", WRONG, f"{path} can't be read as a store: {error}", "use another --database"
        )
    else:
        if isinstance(found, Tampering):
            remedy = "restore the store from a backup; keep this one as evidence"
            yield DoctorFinding("ledger", WRONG, found.says, remedy)
        else:
            yield DoctorFinding("store", OK, f"{path}, {found.audited.head.seq} ledger entries, chain valid")
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        yield DoctorFinding(
            "store", WARNING, f"others can read {path} (mode {mode:03o})", f"chmod 600 {path}"
        )


def _storage(settings: Settings) -> Iterator[DoctorFinding]:
    """What takes long: all that is there is read."""
    from qwed.stores.sqlite import find_damage  # noqa: PLC0415

    if isinstance(settings.database, PostgresUrl):
        yield from _indexes(settings.database)
    elif settings.database != MEMORY and Path(settings.database).exists():
        if damage := find_damage(Path(settings.database)):
            yield DoctorFinding("storage", WRONG, damage, "qwed restore")
        else:
            yield DoctorFinding("storage", OK, "every page and index is sound")


def _indexes(url: PostgresUrl) -> Iterator[DoctorFinding]:
    from qwed.stores.postgres.schema import unfinished_indexes  # noqa: PLC0415 - an extra

    try:
        unfinished = asyncio.run(unfinished_indexes(url.reveal()))
    except DatabaseUnusable as error:
        yield DoctorFinding("storage", WRONG, f"{url}: {error}", "start the server, or correct --database")
        return
    if unfinished:
        fix = "start a gateway: it builds them; pages take longer until then"
        yield DoctorFinding("storage", WARNING, f"indexes are not finished: {', '.join(unfinished)}", fix)
    else:
        yield DoctorFinding("storage", OK, "every index is whole")


def _gateway(settings: Settings) -> Iterator[DoctorFinding]:
    from qwed.bootstrap import read_policy  # noqa: PLC0415 - loads the engines' rules

    try:
        version = read_policy(policy_path(settings)).version
    except (OSError, ValueError):
        version = None
    yield from compare_gateway(settings, version)


_CHECKS: tuple[Callable[[Settings], Iterator[DoctorFinding]], ...] = (
    _python,
    _installation,
    _sqlite,
    _libraries,
    _startup,
    _policy,
    _store,
    _gateway,
)
