"""Whether a program does nothing but compute, and ends."""

import ast

from qwed.engines.code.python.interpreter import Interpreter


def judge_purity(tree: ast.Module, run: Interpreter) -> tuple[bool, str]:
    return False, "not judged yet"
