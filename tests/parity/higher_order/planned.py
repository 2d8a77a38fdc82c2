"""Random functions by plans: the same as op by op, and the same bits each time."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from tests.parity.higher_order.campaign import Tally
from tests.parity.higher_order.function import Function, drawn
from tests.parity.higher_order.ways import At, listed
from tests.parity.workers import Saying, nowhere

import gradwire
from gradwire_engine.control import known

RELATIVE = 1e-12
"""To the largest element of a result, which counts as no smaller than 1."""
TIMES = 3
"""Calls of a compiled function."""


class Compiled(NamedTuple):
    """A function to compile, and its arguments."""

    function: Callable[..., Any]
    args: Sequence[Any]


def compiled(at: At) -> dict[str, Compiled]:
    """What is compiled of a function: itself, and its derivatives of all kinds."""
    func, x, by, count = at.func, at.x, at.by, len(at.x)
    like: Callable[[tuple[Any, ...]], Any] = (
        (lambda parts: parts) if at.function.outputs > 1 else (lambda parts: parts[0])
    )
    gradient = func.grad(at.f, by)
    return {
        "itself": Compiled(at.F, x),
        "grad": Compiled(gradient, x),
        "hessian": Compiled(func.hessian(at.f, by), x),
        "jacrev": Compiled(func.jacrev(at.F, by), x),
        "jacfwd": Compiled(func.jacfwd(at.F, by), x),
        "vjp": Compiled(lambda *p: func.vjp(at.F, *p[:count])[1](like(p[count:])), (*x, *at.u)),
        "jvp": Compiled(lambda *p: func.jvp(at.F, p[:count], p[count:])[1], (*x, *at.v)),
        "hvp": Compiled(lambda *p: func.jvp(gradient, p[:count], p[count:])[1], (*x, *at.v)),
        "vmap of grad": Compiled(func.vmap(gradient), at.rows),
    }


def one(seed: int, at: Saying = nowhere) -> Tally:
    """Draw the function of a seed, and compile all that there is to compile."""
    at("gradwire", "plans")
    function, worth = drawn(seed), known.WORTH
    known.WORTH = 1  # a plan at the first call
    try:
        return _tried(function, seed)
    finally:
        known.WORTH = worth


def _tried(function: Function, seed: int) -> Tally:
    tally = Tally(1, Counter({step.kind for step in function.steps}))
    found = [f"seed {seed}, {said}\n{function}" for said in _differing(function, tally.ways)]
    tally.failures += found[:1]
    return tally


def _differing(function: Function, ways: Counter[str]) -> Iterator[str]:
    """What a plan gives that differs. ways: counts what had a plan."""
    with warnings.catch_warnings(), gradwire.connect(None).session():
        warnings.simplefilter("ignore")
        at = At(gradwire, function, gradwire.from_numpy)
        for name, (plain, args) in compiled(at).items():
            made = gradwire.compile(plain)
            eager = _numbers(plain(*args))
            runs = [_numbers(made(*args)) for _ in range(TIMES)]
            yield from _compared(name, eager, runs)
            if _plans(made, args):
                ways[name] += 1
        yield from _walked(at, ways)


def _walked(at: At, ways: Counter[str]) -> Iterator[str]:
    """Walks back through the node of a planned call, of first and second order."""
    made = gradwire.compile(at.f)

    def both(function: Callable[..., Any]) -> list[np.ndarray]:
        x = at.leaves()
        first = at.grad(function(*x), x, create_graph=True)
        return _numbers((first, at.grad(at.dot(first, at.v) + 0 * at.dot(x, x), x)))

    eager, runs = both(at.f), [both(made) for _ in range(TIMES)]
    yield from _compared("walked", eager, runs)
    if _plans(made, at.leaves()):
        ways["walked"] += 1


def _plans(made: Any, args: Sequence[Any]) -> int:
    """How many plans there are of what was compiled."""
    planned = made.explain(*args).planned
    return 0 if planned is None else int(planned["made"])


def _numbers(value: Any) -> list[np.ndarray]:
    return [np.array(tensor.detach().numpy()) for tensor in listed(value)]


def _compared(
    name: str, eager: Sequence[np.ndarray], runs: Sequence[Sequence[np.ndarray]]
) -> Iterator[str]:
    largest = max((np.abs(e).max(initial=1.0) for e in eager), default=1.0)
    for number, run in enumerate(runs):
        if [a.shape for a in run] != [e.shape for e in eager]:
            yield f"{name}: shapes {[e.shape for e in eager]} became {[a.shape for a in run]}"
            return
        apart = max(
            (np.abs(e - a).max(initial=0) for e, a in zip(eager, run, strict=True)), default=0
        )
        if not apart <= RELATIVE * largest:
            yield f"{name}: {apart:.3g} apart, of {largest:.3g}:\n{eager}\nbecame\n{run}"
        if [a.tobytes() for a in run] != [a.tobytes() for a in runs[0]]:
            yield f"{name}: other bits in call {number + 1} than in the first"
