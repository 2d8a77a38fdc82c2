"""float32, float16 and bfloat16: as near to the float64 result as their digits allow.

What cancels on the way no bound knows of from the result alone. Torch's own distance from float64
tells it, but by luck that may be 0 just here: so it counts what that is on neighbours of the
operands, each element of which is off by its last place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from tests.parity.opinfo.checks import Found, leaves_of, undefined
from tests.parity.opinfo.deviations import WRONG_IN_TORCH
from tests.parity.opinfo.numbers import ROUNDING, apart, largest, to_numpy
from tests.parity.opinfo.sides import (
    Ours,
    Walk,
    apply,
    compare_results,
    flat,
    is_tensor,
    need_known_dtypes,
)

EPS = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""The last place of numbers around 1."""
DIGITS = 32
"""How many units in the last place a result may be off, of the largest number of its tensor."""
NEIGHBOURS = 8
"""How many of them are asked, where the operands themselves don't explain a difference."""

Numbers = list[np.ndarray | None]


def imprecise(op: Any, sample: Any, dtype: torch.dtype) -> Found:
    """Results and gradients that are further from float64's than their dtype and torch explain."""
    ours = Ours(sample)
    theirs = op.op(sample.input, *sample.args, **sample.kwargs)
    need_known_dtypes(theirs)
    found = apply(op, ours)
    told = list(compare_results(found, theirs, "result"))
    if told or undefined(op, sample):
        yield from told
        return
    finish = sample.output_process_fn_grad
    theirs, found = finish(theirs), finish(found)
    exact = _exact(op, sample, dtype)
    lost = EPS[str(dtype).removeprefix("torch.")]
    nearby = cache(lambda: list(_nearby(op, sample, dtype)))
    wanted = None if exact is None else exact[0]
    held = partial(_compared, lost=lost)
    yield from held(_numbers(found), _numbers(theirs), wanted, "result", lambda: nearby()[0])
    xs = leaves_of(sample)
    if not _differentiated(op, dtype) or not xs:
        return
    us = [ours.of(x) for x in xs]
    walk = Walk(_tensors(theirs), [y.tensor for y in _tensors(found)], xs, us)
    if walk.theirs:
        b, a, _ = walk.grads(1, create_graph=False)
        wanted = None if exact is None else exact[1]
        yield from held(_arrays(a), _arrays(b), wanted, "gradient", lambda: nearby()[1])


def _differentiated(op: Any, dtype: torch.dtype) -> bool:
    """Whether gradients are held here: those that torch has wrong are, in float64."""
    smooth = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    return bool(smooth and op.name not in WRONG_IN_TORCH)


def _tensors(result: Any) -> list[Any]:
    return [y for y in flat(result) if is_tensor(y)]


def _arrays(tensors: list[Any]) -> Numbers:
    return [None if t is None else to_numpy(t) for t in tensors]


def _numbers(result: Any) -> Numbers:
    return _arrays(_tensors(result))


def _exact(op: Any, sample: Any, dtype: torch.dtype) -> tuple[Numbers, Numbers] | None:
    """The same numbers in float64, and their gradients; None where that is another call."""

    def widened(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype is dtype:
            return value.detach().double().requires_grad_(value.requires_grad)
        return torch.float64 if value is dtype else value

    try:
        return _on_torch(op, sample.transform(widened), dtype)
    except (RuntimeError, TypeError, ValueError):
        return None


def _on_torch(op: Any, sample: Any, dtype: torch.dtype) -> tuple[Numbers, Numbers]:
    """Torch's results and gradients, of cotangents that were rounded to a dtype."""
    result = sample.output_process_fn_grad(op.op(sample.input, *sample.args, **sample.kwargs))
    xs = leaves_of(sample)
    outputs = [y for y in _tensors(result) if y.requires_grad]
    if not xs or not outputs:
        return _numbers(result), []
    return _numbers(result), _arrays(Walk(outputs, outputs, xs, []).torch_grads(1, dtype))


def _nearby(op: Any, sample: Any, dtype: torch.dtype) -> Iterator[list[float]]:
    """How far torch is from float64 on neighbours: of each result, and of each gradient."""
    rng = np.random.default_rng(0)
    eps = EPS[str(dtype).removeprefix("torch.")]

    def moved(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.dtype is not dtype:
            return value
        by = torch.from_numpy(1 + eps * rng.integers(-1, 2, tuple(value.shape)))
        near = (value.detach().double() * by).to(dtype)
        return near.requires_grad_(value.requires_grad)

    off: list[list[list[float]]] = [[], []]
    for _ in range(NEIGHBOURS):
        near = sample.transform(moved)
        exact = _exact(op, near, dtype)
        if exact is not None:
            for seen, a, b in zip(off, _on_torch(op, near, dtype), exact, strict=True):
                seen.append(list(map(_distance, a, b)))
    yield from ([max(column) for column in zip(*seen, strict=True)] for seen in off)


def _distance(found: np.ndarray | None, exact: np.ndarray | None) -> float:
    """The largest of what is finite."""
    if found is None or exact is None or found.shape != exact.shape:
        return 0.0
    off = np.abs(found.astype(np.complex128) - exact.astype(np.complex128))
    return float(off[np.isfinite(off)].max(initial=0))


def _compared(
    found: Numbers,
    theirs: Numbers,
    exact: Numbers | None,
    where: str,
    nearby: Callable[[], list[float]],
    lost: float,
) -> Found:
    known = exact is not None and len(exact) == len(theirs)
    exact = exact if known and exact is not None else theirs
    scale = largest([e for e in exact if e is not None])
    for i, (a, b, e) in enumerate(zip(found, theirs, exact, strict=True)):
        if a is None or b is None:
            one = b if a is None else a
            if one is not None and np.any(one.astype(complex)):
                yield f"{where}[{i}]: a gradient on one side only"
            continue
        exact_of = b if e is None or e.shape != b.shape else e
        if a.dtype.kind in "biu":
            how = apart(a, b, scale)
        else:
            how = further(a, b, exact_of, lost * scale)
            if how and known and i < len(off := nearby()):
                how = further(a, b, exact_of, lost * scale + 4 * off[i])
        if how:
            yield f"{where}[{i}]: {how}"


def further(found: np.ndarray, theirs: np.ndarray, exact: np.ndarray, lost: float) -> str | None:
    """How much further from the exact numbers than torch's; None if no more than digits allow.

    lost: what cancelling on the way may have cost.
    """
    eps = EPS.get(found.dtype.name, EPS["float32"])
    a, b, e = (x.astype(np.complex128) for x in (found, theirs, exact))
    known = np.isfinite(b) & np.isfinite(e)
    if not np.isfinite(a[known]).all():
        return "no finite number where torch has one"
    a, b, e = a[known], b[known], e[known]
    size = np.abs(e)
    bound = DIGITS * eps * (size + size.max(initial=0)) + 4 * np.abs(b - e).max(initial=0)
    off = np.abs(a - e)
    if (off <= bound + lost + ROUNDING).all():
        return None
    return f"{off.max():.1e} off, torch {np.abs(b - e).max():.1e}, of {size.max():.1e}"
