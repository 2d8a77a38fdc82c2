"""An entry held on operands that lie otherwise in memory: layouts.py.

Some such operands ask for nonsense by how they are made: an expanded matrix is singular, all that
it holds ties. What differs there counts only where torch is sure of its own answer, which is
measured: neither a rounding of the operands may change it, nor what lies beside them in memory, nor
float32. And torch itself goes astray over some layouts: then its answer to the same numbers in rows
is the one that counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from tests.parity.opinfo.checks import Found, differs, leaves_of
from tests.parity.opinfo.layouts import EXPANDED, laid
from tests.parity.opinfo.numbers import apart, largest, to_numpy, to_ours
from tests.parity.opinfo.sides import Ours, Walk, apply, flat, is_tensor
from tests.parity.opinfo.stand import Unlike

BY_STRIDES = ("as_strided", "as_strided_scatter", "view", "view_as")
"""Entries whose results hang on how the operands lie: there is no answer to the numbers alone."""

SENSELESS = {("cholesky_inverse", torch.complex128)}
"""What has to have a real diagonal, and where expanded has not."""

ROUNDING = 2.0**-44
"""How far operands are moved, of their largest number."""
ROUGHLY = 1e-2
"""How near float32 has to come, of the largest number of all."""


def lain(op: Any, sample: Any, layout: Callable[[torch.Tensor], torch.Tensor]) -> Found:
    """What differs for a sample whose tensors lie so."""
    if layout in EXPANDED and (_empty(sample) or _senseless(op, sample)):
        return
    rows, told = laid(sample, layout).transform(_copied), list[str]()
    if not _refuses(op, laid(sample, layout)):
        told = _told(lambda: differs(op, laid(sample, layout), orders=1))
    elif _refuses(op, rows):
        told = _told(lambda: _taken(op, laid(sample, layout)))
    if told and op.name not in BY_STRIDES:
        if not _refuses(op, rows):
            told = _told(lambda: _as_in_rows(op, laid(sample, layout)))
        told = [] if _writes(op, rows) or unsure(op, rows) else told
    name = layout.__name__.strip("_").replace("_", " ")
    yield from (f"{name}: {line}" for line in told)


def _senseless(op: Any, sample: Any) -> bool:
    return (op.name, getattr(sample.input, "dtype", None)) in SENSELESS


def _empty(sample: Any) -> bool:
    """Whether there is an operand without elements: torch does not look at all shapes then."""
    given = flat((sample.input, sample.args, list(sample.kwargs.values())))
    return any(isinstance(x, torch.Tensor) and not x.numel() for x in given)


def unsure(op: Any, sample: Any) -> bool:
    """Whether torch's own answers, or their gradients, hang on more than the operands' numbers."""
    torch.manual_seed(0)
    wanted = _answers(op, sample)
    others: list[Callable[[Any], Any]] = [_moved] * 4
    others += [partial(_beside, fill=fill) for fill in (0, 1)]
    if not all(_alike(wanted, _answers(op, sample.transform(other))) for other in others):
        return True
    return not _alike(wanted, _answers(op, sample.transform(_narrowed)), roughly=True)


def _alike(wanted: list[np.ndarray], found: list[np.ndarray], *, roughly: bool = False) -> bool:
    """Whether answers are the same, or but for float32's rounding."""
    if [x.shape for x in wanted] != [x.shape for x in found]:
        return False
    if not roughly:
        return not any(apart(b, a, 0.0) for a, b in zip(wanted, found, strict=True))
    size = largest(wanted)
    return all(
        np.allclose(b, a, ROUGHLY, ROUGHLY * size, equal_nan=True)
        for a, b in zip(wanted, found, strict=True)
    )


def _answers(op: Any, sample: Any) -> list[np.ndarray]:
    try:
        found = sample.output_process_fn_grad(op.op(sample.input, *sample.args, **sample.kwargs))
        tensors = [y for y in flat(found) if is_tensor(y)]
        xs = leaves_of(sample)
        walk = Walk(tensors, tensors, xs, [])
        grads = walk.torch_grads(1, xs[0].dtype) if xs and walk.theirs else []
    except Exception:  # no answer is one too
        return []
    return [to_numpy(t) for t in (*tensors, *grads) if t is not None]


def _moved(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
        return value
    far = value.detach().abs().max() if value.numel() else 0.0
    step = ROUNDING * far * torch.randn_like(value)
    return (value.detach() + step).requires_grad_(value.requires_grad)


def _beside(value: Any, fill: int) -> Any:
    """The same numbers in rows, with others before and behind them in memory."""
    if not isinstance(value, torch.Tensor):
        return value
    with torch.enable_grad():
        more = value.detach().new_full((8 * value.numel() + 64,), fill)
        whole = torch.cat((more, value.detach().flatten(), more)).requires_grad_(
            value.requires_grad
        )
        return whole[len(more) : len(more) + value.numel()].view(value.shape)


def _narrowed(value: Any) -> Any:
    narrow = {torch.float64: torch.float32, torch.complex128: torch.complex64}
    if isinstance(value, torch.dtype):
        return narrow.get(value, value)
    if not isinstance(value, torch.Tensor) or value.dtype not in narrow:
        return value
    return value.detach().to(narrow[value.dtype]).requires_grad_(value.requires_grad)


def _copied(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    rows = value.detach().clone(memory_format=torch.contiguous_format)
    return rows.requires_grad_(value.requires_grad)


def _told(run: Callable[[], Found]) -> list[str]:
    try:
        return list(run())
    except Unlike:
        raise
    except Exception as problem:
        return [f"{type(problem).__name__}: {str(problem)[:200]}".replace("\n", " ")]


def _as_in_rows(op: Any, sample: Any) -> Found:
    """Torch on copies in rows, the SDK on tensors that lie as they are."""
    lying: dict[int, torch.Tensor] = {}

    def copied(value: Any) -> Any:
        copy = _copied(value)
        lying[id(copy)] = value
        return copy

    yield from differs(op, sample.transform(copied), lambda t: to_ours(lying[id(t)]), 1)


def _refuses(op: Any, sample: Any) -> bool:
    try:
        op.op(sample.input, *sample.args, **sample.kwargs)
    except Exception:
        return True
    return False


def _taken(op: Any, sample: Any) -> Found:
    """What torch refuses however it lies has to be refused."""
    try:
        apply(op, Ours(sample))
    except Unlike:
        raise
    except Exception:
        return
    yield "torch refuses it, here it was done"


def _writes(op: Any, sample: Any) -> bool:
    """Whether torch writes to an operand: no place may be written to that is shown many times."""
    given = flat((sample.input, sample.args, list(sample.kwargs.values())))
    tensors = [x for x in given if isinstance(x, torch.Tensor)]
    before = [to_numpy(x).copy() for x in tensors]
    _refuses(op, sample)
    after = map(to_numpy, tensors)
    same = partial(np.array_equal, equal_nan=True)
    return not all(map(same, before, after))
