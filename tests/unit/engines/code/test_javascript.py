"""JavaScript: parsed, its strings put together, its calls classified."""

import pytest
from tests.corpora import code_javascript as corpus

from qwed.domain.findings import Status
from qwed.engines.code import inspect_javascript


def rules(text):
    return [problem.rule for problem in inspect_javascript(text).problems]


@pytest.mark.parametrize("text", corpus.HARMFUL)
def test_a_harmful_program_fails(text):
    assert inspect_javascript(text).harms, rules(text)


@pytest.mark.parametrize("text", corpus.ORDINARY)
def test_ordinary_code_raises_no_alarm(text):
    assert inspect_javascript(text).status is Status.VERIFIED, rules(text)


@pytest.mark.parametrize("text", corpus.UNDECIDABLE)
def test_what_depends_on_a_value_nobody_knows_is_uncertain(text):
    assert inspect_javascript(text).status is Status.UNCERTAIN, rules(text)


@pytest.mark.parametrize("text", corpus.PURE)
def test_a_program_that_only_computes_is_pure(text):
    assert inspect_javascript(text).pure, inspect_javascript(text).purity


@pytest.mark.parametrize(
    "text",
    ["while (true) {}", "fetch('https://x.example/')", "alert(1)", "function f() { f() } f()", "eval('1')"],
)
def test_what_may_not_end_or_reaches_outside_is_not_pure(text):
    assert not inspect_javascript(text).pure


def test_text_that_does_not_parse_is_malformed():
    assert inspect_javascript("let a =").malformed == "line 1: unexpected text"


def test_a_problem_names_its_line_and_flow():
    view = "app.get('/', (req, res) => {\n  cp.exec('ls ' + req.query.d);\n});\n"
    text = "const cp = require('child_process');\n" + view

    (problem,) = inspect_javascript(text).problems

    assert (problem.rule, problem.line) == ("command-injection", 3)
    assert problem.flow[0] == "line 3: remote data from req.query"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("el.outerHTML = document.referrer;", "cross-site-scripting"),
        ("$('#a').html(location.hash);", "cross-site-scripting"),
        ("res.sendFile(req.params.name);", "path-traversal"),
        ("require(req.query.plugin);", "dynamic-import"),
        ("app.use(cors({ origin: '*', credentials: true }));", "permissive-cors"),
        ("jwt.sign({ id: 1 }, 'tr4vel-light');", "hard-coded-secret"),
        ("jwt.verify(token, key, { algorithms: ['none'] });", "unverified-token"),
        ("const token = Math.random().toString(36).slice(2);", "weak-randomness"),
        ("res.cookie('sid', id, { httpOnly: false });", "insecure-cookie"),
        ("db.collection('u').find({ $where: 'this.n == ' + req.query.n });", "code-injection"),
        ("xml.parseXml(req.body, { noent: true });", "xml-external-entities"),
        ("require('fs').readFileSync(process.env.HOME + '/.ssh/id_rsa');", "reads-sensitive-file"),
        ("[]['map']['constructor']('return this')();", "sandbox-escape"),
    ],
)
def test_a_weakness_is_named_where_the_program_has_it(text, rule):
    assert rule in [problem.rule for problem in inspect_javascript(text).harms]


@pytest.mark.parametrize(
    "text",
    [
        "res.sendFile(req.params.name, { root: 'public' });",
        "list.append(item);",
        "app.use(cors({ origin: 'https://a.example', credentials: true }));",
        "jwt.sign({ id: 1 }, process.env.JWT_SECRET);",
        "res.cookie('sid', id, { httpOnly: true, secure: true });",
        "const side = Math.random() < 0.5 ? 'a' : 'b';",
        "console.log(obj.constructor.name);",
    ],
)
def test_what_looks_like_a_weakness_and_is_none_raises_no_alarm(text):
    assert inspect_javascript(text).status is Status.VERIFIED
