"""Code run from data: evaluation, dynamic import and attribute access, deserialisation, native code."""

import re
from typing import Final

from qwed.engines.code.python.interpreter import Interpreter
from qwed.engines.code.python.machine import PythonCall, Rule
from qwed.engines.code.python.names import POWERFUL_MODULES, REMOTE
from qwed.engines.code.python.values import (
    UNKNOWN,
    Choice,
    Const,
    Items,
    Partial,
    PythonFunction,
    PythonTable,
    PythonText,
    PythonUnknown,
    PythonValue,
    Ref,
    join,
    merge_taint,
)


def evaluate(run: Interpreter, call: PythonCall) -> PythonValue:
    """`eval`, `exec`, `compile`: a constant is inspected as code, anything else is harm or doubt."""
    run.report.effects.add("dynamic-execution")
    source = call.argument(0, "source")
    return _evaluate(run, call, source)


def _evaluate(run: Interpreter, call: PythonCall, source: PythonValue | None) -> PythonValue:
    match source:
        case Choice():
            made: PythonValue = UNKNOWN
            for option in source.options:
                made = join(made, _evaluate(run, call, option))
            return made
        case Const(data=str() | bytes()):
            text = source.data if isinstance(source.data, str) else source.data.decode("utf-8", "replace")
            if source.taint:
                run.harm("code-injection", call.line, source.taint)
            return _inspect(run, call, text)
        case Ref(path="builtins.compile()"):
            return UNKNOWN
        case None if call.path.startswith("."):
            return UNKNOWN
        case PythonUnknown(shape="number" | "validated"):
            return UNKNOWN
        case PythonText() if not source.taint and all(map(_is_checked, source.parts)):
            return _inspect(run, call, source.known("0"))
    if source is not None and source.taint:
        run.harm("code-injection", call.line, source.taint)
    else:
        run.doubt("dynamic-execution", call.line)
    return UNKNOWN


def _is_checked(part: str | PythonValue) -> bool:
    return isinstance(part, str) or (
        isinstance(part, PythonUnknown) and part.shape in ("number", "validated")
    )


