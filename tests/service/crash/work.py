"""Random requests for a session: most go well, some fail, some fail after steps that are kept."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.service.crash.reference import Asked, Reference, numbers

NAMES = ("a", "b", "c", "d", "e")
PROGRAM = {"inputs": ["x"], "source": "y = (x * 3).sin() + randn([3])", "outputs": ["y"]}
LARGE = 100_000
"""Elements of a tensor whose request is a file of its own."""


def request(draw: Random, reference: Reference, program: str) -> Asked:
    """The next thing to ask of this session."""
    kind = draw.random()
    here = sorted(reference.session.tensors)
    if kind < 0.05:
        return Asked("PATCH", "", {"label": f"label {draw.randrange(1000)}"})
    if kind < 0.12:
        count = LARGE if draw.random() < 0.3 else 3
        return Asked("PUT", f"/tensors/{'big' if count == LARGE else draw.choice(NAMES)}",
                     numbers(count, draw.randrange(2**32)))  # fmt: skip
    if kind < 0.16 and here:
        return Asked("DELETE", f"/tensors/{draw.choice(here)}")
    if kind < 0.22:
        out = draw.choice(NAMES)
        return Asked("POST", "/ops", {
            "source": f"{out} = randn([3]) * 2\n{out} += 1", "return": [out],
        })  # fmt: skip
    steps = [step for _ in range(draw.randrange(1, 5)) for step in _steps(draw, here, program)]
    fails = draw.random() < 0.2
    if fails:
        steps.append({"op": "matmul", "args": ["nobody", "nobody"], "out": "q"})
    written = [str(s["out"]) for s in steps if "out" in s and s["out"] != "q"]
    return Asked("POST", "/steps", {
        "steps": steps, "return": [] if fails else written[-1:], "atomic": draw.random() < 0.5,
    })  # fmt: skip


def _steps(draw: Random, here: list[str], program: str) -> list[dict[str, Any]]:
    """A few steps that belong together."""
    out, one = draw.choice(NAMES), draw.choice([n for n in here if n in NAMES] or ["a"])
    value = [draw.uniform(-1, 1) for _ in range(3)]
    leaf = {"tensor": out, "value": value, "requires_grad": True}
    some: list[list[dict[str, Any]]] = [
        [leaf],
        [{"op": "randn", "args": [[3]], "out": out}],
        [leaf, {"op": "mul", "args": [out, value[0]], "out": "m"}],
        [{"op": "tanh", "args": [one], "out": out}],
        [{"op": "add_", "args": [one, 0.5]}],
        [{"call": program, "args": [one], "out": out}],
        [
            leaf, {"op": "cos", "args": [out], "out": "k"},
            {"op": "sum", "args": ["k"], "out": "s"}, {"backward": {"tensors": ["s"]}},
        ],
        [
            {"tensor": "w", "value": value, "requires_grad": True},
            {"optimizer": "o", "kind": draw.choice(["sgd", "adam"]), "params": ["w"], "lr": 0.1},
        ],
        [
            {"op": "sum", "args": ["w"], "out": "s"}, {"backward": {"tensors": ["s"]}},
            {"step": "o"}, {"zero_grad": ["w"]},
        ],
        [{"seed": draw.randrange(1000)}],
        [{"op": "sum", "args": [one], "out": "s"}],
        [{"detach": one, "out": out}],
    ]  # fmt: skip
    return draw.choice(some)
