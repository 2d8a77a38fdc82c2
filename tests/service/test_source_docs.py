"""The page about source text shows what the parser does, and its table the parser's own bounds."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

import gradwire_engine.ops  # noqa: F401  (fills the catalogue)
from gradwire_engine.catalogue import CATALOGUE, inplace_twin, resolve
from gradwire_engine.errors import GradwireError
from gradwire_service.host.protocol import OpsRequest, read
from gradwire_service.host.source import MAX_LENGTH, MAX_STEPS, literal, parse, syntax
from gradwire_service.host.source.expression import ATTRIBUTES, NAMESPACES
from gradwire_service.host.source.operators import BINARY, COMPARE, IN_PLACE, UNARY

PAGE = (Path(__file__).parents[2] / "docs" / "source.md").read_text()
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
BLOCKS = [(match[1], match[2]) for match in BLOCK.finditer(PAGE)]
PAIRS = [
    (text, kind, shown) for (first, text), (kind, shown) in pairwise(BLOCKS) if first == "source"
]
GRAMMAR = next(text for kind, text in BLOCKS if kind == "ebnf")


@pytest.mark.parametrize(("text", "kind", "shown"), PAIRS, ids=[text for text, *_ in PAIRS])
def test_each_example_gives_what_the_page_shows(text: str, kind: str, shown: str) -> None:
    if kind == "steps":
        assert parse(text) == [json.loads(line) for line in shown.splitlines()]
        return
    assert kind == "error"
    with pytest.raises(GradwireError) as caught:
        parse(text)
    assert caught.value.detail == shown.strip()


def test_the_page_has_examples_of_both_kinds_and_a_valid_request() -> None:
    assert {kind for _, kind, _ in PAIRS} == {"steps", "error"}
    assert read(OpsRequest, json.loads(next(text for kind, text in BLOCKS if kind == "json")))


def test_the_bounds_are_the_parsers() -> None:
    bounds = re.search(r"## Bounds(.*?)##", PAGE, re.DOTALL)
    assert bounds is not None
    numbers = {int(number.replace(",", "")) for number in re.findall(r"[\d,]{2,}", bounds[1])}
    assert numbers >= {
        MAX_LENGTH, MAX_STEPS, syntax.MAX_DEPTH, syntax.MAX_BRACKETS, syntax.MAX_TOKENS,
        syntax.MAX_DIGITS, literal.MAX_STRING,
    }  # fmt: skip


def test_the_grammar_names_the_attributes_namespaces_and_operators() -> None:
    for word in ATTRIBUTES | NAMESPACES - {"torch", "nn"}:
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
