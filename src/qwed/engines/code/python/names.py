"""Tables of dotted names: other names of the same thing, where untrusted data comes from, what cleans it."""

import builtins
import re
from collections.abc import Mapping
from typing import Final

# Kinds of origin. `remote` is a network client of this program; `network` is what this program fetched.
REMOTE: Final = "remote"
LOCAL: Final = "local"
ENVIRONMENT: Final = "environment"
FILE: Final = "file"
OUTSIDE: Final = "outside-file"
NETWORK: Final = "network"
PARAMETER: Final = "parameter"
SECRET: Final = "secret"  # noqa: S105 - the name of a kind

BUILTINS: Final = frozenset(dir(builtins)) | {"__builtins__", "unicode", "raw_input", "execfile", "reload"}

ALIASES: Final[Mapping[str, str]] = {
    "posix": "os",
    "nt": "os",
    "posixpath": "os.path",
    "ntpath": "os.path",
    "__builtin__": "builtins",
    "builtins.__builtins__": "builtins",
    "builtins.raw_input": "builtins.input",
    "builtins.unicode": "builtins.str",
    "_io.open": "builtins.open",
    "io.open": "builtins.open",
    "io.FileIO": "builtins.open",
    "codecs.open": "builtins.open",
    "os.fdopen": "builtins.open",
    "cPickle": "pickle",
    "_pickle": "pickle",
    "importlib.__import__": "builtins.__import__",
    "urllib2": "urllib.request",
    "urllib.urlopen": "urllib.request.urlopen",
    "urllib.urlretrieve": "urllib.request.urlretrieve",
    "urllib.unquote": "urllib.parse.unquote",
    "os.environb": "os.environ",
    "os.getenvb": "os.getenv",
    "posix.environ": "os.environ",
    "flask.globals.request": "flask.request",
    "bottle.request": "flask.request",
    "quart.request": "flask.request",
    "sanic.request": "flask.request",
    "flask.helpers.make_response": "flask.make_response",
    "django.http.response.HttpResponse": "django.http.HttpResponse",
    "django.shortcuts.HttpResponse": "django.http.HttpResponse",
    "django.http.response.HttpResponseRedirect": "django.http.HttpResponseRedirect",
    "werkzeug.secure_filename": "werkzeug.utils.secure_filename",
    "werkzeug.utils.redirect": "flask.redirect",
    "markupsafe.escape": "html.escape",
    "flask.escape": "html.escape",
    "cgi.escape": "html.escape",
    "xml.sax.saxutils.escape": "html.escape",
    "bleach.clean": "html.escape",
    "django.utils.html.escape": "html.escape",
    "markupsafe.Markup": "flask.Markup",
    "jinja2.Markup": "flask.Markup",
    "pipes.quote": "shlex.quote",
    "jinja2.environment.Template": "jinja2.Template",
    "jinja2.environment.Environment": "jinja2.Environment",
    "Cryptodome": "Crypto",
    "ruamel.yaml.load": "yaml.load",
    "yaml.loader.SafeLoader": "yaml.SafeLoader",
    "yaml.CSafeLoader": "yaml.SafeLoader",
    "yaml.CSafeDumper": "yaml.SafeDumper",
    "yaml.CLoader": "yaml.Loader",
    "yaml.loader.Loader": "yaml.Loader",
    "psycopg2.extensions.connection": "psycopg2.connect()",
    "MySQLdb.connect": "mysql.connector.connect",
    "pymysql.connect": "mysql.connector.connect",
    "lxml.etree.XMLParser": "lxml.etree.XMLParser",
    "dill": "pickle",
    "cloudpickle": "pickle",
    "pickle5": "pickle",
    "subprocess32": "subprocess",
    "commands.getoutput": "subprocess.getoutput",
    "commands.getstatusoutput": "subprocess.getstatusoutput",
    "popen2.popen2": "os.popen",
    "os.popen2": "os.popen",
    "os.popen3": "os.popen",
    "os.popen4": "os.popen",
    "os.unlink": "os.remove",
    "requests.api": "requests",
    "requests.session": "requests.Session",
    "requests.sessions.Session": "requests.Session",
    "aiohttp.ClientSession": "requests.Session",
    "httpx.Client": "requests.Session",
    "httpx.AsyncClient": "requests.Session",
    "httpx": "requests",
    "flask.wrappers.Request": "flask.request",
    "threading._os": "os",
    "subprocess._posixsubprocess": "subprocess",
}

# A module reached through another one that happens to import it: `shutil.os.system`.
JUMP_MODULES: Final = frozenset(
    [
        "os",
        "sys",
        "subprocess",
        "builtins",
        "__builtins__",
        "importlib",
        "socket",
        "shutil",
        "pty",
        "ctypes",
        "pickle",
        "marshal",
        "posix",
    ]
)

# Modules whose attributes are powers: picking one by a name that can't be read is not decidable.
POWERFUL_MODULES: Final = frozenset(
    [
        "os",
        "sys",
        "subprocess",
        "builtins",
        "importlib",
        "ctypes",
        "pickle",
        "marshal",
        "socket",
        "shutil",
        "pty",
        "code",
        "codeop",
        "runpy",
        "imp",
        "gc",
        "inspect",
        "types",
        "multiprocessing",
        "asyncio",
    ]
)

