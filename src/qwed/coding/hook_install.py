"""Install a hook, take it away, say what is installed: files only, each change shown before it is made."""

import difflib
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from qwed.coding import hook_settings
from qwed.coding.hook_settings import AGENTS, HOOK_SECONDS, CodingAgent, command_for
from qwed.coding.qwed_hook import read_settings

BACKUP: Final = ".before-qwed"
_SCRIPT: Final = "qwed_hook.py"


class HookPlace(msgspec.Struct, frozen=True):
    """One agent in one scope: its settings file, and what the hook needs, which is outside the project."""

    agent: CodingAgent
    file: Path
    home: Path

    @property
    def script(self) -> Path:
        return self.home / _SCRIPT

    @property
    def settings(self) -> Path:
        return self.home / f"{self.agent.name}.settings"

    @property
    def command(self) -> str:
        return command_for(sys.executable, self.script, self.agent.name, self.settings)


class InstallPlan(msgspec.Struct, frozen=True):
    """What would be written, and the difference for people to read."""

    place: HookPlace
    text: bytes
    diff: str


def place_of(agent: str, scope: str, home: Path, project: Path) -> HookPlace:
    known = AGENTS[agent]
    file = project / known.project if scope == "project" else home / known.user
    return HookPlace(known, file, home / ".config" / "qwed" / "hooks")


def plan_install(place: HookPlace) -> InstallPlan:
    """Raises `Unreadable`."""
    settings = hook_settings.with_hook(place.agent, hook_settings.read(place.file), place.command)
    return _plan(place, hook_settings.write(settings))


def plan_uninstall(place: HookPlace) -> InstallPlan:
    """The file as it was, where nobody changed it since; else the file without our hook."""
    backup, now = _beside(place.file), _read(place.file)
    settings = hook_settings.read(place.file)
    if backup.is_file():
        before = backup.read_bytes()
        original = msgspec.json.decode(before) if before else {}
        if now == hook_settings.write(hook_settings.with_hook(place.agent, original, place.command)):
            return _plan(place, before)
    left = hook_settings.without_hook(settings)
    return _plan(place, hook_settings.write(left) if left else b"")


def _plan(place: HookPlace, text: bytes) -> InstallPlan:
    before, after = _read(place.file).decode("utf-8", "replace"), text.decode("utf-8", "replace")
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), str(place.file), str(place.file), lineterm=""
    )
    return InstallPlan(place, text, "\n".join(lines))


def install(plan: InstallPlan, gateway: str, token: str, agent_id: str = "") -> None:
    """Script and token first: settings that name a hook which is not there would block every tool."""
    place = plan.place
    place.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    place.home.chmod(0o700)
    script = resources.files("qwed.coding").joinpath(_SCRIPT).read_bytes()
    _replace(place.script, script, 0o600)
    _replace(place.settings, _settings_text(gateway, token, agent_id), 0o600)
    backup = _beside(place.file)
    if not backup.exists():
        place.file.parent.mkdir(parents=True, exist_ok=True)
        _replace(backup, _read(place.file), 0o600)
    _replace(place.file, plan.text, None)


def uninstall(plan: InstallPlan) -> None:
    place = plan.place
    if plan.text:
        _replace(place.file, plan.text, None)
    else:
        place.file.unlink(missing_ok=True)
    _beside(place.file).unlink(missing_ok=True)
    place.settings.unlink(missing_ok=True)


def status(home: Path, project: Path) -> list[dict[str, str]]:
    rows = []
    for name in AGENTS:
        for scope in ("user", "project"):
            place = place_of(name, scope, home, project)
            rows.append({"agent": name, "scope": scope, "file": str(place.file), "state": _state(place)})
    return rows


def _state(place: HookPlace) -> str:
    try:
        settings = hook_settings.read(place.file)
    except hook_settings.Unreadable as problem:
        return f"unreadable: {problem}"
    if hook_settings.is_installed(settings, place.command):
        missing = [path.name for path in (place.script, place.settings) if not path.is_file()]
        return f"broken: {', '.join(missing)} is missing" if missing else "installed"
    return "changed" if _SCRIPT in str(settings) else "not installed"


def read_hooks(home: Path) -> list[dict[str, str]]:
    """What the installed hooks were given, by agent: where they ask, and as whom."""
    folder = home / ".config" / "qwed" / "hooks"
    return [read_settings(str(file)) for file in sorted(folder.glob("*.settings"))]


def _settings_text(gateway: str, token: str, agent_id: str) -> bytes:
    parts = urlsplit(gateway)
    is_tls = parts.scheme == "https"
    lines: Mapping[str, object] = {
        "host": parts.hostname or "127.0.0.1",
        "port": parts.port or (443 if is_tls else 80),
        "tls": "yes" if is_tls else "no",
        "token": token,
        "agent_id": agent_id,
        "seconds": HOOK_SECONDS,
    }
    return "".join(f"{name}={value}\n" for name, value in lines.items()).encode()


def _beside(file: Path) -> Path:
    return file.with_name(file.name + BACKUP)


def _read(file: Path) -> bytes:
    return file.read_bytes() if file.is_file() else b""


def _replace(file: Path, content: bytes, mode: int | None) -> None:
    """All of it or nothing, also when the machine stops in between."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as written:
            written.write(content)
            written.flush()
            os.fsync(written.fileno())
        if mode is not None:
            Path(name).chmod(mode)
        elif file.exists():
            shutil.copymode(file, name)
        else:
            Path(name).chmod(0o644)
        Path(name).replace(file)
    finally:
        Path(name).unlink(missing_ok=True)
