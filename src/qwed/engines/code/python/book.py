"""All rules of the Python inspector, gathered once."""

from qwed.engines.code.python.interpreter import Interpreter
from qwed.engines.code.python.machine import PythonRules
from qwed.engines.code.python.rules import (
    ciphers,
    databases,
    effects,
    execution,
    files,
    infrastructure,
    markup,
    network,
    processes,
    secrets,
    weaknesses,
    web,
)
from qwed.engines.code.python.values import Const, Items, PythonValue


def attribute_set(run: Interpreter, path: str, value: PythonValue, line: int) -> None:
    weaknesses.attribute_set(run, path, value, line)
    web.set_header(run, path, value, line)


def returned(run: Interpreter, function: str, value: PythonValue, line: int) -> None:
    """What `__reduce__` returns is called by whoever unpickles it; a view's answer is a page."""
    if function in ("__reduce__", "__reduce_ex__") and isinstance(value, Items) and value.items:
        run.escaping(value.items[0], line, hidden=True)
    web.returned(run, function, value, line)
    if not isinstance(value, Const):
        run.escaping(value, line)


RULE_BOOK = PythonRules(
    calls={
        **execution.CALLS,
        **processes.CALLS,
        **files.CALLS,
        **network.CALLS,
        **databases.CALLS,
        **web.CALLS,
        **weaknesses.CALLS,
        **ciphers.CALLS,
        **secrets.CALLS,
        **markup.CALLS,
        **effects.CALLS,
        **infrastructure.CALLS,
    },
    methods={
        **execution.METHODS,
        **processes.METHODS,
        **files.METHODS,
        **databases.METHODS,
        **web.METHODS,
        **weaknesses.METHODS,
        **markup.METHODS,
        **effects.METHODS,
        **infrastructure.METHODS,
    },
    mentions={**weaknesses.MENTIONS, **ciphers.MENTIONS},
    assignments=[secrets.assigned, weaknesses.keyword_checked, secrets.connection_string],
    returned=[returned],
    attribute_set=attribute_set,
    imported=weaknesses.imported,
    compared=secrets.compared,
    element=files.walked,
    binary=files.divide_paths,
)
