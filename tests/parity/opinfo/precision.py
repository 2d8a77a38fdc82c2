"""float32, float16 and bfloat16: as near to the float64 result as their digits allow."""

from __future__ import annotations

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
    wanted = None if exact is None else exact[0]
    lost = EPS[str(dtype).removeprefix("torch.")]
    yield from _compared(_numbers(found), _numbers(theirs), wanted, "result", lost)
    xs = leaves_of(sample)
    if op.name in WRONG_IN_TORCH:  # its gradients are held in float64
        return
    if not xs or not op.supports_autograd or dtype not in op.supported_backward_dtypes("cpu"):
        return
    us = [ours.of(x) for x in xs]
    walk = Walk(_tensors(theirs), [y.tensor for y in _tensors(found)], xs, us)
    if walk.theirs:
        b, a, _ = walk.grads(1, create_graph=False)
        yield from _compared(
            _arrays(a), _arrays(b), None if exact is None else exact[1], "gradient", lost
        )


def _tensors(result: Any) -> list[Any]:
    return [y for y in flat(result) if is_tensor(y)]


def _arrays(tensors: list[Any]) -> list[np.ndarray | None]:
    return [None if t is None else to_numpy(t) for t in tensors]


def _numbers(result: Any) -> list[np.ndarray | None]:
    return _arrays(_tensors(result))


def _exact(op: Any, sample: Any, dtype: torch.dtype) -> tuple[list[Any], list[Any]] | None:
    """The same numbers in float64, and their gradients; None where that is another call."""

    def widened(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype is dtype:
            return value.detach().double().requires_grad_(value.requires_grad)
        return torch.float64 if value is dtype else value

    wide = sample.transform(widened)
    try:
        result = wide.output_process_fn_grad(op.op(wide.input, *wide.args, **wide.kwargs))
        xs = leaves_of(wide)
        outputs = [y for y in _tensors(result) if y.requires_grad]
        if not xs or not outputs:
            return _numbers(result), []
        walk = Walk(outputs, outputs, xs, [])
        return _numbers(result), _arrays(walk.torch_grads(1, dtype))
    except (RuntimeError, TypeError, ValueError):
        return None


def _compared(
    found: list[Any], theirs: list[Any], exact: list[Any] | None, where: str, lost: float
) -> Found:
    if exact is None or len(exact) != len(theirs):
        exact = theirs
    scale = largest([e for e in exact if e is not None])
    for i, (a, b, e) in enumerate(zip(found, theirs, exact, strict=True)):
        if a is None or b is None:
            if a is not b and np.any((b if a is None else a).astype(complex)):
                yield f"{where}[{i}]: a gradient on one side only"
            continue
        whole = a.dtype.kind in "biu"
        exact_of = b if e is None or e.shape != b.shape else e
        how = apart(a, b, scale) if whole else further(a, b, exact_of, lost, scale)
        if how:
            yield f"{where}[{i}]: {how}"


def further(
    found: np.ndarray, theirs: np.ndarray, exact: np.ndarray, lost: float, scale: float
) -> str | None:
    """How much further from the exact numbers than torch's; None if no more than digits allow."""
    eps = EPS.get(found.dtype.name, EPS["float32"])
    a, b, e = (x.astype(np.complex128) for x in (found, theirs, exact))
    known = np.isfinite(b) & np.isfinite(e)
    if not np.isfinite(a[known]).all():
        return "no finite number where torch has one"
    a, b, e = a[known], b[known], e[known]
    size = np.abs(e)
    bound = DIGITS * eps * (size + size.max(initial=0)) + 4 * np.abs(b - e).max(initial=0)
    bound = bound + lost * scale  # by cancelling on the way
    off = np.abs(a - e)
    if (off <= bound + ROUNDING).all():
        return None
    return f"{off.max():.1e} off, torch {np.abs(b - e).max():.1e}, of {size.max():.1e}"
