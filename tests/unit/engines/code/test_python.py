"""Python programs: weak ones fail, their repaired twins pass, and no disguise helps."""

import pytest
from tests.corpora import code_python as corpus

from qwed.domain.findings import Status
from qwed.engines.code import inspect_python


def rules(text):
    return [problem.rule for problem in inspect_python(text).problems]


@pytest.mark.parametrize(("name", "weak", "repaired"), corpus.PAIRS, ids=[pair[0] for pair in corpus.PAIRS])
def test_a_weak_program_fails_and_its_repaired_twin_is_verified(name, weak, repaired):
    assert inspect_python(weak).harms, weak
    assert inspect_python(repaired).status is Status.VERIFIED, rules(repaired)


@pytest.mark.parametrize("text", corpus.EVASIONS)
def test_no_disguise_hides_what_a_program_does(text):
    assert inspect_python(text).status is Status.FAILED


@pytest.mark.parametrize("text", corpus.ORDINARY)
def test_ordinary_code_raises_no_alarm(text):
    assert inspect_python(text).status is Status.VERIFIED, rules(text)


@pytest.mark.parametrize("text", corpus.UNDECIDABLE)
def test_what_depends_on_a_value_nobody_knows_is_uncertain(text):
    assert inspect_python(text).status is Status.UNCERTAIN


@pytest.mark.parametrize(
    "program",
    [
        "import os\nos.system(input())",
        "__import__('os').system('rm -rf /')",
        "import shutil\nshutil.rmtree('/')",
        "print(open('/etc/shadow').read())",
        "import pickle\npickle.loads(input())",
    ],
)
def test_every_encoding_of_a_harmful_program_is_read_through(program):
    for text in corpus.encoded(program):
        assert inspect_python(text).harms, text


@pytest.mark.parametrize("program", ["print('hello')", "x = 1 + 2", "import math\nmath.sqrt(2)"])
def test_an_encoded_harmless_program_is_verified(program):
    for text in corpus.encoded(program):
        assert inspect_python(text).status is Status.VERIFIED, text


@pytest.mark.parametrize("text", corpus.PURE)
def test_a_program_that_only_computes_is_pure(text):
    verdict = inspect_python(text)

    assert verdict.pure, verdict.purity
    assert verdict.status is Status.VERIFIED


@pytest.mark.parametrize("text", corpus.IMPURE)
def test_what_may_not_end_or_reaches_outside_is_not_pure_and_says_why(text):
    verdict = inspect_python(text)

    assert not verdict.pure
    assert verdict.purity


def test_a_problem_names_its_line_rule_and_flow():
    text = "import os\n\nname = input()\ncommand = 'ls ' + name\nos.system(command)\n"

    (problem,) = inspect_python(text).problems

    assert (problem.rule, problem.line, problem.text) == ("command-injection", 5, "os.system(command)")
    assert problem.flow[0] == "line 3: local data from builtins.input()"
    assert problem.flow[-1] == "line 5: os.system(command)"
    assert "line 4: command" in problem.flow


def test_a_checked_value_is_trusted_only_where_the_check_held():
    inside = "import os\nx = input()\nif x in ('a', 'b'):\n    os.system('ls ' + x)\n"
    outside = "import os\nx = input()\nif x in ('a', 'b'):\n    pass\nos.system('ls ' + x)\n"

    assert inspect_python(inside).status is Status.VERIFIED
    assert inspect_python(outside).status is Status.FAILED


def test_asking_for_the_method_of_a_request_does_not_vouch_for_the_request():
    text = corpus.FLASK + (
        "@app.route('/x')\ndef view():\n    if request.method == 'POST':\n"
        "        import os\n        os.system(request.form['c'])\n    return 'ok'\n"
    )

    assert "command-injection" in rules(text)


def test_both_sides_of_a_branch_are_followed():
    text = "import os\nc = 'ls'\nif len('x'):\n    c = 'rm -rf /'\nos.system(c)\n"

    assert "destructive-command" in rules(text)


def test_effects_are_named():
    text = "import requests\nopen('x')\nopen('y', 'w')\nrequests.get('https://example.com/')\n"

    assert inspect_python(text).effects == ("file-read", "file-write", "network")


def test_a_callable_among_many_is_not_lost():
    names = "len, abs, min, max, sum, any, all, repr, str, int, eval"
    text = f"fs = [print] * 3 + [{names}]\nfor f in fs:\n    f(input())\n"

    assert "code-injection" in rules(text)


def test_a_declared_encoding_that_would_change_the_program_is_a_doubt():
    assert inspect_python("# coding: utf-7\nx = 1\n").status is Status.UNCERTAIN
    assert inspect_python("# coding: utf-8\nx = 1\n").status is Status.VERIFIED


