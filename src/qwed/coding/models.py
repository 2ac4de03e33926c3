"""What a coding agent needs besides the project: its own model, and the credential that it has for it.

The sandbox lets it reach nothing else. A model on this machine is reached at its usual port.
"""

import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Final
from urllib.parse import urlsplit

import msgspec

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


class AgentModel(msgspec.Struct, frozen=True):
    """`urls` are variables that name another model; `variables` is what else of the environment it is given;
    `logins` are files below the home, to be read; `socket` is the variable that names the Unix socket of its
    model, where it knows one."""

    urls: tuple[str, ...]
    hosts: tuple[str, ...]
    variables: str
    logins: tuple[str, ...]
    socket: str | None = None


class ModelWay(msgspec.Struct, frozen=True):
    """Where one agent's model is: hosts to tunnel to, and ports of this machine."""

    hosts: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    environment: Mapping[str, str] = {}
    logins: tuple[Path, ...] = ()
    socket: str | None = None

    @property
    def addresses(self) -> tuple[str, ...]:
        return (*self.hosts, *(f"127.0.0.1:{port}" for port in self.ports))


_MODELS: Final[Mapping[str, AgentModel]] = {
    "claude": AgentModel(
        ("ANTHROPIC_BASE_URL",),
        ("api.anthropic.com:443",),
        r"ANTHROPIC_\w+|CLAUDE_CODE_\w+|DISABLE_AUTOUPDATER",
        (".claude/.credentials.json", ".claude.json"),
        "ANTHROPIC_UNIX_SOCKET",
    ),
    "codex": AgentModel(
        ("OPENAI_BASE_URL",),
        ("api.openai.com:443", "chatgpt.com:443", "auth.openai.com:443"),
        r"OPENAI_\w+|CODEX_\w+",
        (".codex/auth.json",),
    ),
    "gemini": AgentModel(
        ("GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL"),
        (
            "generativelanguage.googleapis.com:443",
            "cloudcode-pa.googleapis.com:443",
            "oauth2.googleapis.com:443",
        ),
        r"GEMINI_\w+|GOOGLE_\w+",
        (".gemini/oauth_creds.json", ".gemini/google_accounts.json"),
    ),
    "copilot": AgentModel(
        ("COPILOT_PROVIDER_BASE_URL",),
        (
            "api.githubcopilot.com:443",
            "api.individual.githubcopilot.com:443",
            "api.business.githubcopilot.com:443",
            "api.enterprise.githubcopilot.com:443",
        ),
        r"COPILOT_\w+|GH_TOKEN|GITHUB_TOKEN",
        (".copilot/config.json",),
    ),
}


def find_model(program: str, environment: Mapping[str, str], home: Path) -> ModelWay:
    """Nothing for a program that is no agent we know."""
    known = _MODELS.get(PurePath(program).name)
    if known is None:
        return ModelWay()
    named = [environment[name] for name in known.urls if environment.get(name)]
    hosts, ports = list[str](), list[int]()
    for url in named:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if parts.hostname in _LOOPBACK:
            ports.append(port)
        elif parts.hostname:
            hosts.append(f"{parts.hostname}:{port}")
    kept = {name: value for name, value in environment.items() if re.fullmatch(known.variables, name)}
    logins = tuple(home / name for name in known.logins)
    return ModelWay(tuple(hosts) if named else known.hosts, tuple(ports), kept, logins, known.socket)
