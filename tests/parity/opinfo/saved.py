"""What each op keeps for backward, told by writing: a tensor that is kept can't be written before.

For every operand and result in turn, and for each set of operands that need a gradient: the op
runs, the tensor is written in place with nothing changed, and backward either refuses that or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from tests.parity.opinfo.sides import Ours, apply, flat, is_tensor

import gradwire

Found = Iterator[str]


class Case(NamedTuple):
    """Which operands need a gradient, by place, and which tensor is written."""

    needs: tuple[int, ...]
    written: int
    result: bool


def drawn(op: Any) -> Iterator[Any]:
    """Torch's samples of an entry, in float64; none where its derivative takes other dtypes."""
    fits = torch.float64 in op.supported_backward_dtypes("cpu")
    return iter(op.sample_inputs("cpu", torch.float64, requires_grad=True) if fits else ())


def kept_unlike(op: Any, sample: Any) -> Found:
    """The cases in which only one of the two sides refuses."""
    for case in _cases(op, sample):
        theirs = _on_torch(op, sample, case)
        if theirs is None:
            continue
        ours = _on_ours(op, sample, case)
        if theirs != ours:
            what = f"{'result' if case.result else 'operand'} {case.written}"
            said = f"{_word(ours)}, {_word(theirs)} in torch"
            yield f"{what} written, {list(case.needs)} need grad: {said}"


def _word(refused: bool) -> str:
    return "refused" if refused else "no matter"


def _operands(sample: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    for x in flat((sample.input, list(sample.args), sample.kwargs)):
        if isinstance(x, torch.Tensor) and not any(x is y for y in found):
            found.append(x)
    return found


def _cases(op: Any, sample: Any) -> Iterator[Case]:
    operands = _operands(sample)
    smooth = [i for i, x in enumerate(operands) if x.is_floating_point() or x.is_complex()]
    if not smooth or len(operands) > 6:
        return
    results = len(flat(op(sample.input, *sample.args, **sample.kwargs)))
    sets = [tuple(smooth), *((i,) for i in smooth if len(smooth) > 1)]
    for needs in sets:
        for written in range(len(operands)):
            yield Case(needs, written, False)
        for written in range(min(results, 4)):
            yield Case(needs, written, True)


def _leaves(sample: Any, case: Case) -> Any:
    """The sample anew, with leaves where a gradient is needed."""
    operands = _operands(sample)
    made = [x.detach().clone().requires_grad_(i in case.needs) for i, x in enumerate(operands)]

    def renewed(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return next(m for m, x in zip(made, operands, strict=True) if x is value)
        if isinstance(value, dict):
            return {k: renewed(v) for k, v in value.items()}
        if hasattr(value, "_make"):
            return value._make(map(renewed, value))
        return type(value)(map(renewed, value)) if type(value) in (list, tuple) else value

    call = renewed((sample.input, tuple(sample.args), dict(sample.kwargs)))
    return made, call


def _on_torch(op: Any, sample: Any, case: Case) -> bool | None:
    leaves, (first, args, kwargs) = _leaves(sample, case)
    if len(leaves) != len(_operands(sample)):
        return None
    try:
        results = flat(op(first, *args, **kwargs))
    except RuntimeError:  # not by all of these operands
        return None
    wanted = [leaves[i] for i in case.needs]
    return _refused(results, leaves, wanted, case, torch)


def _on_ours(op: Any, sample: Any, case: Case) -> bool | None:
    leaves, (first, args, kwargs) = _leaves(sample, case)
    renewed = type(sample)(first, args=args, kwargs=kwargs)
    ours = Ours(renewed)
    results = [y.tensor if is_tensor(y) else y for y in flat(apply(op, ours))]
    known = [ours.of(x) for x in leaves]
    return _refused(results, known, [known[i] for i in case.needs], case, gradwire)


def _refused(
    results: Sequence[Any], leaves: Sequence[Any], wanted: Any, case: Case, library: Any
) -> bool | None:
    roots = [y for y in results if getattr(y, "requires_grad", False)]
    if not roots:
        return None
    target = results[case.written] if case.result else leaves[case.written]
    if not hasattr(target, "detach"):
        return None
    cotangents = [library.ones_like(y) for y in roots]
    try:
        with library.no_grad():
            target.detach().copy_(target.detach().clone())
    except RuntimeError:  # it shows one place of memory several times
        return None
    try:
        library.autograd.grad(roots, wanted, cotangents, allow_unused=True)
    except RuntimeError as problem:
        text = str(problem)
        if "modified by an inplace operation" in text or "was modified in place" in text:
            return True
        return None
    return False
