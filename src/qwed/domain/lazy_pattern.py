"""Regular expressions that are compiled when they are first used.

Compiling dozens of them takes longer than importing everything else; a process that never meets a text for
most of them should not pay for them.
"""

import re
from typing import Any, Final, cast

_METHODS: Final = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")


class _LazyPattern:
    def __init__(self, source: str, flags: int) -> None:
        self.pattern = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Use it as what `re.compile` returns. A mistake in the source shows on first use."""
    return cast("re.Pattern[str]", _LazyPattern(source, flags))