def keep_shape(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`str(number)` is still nothing but a number."""
    given = call.args[0] if len(call.args) == 1 and not call.kwargs else None
    return (
        given
        if isinstance(given, (PythonText, Choice)) or (isinstance(given, PythonUnknown) and given.shape)
        else None
    )


def _inspect(run: Interpreter, call: PythonCall, text: str) -> PythonValue:
    result = run.run_text(text, call.line, expression=call.path == "builtins.eval")
    return Ref("builtins.compile()") if call.path == "builtins.compile" else result


def import_module(run: Interpreter, call: PythonCall) -> PythonValue:
    name = call.argument(0, "name")
    if isinstance(name, Const) and isinstance(name.data, str):
        module = name.data if call.path != "builtins.__import__" else name.data.partition(".")[0]
        if module.startswith("."):
            return UNKNOWN
        run.rules.imported(run, module, call.line)
        return run.reference(module, call.line)
    if isinstance(name, Choice):
        return run.over(
            name, lambda option: import_module(run, PythonCall(call.path, [option], {}, call.line))
        )
    taint = name.taint if name is not None else ()
    if any(origin.kind == REMOTE for origin in taint):
        run.harm("dynamic-import", call.line, taint)
    else:
        run.doubt("dynamic-import", call.line, taint)
    return PythonUnknown(taint)


def get_attribute(run: Interpreter, call: PythonCall) -> PythonValue:
    if len(call.args) < 2:
        return UNKNOWN
    owner, name = call.args[0], call.args[1]
    if isinstance(name, Const) and isinstance(name.data, str):
        found = run.attribute(owner, name.data, call.line)
        return join(found, call.args[2]) if len(call.args) > 2 and not isinstance(found, Ref) else found
    if isinstance(name, Choice):
        return run.over(
            name, lambda option: get_attribute(run, PythonCall(call.path, [owner, option], {}, call.line))
        )
    if (
        (isinstance(owner, Ref) and owner.path.partition(".")[0] in POWERFUL_MODULES)
        or (isinstance(name, PythonText) and "__" in name.known())
        or any(origin.kind == REMOTE for origin in name.taint)
    ):
        run.doubt("dynamic-attribute", call.line, name.taint)
    return PythonUnknown(name.taint)


def set_attribute(run: Interpreter, call: PythonCall) -> PythonValue:
    if len(call.args) >= 3:
        owner, name, value = call.args[:3]
        known = isinstance(name, Const) and isinstance(name.data, str)
        if isinstance(owner, Ref) and owner.path.partition(".")[0] in POWERFUL_MODULES:
            run.doubt("rewrites-an-object", call.line)
        run.escaping(value, call.line, hidden=known and name.data.startswith("__"))  # type: ignore[attr-defined]
    return Const(None)


def namespace(run: Interpreter, call: PythonCall) -> PythonValue:
    """`globals()`, `locals()`, `vars()` without argument, `vars(module)`."""
    if call.args:
        owner = call.args[0]
        return owner if isinstance(owner, Ref) and "(" not in owner.path else PythonUnknown(owner.taint)
    return Ref("globals()")


def object_attribute(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`object.__getattribute__(module, "name")` and `module.__getattribute__("name")`."""
    owner = call.receiver
    args = call.args
    if len(args) >= 2:
        owner, args = args[0], args[1:]
    if owner is not None and args and isinstance(args[0], Const) and isinstance(args[0].data, str):
        return run.attribute(owner, args[0].data, call.line)
    run.doubt("dynamic-attribute", call.line)
    return UNKNOWN


def partial(run: Interpreter, call: PythonCall) -> PythonValue:
    if not call.args:
        return UNKNOWN
    return Partial(call.args[0], call.args[1:], call.kwargs)


def attribute_getter(run: Interpreter, call: PythonCall) -> PythonValue:
    return Partial(UNKNOWN, call.args, kind="attribute")


def item_getter(run: Interpreter, call: PythonCall) -> PythonValue:
    return Partial(UNKNOWN, call.args, kind="item")


def method_caller(run: Interpreter, call: PythonCall) -> PythonValue:
    return Partial(UNKNOWN, call.args, kind="method")


def apply_to_all(run: Interpreter, call: PythonCall) -> PythonValue:
    """`map`, `filter`: the function is called with what the iterables hold."""
    if len(call.args) < 2:
        return UNKNOWN
    function, iterable = call.args[0], call.args[1]
    members = run.members(iterable)
    if members is None:
        rest = [run.element(each) for each in call.args[1:]]
        made = run.call(function, rest, {}, call.line)
        return Items([made], "list", made.taint, open=True)
    columns = [run.members(each) or [] for each in call.args[1:]]
    if len(columns) > 1 and len({len(column) for column in columns}) == 1:
        results = [run.call(function, list(row), {}, call.line) for row in zip(*columns, strict=True)]
    else:
        results = [run.call(function, [member], {}, call.line) for member in members]
    if call.path == "builtins.filter":
        return Items(members, "list", iterable.taint, open=True)
    return Items(results, "list", iterable.taint)


def reduce(run: Interpreter, call: PythonCall) -> PythonValue:
    if len(call.args) < 2:
        return UNKNOWN
    members = run.members(call.args[1])
    if not members:
        return run.call(call.args[0], [UNKNOWN, run.element(call.args[1])], {}, call.line)
    made = call.args[2] if len(call.args) > 2 else members[0]
    for member in members if len(call.args) > 2 else members[1:]:
        made = run.call(call.args[0], [made, member], {}, call.line)
    return made


def deserialize(run: Interpreter, call: PythonCall) -> PythonValue:
    """Formats that name the functions to call while they are read."""
    source = call.argument(0)
    run.report.effects.add("deserialisation")
    if isinstance(source, Ref) and source.path in ("pickle.dumps()", "marshal.dumps()"):
        return UNKNOWN
    options = source.options if isinstance(source, Choice) else (source,)
    if not all(map(_is_inert, options)):
        run.harm("unsafe-deserialisation", call.line, source.taint if source is not None else ())
    return PythonUnknown(source.taint if source is not None else ())


def _is_inert(source: PythonValue | None) -> bool:
    """A text that stands in the program, and names nothing to call: no pickle, and no YAML with a tag."""
    if isinstance(source, Ref) and source.path.startswith("base64.") and not source.taint:
        # Decoding it failed when it was tried here.
        return bool(source.args) and all(map(_is_inert, source.args))
    if not isinstance(source, Const) or source.taint or not isinstance(source.data, (str, bytes)):
        return False
    data = source.data.encode("utf-8", "replace") if isinstance(source.data, str) else source.data
    return b"!" not in data and b"\x80" not in data and _INERT.fullmatch(data) is not None


_INERT: Final = re.compile(rb"[\w :,/+=-]{0,200}")


def load_yaml(run: Interpreter, call: PythonCall) -> PythonValue | None:
    loader = call.argument(1, "Loader")
    for option in loader.options if isinstance(loader, Choice) else (loader,):
        if isinstance(option, Ref) and option.path.rpartition(".")[2] in (
            "SafeLoader",
            "BaseLoader",
            "CBaseLoader",
            "CSafeLoader",
        ):
            continue
        return deserialize(run, call)
    return None


def load_numpy(run: Interpreter, call: PythonCall) -> PythonValue | None:
    allowed = call.kwargs.get("allow_pickle")
    return deserialize(run, call) if isinstance(allowed, Const) and allowed.data is True else None


def load_torch(run: Interpreter, call: PythonCall) -> PythonValue | None:
    only = call.kwargs.get("weights_only")
    return None if isinstance(only, Const) and only.data is True else deserialize(run, call)


def load_native(run: Interpreter, call: PythonCall) -> PythonValue:
    run.harm("native-code", call.line)
    return UNKNOWN


def debugger(run: Interpreter, call: PythonCall) -> PythonValue:
    run.harm("interactive-console", call.line)
    return UNKNOWN


def run_file(run: Interpreter, call: PythonCall) -> PythonValue:
    run.report.effects.add("dynamic-execution")
    path = call.argument(0)
    if path is not None and path.taint:
        run.harm("runs-another-file", call.line, path.taint)
    else:
        run.doubt("runs-another-file", call.line)
    return UNKNOWN


def unwrap(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`staticmethod(f)` calls as `f` does."""
    return call.args[0] if call.args else None


def make_range(run: Interpreter, call: PythonCall) -> PythonValue | None:
    return PythonUnknown(shape="number")


def make_type(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`type(name, bases, namespace)` makes a class; `type(x)` asks for one."""
    if len(call.args) == 3 and isinstance(call.args[2], PythonTable):
        for name, value in call.args[2].entries.items():
            run.escaping(value, call.line, hidden=isinstance(name, str) and name.startswith("__"))
        return UNKNOWN
    if len(call.args) == 1:
        owner = call.args[0]
        if isinstance(owner, PythonFunction):
            return UNKNOWN
        return Ref("builtins.type()")
    return None


def new_container(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`dict()`, `list()`, `set()`, and those made from named arguments."""
    if call.args:
        return None
    if call.path == "builtins.dict":
        return PythonTable(dict(call.kwargs), merge_taint(call.kwargs.values()), open="**" in call.kwargs)
    return Items([], call.path.removeprefix("builtins."))


_EVALUATORS = (
    "builtins.eval",
    "builtins.exec",
    "builtins.compile",
    "pandas.eval",
    "numexpr.evaluate",
    "timeit.timeit",
    "timeit.Timer",
    "cProfile.run",
    "profile.run",
    "code.interact",
    "sympy.sympify",
    "sympy.parsing.sympy_parser.parse_expr",
    "pandas.DataFrame().eval",
    "pandas.DataFrame().query",
)
_DESERIALIZERS = (
    "pickle.loads",
    "pickle.load",
    "pickle.Unpickler",
    "marshal.loads",
    "marshal.load",
    "shelve.open",
    "jsonpickle.decode",
    "jsonpickle.loads",
    "pandas.read_pickle",
    "joblib.load",
    "sklearn.externals.joblib.load",
    "yaml.unsafe_load",
    "yaml.unsafe_load_all",
    "yaml.full_load",
    "shelve.DbfilenameShelf",
    "pickle.DEFAULT_PROTOCOL.loads",
)
CALLS: dict[str, Rule] = {
    "builtins.str": keep_shape,
    **dict.fromkeys(_EVALUATORS, evaluate),
    **dict.fromkeys(_DESERIALIZERS, deserialize),
    "builtins.execfile": run_file,
    "runpy.run_path": run_file,
    "runpy.run_module": run_file,
    "importlib.util.spec_from_file_location": run_file,
    "imp.load_source": run_file,
    "imp.load_module": run_file,
    "importlib.machinery.SourceFileLoader": run_file,
    "builtins.__import__": import_module,
    "importlib.import_module": import_module,
    "builtins.getattr": get_attribute,
    "builtins.setattr": set_attribute,
    "builtins.globals": namespace,
    "builtins.locals": namespace,
    "builtins.vars": namespace,
    "builtins.object.__getattribute__": object_attribute,
    "functools.partial": partial,
    "functools.reduce": reduce,
    "operator.attrgetter": attribute_getter,
    "operator.itemgetter": item_getter,
    "operator.methodcaller": method_caller,
    "builtins.map": apply_to_all,
    "builtins.filter": apply_to_all,
    "builtins.type": make_type,
    "builtins.range": make_range,
    "builtins.staticmethod": unwrap,
    "builtins.classmethod": unwrap,
    "builtins.dict": new_container,
    "builtins.list": new_container,
    "builtins.set": new_container,
    "yaml.load": load_yaml,
    "yaml.load_all": load_yaml,
    "numpy.load": load_numpy,
    "torch.load": load_torch,
    "ctypes.CDLL": load_native,
    "ctypes.cdll.LoadLibrary": load_native,
    "ctypes.PyDLL": load_native,
    "ctypes.WinDLL": load_native,
    "ctypes.windll": load_native,
    "ctypes.pythonapi": load_native,
    "ctypes.memmove": load_native,
    "ctypes.memset": load_native,
    "ctypes.string_at": load_native,
    "cffi.FFI().dlopen": load_native,
    "builtins.breakpoint": debugger,
    "pdb.set_trace": debugger,
    "code.InteractiveConsole": debugger,
    "code.InteractiveInterpreter": debugger,
    "code.interact": debugger,
    "IPython.embed": debugger,
    "types.CodeType": load_native,
    "types.FunctionType": load_native,
}
METHODS: dict[str, Rule] = {"__getattribute__": object_attribute}
