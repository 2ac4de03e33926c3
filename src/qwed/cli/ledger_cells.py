"""`qwed ledger verify --cells`: the ledgers of many deployments, and that no principal is in two of them."""

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from qwed.cli.backend import HttpBackend
from qwed.cli.cells import read_cells
from qwed.cli.errors import CannotReach, CannotRun
from qwed.cli.ledger_remote import RemoteLedger
from qwed.cli.ledger_store import find_store, read_keys, verify_store
from qwed.cli.shared import print_json, printable
from qwed.domain.agents import Agent, AgentStatus
from qwed.domain.cells import Cell, Cells, route_tag
from qwed.domain.credentials import ApiKey
from qwed.domain.times import iso
from qwed.ect.jwk import PublicKey
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.ledger import export as exports
from qwed.ledger.audit import Tampering
from qwed.settings import SettingsError, environment
from qwed.stores.bodies import decode

_PAGE: Final = 200
_COLOURS: Final = {"VALID": "green", "BROKEN": "red", "UNKNOWN": "yellow"}
_VALID: Final = {"VALID": True, "BROKEN": False, "UNKNOWN": None}


class CellVerdict(NamedTuple):
    """What was found of one cell. UNKNOWN: it could not be looked at."""

    name: str
    word: str
    says: str
    ledger: str | None = None
    entries: int = 0
    head: str = ""
    #: Who may act there: the principals of its agents and of its keys.
    principals: frozenset[str] = frozenset()


def verify_cells(file: Path, as_json: bool) -> int:
    """Every cell is looked at, whatever is wrong with another one."""
    cells = read_cells(file)
    verdicts = [_look_at(name, cell, file.parent) for name, cell in cells.cells.items()]
    problems, notes = list(_find_doubled(verdicts)), list(_find_misrouted(cells, verdicts))
    words = {verdict.word for verdict in verdicts}
    if as_json:
        found = [
            verdict._asdict() | {"principals": sorted(verdict.principals), "valid": _VALID[verdict.word]}
            for verdict in verdicts
        ]
        valid = False if problems or "BROKEN" in words else None if "UNKNOWN" in words else True
        print_json({"valid": valid, "cells": found, "problems": problems, "notes": notes})
    else:
        for verdict in verdicts:
            word = click.style(f"{verdict.word:8}", fg=_COLOURS[verdict.word], bold=True)
            click.echo(f"{word}{verdict.name}: {printable(verdict.says)}")
        for problem in problems:
            click.echo(f"{click.style('BROKEN  ', fg='red', bold=True)}{printable(problem)}")
        for note in notes:
            click.echo(f"note    {printable(note)}")
    if problems or "BROKEN" in words:
        return 1
    return 2 if "UNKNOWN" in words else 0


def _look_at(name: str, cell: Cell, folder: Path) -> CellVerdict:
    try:
        if cell.database is not None:
            return _look_into_store(name, cell, folder)
        if cell.api_key is not None:
            return _ask_gateways(name, cell, folder)
        raise CannotRun("the file names neither its database nor an api_key")
    except CannotReach as error:
        return CellVerdict(name, "UNKNOWN", str(error))
    except click.ClickException as error:
        return CellVerdict(name, "UNKNOWN", error.message)
    except (SettingsError, StoreUnavailable) as error:
        return CellVerdict(name, "UNKNOWN", str(error))


def _look_into_store(name: str, cell: Cell, folder: Path) -> CellVerdict:
    assert cell.database is not None
    if cell.jwks is None:
        raise CannotRun("jwks is needed: a store is verified with the public keys of its own deployment")
    place = cell.database
    database = _variable(place) if place.startswith("env:") else str(folder / place)
    store = find_store(database, is_own=False)
    found = verify_store(store, read_keys(str(folder / cell.jwks)))
    if isinstance(found, Tampering):
        return CellVerdict(name, "BROKEN", found.says)
    followed, counted = found
    if counted.differences:
        return CellVerdict(name, "BROKEN", "; ".join(counted.differences))
    head = followed.audited.head
    says = (
        f"{head.seq} entries of {followed.ledger}, their payloads, {followed.rows or 0} rows and the counters"
    )
    principals = frozenset(_principals_in(store.path))
    return CellVerdict(name, "VALID", says, followed.ledger, head.seq, head.hash.hex(), principals)


