"""What a proof about a JavaScript program knows of its functions and calls."""

from typing import Any, Final

from qwed.engines.code.bounds import EMPTY, FLAG, Bound, BoundedValue, BoundedVariable, ObjectCell, real

# Names that the language itself reads or calls, or that lead to constructors of code.
RESERVED: Final = frozenset(
    [
        "__proto__",
        "constructor",
        "prototype",
        "toString",
        "valueOf",
        "toJSON",
        "toLocaleString",
        "then",
        "caller",
        "callee",
        "arguments",
        "__defineGetter__",
        "__defineSetter__",
        "__lookupGetter__",
        "__lookupSetter__",
    ]
)


class ScriptProofFunction:
    """One function or class of the program; `owner` is the function whose `this` its arrows share."""

    __slots__ = ("called", "instance", "node", "owner", "parent", "plain", "returned", "this")

    def __init__(self, node: Any, owner: "ScriptProofFunction | None") -> None:
        self.node = node
        self.owner = self if node.type not in ("arrow_function",) else owner
        self.this = BoundedVariable()
        self.returned = BoundedVariable()
        self.plain = False
        self.called = False
        self.instance: ObjectCell | None = None
        self.parent: ScriptProofFunction | None = None


class ScriptProofCall:
    """One call: `count` bounds the number of arguments, which a spread makes larger than the list."""

    __slots__ = ("args", "count", "node", "receiver")

    def __init__(self, node: Any, receiver: BoundedValue, args: list[BoundedValue], count: Bound) -> None:
        self.node = node
        self.receiver = receiver
        self.args = args
        self.count = count

    def arg(self, index: int) -> BoundedValue:
        return self.args[index] if index < len(self.args) else EMPTY


FLAG_REAL: Final = real(FLAG.size)
