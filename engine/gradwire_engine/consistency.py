"""What gradcheck looks at without differences: that results repeat, and that batches agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradwire_engine.backward import grad
from gradwire_engine.differences import Host, Tested, like, walked
from gradwire_engine.mismatch import Tolerance, distance, failed, where
from gradwire_engine.vmap import vmap

SEED = 20
"""Of the directions that are drawn: the same ones each time."""


def random(rng: np.random.Generator, array: Host) -> Host:
    parts = rng.uniform(0.2, 1, (2, *array.shape))
    return np.asarray(parts[0] + 1j * parts[1] if np.iscomplexobj(array) else parts[0])


def check_repeats(tested: Tested, nondet_tol: float) -> None:
    """The function gives the same twice."""
    first, second = (tested.run(tested.leaves()) for _ in range(2))
    for index, (a, b) in enumerate(zip(first, second, strict=True)):
        _same_twice(f"output {index}", a.numpy(), b.numpy(), nondet_tol)


def _same_twice(what: str, a: Host, b: Host, nondet_tol: float) -> None:
    if a.shape != b.shape:
        raise failed(
            f"{what} is not deterministic: its shape was {list(a.shape)}, and then {list(b.shape)}",
            "seed the random numbers in it",
        )
    off = distance(a, b)
    if off.max(initial=0) > nondet_tol:
        k = int(off.argmax())
        raise failed(
            f"{what} is not deterministic: at element {where(a.shape, k)} it was "
            f"{a.reshape(-1)[k]}, and then {b.reshape(-1)[k]}",
            f"seed the random numbers in it; nondet_tol is {nondet_tol}",
        )


def check_gradients(tested: Tested, nondet_tol: float, dtypes: bool, undefined: bool) -> None:
    """Walks give the same twice, zero for zero, and the inputs' dtypes."""
    leaves = tested.leaves()
    outputs = [y for y in tested.run(leaves) if y.requires_grad]
    if not outputs:
        return
    rng = np.random.default_rng(SEED)
    weights = [random(rng, y.numpy()) for y in outputs]
    first, second = (walked(outputs, leaves, weights) for _ in range(2))
    for place, a, b in zip(tested.places, first, second, strict=True):
        _same_twice(f"the gradient by input {place}", a, b, nondet_tol)
    if dtypes:
        _check_dtypes(tested, outputs, leaves, weights)
    if undefined:
        for index, y in enumerate(outputs):
            found = walked([y], leaves, [np.zeros(y.shape)])
            for place, g in zip(tested.places, found, strict=True):
                if g.any():
                    raise failed(
                        f"the gradient by input {place} is not zero where the cotangent of output "
                        f"{index} is: {g.reshape(-1)[np.flatnonzero(g)[0]]}",
                        "a rule has to be linear in the cotangent",
                    )


def _check_dtypes(
    tested: Tested, outputs: Sequence[Any], leaves: Sequence[Any], weights: Sequence[Host]
) -> None:
    cotangents = [like(y, w) for y, w in zip(outputs, weights, strict=True)]
    found = grad(outputs, leaves, cotangents, retain_graph=True, allow_unused=True)
    for place, x, g in zip(tested.places, leaves, found, strict=True):
        if g is not None and g.dtype is not x.dtype:
            raise failed(
                f"the gradient by input {place} is {g.dtype.name}, the input {x.dtype.name}",
                "a gradient has its tensor's dtype",
            )


def check_batched(tested: Tested, tolerance: Tolerance) -> None:
    """One walk for several cotangents gives what a walk for each does."""
    leaves = tested.leaves()
    outputs = [y for y in tested.run(leaves) if y.requires_grad]
    rng = np.random.default_rng(SEED)
    batches = [np.stack([random(rng, y.numpy()) for _ in range(2)]) for y in outputs]
    singly = [walked(outputs, leaves, [b[row] for b in batches]) for row in range(2)]
    cotangents = [like(y, b) for y, b in zip(outputs, batches, strict=True)]
    options: dict[str, Any] = {"allow_unused": True, "is_grads_batched": True}
    found = grad(outputs, leaves, cotangents, retain_graph=True, **options)
    for number, (place, g) in enumerate(zip(tested.places, found, strict=True)):
        for row in range(2):
            by_itself = singly[row][number]
            together = np.zeros(by_itself.shape) if g is None else np.array(g.numpy())[row]
            _same_batched("gradient by input", place, together, by_itself, tolerance)


def _same_batched(what: str, index: int, a: Host, b: Host, tolerance: Tolerance) -> None:
    beyond = tolerance.exceeded(a, b).reshape(-1)
    if beyond.max(initial=-1) > 0:
        k = int(beyond.argmax())
        raise failed(
            f"the batched {what} {index} differs at element {where(a.shape, k)}: "
            f"{a.reshape(-1)[k]} in a batch, {b.reshape(-1)[k]} by itself",
            "an op's batch rule is wrong",
        )


def check_batched_forward(tested: Tested, tolerance: Tolerance) -> None:
    """Tangents pushed for several directions at once are what each gives by itself."""
    rng = np.random.default_rng(SEED)
    batches = [np.stack([random(rng, p) for _ in range(2)]) for p in tested.points]
    singly = [tested.tangents([b[row] for b in batches]) for row in range(2)]
    given = [like(x, b) for x, b in zip(tested.leaves(), batches, strict=True)]
    found = vmap(lambda *along: tested.pushed(along))(*given)
    for index, tangent in enumerate(found):
        for row in range(2):
            a = np.array(tangent.numpy())[row]
            _same_batched("tangent of output", index, a, singly[row][index], tolerance)
