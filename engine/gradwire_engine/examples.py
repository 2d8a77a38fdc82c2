"""Each op's example: a call, what it gives, and the gradients, in one line of text.

`make docs` writes examples.json from the samples on which the tests run the ops; one of them runs
every example in a session and compares. Tensors are made first, in source text; after the call and
its arrow stands the result, or all of several; after `x.grad ->` what backward leaves there where
the result's elements have the gradients 1, 2, 3, … Random ops draw from seed 0.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("examples.json")


def example(name: str) -> str | None:
    """The example of an op, by its own name; None for an op that came later."""
    return _all().get(name)


@cache
def _all() -> dict[str, str]:
    found: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))
    return found