def _ask_gateways(name: str, cell: Cell, folder: Path) -> CellVerdict:
    """The first that answers: all gateways of a cell have one ledger."""
    assert cell.api_key is not None
    api_key = _variable(cell.api_key)
    keys = None if cell.jwks is None else read_keys(str(folder / cell.jwks))
    addresses = [cell.url] if cell.url else [f"http://{address}" for address in cell.upstream]
    for address in addresses[:-1]:
        try:
            return _ask(name, address, api_key, keys)
        except CannotReach:
            continue
    return _ask(name, addresses[-1], api_key, keys)


def _ask(name: str, address: str, api_key: str, keys: Mapping[str, PublicKey] | None) -> CellVerdict:
    remote = RemoteLedger(address, api_key)
    found = exports.verify(remote.lines(), keys or remote.keys(), None, [], [])
    if isinstance(found, Tampering):
        return CellVerdict(name, "BROKEN", found.says)
    if isinstance(found, exports.NotAnExport):
        return CellVerdict(name, "BROKEN", f"line {found.line}: {found.says}")
    head = found.audited.head
    says = f"{head.seq} entries of {found.ledger}, as its gateway has them"
    principals = frozenset(_principals_at(address, api_key))
    return CellVerdict(name, "VALID", says, found.ledger, head.seq, head.hash.hex(), principals)


def _variable(place: str) -> str:
    name = place.removeprefix("env:")
    if not (value := environment().get(name)):
        raise CannotRun(f"the environment has no {name}")
    return value


def _principals_in(path: Path) -> Iterator[str]:
    """Of agents that were not deregistered, and of keys that still open something."""
    now_ms = time.time_ns() // 1_000_000
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        for (body,) in connection.execute("SELECT body FROM agents"):
            agent = decode(Agent, body)
            if agent.status is not AgentStatus.DEREGISTERED:
                yield agent.principal_id
        for (body,) in connection.execute("SELECT body FROM keys"):
            key = decode(ApiKey, body)
            if key.principal_id is not None and key.is_valid(now_ms):
                yield key.principal_id
    except sqlite3.Error as error:
        raise CannotRun(f"{path} can't be read: {error}") from None
    finally:
        connection.close()


def _principals_at(address: str, api_key: str) -> Iterator[str]:
    backend, now = HttpBackend(address, api_key), iso(time.time_ns() // 1_000_000)
    try:
        after: str | None = None
        while True:
            page: dict[str, Any] = backend.agents(after, _PAGE)
            for agent in page["agents"]:
                if agent["status"] != AgentStatus.DEREGISTERED:
                    yield agent["principal_id"]
            if (after := page.get("next")) is None:
                break
        found: dict[str, Any] = backend.keys()
        for key in found["keys"]:
            ends = (key["revoked_at"], key["expires_at"])
            if key["principal_id"] is not None and all(end is None or end > now for end in ends):
                yield key["principal_id"]
    finally:
        backend.close()


def _find_doubled(verdicts: Sequence[CellVerdict]) -> Iterator[str]:
    """One ledger under two names, and principals who may act in two cells."""
    for number, verdict in enumerate(verdicts):
        for other in verdicts[:number]:
            if verdict.ledger is not None and verdict.ledger == other.ledger:
                yield f"{other.name} and {verdict.name} are one deployment: both have {verdict.ledger}"
    for principal in sorted({who for verdict in verdicts for who in verdict.principals}):
        places = [verdict.name for verdict in verdicts if principal in verdict.principals]
        if len(places) > 1:
            yield f"{principal!r} may act in {' and in '.join(places)}"


def _find_misrouted(cells: Cells, verdicts: Sequence[CellVerdict]) -> Iterator[str]:
    """Who has agents or keys where the file leads none of them."""
    by_tag = cells.by_tag()
    for verdict in verdicts:
        for principal in sorted(verdict.principals):
            cell = by_tag.get(route_tag(principal), cells.default)
            if cell != verdict.name:
                yield f"{principal!r} may act in {verdict.name}, and the file leads to {cell}"
