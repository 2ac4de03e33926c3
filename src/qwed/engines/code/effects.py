"""What forbidden effects there are, and which rules of each language count as which: one effect, one rule."""

from collections.abc import Iterable, Mapping
from typing import Final

from qwed.engines.code.inspect import JAVASCRIPT, PYTHON, SHELL
from qwed.engines.code.verdict import CodeProblem

# Effect → what it is.
EFFECTS: Final[Mapping[str, str]] = {
    "destroys": "deletes or overwrites what lies outside the working tree, or ends what the machine lives by",
    "exfiltrates": "reads credentials, or sends private files, secrets or the environment away",
    "escalates": "takes rights, identities or programs that were not given, or hands a shell to others",
    "persists": "leaves something behind that runs later, or writes where the machine keeps its own",
    "hides": "removes traces, switches watchmen and protection off, or shows a text other than it is",
    "spends": "uses the machine, or somebody's money, up",
}
_EVERYWHERE: Final[Mapping[str, frozenset[str]]] = {
    "destroys": frozenset({"destructive-command", "deletes-outside", "deletes-unknown-tree"}),
    "exfiltrates": frozenset({"exfiltration", "reads-sensitive-file", "metadata-service"}),
    "escalates": frozenset({"privilege", "permissions", "injects-into-programs", "reverse-shell"}),
    "persists": frozenset({"persistence", "writes-system-file"}),
    "hides": frozenset({"hidden-text", "covers-tracks", "disables-protection"}),
    "spends": frozenset({"fork-bomb", "mines-currency", "uses-up-the-machine"}),
}
_IN_ONE_LANGUAGE: Final[Mapping[tuple[str, str], frozenset[str]]] = {
    ("destroys", SHELL): frozenset({"deletes-shared-resources", "rewrites-shared-history"}),
    ("exfiltrates", SHELL): frozenset({"sends-a-file", "listens", "opens-a-tunnel"}),
    ("exfiltrates", PYTHON): frozenset({"records-keystrokes", "may-send-a-file"}),
    ("exfiltrates", JAVASCRIPT): frozenset({"may-send-a-file"}),
    ("escalates", SHELL): frozenset({"spawns-a-shell", "attack-tool", "download-and-run"}),
    ("escalates", PYTHON): frozenset(
        {"world-writable", "sandbox-escape", "native-code", "interactive-console"}
    ),
    ("escalates", JAVASCRIPT): frozenset({"sandbox-escape", "native-code", "prototype-pollution"}),
    ("persists", SHELL): frozenset({"system-service"}),
    ("hides", PYTHON): frozenset({"hidden-call"}),
    ("spends", SHELL): frozenset({"attack-tool"}),
}


def rules_of(effect: str, language: str) -> frozenset[str]:
    """The rules of a language that count as an effect."""
    return _EVERYWHERE[effect] | _IN_ONE_LANGUAGE.get((effect, language), frozenset())


def name_effects(language: str, problems: Iterable[CodeProblem]) -> tuple[str, ...]:
    """Which effects the problems of a reading are."""
    rules = {problem.rule for problem in problems}
    return tuple(effect for effect in EFFECTS if rules & rules_of(effect, language))
