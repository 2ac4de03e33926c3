"""The guard: looks in the order in which Python itself goes, and collects what nothing explains."""

# Paths stay the strings that Python itself uses; Path would tidy them up.
# ruff: noqa: PTH117, PTH120

import os
import site
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from qwed.guards.startup import python_path as pythonpath
from qwed.guards.startup.customizations import NAMES, inspect_customizations, inspect_module
from qwed.guards.startup.findings import StartupFinding
from qwed.guards.startup.hook_files import inspect_site_dir
from qwed.guards.startup.search_path import SearchPath, existing


class StartupHookGuard:
    """Inspects one environment. Nothing that it looks at is imported or run.

    Without arguments it inspects the running interpreter. `accepted` maps a path to the hash of the
    content that a person has accepted there. `library_dirs` are the rest of Python's path.
    """

    def __init__(
        self,
        site_dirs: Iterable[str | Path] | None = None,
        python_path: str | None = None,
        accepted: Mapping[str, str] | None = None,
        *,
        library_dirs: Iterable[str | Path] | None = None,
        working_dir: str | Path | None = None,
    ) -> None:
        self._site_dirs = existing(running_site_dirs() if site_dirs is None else site_dirs)
        self._entries = pythonpath.split(running_python_path() if python_path is None else python_path)
        self._accepted = accepted or {}
        self._library_dirs = existing(running_library_dirs() if library_dirs is None else library_dirs)
        self._working_dirs = existing([working_dir or Path()])
        self._loaded = loaded_customizations() if site_dirs is None else []

    def verify(self) -> None:
        """Raises `RuntimeError`, which names every file, why it is not trusted and what to do."""
        findings = self.inspect()
        if findings:
            listed = "\n".join(f"  {finding}" for finding in findings)
            raise RuntimeError(f"this Python runs start-up hooks that nothing explains:\n{listed}")

    def inspect(self) -> list[StartupFinding]:
        """Everything unexplained that no person has accepted, in the order in which Python meets it."""
        return [finding for finding in dict.fromkeys(self._findings()) if not self._is_accepted(finding)]

    def _findings(self) -> Iterator[StartupFinding]:
        absolute = existing(entry for entry in self._entries if os.path.isabs(entry))
        search = SearchPath(
            [*absolute, *(path for path in self._library_dirs if path not in self._site_dirs)]
        )
        for entry in self._entries:
            yield from pythonpath.inspect_entry(entry, self._site_dirs, search)
        for directory in self._site_dirs:
            yield from inspect_site_dir(directory, search)
        for directory in self._working_dirs:
            search.append(directory)
        yield from inspect_customizations(search)
        for path in self._loaded:
            yield from inspect_module(path, os.path.dirname(path), search)

    def _is_accepted(self, finding: StartupFinding) -> bool:
        return finding.sha256 is not None and self._accepted.get(finding.path) == finding.sha256


def running_site_dirs() -> list[str]:
    """Where this interpreter looks for `.pth` files, in its order."""
    directories = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    directories += site.getsitepackages()
    # A hook may have added more of them by `site.addsitedir`.
    return directories + [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]


def running_library_dirs() -> list[str]:
    return [os.path.dirname(os.__file__), *filter(None, sys.path)]


def running_python_path() -> str:
    # What the interpreter took from the environment before anything of ours ran: not a setting.
    return "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")


def loaded_customizations() -> list[str]:
    """Those that ran in this process, wherever they came from."""
    files = (getattr(sys.modules.get(name), "__file__", None) for name in NAMES)
    return [file for file in files if file]
