"""Texts that people call Python or JavaScript and that are a little more: notebook cells and TypeScript.

The Python and the commands of a cell are taken apart and read each in its language. TypeScript is not read:
it is recognised, so that nobody is told that a sound program is broken.
"""

import re
from typing import Final

import msgspec

from qwed.engines.code.verdict import excerpt
from qwed.engines.words import words


class NotebookCell(msgspec.Struct, frozen=True):
    """`unknown` are magics of which nobody knows what they do."""

    python: str
    shell: str
    unknown: tuple[str, ...] = ()


_MAGIC: Final = re.compile(r"(?m)^[ \t]*(?:[%!?]|\w[\w, ]*=[ \t]*[%!])|\?[ \t]*$")
_LINE: Final = re.compile(
    r"(?P<indent>[ \t]*)(?:(?P<target>\w[\w, ]*=)[ \t]*)?(?P<sign>%{1,2}|!{1,2})(?P<rest>.*)"
)
_HELP: Final = re.compile(r"(?P<indent>[ \t]*)(?:\?{1,2}[\w.*]+|[\w.*]+\?{1,2})[ \t]*")
# In a command `{x}` and `$x` are values of the program.
_INTERPOLATED: Final = re.compile(r"[{$]")
_SPANS_LINES: Final = ('"""', "'''", "\\\n")
_PLAIN: Final = re.compile(r"[\w ./=,-]*")
_RUNS_PYTHON: Final = words("time timeit capture prun python python3 py")
_RUNS_SHELL: Final = words("bash sh script sx system")
_COMMANDS: Final = words("pip conda mamba cd ls ll cat cp mv rm rmdir mkdir pwd less more man")
_HARMLESS: Final = words(
    "matplotlib autoreload precision pprint xmode who whos lsmagic magic quickref pylab config history hist"
)
_OPTIONS: Final = re.compile(r"(?:-\w+(?:[ \t]+\d+)?[ \t]+)*")
_EXTENSIONS: Final = words("autoreload tensorboard memory_profiler line_profiler")


def read_cell(text: str) -> NotebookCell | None:
    """The Python and the commands of a notebook's cell, line by line; None where there is no magic in it."""
    if not _MAGIC.search(text):
        return None
    # Within a text of several lines a magic is none, and what looks like one may end that text.
    spanning = next((sign for sign in _SPANS_LINES if sign in text), None)
    if spanning is not None:
        return NotebookCell("pass", "", (f"magics beside {spanning!r}",))
    reader = _CellReader()
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if reader.read(line):
            reader.take_rest(lines[number + 1 :])
            break
    return reader.cell()


class _CellReader:
    def __init__(self) -> None:
        self._python: list[str] = []
        self._shell: list[str] = []
        self._unknown: list[str] = []
        self._rest_is: list[str] = self._python

    def cell(self) -> NotebookCell:
        return NotebookCell(
            "\n".join(self._python), "\n".join(self._shell), tuple(map(excerpt, self._unknown))
        )

    def read(self, line: str) -> bool:
        """One line; whether all that follows belongs to it."""
        found = _LINE.fullmatch(line)
        if found is None:
            help_asked = _HELP.fullmatch(line)
            self._python.append(line if help_asked is None else f"{help_asked['indent']}pass")
            return False
        put = f"{found['indent']}{found['target']} []" if found["target"] else f"{found['indent']}pass"
        if found["sign"][0] == "!":
            self._python.append(put)
            self._command(found["rest"])
            return False
        return self._magic(found["rest"].strip(), put, found["indent"], is_cell=found["sign"] == "%%")

    def take_rest(self, lines: list[str]) -> None:
        self._rest_is += lines

    def _command(self, command: str) -> None:
        if _INTERPOLATED.search(command):
            self._unknown.append(f"!{command}")
        self._shell.append(command)

    def _magic(self, magic: str, put: str, indent: str, *, is_cell: bool) -> bool:
        name, _, rest = magic.partition(" ")
        rest = rest[_OPTIONS.match(rest).end() :] if name in ("time", "timeit", "prun") else rest  # type: ignore[union-attr]
        self._python.append(indent + rest if name in _RUNS_PYTHON and rest and not is_cell else put)
        if name in _RUNS_SHELL:
            self._shell.append("" if is_cell else rest)
            self._rest_is = self._shell
            if name == "script" and rest.split()[:1] not in (["bash"], ["sh"]):
                self._unknown.append(f"%{magic}")
        elif name in _COMMANDS:
            self._command(magic)
        elif name not in _RUNS_PYTHON and not _changes_only_the_view(name, rest):
            self._unknown.append(f"%{magic}")
            self._rest_is = []
        return is_cell


def _changes_only_the_view(name: str, rest: str) -> bool:
    if name == "load_ext":
        return rest.strip() in _EXTENSIONS
    return name in _HARMLESS and _PLAIN.fullmatch(rest) is not None


_TYPE: Final = (
    r"(?:string|number|boolean|any|unknown|void|never|object|bigint|symbol|undefined|null|[A-Z]\w*)"
)
_TYPESCRIPT: Final = re.compile(
    rf"[\w)\]?]\s*:\s*(?:readonly\s+)?{_TYPE}(?:\[\]|<[^;()]{{0,200}}>|\s*\|\s*\w+)*\s*[=,;){{]"
    rf"|\b(?:interface|enum|namespace|module)\s+\w+[^{{;]{{0,200}}\{{|\btype\s+\w+(?:<[^>]{{0,200}}>)?\s*="
    rf"|\bdeclare\s+(?:const|let|var|function|class|module)\b|\babstract\s+class\b"
    rf"|\b(?:private|public|protected|readonly)\s+\w+|\bas\s+(?:const\b|{_TYPE})|<{_TYPE}>\s*[\w(\[{{]"
    rf"|\bimport\s+type\b|[\w)\]]![.;,)\]]|\bsatisfies\s+\w"
)


def looks_like_typescript(text: str) -> bool:
    """Whether a text that is no JavaScript has what only TypeScript has."""
    return _TYPESCRIPT.search(text) is not None
