"""What each op keeps for backward, told by writing: a tensor that is kept can't be written before.

For every operand and result in turn, and for each set of operands that need a gradient: the op
runs, the tensor is written in place with nothing changed, and backward either refuses that or not.
Also told by walking twice: the second walk is refused where it comes to what the first one freed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
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


class Twice(NamedTuple):
    """Which operands need a gradient, by place, and where two walks end: at which of them, or at
    the results themselves (None), of which only the last nodes run then.
    """

    needs: tuple[int, ...]
    ends: tuple[tuple[int, ...] | None, tuple[int, ...] | None]


def drawn(op: Any) -> Iterator[Any]:
    """Torch's samples of an entry, in float64; none where its derivative takes other dtypes."""
    fits = torch.float64 in op.supported_backward_dtypes("cpu")
    return iter(op.sample_inputs("cpu", torch.float64, requires_grad=True) if fits else ())


def kept_unlike(op: Any, sample: Any) -> Found:
    """The cases in which only one of the two sides refuses."""
    for case in _cases(op, sample):
        theirs = _refused(*_run_on_torch(op, sample, case), torch)
        if theirs is None:
            continue
        ours = _refused(*_run_on_ours(op, sample, case), gradwire)
        if theirs != ours:
            what = f"{'result' if case.result else 'operand'} {case.written}"
            said = f"{_word(ours)}, {_word(theirs)} in torch"
            yield f"{what} written, {list(case.needs)} need grad: {said}"


def _word(refused: bool | None) -> str:
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


def _leaves(sample: Any, case: Case | Twice) -> Any:
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


def _run_on_torch(op: Any, sample: Any, case: Case | Twice) -> tuple[Any, Any, Case | Twice]:
    """Results and operands; no results where the op does not run, or not with these operands."""
    leaves, (first, args, kwargs) = _leaves(sample, case)
    if len(leaves) != len(_operands(sample)):
        return [], leaves, case
    try:
        return flat(op(first, *args, **kwargs)), leaves, case
    except RuntimeError:  # not by all of these operands
        return [], leaves, case


def _run_on_ours(op: Any, sample: Any, case: Case | Twice) -> tuple[Any, Any, Case | Twice]:
    leaves, (first, args, kwargs) = _leaves(sample, case)
    ours = Ours(type(sample)(first, args=args, kwargs=kwargs))
    results = [y.tensor if is_tensor(y) else y for y in flat(apply(op, ours))]
    return results, [ours.of(x) for x in leaves], case


def freed_unlike(op: Any, sample: Any) -> Found:
    """The pairs of walks of which only one of the two sides refuses the second."""
    for needs in dict.fromkeys(case.needs for case in _cases(op, sample)):
        each = [(place,) for place in needs] if len(needs) > 1 else []
        for one, two in product([needs, None, *each], repeat=2):
            case = Twice(needs, (one, two))
            theirs = _walked_twice(*_run_on_torch(op, sample, case), torch)
            if theirs is not None:
                ours = _walked_twice(*_run_on_ours(op, sample, case), gradwire)
                if theirs != ours:
                    yield f"{case}: {_word(ours)}, {_word(theirs)} in torch"


def _refused(results: Sequence[Any], leaves: Sequence[Any], case: Any, library: Any) -> bool | None:
    roots = _roots(results)
    if not roots:
        return None
    target = results[case.written] if case.result else leaves[case.written]
    if not hasattr(target, "detach"):
        return None
    cotangents = [library.ones_like(y) for y in roots]
    wanted = [leaves[i] for i in case.needs]
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


def _roots(results: Sequence[Any]) -> list[Any]:
    return [y for y in results if getattr(y, "requires_grad", False)]


def _walked_twice(
    results: Sequence[Any], leaves: Sequence[Any], case: Any, library: Any
) -> bool | None:
    """Whether the second walk is refused; None where there is nothing to walk."""
    roots = _roots(results)
    if not roots or any(y.is_leaf for y in roots):
        return None
    cotangents = [library.ones_like(y) for y in roots]
    for number, ends in enumerate(case.ends):
        inputs = list(roots) if ends is None else [leaves[i] for i in ends]
        try:
            library.autograd.backward(roots, cotangents, inputs=inputs)
        except RuntimeError as problem:
            text = str(problem)
            second = "a second time" in text or "were freed by an earlier backward" in text
            return True if number and second else None
    return False
