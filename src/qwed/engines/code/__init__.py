"""Program text, read without running it: Python, shell and JavaScript."""

from qwed.engines.code.engine import CodeEngine
from qwed.engines.code.inspect import inspect_code, inspect_javascript, inspect_python, inspect_shell
from qwed.engines.code.rules import CodeRules
from qwed.engines.code.verdict import CodeProblem, CodeVerdict

__all__ = [
    "CodeEngine",
    "CodeProblem",
    "CodeRules",
    "CodeVerdict",
    "inspect_code",
    "inspect_javascript",
    "inspect_python",
    "inspect_shell",
]
