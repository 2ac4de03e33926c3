"""Documents that are parsed: XML with the defaults that each parser really has, XPath, settings files."""

from typing import Final

from qwed.engines.code.python.interpreter import Interpreter
from qwed.engines.code.python.machine import PythonCall, Rule
from qwed.engines.code.python.names import LOCAL, NETWORK, PARAMETER, REMOTE
from qwed.engines.code.python.rules.databases import xpath
from qwed.engines.code.python.values import Choice, Const, PythonTable, PythonUnknown, PythonValue, Ref, Taint

# What is said of a parser is a part of its path.
_SAFE: Final = "[safe]"
_EXTERNAL: Final = "[external]"


def _from_outside(value: PythonValue | None) -> Taint:
    kinds = (REMOTE, LOCAL, NETWORK, PARAMETER)
    return tuple(origin for origin in value.taint if origin.kind in kinds) if value is not None else ()


def parse_lxml(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """lxml expands entities unless its parser is told not to; from version 5 on, only the document's own."""
    parser = call.argument(1, "parser")
    taint = _from_outside(call.argument(0))
    if taint and not (isinstance(parser, Ref) and parser.path.endswith(_SAFE)):
        run.harm("xml-external-entities", call.line, taint)
    return None


def lxml_parser(run: Interpreter, call: PythonCall) -> PythonValue | None:
    resolve = call.kwargs.get("resolve_entities")
    is_off = isinstance(resolve, Const) and resolve.data in (False, "internal")
    return Ref(call.path + "()" + (_SAFE if is_off else ""))


def parse_twice(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """The standard library's parsers fetch nothing, and their expat stops expansions that grow too large;
    with a parser of somebody's making they do what that does."""
    parser = call.argument(1, "parser")
    taint = _from_outside(call.argument(0))
    if taint and isinstance(parser, Ref) and parser.path.endswith(_EXTERNAL):
        run.harm("xml-external-entities", call.line, taint)
    return None


def sax_feature(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`parser.setFeature(feature_external_ges, True)`."""
    feature, value = call.argument(0), call.argument(1)
    named = isinstance(feature, Ref) and feature.path.endswith(
        ("feature_external_ges", "feature_external_pes")
    )
    external = named or "feature_external" in run.text(call.line)
    if not (external and isinstance(value, Const) and value.data):
        return None
    is_used = any(use in text for text in run.lines[call.line :] for use in (".parse(", ".feed("))
    if isinstance(call.receiver, Ref) and is_used:
        call.receiver.path += _EXTERNAL
    else:
        run.harm("xml-external-entities", call.line)
    return None


def _is_known(value: PythonValue) -> bool:
    if isinstance(value, Choice):
        return all(map(_is_known, value.options))
    is_vouched = isinstance(value, PythonUnknown) and value.shape in ("validated", "number")
    return is_vouched or (isinstance(value, Const) and not value.taint)


def feed(run: Interpreter, call: PythonCall) -> PythonValue | None:
    receiver = call.receiver
    source = call.argument(0)
    if not (isinstance(receiver, Ref) and receiver.path.endswith(_EXTERNAL)):
        return None
    if source is None or not _is_known(source):
        run.harm("xml-external-entities", call.line, _from_outside(source))
    return None


def select(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`elementpath.select(root, path)`."""
    query = call.argument(1, "path")
    return xpath(run, PythonCall(call.path, [query], {}, call.line)) if query is not None else None


_SETTINGS: Final = "configparser.ConfigParser()"


def new_settings(run: Interpreter, call: PythonCall) -> PythonValue | None:
    return Ref(_SETTINGS, (), (PythonTable({}),))


def _table_of(call: PythonCall) -> PythonTable | None:
    receiver = call.receiver
    table = receiver.args[0] if isinstance(receiver, Ref) and receiver.args else None
    return table if isinstance(table, PythonTable) else None


def _key_of(call: PythonCall) -> tuple[str, str] | None:
    section, name = call.argument(0, "section"), call.argument(1, "option")
    if isinstance(section, Const) and isinstance(name, Const):
        return str(section.data), str(name.data)
    return None


def set_setting(run: Interpreter, call: PythonCall) -> PythonValue | None:
    table, key, value = _table_of(call), _key_of(call), call.argument(2, "value")
    if table is None or value is None:
        return None
    if key is None or run.branching:
        table.open = True
        table.taint = (*table.taint, *value.taint)[:3]
    if key is not None:
        table.entries[key] = value
    return Const(None)


def get_setting(run: Interpreter, call: PythonCall) -> PythonValue | None:
    table, key = _table_of(call), _key_of(call)
    found = table.entries.get(key) if table is not None and key is not None else None
    if found is not None and table is not None and not table.open:
        return found
    taint = tuple(origin for entry in table.entries.values() for origin in entry.taint) if table else ()
    return PythonUnknown(taint[:3])


def read_settings(run: Interpreter, call: PythonCall) -> PythonValue | None:
    run.report.effects.add("file-read")
    table = _table_of(call)
    if table is not None:
        table.open = True
    return None


CALLS: dict[str, Rule] = {
    **{f"lxml.etree.{name}": parse_lxml for name in ("fromstring", "parse", "XML", "iterparse")},
    "lxml.etree.XMLParser": lxml_parser,
    **{f"xml.sax.{name}": parse_twice for name in ("parse", "parseString")},
    **{f"xml.dom.{name}": parse_twice for name in ("minidom.parse", "minidom.parseString", "pulldom.parse")},
    "elementpath.select": select,
    "configparser.ConfigParser": new_settings,
    "configparser.RawConfigParser": new_settings,
    f"{_SETTINGS}.set": set_setting,
    f"{_SETTINGS}.get": get_setting,
    f"{_SETTINGS}.read": read_settings,
    f"{_SETTINGS}.read_string": read_settings,
    f"{_SETTINGS}.read_file": read_settings,
    f"{_SETTINGS}.read_dict": read_settings,
}
METHODS: dict[str, Rule] = {"setFeature": sax_feature, "feed": feed, "parse": feed}
