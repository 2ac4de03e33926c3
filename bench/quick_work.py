"""The worst that engines do where requests are answered: what `is_quick` admits, of texts made to be slow.

A text is repeated or nested to each size on a ladder; what an engine calls quick is timed, in CPU time and
cold (no text is asked twice). The rest goes to a worker, and costs nobody else anything.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from qwed.domain.actions import Action
from qwed.engines.catalogue import EngineRules, build_engine
from qwed.engines.protocol import Engine

Figure = tuple[str, float, str, float | None]
#: Makes a text of about this many characters; the number makes it unlike any other.
Text = Callable[[int, int], str]

TARGET_MS: Final = 2.0
SIZES: Final = (30, 60, 100, 150, 200, 250, 300, 400, 500, 600, 800, 1_000, 1_500, 2_000, 3_000, 4_000, 8_000)
ROUNDS: Final = 5


def repeat(piece: str, head: str = "", tail: str = "") -> Text:
    """`@` is a number that is another one in each piece, `#` one that is another in each text."""

    def text(size: int, number: int) -> str:
        pieces = itertools.count()
        parts: list[str] = [head.replace("#", str(number))]
        room = size - len(head) - len(tail)
        while room > 0:
            part = piece.replace("@", str(next(pieces))).replace("#", str(number))
            room -= len(part)
            if room >= 0:
                parts.append(part)
        return "".join([*parts, tail.replace("#", str(number))])

    return text


def nest(opening: str, closing: str, core: str = "1", head: str = "") -> Text:
    def text(size: int, number: int) -> str:
        depth = max(1, (size - len(head) - len(core)) // (len(opening) + len(closing)))
        return (head + opening * depth + core + closing * depth).replace("#", str(number))

    return text


PYTHON: Final = {
    "sums": repeat("+1", "x#=1"),
    "products of names": repeat("*a@", "a0=#;y=a0"),
    "brackets": nest("(", ")", "#"),
    "lists in lists": nest("[", "]", "#"),
    "calls in calls": nest("f(", ")", "#", "def f(x): return x\n"),
    "comprehensions": nest("[x for x in ", "]", "[#]"),
    "comprehensions side by side": repeat("[x for x in y];", "y=[#];"),
    "conditions of comprehensions": repeat(" if x", "[x for x in [#]", "]"),
    "lambdas": nest("(lambda x:", ")(1)", "#"),
    "functions": repeat("def f@(a):\n return a+#\n"),
    "functions that call the one before": repeat("def f@(a): return g(a)\n", "def g(a): return #\n"),
    "classes": repeat("class C@:\n x=#\n"),
    "loops": repeat("for i in range(9):\n x=#\n"),
    "loops in loops": repeat("for i in range(9):", "x=#\n"),
    "assignments": repeat("x@=#\n"),
    "chains of assignments": repeat("a=b;b=a;", "a=b=#;"),
    "many targets": repeat("a=", "", "#"),
    "attributes": repeat(".real", "(#)"),
    "subscripts": repeat("[0]", "x=[#];x"),
    "strings": repeat("'a@'+", "", "'#'"),
    "strings joined": repeat("'a@' ", "x="),
    "formatted strings": repeat("{#}", "x=f'", "'"),
    "imports": repeat("import m@\n", "x=#\n"),
    "imports that are known": repeat("import math,json,re\n", "x=#\n"),
    "calls of open": repeat("open('a@')\n", "x=#\n"),
    "calls of unknown names": repeat("g@(#)\n"),
    "comparisons": repeat("<1", "x=#"),
    "ors": repeat(" or 1", "x=#"),
    "powers": repeat("**1", "x=#"),
    "shifts": repeat("<<1", "x=#"),
    "string products": repeat("*9", "x='#'"),
    "conditionals": repeat(" if 1 else 1", "x=#"),
    "ifs": repeat("if x: x=1\n", "x=#\n"),
    "tries": repeat("try: x\nexcept: pass\n", "x=#\n"),
    "matches": repeat(" case @: pass\n", "match #:\n"),
    "withs": repeat("with open('a'): pass\n", "x=#\n"),
    "dictionaries": repeat("@:#,", "x={", "}"),
    "globals": repeat("global x@\n", "x=#\n"),
    "decorators": repeat("@f\n".replace("@", "@"), "f=#\n", "def g(): pass\n"),
    "getattr": repeat("getattr(x,'a')\n", "x=#\n"),
    "numbers": repeat("9", "x=#"),
    "blank lines": repeat("\n", "x=#"),
    "comments": repeat("#\n", "x=1\n"),
    "broken": repeat("(]", "x=#"),
    "no python at all": repeat("lorem ipsum @ ", "#"),
}
SHELL: Final = {
    "commands": repeat("ls a@;", "echo #;"),
    "pipes": repeat("|cat", "echo #"),
    "substitutions": nest("$(echo ", ")", "#", "echo "),
    "quotes": repeat("'a'\"b\"", "echo #"),
    "expansions": repeat("${a:-#}", "echo "),
    "expansions in expansions": nest("${a:-", "}", "#", "echo "),
    "arithmetic": repeat("+1", "echo $((#", "))"),
    "subshells": nest("(", ")", "echo #"),
    "braces": repeat("{a,b}", "echo #"),
    "ifs": repeat("if true;then echo #;fi;"),
    "loops": repeat("for i in a;do echo #;done;"),
    "cases": repeat("case a in a) echo #;;esac;"),
    "functions": repeat("f@(){ echo #;};"),
    "assignments": repeat("a@=#;"),
    "redirections": repeat(">a@", "echo #"),
    "here-documents": repeat("cat <<E\n#\nE\n"),
    "removals": repeat("rm -rf a@;", "echo #;"),
    "words": repeat(" a", "echo #"),
    "broken": repeat('`("', "echo #"),
    "brackets": repeat("[[", "echo #"),
    "backslashes": repeat("\\", "echo #"),
    "words of no shell": repeat("lorem ipsum @ ", "#"),
}
JAVASCRIPT: Final = {
    "sums": repeat("+1", "x=#"),
    "brackets": nest("(", ")", "#"),
    "arrows": nest("(x=>", ")", "#"),
    "arrays": nest("[", "]", "#"),
    "objects": nest("{a:", "}", "#", "x="),
    "calls": nest("f(", ")", "#"),
    "members": repeat(".a", "x#"),
    "subscripts": repeat("[0]", "x#"),
    "templates": nest("`${", "}`", "#"),
    "statements": repeat("let a@=#;"),
    "functions": repeat("function f@(){return #}"),
    "classes": repeat("class C@{a(){}}", "x=#;"),
    "regular expressions": repeat("/a/;", "x=#;"),
    "fetches": repeat("fetch('http://a/@');", "x=#;"),
    "loops": repeat("for(;;){}", "x=#;"),
    "optional chains": repeat("?.a", "x#"),
    "broken": repeat("({[", "x#"),
    "words": repeat("lorem ipsum @ ", "#"),
}
SQL: Final = {
    "columns": repeat(",a@", "SELECT #", " FROM t"),
    "conditions": repeat(" AND a@=1", "SELECT # FROM t WHERE 1=1"),
    "ors": repeat(" OR a=1", "SELECT # FROM t WHERE a=2"),
    "sums": repeat("+1", "SELECT #"),
    "brackets": nest("(", ")", "#", "SELECT "),
    "subqueries": nest("(SELECT ", ")", "#", "SELECT "),
    "derived tables": nest("SELECT * FROM (", ") t", "SELECT #"),
    "unions": repeat(" UNION SELECT #", "SELECT 1"),
    "joins": repeat(" JOIN t@ ON 1=1", "SELECT # FROM t"),
    "common tables": repeat(",c@ AS (SELECT #)", "WITH c AS (SELECT 1)", " SELECT 1"),
    "cases": repeat(" WHEN 1 THEN 1", "SELECT CASE WHEN # THEN 1", " END"),
    "functions": nest("abs(", ")", "#", "SELECT "),
    "lists": repeat(",#", "SELECT 1 FROM t WHERE a IN (1", ")"),
    "statements": repeat("SELECT #;"),
    "inserts": repeat(",(#)", "INSERT INTO t VALUES (1)"),
    "strings": repeat("||'a@'", "SELECT '#'"),
    "comments": repeat("/*a@*/", "SELECT #"),
    "executable comments": repeat("/*!50000 +1*/", "SELECT #"),
    "quotes": repeat("'", "SELECT #"),
    "casts": repeat("::int", "SELECT #"),
    "nots": repeat("NOT ", "SELECT ", "#"),
    "windows": repeat(",sum(a) OVER (ORDER BY a@)", "SELECT #", " FROM t"),
    "words": repeat("lorem ipsum @ ", "#"),
    "broken": repeat("SELECT ( ", "#"),
}
LOGIC: Final = {
    "ands": repeat(" and p@", "p#"),
    "ors": repeat(" or p@", "p#"),
    "implications": repeat(" implies p@", "p#"),
    "nots": repeat("not ", "", "p#"),
    "brackets": nest("(", ")", "p#"),
    "equalities": repeat(" and x@ = #", "x = 1"),
    "sums": repeat("+1", "x# = 1"),
    "products": repeat("*x", "x = #"),
    "comparisons": repeat(" and x > @", "x > #"),
    "words": repeat("lorem ipsum @ ", "#"),
    "parity": repeat(" xor p@", "p#"),
}
MATH: Final = {
    "sums": repeat("+1", "#"),
    "products": repeat("*9", "#"),
    "quotients": repeat("/7", "#"),
    "fractions": repeat("+1/9@", "#"),
    "brackets": nest("(", ")", "#"),
    "digits": repeat("9", "#"),
    "decimals": repeat("9", "0.#"),
    "products of decimals": repeat("*9.99@", "#"),
    "signs": repeat("-", "#", "1"),
    "equalities": repeat("=#"),
    "comparisons": repeat("<@", "0"),
    "percent": repeat("%", "#"),
    "letters": repeat("+x", "#"),
    "products of letters": repeat("*(x+1)", "x+#"),
    "products of many letters": repeat("*(x@+y@)", "#"),
    "functions": nest("sin(", ")", "#"),
    "words": repeat("lorem ipsum @ ", "#"),
    "words and numbers": repeat("and 5% of @ is # ", "is "),
    "units": repeat(" + @ km", "# km"),
    "factorials": repeat("!", "#"),
}
FACT: Final = {
    "words": repeat("lorem ipsum @ ", "#"),
    "sentences": repeat("Anna bought @ apples. ", "In # "),
    "numbers": repeat("@ ", "#"),
    "negations": repeat("not ", "It is ", "#"),
    "commas": repeat("a,", "#"),
    "dates": repeat("on 1 May 20@ ", "#"),
    "quotes": repeat('"a" ', "#"),
    "amounts": repeat("$@ million ", "#"),
}
PATHS: Final = {
    "dots": repeat("../", "/home/#/"),
    "segments": repeat("a@/", "/#/"),
    "percent": repeat("%25", "/#/"),
    "words": repeat("lorem ipsum @ ", "#"),
    "addresses": repeat("http://a.b/@ ", "http://#/"),
    "names": repeat("a.", "http://#.", "com"),
    "mails": repeat("a@b.example,".replace("@", "\x00"), "#"),
    "quotes": repeat("' or '1'='1", "#"),
    "statements": repeat("; drop table t", "select #"),
    "substitutions": repeat("$(a)", "#"),
    "blanks": repeat(" ", "update #", "x"),
    "backslashes": repeat("\\", "c:#"),
}


def _query(kind: str, **parameters: Any) -> Callable[[str], Action]:
    return lambda text: Action(kind, query=text, parameters=parameters)


def _code(language: str | None = None) -> Callable[[str], Action]:
    parameters = {} if language is None else {"language": language}
    return lambda text: Action("execute_code", code=text, parameters=parameters)


def _parameter(kind: str, name: str) -> Callable[[str], Action]:
    return lambda text: Action(kind, parameters={name: text.replace("\x00", "@")})


def _many(kind: str) -> Callable[[str], Action]:
    """The same text in small pieces, each an argument of its own."""
    return lambda text: Action(
        kind, parameters={f"p{at}": text[at : at + 8] for at in range(0, len(text), 8)}
    )


KINDS: Final[tuple[tuple[str, str, Callable[[str], Action], dict[str, Text]], ...]] = (
    ("code", "no language", _code(), {**PYTHON, **SHELL, **JAVASCRIPT}),
    ("code", "Python", _code("python"), PYTHON),
    ("code", "shell", _code("shell"), SHELL),
    ("code", "JavaScript", _code("javascript"), JAVASCRIPT),
    ("sql", "a statement", _query("execute_sql"), SQL),
    ("sql", "a dialect is named", _query("execute_sql", dialect="mysql"), SQL),
    ("sql", "another parameter", _parameter("execute_sql", "note"), {**SQL, **PATHS}),
    ("logic", "a question", _query("verify_logic"), LOGIC),
    ("math", "a question", _query("calculate"), MATH),
    ("fact", "a claim", _query("verify_fact", sources=["Anna bought 3 apples in 2020."]), FACT),
    (
        "fact",
        "claim and source",
        lambda text: Action("verify_fact", query=text, parameters={"sources": [text]}),
        FACT,
    ),
    ("tool_control", "a file", _parameter("read_file", "path"), PATHS),
    ("tool_control", "an address", _parameter("http_request", "url"), PATHS),
    ("tool_control", "a mail", _parameter("send_email", "to"), PATHS),
    ("tool_control", "a statement", _parameter("query_database", "query"), SQL),
    ("tool_control", "an unknown tool", _parameter("frobnicate", "thing"), {**PATHS, **SQL, **SHELL}),
    ("tool_control", "many arguments", _many("frobnicate"), {**PATHS, **SQL, **SHELL}),
)


BULKS: Final = {
    "one long text": Action("x", query="a+" * 500_000),
    "one long parameter": Action("x", parameters={"a": "a+" * 500_000}),
    "many parameters": Action("x", query="1", parameters={f"p{n}": n for n in range(100_000)}),
    "many items": Action("x", query="1", parameters={"sources": list(range(300_000))}),
    "many texts": Action("x", query="1", parameters={"sources": [""] * 300_000}),
    "many names": Action("x", query="1", parameters={"variables": {f"v{n}": "Int" for n in range(100_000)}}),
}


def figures() -> list[Figure]:
    found: list[Figure] = []
    for name in ("code", "sql", "logic", "math", "fact", "tool_control"):
        engine = build_engine(name, EngineRules())
        worst, what = max((_asking_seconds(engine, action), what) for what, action in BULKS.items())
        found.append((f"{name}: asking whether it is quick ({what})", worst * 1e3, "ms CPU", TARGET_MS))
    for engine, kind, action_of, texts in KINDS:
        worst, what, size = max(_costs(build_engine(engine, EngineRules()), action_of, texts))
        found.append((f"{engine}, {kind}: worst quick ({what}, {size})", worst * 1e3, "ms CPU", TARGET_MS))
    return found


def _costs(
    engine: Engine, action_of: Callable[[str], Action], texts: dict[str, Text]
) -> Iterator[tuple[float, str, int]]:
    numbers = itertools.count(1)
    yield 0.0, "nothing is quick", 0
    for name, text in texts.items():
        engine.verify(action_of(text(SIZES[0], next(numbers))))
        for size in SIZES:
            actions = [action_of(text(size, next(numbers))) for _ in range(ROUNDS)]
            if engine.is_quick(actions[0]):
                yield min(_seconds(engine, action) for action in actions), name, size


def _asking_seconds(engine: Engine, action: Action) -> float:
    seconds = []
    for _ in range(ROUNDS):
        started = time.process_time()
        engine.is_quick(action)
        seconds.append(time.process_time() - started)
    return min(seconds)


def _seconds(engine: Engine, action: Action) -> float:
    started = time.process_time()
    engine.is_quick(action)
    engine.verify(action)
    return time.process_time() - started