def test_a_syntax_error_is_malformed_and_says_where():
    verdict = inspect_python("x = 1\ny = (\n")

    assert verdict.status is Status.FAILED
    assert verdict.malformed.startswith("line 2")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("def v(request):\n    r = HttpResponse()\n    r['X-Name'] = request.GET['n']", None),
        (
            "from django.http import HttpResponse\ndef v(request):\n    r = HttpResponse()\n"
            "    r['X-Name'] = request.GET['n']",
            "header-injection",
        ),
        (
            "from werkzeug.datastructures import Headers\nfrom flask import request\n"
            "h = Headers()\nh.add('Location', request.args['to'])",
            "header-injection",
        ),
        (
            "import traceback\nfrom flask import Flask\napp = Flask('a')\n@app.route('/')\ndef v():\n"
            "    try:\n        work()\n    except ValueError:\n        return traceback.format_exc()",
            "information-exposure",
        ),
        (
            "def f(conn, owner):\n    if is_authorized(owner):\n"
            "        conn.execute('SELECT a FROM t WHERE o = ' + owner)",
            "sql-injection",
        ),
        ("cur.execute(\"UPDATE t SET a = '%s'\" % value)", "sql-injection"),
        ("def f(table, name):\n    return table.scan(FilterExpression=name + ' = :n')", "query-injection"),
        (
            "import json\ndef f(request, db):\n    return db.users.find_one(json.loads(request.body))",
            "query-injection",
        ),
        (
            "def f(root, request):\n    return root.findall(\"./a[@n='\" + request.GET['n'] + \"']\")",
            "xpath-injection",
        ),
        ("import ssl, socket\ns = ssl.wrap_socket(socket.socket())", "tls-verification-off"),
        (
            "from Crypto.Cipher import AES\ndef f(k, d):\n"
            "    return AES.new(k, AES.MODE_CBC, b'0' * AES.block_size)",
            "constant-iv",
        ),
        ("import psycopg2\npsycopg2.connect(user='a', password='password')", "hard-coded-secret"),
        ("def f(smtp):\n    smtp.login('me', 'letmein')", "hard-coded-secret"),
        ("DATABASE_URL = 'postgres://app:@db/app'", "hard-coded-secret"),
        ("DATABASE_URL = 'postgres://app:tr4vel-light@db/app'", "hard-coded-secret"),
        ("def f(form):\n    return form['password'] == 'password'", "hard-coded-secret"),
        (
            "def f(request):\n    return request.headers.get('X-Api-Key') == 'k9-42-horse'",
            "hard-coded-secret",
        ),
        ("def f(self, request):\n    request.wfile.write(request.read())", "cross-site-scripting"),
        (
            "from markupsafe import Markup\ndef f(n):\n    return Markup('<li>' + n + '</li>')",
            "cross-site-scripting",
        ),
        ("from flask_cors import CORS\nCORS(app, origins='*', supports_credentials=True)", "permissive-cors"),
        (
            "import logging\ndef f(user, password):\n    logging.info('%s %s', user, password)",
            "exposes-a-password",
        ),
        ("from pynput import keyboard\nkeyboard.Listener(on_press=print).start()", "records-keystrokes"),
        ("import logging.config\nlogging.config.listen(9030)", "code-injection"),
        ("CLOUD_ACCESS_KEY = 'k9Q2mN8vR4tY7uW1zK3p'", "hard-coded-secret"),
        ("import glob\nkeys = glob.glob('/home/*/.ssh/id_rsa')", "reads-sensitive-file"),
        (
            "import winreg\nwinreg.CreateKey(winreg.HKEY_CURRENT_USER, r'Software\\A\\CurrentVersion\\Run')",
            "persistence",
        ),
        (
            "from cryptography.hazmat.primitives.asymmetric import ec\n"
            "ec.generate_private_key(ec.SECT163K1())",
            "weak-key-size",
        ),
        (
            "from xmlrpc.server import SimpleXMLRPCServer\nSimpleXMLRPCServer(('0.0.0.0', 80))",
            "binds-every-interface",
        ),
        ("a = 'x\u202e'  # \u2066 shown elsewhere", "hidden-text"),
        (
            "import httpx\nfrom fastapi import FastAPI\napp = FastAPI()\n@app.get('/')\n"
            "async def f(u: str):\n"
            "    async with httpx.AsyncClient() as c:\n        return (await c.get(u)).text",
            "server-side-request-forgery",
        ),
    ],
)
def test_a_weakness_is_named_where_the_program_has_it(text: str, rule: str | None) -> None:
    assert [problem.rule for problem in inspect_python(text).harms] == ([rule] if rule else [])


@pytest.mark.parametrize(
    "text",
    [
        "from markupsafe import Markup\ndef f(n):\n    return Markup('<li>{}</li>').format(n)",
        "import logging\ndef f(user, password):\n    logging.info('signed in: %s, %d', user, len(password))",
        "def f(root):\n    return root.findall('./a/b')",
        "def f(text, word):\n    return text.find(word)",
        "def f(items, thing):\n    items.add(thing)\n    return items",
        "from flask_cors import CORS\nCORS(app, origins=['https://a.example'], supports_credentials=True)",
        (
            "from http.server import HTTPServer, BaseHTTPRequestHandler\n"
            "HTTPServer(('127.0.0.1', 80), BaseHTTPRequestHandler)"
        ),
        "DATABASE_URL = 'postgres://app:${PASSWORD}@db/app'",
        "def f(form):\n    return form['password'] == form['again']",
        "import os, psycopg2\npsycopg2.connect(user='a', password=os.environ['PGPASSWORD'])",
    ],
)
def test_what_looks_like_a_weakness_and_is_none_raises_no_alarm(text: str) -> None:
    assert inspect_python(text).status is Status.VERIFIED
