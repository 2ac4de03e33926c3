# ruff: noqa: E501 - a program on one line is easier to compare with its neighbour
"""Web views as benchmarks of scanners have them: a source, a way, a sink; half of them weak, half look-alikes.

Every combination is a program. The answer is known by construction: it is weak if the way carries the client's
value and the sink takes it raw. `tests/support/commands.py` says which half rules are written from.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from tests.support.commands import is_held_out


class Program(NamedTuple):
    name: str
    kind: str
    is_weak: bool
    text: str


_SOURCES = {
    "args": "    param = request.args.get('q', '')\n",
    "form": "    param = request.form['q']\n",
    "getlist": "    values = request.form.getlist('q')\n    param = ''\n    if values:\n        param = values[0]\n",
    "cookie": "    import urllib.parse\n    param = urllib.parse.unquote_plus(request.cookies.get('q', 'none'))\n",
    "header": "    param = request.headers.get('X-Q', '')\n",
    "headers": "    param = ''\n    headers = request.headers.getlist('Referer')\n    if headers:\n        param = headers[0]\n",
    "path": "    param = request.path.split('/')[1]\n    if not param:\n        param = ''\n",
    "query": "    query = request.query_string.decode('utf-8')\n    at = query.find('q=')\n    if at == -1:\n        return 'missing'\n    param = query[at + 2:]\n",
    "names": "    param = ''\n    for name in request.form.keys():\n        if 'q' in request.form.getlist(name):\n            param = name\n            break\n",
}
_WAYS_WEAK = {
    "direct": "    bar = param\n",
    "joined": "    bar = 'a' + param\n",
    "table": "    m = {}\n    m['a'] = 'fixed'\n    m['b'] = param\n    bar = 'fixed'\n    bar = m['b']\n",
    "taken": "    bar = param\n    num = 86\n    if 7 * 42 - num > 200:\n        bar = param\n    else:\n        bar = 'never'\n",
    "list": "    items = []\n    items.append('safe')\n    items.append(param)\n    items.append('more')\n    items.pop(0)\n    bar = items[0]\n",
    "config": "    import configparser\n    conf = configparser.ConfigParser()\n    conf.add_section('s')\n    conf.set('s', 'a', 'fixed')\n    conf.set('s', 'b', param)\n    bar = conf.get('s', 'b')\n",
    "match": "    guess = 'ABC'[0]\n    match guess:\n        case 'A':\n            bar = param\n        case _:\n            bar = 'bob'\n",
    "encoded": "    import base64\n    bar = base64.b64decode(base64.b64encode(param.encode('utf-8'))).decode('utf-8')\n",
    "helper": "    def pass_on(value):\n        return value\n    bar = pass_on(param)\n",
    "replaced": "    bar = ''\n    if param:\n        bar = param.split(' ')[0]\n",
    "format": "    parts = '%s-%s' % (param, 'x')\n    bar = parts\n",
    "threw": "    try:\n        bar = param\n    except ValueError:\n        bar = ''\n",
}
_WAYS_SAFE = {
    "table": "    m = {}\n    m['a'] = 'fixed'\n    m['b'] = param\n    bar = m['b']\n    bar = m['a']\n",
    "never": "    num = 106\n    bar = 'fixed' if 7 * 18 + num > 200 else param\n",
    "dead": "    bar = 'fixed'\n    num = 196\n    if 500 // 42 + num < 200:\n        bar = param\n",
    "list": "    items = []\n    items.append('safe')\n    items.append(param)\n    items.append('more')\n    items.pop(0)\n    bar = items[1]\n",
    "config": "    import configparser\n    conf = configparser.ConfigParser()\n    conf.add_section('s')\n    conf.set('s', 'a', 'fixed')\n    conf.set('s', 'b', param)\n    bar = conf.get('s', 'a')\n",
    "match": "    guess = 'ABC'[1]\n    match guess:\n        case 'A':\n            bar = param\n        case 'B':\n            bar = 'bob'\n        case _:\n            bar = 'bobs'\n",
    "helper": "    def drop(value):\n        return 'fixed'\n    bar = drop(param)\n",
    "number": "    bar = str(int(param))\n",
    "chosen": "    allowed = {'a': 'alpha', 'b': 'beta'}\n    bar = allowed.get(param, 'alpha')\n",
    "listed": "    if param not in ('red', 'green'):\n        return 'no'\n    bar = param\n",
}
# kind → (imports, the sink that takes `bar` raw, the sink that does not)
_SINKS = {
    "command-injection": (
        "import os\nimport subprocess\n",
        [
            "    os.system('echo ' + bar)\n",
            "    subprocess.run(f'ls {bar}', shell=True)\n",
            "    os.popen('host ' + bar).read()\n",
            "    subprocess.Popen(['sh', '-c', f'echo {bar}'])\n",
        ],
        [
            "    subprocess.run(['echo', bar])\n",
            "    import shlex\n    os.system('echo ' + shlex.quote(bar))\n",
        ],
    ),
    "sql-injection": (
        "import sqlite3\n",
        [
            "    con = sqlite3.connect('x.db')\n    con.cursor().execute(f\"SELECT * FROM u WHERE n = '{bar}'\")\n",
            "    con = sqlite3.connect('x.db')\n    sql = 'SELECT a FROM u WHERE n = ' + \"'\" + bar + \"'\"\n    con.execute(sql)\n",
        ],
        [
            "    con = sqlite3.connect('x.db')\n    con.cursor().execute('SELECT * FROM u WHERE n = ?', (bar,))\n"
        ],
    ),
    "code-injection": (
        "import ast\n",
        ["    exec(f'x = {bar!s}')\n", "    result = eval(bar)\n"],
        ["    result = ast.literal_eval(bar)\n"],
    ),
    "path-traversal": (
        "import os\nimport pathlib\n",
        [
            "    data = open(f'files/{bar}', 'rb').read(1000)\n",
            "    p = pathlib.Path('files') / bar\n    data = p.read_text()\n",
            "    data = open(os.path.join('files', bar)).read()\n",
        ],
        [
            "    data = open(os.path.join('files', os.path.basename(bar))).read()\n",
            "    from werkzeug.utils import secure_filename\n    data = open(os.path.join('files', secure_filename(bar))).read()\n",
        ],
    ),
    "ldap-injection": (
        "import ldap3\nimport ldap3.utils.conv\n",
        [
            "    con = ldap3.Connection(ldap3.Server('ldap://h'), auto_bind=True)\n    con.search('ou=u,dc=x', f'(&(uid={bar})(a=1))', attributes=ldap3.ALL_ATTRIBUTES)\n"
        ],
        [
            "    con = ldap3.Connection(ldap3.Server('ldap://h'), auto_bind=True)\n    con.search('ou=u,dc=x', f'(uid={ldap3.utils.conv.escape_filter_chars(bar)})')\n"
        ],
    ),
    "xpath-injection": (
        "import lxml.etree\nimport elementpath\nimport xml.etree.ElementTree as ET\n",
        [
            "    root = lxml.etree.parse('e.xml')\n    nodes = root.xpath(f\"/e/n[@id='{bar}']\")\n",
            "    root = ET.parse('e.xml')\n    nodes = elementpath.select(root, f\"/e/n[@id='{bar}']\")\n",
            "    nodes = lxml.etree.XPath(f\"/e/n[@id='{bar}']\")(lxml.etree.parse('e.xml'))\n",
        ],
        ["    root = lxml.etree.parse('e.xml')\n    nodes = root.xpath('/e/n[@id=$name]', name=bar)\n"],
    ),
    "cross-site-scripting": (
        "import markupsafe\nfrom flask import make_response\n",
        ["    return f'<p>{bar}</p>'\n", "    return make_response('<b>' + bar + '</b>')\n"],
        [
            "    return f'<p>{markupsafe.escape(bar)}</p>'\n",
            "    return make_response('<b>' + markupsafe.escape(bar) + '</b>')\n",
        ],
    ),
    "open-redirect": (
        "from flask import redirect, url_for\n",
        ["    return redirect(bar)\n"],
        ["    return redirect(url_for('home', next=bar))\n", "    return redirect('/search?q=' + bar)\n"],
    ),
    "unsafe-deserialisation": (
        "import pickle, yaml, json, base64\n",
        [
            "    data = pickle.loads(base64.urlsafe_b64decode(bar))\n",
            "    data = yaml.load(bar, Loader=yaml.Loader)\n",
        ],
        ["    data = json.loads(bar)\n", "    data = yaml.safe_load(bar)\n"],
    ),
    "server-side-request-forgery": (
        "import requests\nimport urllib.request\n",
        ["    requests.get(bar)\n", "    urllib.request.urlopen('http://' + bar)\n"],
        ["    requests.get('https://api.example.com/search', params={'q': bar})\n"],
    ),
    "template-injection": (
        "from flask import render_template, render_template_string\n",
        ["    return render_template_string('<b>' + bar + '</b>')\n"],
        [
            "    return render_template('x.html', name=bar)\n",
            "    return render_template_string('<b>{{ name }}</b>', name=bar)\n",
        ],
    ),
    "xml-external-entities": (
        "import lxml.etree\nimport xml.sax\nimport xml.sax.handler\nimport defusedxml.ElementTree\n",
        [
            "    parser = lxml.etree.XMLParser(resolve_entities=True)\n    lxml.etree.fromstring(bar, parser)\n",
            "    p = xml.sax.make_parser()\n    p.setFeature(xml.sax.handler.feature_external_ges, True)\n    p.feed(bar)\n",
        ],
        [
            "    parser = lxml.etree.XMLParser(resolve_entities=False)\n    lxml.etree.fromstring(bar, parser)\n",
            "    defusedxml.ElementTree.fromstring(bar)\n",
            "    import xml.etree.ElementTree as ET\n    ET.fromstring(bar)\n",
        ],
    ),
}
_HEAD = "from flask import request\n"
_FRAMES = {
    "nested": ("def init(app):\n    @app.route('/x', methods=['GET', 'POST'])\n    def view():\n", "    "),
    "plain": (
        "from flask import Flask\napp = Flask(__name__)\n\n@app.route('/x', methods=['GET', 'POST'])\ndef view():\n",
        "",
    ),
    "blueprint": (
        "from flask import Blueprint\nbp = Blueprint('x', __name__)\n\n@bp.post('/x')\ndef view():\n",
        "",
    ),
    "class": ("from flask.views import MethodView\n\nclass X(MethodView):\n    def get(self):\n", "    "),
}


def _indent(text: str, by: str) -> str:
    return "".join(f"{by}{line}" for line in text.splitlines(keepends=True))


def _programs() -> Iterator[Program]:
    ways = [(name, way, True) for name, way in _WAYS_WEAK.items()] + [
        (name, way, False) for name, way in _WAYS_SAFE.items()
    ]
    sinks = [
        (kind, imports, sink, is_raw)
        for kind, (imports, raw, safe) in _SINKS.items()
        for is_raw, given in ((True, raw), (False, safe))
        for sink in given
    ]
    for number, ((kind, imports, sink, is_raw), (source, way)) in enumerate(
        product(sinks, product(_SOURCES, ways))
    ):
        frame = list(_FRAMES)[number % len(_FRAMES)]
        head, by = _FRAMES[frame]
        body = _indent(_SOURCES[source] + way[1] + sink + "    return 'done'\n", by)
        name = f"{kind} {source} {way[0]} {way[2]} {is_raw} {frame} {number}"
        yield Program(name, kind, way[2] and is_raw, _HEAD + imports + head + body)


def programs(is_measured: bool) -> list[Program]:
    """The half that rules are written from, or the one that is only measured; every eleventh is kept of each."""
    half = [each for each in _programs() if is_held_out(each.name) is is_measured]
    return half[::11]
