"""What a harmless text may consist of: signs, commands, and the arguments that keep those harmless."""

import itertools
import re
from collections.abc import Callable
from typing import Final

from qwed.engines.code.shell.kinds import NotHarmless, TextKind

# Of each argument its kind, and its text where that is a literal.
Arguments = list[tuple[TextKind, str | None]]
# Says how many characters are printed beyond the arguments. Raises `NotHarmless`.
Check = Callable[[Arguments], int]

TOKENS: Final = frozenset(
    [
        *'|(){}[]"$`=!;\n',
        *(";;", "&&", "||", "[[", "]]", "${", "$(", "$((", "))", "+="),
        *("if", "then", "elif", "else", "fi", "for", "in", "do", "done", "case", "esac"),
    ]
)
ARITHMETIC: Final = frozenset(
    ["$((", "))", *"+-*/%<>!~&|^()?:", "**", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"]
)
COMPARES_NUMBERS: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
COMPARES_TEXTS: Final = frozenset({"=", "==", "!=", "<", ">"})
_OTHER_OPERATORS: Final = frozenset({"!", "-z", "-n", "-a", "-o"})
_CONVERSION: Final = re.compile(r"%(?:%|[-+ #0]*\d{0,3}(?:\.\d{0,3})?([sbcqdiouxXeEfFgG]))")
_NUMERIC_CONVERSIONS: Final = frozenset("diouxXeEfFgG")
_EXPR_OPERATORS: Final = frozenset(
    ["+", "-", "*", "/", "%", "<", ">", "=", "!=", "<=", ">=", "(", ")", "&", "|"]
)
_SET_OPTIONS: Final = re.compile(r"[-+][eu]+o?|-o|pipefail|errexit|nounset")
_MAX_COUNT: Final = 10_000


def check_nothing(arguments: Arguments) -> int:
    return 0


def check_numbers(arguments: Arguments) -> int:
    """Some shells evaluate these arguments as arithmetic, which runs what a subscript in them says."""
    if any(kind is not TextKind.NUMBER for kind, _ in arguments):
        raise NotHarmless("gives a built-in command what is not a number")
    return 0


def check_printf(arguments: Arguments) -> int:
    if arguments[:1] == [(TextKind.ANY, "--")]:
        arguments = arguments[1:]
    template = arguments[0][1] if arguments else ""
    if template is None or template.startswith("-") or re.search(r"\\[^nrt\\\"']", template):
        raise NotHarmless("prints by a format that is not known")
    conversions = [letter for letter in _CONVERSION.findall(template) if letter]
    if "%" in _CONVERSION.sub("", template):
        raise NotHarmless("prints by a format that sets variables, or fills more than it is given")
    if conversions:
        letters = itertools.cycle(conversions)
        check_numbers([each for each in arguments[1:] if next(letters) in _NUMERIC_CONVERSIONS])
    return 2_000 * len(conversions) * max(1, len(arguments))


def check_test(arguments: Arguments) -> int:
    computes = any(text in COMPARES_NUMBERS for _, text in arguments)
    for kind, text in arguments:
        if text in COMPARES_NUMBERS | COMPARES_TEXTS | _OTHER_OPERATORS:
            continue
        is_open = kind is TextKind.ANY or (kind is TextKind.WORDS and text is None)
        if is_open or (computes and kind is not TextKind.NUMBER):
            raise NotHarmless("tests a text that may be an operator")
    return 0


def check_expr(arguments: Arguments) -> int:
    if any(kind is not TextKind.NUMBER and text not in _EXPR_OPERATORS for kind, text in arguments):
        raise NotHarmless("computes with what is not a plain number")
    return 20


def check_seq(arguments: Arguments) -> int:
    given = [text or "" for _, text in arguments]
    if not all(re.fullmatch(r"-?\d{1,4}", text) for text in given) or not 0 < len(given) < 4:
        raise NotHarmless("counts further than is followed")
    if len(given) == 3 and int(given[1]) == 0:
        raise NotHarmless("counts without an end")
    return 6 * _MAX_COUNT


def check_set(arguments: Arguments) -> int:
    if not arguments or any(text is None or not _SET_OPTIONS.fullmatch(text) for _, text in arguments):
        raise NotHarmless("changes how the shell works")
    return 0


COMMANDS: Final[dict[str, Check]] = {
    **dict.fromkeys(("echo", "true", "false", ":", "basename", "dirname"), check_nothing),
    **dict.fromkeys(("exit", "return", "break", "continue", "shift"), check_numbers),
    "printf": check_printf,
    "test": check_test,
    "expr": check_expr,
    "seq": check_seq,
    "set": check_set,
}
