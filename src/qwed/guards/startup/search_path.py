"""Where Python would find a module, found without importing it."""

# Paths stay the strings that Python itself uses; Path would tidy them up.
# ruff: noqa: PTH100, PTH112

import os
from collections.abc import Iterable
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
    SourcelessFileLoader,
)
from pathlib import Path

_LOADERS = (
    (ExtensionFileLoader, EXTENSION_SUFFIXES),
    (SourceFileLoader, SOURCE_SUFFIXES),
    (SourcelessFileLoader, BYTECODE_SUFFIXES),
)


def existing(directories: Iterable[str | Path]) -> list[str]:
    """As given, absolute, once each. Links stay: resolving one would hide that it can be exchanged."""
    paths = (os.path.abspath(directory) for directory in directories)
    return [path for path in dict.fromkeys(paths) if os.path.isdir(path)]


class SearchPath:
    """The directories in Python's order; it grows while start-up files are read, as `sys.path` does."""

    def __init__(self, directories: Iterable[str]) -> None:
        self.directories = list(dict.fromkeys(directories))
        self._finders: dict[str, FileFinder] = {}

    def append(self, directory: str) -> None:
        if directory not in self.directories:
            self.directories.append(directory)

    def files_of(self, module: str) -> list[str]:
        """The files that importing `module` would run, its packages first; empty if there is none."""
        top, *rest = module.split(".")
        spec = next(filter(None, (self.find(directory, top) for directory in self.directories)), None)
        files = []
        for name in ["", *rest]:
            if name and spec is not None:
                locations = spec.submodule_search_locations or []
                spec = next(filter(None, (self.find(location, name) for location in locations)), None)
            if spec is None or spec.origin is None:
                return []
            files.append(spec.origin)
        return files

    def find(self, directory: str, name: str) -> ModuleSpec | None:
        """What `name` is in this one directory. A folder without code of its own is nothing."""
        if directory not in self._finders:
            self._finders[directory] = FileFinder(directory, *_LOADERS)
        spec = self._finders[directory].find_spec(name)
        return spec if spec is not None and spec.origin is not None else None
