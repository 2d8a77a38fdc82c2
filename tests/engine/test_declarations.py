"""Ops are declared in a few lines, and in one place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from inspect import unwrap
from pathlib import Path
from statistics import median

import gradwire_engine
from gradwire_engine.catalogue import CATALOGUE

ENGINE = Path(gradwire_engine.__file__).parent
MOST_LINES = 8
"""Of the median declaration: decorator, signature, sentence, kernel."""
LONGEST_FILE = 400

Place = tuple[str, int]


def declarations() -> dict[Place, list[str]]:
    """Where overloads are declared, and the ops that each declaration is for."""
    found: dict[Place, list[str]] = {}
    for name, op in CATALOGUE.items():
        for overload in op.overloads:
            code = unwrap(overload.function).__code__
            found.setdefault((code.co_filename, code.co_firstlineno), []).append(name)
    return found


@cache
def extents(path: str) -> dict[int, int]:
    """How many lines each function of a file has, by its first one, which may be a decorator."""
    return {first: last - first + 1 for first, last in functions(ast.parse(Path(path).read_text()))}


def functions(tree: ast.AST) -> Iterator[tuple[int, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            yield first, node.end_lineno or first


def test_the_median_declaration_is_short() -> None:
    """A declaration of several ops (conv1d, conv2d, conv3d) is shared among them."""
    lines = [
        extents(path)[first] / len(names)
        for (path, first), names in declarations().items()
        for _ in names
    ]
    assert len(lines) >= len(CATALOGUE)
    assert median(lines) <= MOST_LINES


def test_no_file_of_ops_is_long() -> None:
    sizes = {path.name: len(path.read_text().splitlines()) for path in ENGINE.rglob("ops/*.py")}
    assert len(sizes) > 100
    assert {name: size for name, size in sizes.items() if size > LONGEST_FILE} == {}


def test_the_lines_of_a_declaration_are_counted_whole() -> None:
    text = '@decorator(\n    fact,\n)\ndef f(x):\n    """A sentence."""\n    return x\n\n\ny = 1\n'
    assert list(functions(ast.parse(text))) == [(1, 6)]
