"""Reading expressions: what is accepted says what it reads, what is refused says where and why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwed.rules.expressions import NotAnExpression, read_expression
from qwed.rules.tree import (
    CelCall,
    CelList,
    CelLiteral,
    CelLoop,
    CelMap,
    CelMember,
    CelName,
    CelNode,
    LoopKind,
    NotUnderstood,
    decode,
)

_ACCEPTED = [
    'action.type == "send_email" && recipients(action).exists(r, r.domain != "acme.example")',
    'action.type == "deploy" && !(now.getDayOfWeek("Europe/Berlin") in [1, 2, 3, 4, 5])',
    "charge > 1",
    "agent.score < 0.5",
    "has(action.parameters.x) && action.parameters.x > 3",
    'action.parameters.items.exists(i, i.price * 2 > 10 && i.name.startsWith("a"))',
    'amounts(action).exists(a, a.value > 100 && a.currency == "EUR")',
    'origin("parameters.to") == "untrusted"',
    "agent.trust < 2 ? risk >= MEDIUM : risk >= HIGH",
    'now < timestamp("2026-01-01T00:00:00Z") + duration("24h")',
    'recipients(action).map(r, r.domain).exists(d, d == "a")',
    "type(action.parameters.x) == string",
    "asked.type != action.type",
    '{"a": 1}["a"] == 1',
]

_REFUSED = [
    ('action.typo == "a"', 1, 8, "did you mean type?"),
    ('action["typo"] == "a"', 1, 7, "did you mean type?"),
    ("has(action.typo)", 1, 5, "did you mean type?"),
    ('agent.trust < 2 &&\n  agent.nme == "x"', 2, 9, "did you mean name?"),
    ('recipients(action).exists(r, r.domian == "a")', 1, 32, "did you mean domain?"),
    ("recipient(action).size() > 0", 1, 10, "did you mean recipients?"),
    ("risk > high", 1, 8, "did you mean HIGH?"),
    ('Action.type == "x"', 1, 7, "did you mean action?"),
    ("action.type == 5", 1, 13, "text is never equal to a number"),
    ('risk >= "HIGH"', 1, 6, "neither more nor less"),
    ('agent.trust == "high"', 1, 13, "never equal"),
    ("action.type in [1, 2]", 1, 13, "never in a list of numbers"),
    ("action.query == null", 1, 8, "has(…)"),
    ("!action.type", 1, 9, "expected true or false"),
    ("risk", 1, 1, "must be true or false"),
    ('"send_email"', 1, 1, "must be true or false"),
    ("size(risk) > 1", 1, 5, "has no size"),
    ("agent.trust.level == 1", 1, 13, "has no members"),
    ("risk.exists(r, r > 1)", 1, 12, "not a list"),
    ("action.parameters.exists(k, k > 3)", 1, 31, "neither more nor less"),
    ("recipients(action.parameters).size() > 0", 1, 11, "takes action or asked"),
    ('origin(action.parameters.to) == "said"', 1, 7, "a path as text"),
    ('action.type = "x"', 1, 13, "write == to compare"),
    ('action.type == "a" and risk > LOW', 1, 20, "write && for and"),
    ("", 1, 1, "too early"),
    ("(risk > LOW", 1, 12, "missing ')'"),
    ('now.getHours("Mars/Phobos") == 1', 1, 14, "is not a time zone"),
    ("now.getHours(action.query) == 1", 1, 13, "a time zone is written out"),
    ('action.query.matches("b(")', 1, 22, "not a regular expression"),
    ('duration("5 minutes") > duration("1s")', 1, 10, "is not a duration"),
    ('timestamp("tomorrow") < now', 1, 11, "is not a time"),
    ("[1].exists(a, [1].exists(b, [1].exists(c, a == b)))", 1, 39, "nest at most 2"),
    ("(" * 40 + "true" + ")" * 40, 1, 1, "nested too deeply"),
    ("true || " * 600 + "true", 1, 1, "is longer than 4096 bytes"),
    ('google.protobuf.Duration{seconds: 1} == duration("1s")', 1, 1, "no use for messages"),
]


@pytest.mark.parametrize("text", _ACCEPTED)
def test_a_question_about_known_things_is_an_expression(text: str) -> None:
    assert read_expression(text).text == text


@pytest.mark.parametrize(("text", "line", "column", "words"), _REFUSED)
def test_a_mistake_is_named_with_its_place(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(NotAnExpression) as caught:
        read_expression(text)
    mistake = caught.value.mistakes[0]

    assert words in mistake.message
    assert (mistake.line, mistake.column) == (line, column)


def test_an_expression_says_what_it_reads() -> None:
    read = read_expression(
        'action.parameters["a b"].c[0] == 1 || recipients(asked).exists(action, action.domain == agent.name)'
        " || context.user.exists(u, u.x == risk)"
    )

    assert read.paths == {
        ("action", "parameters", "a b", "c"),
        ("agent", "name"),
        ("context", "user"),
        ("risk",),
    }
    assert read.calls == {("recipients", "asked")}
    assert read.functions == {"recipients"}


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ('action.type == "a"', {"a"}),
        ('"a" == action.type && risk > LOW', {"a"}),
        ('action["type"] in ["a", "b"]', {"a", "b"}),
        ('action.type == "a" || action.type == "b"', {"a", "b"}),
        ('action.type == "a" && action.type == "b"', set()),
        ('action.type == "a" ? risk > LOW : false', {"a"}),
        ('action.type == "a" ? risk > LOW : action.type == "b"', {"a", "b"}),
        ('(action.type == "a" && risk > LOW) || (risk > LOW && action.type in ["b"])', {"a", "b"}),
        ("risk > LOW", None),
        ('action.type == "a" || risk > LOW', None),
        ('action.type != "a"', None),
        ('!(action.type == "a")', None),
        ('asked.type == "a"', None),
        ('action.type in [agent.name, "a"]', None),
    ],
)
def test_the_action_types_that_an_expression_pins(text: str, types: set[str] | None) -> None:
    assert read_expression(text).types == types


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("context.a.exists(x, x == 1)", LoopKind.EXISTS),
        ("context.a.all(x, x == 1)", LoopKind.ALL),
        ("context.a.exists_one(x, x == 1)", LoopKind.EXISTS_ONE),
        ("context.a.map(x, x == 1)[0]", LoopKind.MAP),
        ("context.a.map(x, x != 1, x == 2)[0]", LoopKind.MAP),
        ("context.a.filter(x, x == 1)[0]", LoopKind.FILTER),
    ],
)
def test_a_macro_is_one_node_again(text: str, kind: LoopKind) -> None:
    tree = read_expression(text).tree
    loop = tree.arguments[0] if isinstance(tree, CelCall) else tree

    assert isinstance(loop, CelLoop)
    assert loop.kind is kind
    assert loop.variable == "x"


@given(st.binary(max_size=200))
def test_bytes_that_are_no_expression_are_not_understood(data: bytes) -> None:
    with pytest.raises(NotUnderstood):
        decode(data)


def _written(node: CelNode) -> str:
    """The expression again, in full parentheses."""
    match node:
        case CelLiteral(value=str()):
            return '"' + "".join(f"\\U{ord(sign):08x}" for sign in str(node.value)) + '"'
        case CelLiteral():
            return {True: "true", False: "false", None: "null"}.get(node.value, repr(node.value))
        case CelName():
            return node.name
        case CelMember():
            inner = f"{_written(node.operand)}.{node.field}"
            return f"has({inner})" if node.is_presence else inner
        case CelList():
            return f"[{', '.join(map(_written, node.items))}]"
        case CelMap():
            return "{" + ", ".join(f"{_written(key)}: {_written(value)}" for key, value in node.entries) + "}"
        case CelLoop():
            return f"{_written(node.over)}.{node.kind}({node.variable}, {_written(node.body)})"
        case CelCall():
            return _written_call(node)


def _written_call(node: CelCall) -> str:
    parts = list(map(_written, node.arguments))
    if node.function == "!_":
        return f"!({parts[0]})"
    if node.function in ("startsWith", "contains"):
        return f"{parts[0]}.{node.function}({parts[1]})"
    if "_" not in node.function and node.function != "@in":
        return f"{node.function}({', '.join(parts)})"
    return f"({parts[0]}) {node.function.strip('_@')} ({parts[1]})"


_ATOMS = st.sampled_from(
    [
        CelCall("_>=_", (CelName("risk", 0), CelName("HIGH", 0)), 0),
        CelCall("_==_", (CelMember(CelName("action", 0), "type", 0), CelLiteral('sénd\n"x', 0)), 0),
        CelMember(CelMember(CelName("action", 0), "parameters", 0), "x", 0, is_presence=True),
        CelCall("_<_", (CelMember(CelName("agent", 0), "score", 0), CelLiteral(0.25, 0)), 0),
        CelCall("_>_", (CelName("charge", 0), CelLiteral(-(2**62), 0)), 0),
        CelCall("startsWith", (CelMember(CelName("agent", 0), "name", 0), CelLiteral("", 0)), 0),
        CelLoop(
            LoopKind.EXISTS,
            "p",
            CelCall("paths", (CelName("action", 0),), 0),
            CelCall("contains", (CelName("p", 0), CelLiteral("/", 0)), 0),
            0,
        ),
        CelCall("@in", (CelName("risk", 0), CelList((CelLiteral(0, 0), CelLiteral(7, 0)), 0)), 0),
        CelLiteral(False, 0),
    ]
)


def _join(operator: str, left: CelNode, right: CelNode) -> CelNode:
    return CelCall(operator, (left, right), 0)


_TREES = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.builds(lambda a: CelCall("!_", (a,), 0), inner),
        st.builds(_join, st.sampled_from(["_&&_", "_||_", "_==_"]), inner, inner),
    ),
    max_leaves=6,
)


def _without_places(node: object) -> object:
    if isinstance(node, tuple):
        return tuple(map(_without_places, node))
    if not isinstance(node, CelNode):
        return node
    fields = [(name, getattr(node, name)) for name in node.__struct_fields__ if name != "position"]
    return type(node).__name__, tuple((name, _without_places(value)) for name, value in fields)


@given(_TREES)
def test_the_tree_that_is_read_is_the_one_that_was_written(tree: CelNode) -> None:
    assert _without_places(read_expression(_written(tree)).tree) == _without_places(tree)
