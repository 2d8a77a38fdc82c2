"""docs/semantics.md has every row of the contract, and each row names tests that there are."""

from __future__ import annotations

import ast
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from markdown_it import MarkdownIt

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "semantics.md"
CONTRACT = {
    "Recording": [
        "leaves",
        "results",
        "requires_grad_(False)",
        "detach",
        "no_grad, enable_grad, set_grad_enabled",
        "inference_mode",
        "type promotion",
        "Parameter, Module",
        "float16, bfloat16",
        "complex",
    ],
    "grad and backward": [
        "scalar outputs",
        "grad_outputs",
        "several outputs",
        "grad",
        "backward",
        "retain_graph",
        "a failed walk",
        "create_graph",
        "allow_unused",
        "materialize_grads",
        "is_grads_batched",
        "no path",
        "retain_grad",
        "grad_fn",
        "hooks",
        "order",
        "accumulation",
    ],
    "In place, views, versions": [
        "a leaf that requires grad",
        "saved tensors",
        "views",
        "copy_, zero_, fill_, clamp_, index_put_, x[i] = v",
        "atomic requests",
        "requires_grad_()",
        ".numpy()",
        "fork",
    ],
    "Functions over functions": [
        "Function",
        "checkpoint",
        "jacobian, hessian, vjp, jvp, vhp, hvp",
        "gradcheck, gradgradcheck",
        "forward mode",
        "vmap",
        "user's Python",
        "anomaly mode",
        "optimisers",
        "random",
        "memory",
    ],
    "What an interrupt leaves": [
        "embedded",
        "on a server",
        "the server killed and started again (--data)",
        "the reply lost, and not kept by the server any more",
        "in session.transaction()",
        "the client killed",
    ],
    "Here and there": [
        "errors that only elements reveal",
        "a walk",
        "a hook",
        "a Function",
        "a checkpoint",
        "a snapshot",
        "info and pictures",
        "another client",
    ],
}
"""What a PyTorch user relies on: the rows that the page has to have, section by section."""


class Row(NamedTuple):
    """A row of the page: what is relied on, what holds, and the tests in code spans."""

    section: str
    name: str
    holds: str
    tests: tuple[str, ...]


def _rows() -> list[Row]:
    found, section, cells = [], "", []
    tokens = MarkdownIt("commonmark").enable("table").parse(PAGE.read_text())
    for before, token in pairwise(tokens):
        if before.type == "heading_open" and before.tag == "h2":
            section = token.content
        elif before.type == "tr_open":
            cells = []
        elif before.type == "td_open":
            cells.append(token)
        elif before.type == "td_close" and token.type == "tr_close":
            name, *said, held_by = cells
            spans = [s.content for s in held_by.children or () if s.type == "code_inline"]
            holds = " ".join(cell.content for cell in said)
            found.append(Row(section, name.content.replace("`", ""), holds, tuple(spans)))
    return found


ROWS = _rows()


@cache
def _functions(path: Path) -> frozenset[str]:
    """The functions of a file."""
    return frozenset(n.name for n in ast.parse(path.read_text()).body if type(n) is ast.FunctionDef)


def test_the_page_has_the_rows_of_the_contract_and_no_others() -> None:
    found: dict[str, list[str]] = {}
    for row in ROWS:
        found.setdefault(row.section, []).append(row.name)
    assert found == CONTRACT


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_says_what_holds_and_what_holds_it(row: Row) -> None:
    assert row.holds
    assert row.tests
    assert len(set(row.tests)) == len(row.tests)


@pytest.mark.parametrize("named", sorted({test for row in ROWS for test in row.tests}))
def test_a_test_that_is_named_is_run(named: str) -> None:
    """Pytest collects functions `test_…` of files `test_….py`; and each public program."""
    file, _, function = named.partition("::")
    path = TESTS / file
    assert function in _functions(path)
    if path.parent == TESTS / "parity" / "programs":
        assert not function.startswith("_")
    else:
        assert path.name.startswith("test_")
        assert function.startswith("test_")
