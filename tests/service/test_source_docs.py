"""The page about source text gives the parser's own bounds and operators.

Its examples are run by tests/test_docs.py.
"""

from __future__ import annotations

import re
from pathlib import Path

import gradwire_engine.ops  # noqa: F401  (fills the catalogue)
from gradwire_engine.catalogue import CATALOGUE, inplace_twin, resolve
from gradwire_service.host.source import MAX_LENGTH, MAX_STEPS, literal, syntax
from gradwire_service.host.source.expression import ATTRIBUTES, NAMESPACES
from gradwire_service.host.source.operators import BINARY, COMPARE, IN_PLACE, UNARY

PAGE = (Path(__file__).parents[2] / "docs" / "source.md").read_text()
GRAMMAR = PAGE.partition("```ebnf\n")[2].partition("```")[0]


def test_the_bounds_are_the_parsers() -> None:
    bounds = re.search(r"## Bounds(.*?)##", PAGE, re.DOTALL)
    assert bounds is not None
    numbers = {int(number.replace(",", "")) for number in re.findall(r"[\d,]{2,}", bounds[1])}
    assert numbers >= {
        MAX_LENGTH, MAX_STEPS, syntax.MAX_DEPTH, syntax.MAX_BRACKETS, syntax.MAX_TOKENS,
        syntax.MAX_DIGITS, literal.MAX_STRING,
    }  # fmt: skip


def test_the_grammar_names_the_attributes_namespaces_and_operators() -> None:
    for word in {*ATTRIBUTES, *NAMESPACES} - {"torch", "nn"}:
        assert f'"{word}"' in GRAMMAR
    rule = dict(re.findall(r"^(\w+) *= (.*?) ;", GRAMMAR, re.M | re.S))
    for name, table in (("augmented", IN_PLACE), ("unary", UNARY), ("binary", BINARY | COMPARE)):
        assert rule[name].count('"') // 2 == len(table), name


def test_operators_attributes_and_namespaces_are_the_catalogues() -> None:
    for name in [*BINARY.values(), *UNARY.values(), *COMPARE.values(), *ATTRIBUTES, "unbind"]:
        assert resolve(name)
    for name in IN_PLACE.values():
        assert inplace_twin(name) is not None, name
    assert {name.split(".")[0] for name in CATALOGUE if "." in name} <= NAMESPACES
