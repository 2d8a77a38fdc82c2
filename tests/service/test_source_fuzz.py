"""Source text against chance: nothing breaks the parser, and steps compute what Python computes."""

from __future__ import annotations

import json
import operator
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gradwire_engine.errors import GradwireError
from gradwire_service.host.source import parse

PROGRAMS = [
    "z = x + y * 2 ** -w",
    "z = nn.functional.gelu(x @ w.T + b)[..., 0:-1].sum(0, keepdim=True)",
    "a, b = b, a",
    "v, _ = x.max(0)",
    "x[m, 1:] *= y.exp() - 2.5j",
    't["a.b"] -= 0.1 * t["a.b"].grad',
    "x.grad.zero_()",
    "a = b = cat([x, (y)], dim=-1)",
    "z = where(x <= 0, ~m & n, -Infinity)",
    "z = zeros((2, 3), dtype='float64')",
]


def check(text: str) -> None:
    """Either steps that JSON can carry and whose names are in order, or one of two errors."""
    try:
        steps = parse(text)
    except GradwireError as refused:
        code, detail = refused.code, refused.detail
    else:
        check_steps(steps)
        return
    assert code in ("invalid_source", "limit_exceeded")
    detail.encode()


def check_steps(steps: list[dict[str, Any]]) -> None:
    for step in json.loads(json.dumps(steps, allow_nan=False)):
        assert step.keys() - {"kwargs", "out"} in ({"bind"}, {"op", "args"})
        assert "out" in step or step["op"].endswith("_")


@given(st.text(max_size=200))
def test_arbitrary_text_never_breaks_the_parser(text: str) -> None:
    check(text)


TOKENS = ["x", "y", "1", "2.5", "1j", "'s'", "(", ")", "[", "]", ",", ".", ":", "=", "+", "-", "*",
          "**", "/", "@", "<", "==", "~", "&", "\n", "\r", " ", "sum", ".grad", ".T", "_", "add_",
          "t['a.b']", "None", "...", "for ", "if ", "lambda ", "#", "nn.functional.", "+=", ";",
          "\\", '"', "é", "{", "}", "%", ":=", "not ", "9" * 30, "in ", "f'"]  # fmt: skip


@given(st.lists(st.sampled_from(TOKENS), max_size=40).map("".join))
def test_any_row_of_tokens_never_breaks_the_parser(text: str) -> None:
    check(text)


@given(st.data())
def test_mutated_programs_never_break_the_parser(data: st.DataObject) -> None:
    text = "\n".join(data.draw(st.lists(st.sampled_from(PROGRAMS), max_size=4)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        until = data.draw(st.integers(at, min(len(text), at + 5)))
        text = text[:at] + data.draw(st.sampled_from(["", *TOKENS])) + text[until:]
    check(text)


OPS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg,
       "positive": operator.pos, "bitwise_not": operator.invert, "lt": operator.lt,
       "eq": operator.eq, "bitwise_and": operator.and_}  # fmt: skip
SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_}
PREFIXES = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
LEAVES = {name: np.arange(4) * scale + 1 for name, scale in (("a", 3), ("b", -7), ("c", 11))}
Expression = tuple[str, Any]


def expressions() -> st.SearchStrategy[Expression]:
    """A text and, worked out beside it, what Python makes of it."""
    leaf = st.sampled_from(sorted(LEAVES)).map(lambda name: (name, LEAVES[name]))
    number = st.integers(0, 9).map(lambda value: (str(value), value))

    def grow(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        two = st.tuples(inner, st.sampled_from(sorted(SIGNS)), inner)
        one = st.tuples(st.sampled_from(sorted(PREFIXES)), inner)
        return st.one_of(
            two.map(lambda t: (f"({t[0][0]} {t[1]} {t[2][0]})", SIGNS[t[1]](t[0][1], t[2][1]))),
            one.map(lambda t: (f"({t[0]}{t[1][0]})", PREFIXES[t[0]](t[1][1]))),
        )

    return st.recursive(leaf | number, grow, max_leaves=12)


def run(steps: list[dict[str, Any]], names: dict[str, Any]) -> dict[str, Any]:
    """The steps on NumPy arrays."""
    names = dict(names)
    for step in steps:
        if "bind" in step:
            names[step["out"]] = names[step["bind"]]
            continue
        args = [names[arg] if isinstance(arg, str) else arg for arg in step["args"]]
        names[step["out"]] = OPS[step["op"]](*args)
    return names


@settings(max_examples=300)
@given(expressions(), expressions())
def test_steps_compute_what_python_computes(first: Expression, second: Expression) -> None:
    steps = parse(f"a, z = {first[0]} + a, {second[0]} - b")
    names = run(steps, LEAVES)
    np.testing.assert_array_equal(names["a"], first[1] + LEAVES["a"])
    np.testing.assert_array_equal(names["z"], second[1] - LEAVES["b"])
