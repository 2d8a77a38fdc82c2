"""The stub of a function that is written in Python: its own words, read from its source."""

from __future__ import annotations

import ast
from collections.abc import Callable
from inspect import getsource
from textwrap import dedent
from typing import Any


def written_in_python(name: str, found: Callable[..., Any], indent: str = "") -> str:
    """`def` with the annotations and the docstring that the source has; indented, as a method."""
    node = ast.parse(dedent(getsource(found))).body[0]
    assert isinstance(node, ast.FunctionDef), f"{name}: a lambda has no types to show"
    if indent:
        node.args.args[0] = ast.arg("self")
    result = "Any" if node.returns is None else ast.unparse(node.returns)
    doc = (found.__doc__ or "").strip()
    head = f"{indent}def {name}({ast.unparse(node.args)}) -> {result}:"
    return f'{head}\n{indent}    """{doc}"""'