SOURCES: Final[Mapping[str, str]] = {
    "builtins.input()": LOCAL,
    "getpass.getpass()": LOCAL,
    "sys.argv": LOCAL,
    "sys.stdin": LOCAL,
    "fileinput.input()": LOCAL,
    "argparse.ArgumentParser().parse_args()": LOCAL,
    "argparse.ArgumentParser().parse_known_args()": LOCAL,
    "optparse.OptionParser().parse_args()": LOCAL,
    "getopt.getopt()": LOCAL,
    "os.environ": ENVIRONMENT,
    "os.getenv()": ENVIRONMENT,
    "flask.request": REMOTE,
    "request": REMOTE,
    "quart.request": REMOTE,
    "sanic.request.Request": REMOTE,
    "bottle.request": REMOTE,
    "falcon.Request": REMOTE,
    "aiohttp.web.Request": REMOTE,
    "django.http.HttpRequest": REMOTE,
    "starlette.requests.Request": REMOTE,
    "fastapi.Request": REMOTE,
    "cgi.FieldStorage()": REMOTE,
    "tornado.web.RequestHandler.get_argument()": REMOTE,
    "web.input()": REMOTE,
    "web.data()": REMOTE,
    "cherrypy.request": REMOTE,
    "streamlit.text_input()": REMOTE,
    "socket.socket().recv()": REMOTE,
    "socket.socket().recvfrom()": REMOTE,
    "socket.socket().accept()": REMOTE,
    "socket.create_connection().recv()": REMOTE,
    "urllib.request.urlopen()": NETWORK,
    "requests.get()": NETWORK,
    "requests.post()": NETWORK,
    "requests.put()": NETWORK,
    "requests.request()": NETWORK,
    "requests.Session().get()": NETWORK,
    "requests.Session().post()": NETWORK,
    "requests.Session().request()": NETWORK,
    "http.client.HTTPSConnection().getresponse()": NETWORK,
    "http.client.HTTPConnection().getresponse()": NETWORK,
}

# Names of handler parameters that hold a client's request, whatever the framework.
REQUEST_PARAMETERS: Final = frozenset({"request", "req", "event"})
ROUTE_DECORATORS: Final = frozenset(
    {"route", "get", "post", "put", "delete", "patch", "websocket", "api_route"}
)
# Decorated so, a function runs nothing of a client's.
FLASK_APPS: Final = ("flask.Flask()", "flask.Blueprint()", "bottle", "quart.Quart()")

VIEW_CLASSES: Final = frozenset({"flask.views.MethodView", "flask.views.View", "flask_restful.Resource"})
VIEW_METHODS: Final = frozenset({"get", "post", "put", "delete", "patch", "dispatch_request"})

# What is left of a value after these is no longer able to inject: path of the call → shape.
SANITIZERS: Final[Mapping[str, str]] = {
    "builtins.int": "number",
    "builtins.float": "number",
    "builtins.bool": "number",
    "builtins.len": "number",
    "builtins.hash": "number",
    "builtins.id": "number",
    "builtins.ord": "number",
    "builtins.isinstance": "number",
    "builtins.issubclass": "number",
    "builtins.hasattr": "number",
    "builtins.callable": "number",
    "builtins.round": "number",
    "uuid.UUID": "number",
    "uuid.uuid4": "number",
    "decimal.Decimal": "number",
    "datetime.date": "number",
    "datetime.datetime": "number",
    "ipaddress.ip_address": "number",
    "ipaddress.ip_network": "number",
    "math.floor": "number",
    "shlex.quote": "shell-word",
    "html.escape": "html",
    "werkzeug.utils.secure_filename": "file-name",
    "os.path.basename": "file-name",
    "werkzeug.security.safe_join": "file-name",
    "werkzeug.utils.safe_join": "file-name",
    "flask.safe_join": "file-name",
    "urllib.parse.quote": "url-part",
    "urllib.parse.quote_plus": "url-part",
    "urllib.parse.urlencode": "url-part",
    "re.escape": "pattern",
    "ldap.filter.escape_filter_chars": "ldap",
    "ldap3.utils.conv.escape_filter_chars": "ldap",
    "hashlib.sha256().hexdigest": "number",
    "hashlib.sha512().hexdigest": "number",
    "hashlib.md5().hexdigest": "number",
    "werkzeug.security.generate_password_hash": "number",
    "bcrypt.hashpw": "number",
    "flask.jsonify": "json",
    "json.dumps": "json",
    "flask.url_for": "url-part",
    "flask.render_template": "html",
    "defusedxml.ElementTree.fromstring": "number",
}

# Calling one of these runs something: a reference to it must not get lost.
DANGEROUS_CALLS: Final = frozenset(
    {
        "builtins.eval",
        "builtins.exec",
        "builtins.compile",
        "builtins.execfile",
        "builtins.__import__",
        "importlib.import_module",
        "os.system",
        "os.popen",
        "os.execv",
        "os.execve",
        "os.execvp",
        "os.execl",
        "os.execlp",
        "os.spawnv",
        "os.spawnl",
        "os.spawnlp",
        "os.spawnvp",
        "os.posix_spawn",
        "os.remove",
        "os.rmdir",
        "os.removedirs",
        "shutil.rmtree",
        "subprocess.run",
        "subprocess.call",
        "subprocess.Popen",
        "subprocess.check_output",
        "subprocess.check_call",
        "subprocess.getoutput",
        "subprocess.getstatusoutput",
        "pty.spawn",
        "pickle.loads",
        "pickle.load",
        "marshal.loads",
        "ctypes.CDLL",
    }
)

VALIDATORS: Final = re.compile(r"valid|safe|allow|sanit|whitelist|is_trusted|check_", re.I)
VALIDATING_METHODS: Final = frozenset(
    [
        "isalnum",
        "isdigit",
        "isalpha",
        "isdecimal",
        "isnumeric",
        "isidentifier",
        "startswith",
        "is_relative_to",
        "match",
        "fullmatch",
    ]
)
VALIDATING_CALLS: Final = frozenset(
    {"match", "fullmatch", "search", "url_has_allowed_host_and_scheme", "commonpath", "commonprefix"}
)
