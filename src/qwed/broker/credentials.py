"""Where credentials come from: the broker's own environment, a file, or a command."""

import asyncio
import os
import shlex
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from qwed.broker.forms import MIN_CREDENTIAL
from qwed.broker.refusals import BrokerRefused
from qwed.domain.codes import Code

MAX_CREDENTIAL: Final = 4_096
#: A file or a command is asked again after this long: credentials rotate.
KEPT_SECONDS: Final = 60.0
EXEC_SECONDS: Final = 10.0
_CHILD_VARIABLES: Final = (
    "HOME",
    "PATH",
    "LANG",
    "USER",
    "XDG_RUNTIME_DIR",
    "GNUPGHOME",
    "DBUS_SESSION_BUS_ADDRESS",
)


class Credential:
    """A value that no message, log or `repr` shows."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "Credential(…)"

    def reveal(self) -> str:
        return self._value


class CredentialSource:
    """One `from` of the policy. `known` are the values that it had lately, for what comes back late."""

    def __init__(self, source: str, environment: Mapping[str, str], policy_file: Path | None) -> None:
        self.source = source
        self.known: list[Credential] = []
        self._kind, _, self._place = source.partition(":")
        self._environment = environment
        self._policy_file = policy_file
        self._read_at: float | None = None
        self._lock = asyncio.Lock()

    @property
    def variable(self) -> str | None:
        return self._place if self._kind == "env" else None

    async def read(self) -> Credential:
        """Raises `BrokerRefused`, which says where the credential should have come from."""
        async with self._lock:
            if self.known and not self._is_old():
                return self.known[-1]
            value = _check(await self._text(), self.source_name)
            self._read_at = time.monotonic()
            if not self.known or self.known[-1].reveal() != value:
                self.known = [*self.known[-3:], Credential(value)]
            return self.known[-1]

    @property
    def source_name(self) -> str:
        """Without the arguments of a command."""
        return f"{self._kind}:{self._place.split(' ')[0]}"

    def _is_old(self) -> bool:
        return self._kind != "env" and (
            self._read_at is None or time.monotonic() - self._read_at > KEPT_SECONDS
        )

    async def _text(self) -> str:
        if self._kind == "env":
            if self._place not in self._environment:
                raise _unreadable(self.source_name, "the variable is not set")
            return self._environment[self._place]
        try:
            if self._kind == "file":
                return _read_file(Path(self._place))
            return await self._run()
        except OSError as error:
            raise _unreadable(self.source_name, type(error).__name__) from None

    async def _run(self) -> str:
        words = shlex.split(self._place)
        if self._policy_file is None:
            raise _unreadable(self.source_name, "a command needs a policy file that says so")
        for file in (self._policy_file, Path(words[0])):
            require_owned(file, self.source_name)
        given = {name: self._environment[name] for name in _CHILD_VARIABLES if name in self._environment}
        process = await asyncio.create_subprocess_exec(
            *words,
            env=given,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(EXEC_SECONDS):
                text = await _read_some(process.stdout)
                status = await process.wait()
        except TimeoutError:
            raise _unreadable(self.source_name, f"the command took longer than {EXEC_SECONDS:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if status != 0:
            raise _unreadable(self.source_name, f"the command ended with {status}")
        return text


async def _read_some(stream: asyncio.StreamReader) -> str:
    found = b""
    while len(found) <= MAX_CREDENTIAL and (piece := await stream.read(MAX_CREDENTIAL)):
        found += piece
    return found[: MAX_CREDENTIAL + 2].decode("latin-1")


def require_owned(file: Path, name: str) -> None:
    """Only its owner, who is root or runs the broker, may change it. Raises `BrokerRefused`."""
    found = file.stat()
    if found.st_uid not in (0, os.geteuid()) or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _unreadable(name, f"{file} can be changed by others than its operator")


def _read_file(file: Path) -> str:
    with file.open("rb") as opened:
        if os.fstat(opened.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise _unreadable(f"file:{file}", "others than its owner may read it: chmod 600")
        return opened.read(MAX_CREDENTIAL + 2).decode("latin-1")


def _check(text: str, name: str) -> str:
    value = text.removesuffix("\n").removesuffix("\r")
    if not MIN_CREDENTIAL <= len(value) <= MAX_CREDENTIAL:
        raise _unreadable(name, f"it has not {MIN_CREDENTIAL} to {MAX_CREDENTIAL} characters")
    if not value.isascii() or not value.isprintable():
        raise _unreadable(name, "it is not one line of visible ASCII")
    return value


def _unreadable(name: str, why: str) -> BrokerRefused:
    return BrokerRefused(Code.BROKER_CREDENTIAL, f"the credential {name} can't be read: {why}")
