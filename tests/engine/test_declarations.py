"""Ops are declared in a few lines, and in one place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from inspect import unwrap
from itertools import combinations
from pathlib import Path
from statistics import median

import gradwire_engine
from gradwire_engine.catalogue import ALIASES, CATALOGUE
from gradwire_engine.signature import KINDS
from gradwire_engine.spec import DTYPES

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


def test_no_overload_is_declared_twice() -> None:
    """The second one would never be called, nor be found wrong."""
    for name, op in CATALOGUE.items():
        signatures = [str(overload.signature) for overload in op.overloads]
        assert len(set(signatures)) == len(signatures), name


def test_no_file_of_ops_is_long() -> None:
    sizes = {path.name: len(path.read_text().splitlines()) for path in ENGINE.rglob("ops/*.py")}
    assert len(sizes) > 100
    assert {name: size for name, size in sizes.items() if size > LONGEST_FILE} == {}


ROOT = Path(__file__).parents[2]
PRODUCT = ("engine", "service", "clients", "docs")
MEANINGS = {*KINDS.values(), *DTYPES, "float", "int", "half", "double", "short", "long"}
"""Names of ops that mean something else as well: kinds of parameters, dtypes."""
FEW = 3
"""Names that two lists may have in common; more would be one list written twice."""


def listed(node: ast.AST) -> set[str]:
    """The ops that a collection in a program's text names."""
    match node:
        case ast.Dict(keys=items) | ast.Tuple(elts=items) | ast.List(elts=items):
            found = {item.value for item in items if isinstance(item, ast.Constant)}
        case ast.Set(elts=items):
            found = {item.value for item in items if isinstance(item, ast.Constant)}
        case _:
            return set()
    return (found & {*CATALOGUE, *ALIASES}) - MEANINGS


def lists_of_ops(folder: Path) -> dict[str, set[str]]:
    """Every collection of more than a few ops outside their declarations, by where it stands."""
    return {
        f"{path.relative_to(folder)}:{node.lineno}": listed(node)
        for part in PRODUCT
        for path in folder.joinpath(part).rglob("*.py")
        if "ops" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.expr) and len(listed(node)) > FEW
    }


def twice(lists: dict[str, set[str]]) -> list[tuple[str, str]]:
    pairs = combinations(lists, 2)
    return [(a, b) for a, b in pairs if len(lists[a] & lists[b]) > FEW]


def test_no_list_of_ops_stands_twice() -> None:
    """What gives some ops a property (a count of flops) is no second list, and stays short."""
    found = lists_of_ops(ROOT)
    assert twice(found) == []
    assert {where: names for where, names in found.items() if len(names) > 10} == {}


def test_a_list_that_stands_twice_is_found(tmp_path: Path) -> None:
    (tmp_path / "service").mkdir()
    for name in ("one", "two"):
        (tmp_path / f"service/{name}.py").write_text("NAMES = ('sin', 'cos', 'tan', 'exp')")
    assert len(twice(lists_of_ops(tmp_path))) == 1


def test_the_lines_of_a_declaration_are_counted_whole() -> None:
    text = '@decorator(\n    fact,\n)\ndef f(x):\n    """A sentence."""\n    return x\n\n\ny = 1\n'
    assert list(functions(ast.parse(text))) == [(1, 6)]
