"""Steps that torch runs but promises nothing of: no program contains them.

Writes whose operands lie in the same memory, a little shifted, where torch can't tell: the result
depends on the order in which elements are visited. Writes by lists of places into memory in which
several elements are one.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from tests.parity.differential.step import Step, references
from tests.parity.differential.world import World


def undefined(world: World, step: Step) -> bool:
    """Whether a step is one of them; it need not fail."""
    if not _writes(step):
        return False
    tensors = [world.variables.get(name) for name in references(step)]
    target, *others = [x for x in tensors if isinstance(x, torch.Tensor)] or [torch.empty(0)]
    if _repeats(target) and (step.kind == "assignment by advanced index" or _slides(target)):
        return True
    return any(_shifted(target, other) for other in others)


def _writes(step: Step) -> bool:
    return (
        step.form == "set"
        or step.name.endswith("_")
        or (step.name.startswith("i") and (step.form == "operator"))
    )


def _repeats(x: Any) -> bool:
    return len(_places(x)) < x.numel()


def _slides(x: Any) -> bool:
    """Whether places are shown twice by axes of any stride, as unfold does it."""
    return len(_places(x)) < prod(n for n, s in zip(x.shape, x.stride(), strict=True) if s)


def _shifted(a: Any, b: Any) -> bool:
    """Whether two tensors have some memory in common, but are not the same elements in order."""
    if not a.numel() or not b.numel() or a.is_conj() or b.is_conj():
        return False
    if a.untyped_storage()._cdata != b.untyped_storage().data_ptr():
        return False
    if (a.data_ptr(), a.shape, a.stride()) == (b.data_ptr(), b.shape, b.stride()):
        return False
    return bool(_places(a) & _places(b))


def _places(x: Any) -> set[int]:
    """The addresses of the elements."""
    found = {x.data_ptr()}
    for size, stride in zip(x.shape, x.stride(), strict=True):
        found = {at + i * stride * x.element_size() for at in found for i in range(size)}
    return found
