"""Steps that torch runs but promises nothing of: no program contains them.

Writes whose operands lie in the same memory, a little shifted, where torch can't tell: the result
depends on the order in which elements are visited. Writes to tensors that show a place twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from tests.parity.differential.step import Ref, Step, references


def without_memory(variables: Mapping[str, Any], step: Step) -> bool:
    """Whether zeros are written that a walk gave in a form of their own, which lie nowhere: torch
    refuses some such writes, and crashes at others.
    """
    tensors = (variables.get(name) for name in references(step))
    found = next((x for x in tensors if isinstance(x, torch.Tensor)), None)
    return writes(step) and found is not None and found._is_zerotensor()


def moves_retained(variables: Mapping[str, Any], step: Step) -> bool:
    """Whether a write gives another history to what retains the gradient of its node's second
    output, or a later one: torch looks for that among the outputs of the new node, which has one.
    It fails by an assertion of its own, or, through a view, crashes in the next walk.
    """
    if not writes(step):
        return False
    target = variables.get(next(references(step), ""))
    tensors = (x for x in variables.values() if isinstance(x, torch.Tensor))
    return isinstance(target, torch.Tensor) and any(
        x.retains_grad and _same_memory(x, target) and _of_several(x) for x in tensors
    )


def _of_several(x: torch.Tensor) -> bool:
    try:
        return x.output_nr > 0
    except RuntimeError:  # a view that may not be used any more
        return False


def breaking(variables: Mapping[str, Any], step: Step) -> bool:
    """Whether a step is not to be done at all: what torch makes of it means nothing."""
    left_out = (arbitrary, without_memory, moves_retained)
    return any(reason(variables, step) for reason in left_out)


def undefined(variables: Mapping[str, Any], step: Step) -> bool:
    """Whether a step is one of them, if torch runs it."""
    if not writes(step):
        return False
    tensors = [variables.get(name) for name in references(step)]
    if step.kind == "form in place" and _seen_otherwise(variables, step):
        return True
    target, *others = [x for x in tensors if isinstance(x, torch.Tensor)] or [torch.empty(0)]
    if _repeats(target) and not _same_everywhere(step):
        return True
    by_places = ("addmm_", "index_add_", "index_copy_")
    if step.kind == "assignment by advanced index" or step.name in by_places:
        return any(_share(target, other) for other in others)
    return any(_shifted(target, other) for other in others)


_PLACES_OF_EQUALS = (
    "topk",
    "sort",
    "argsort",
    "median",
    "nanmedian",
    "kthvalue",
    "quantile",
    "nanquantile",
)


def arbitrary(variables: Mapping[str, Any], step: Step) -> bool:  # noqa: C901 (a line a case)
    """Whether torch allows or refuses a step by what means nothing.

    An operand that is one element of the target, or the target with other strides of axes of size
    1, which lead nowhere: torch compares them too, and they depend on how a view was written. zero_
    of an inference tensor: by whether a view of it was taken. Which of equal elements, NaN among
    them, topk, kthvalue, medians, quantiles and a sort that is not asked to be stable find: torch's
    page on each leaves that open. index_fill_, index_copy_ and index_add_ of nothing: by how much
    memory lies behind the tensor. Writes by places to a tensor that shows one place twice: torch
    warns that it will refuse them. A hook of a view that may not be used any more: by whether there
    was another one before. A form in place, in no_grad, of a leaf that requires grad: gradients
    keep the old form while a graph that leads there is still in memory, which a server learns
    later, and are then kept in either form by their own strides, which no page tells. gelu of inf,
    but in float64: inf of a scalar, NaN of a vector's element. kron of what is not row-major, be it
    in steps that lead nowhere: torch asks for a view of it, and says that there is none; its page
    takes any tensor. view_as_complex of what has no elements, and of its gradient for that of
    view_as_real: by the strides of nothing. What is made of an inference tensor alone that was
    detached and got a history by a write, but for copies: which ops record, fail by an assertion or
    do neither follows from how their kernels are written, even from how large the tensor is. A
    convolution of bfloat16 that isn't finite: sums that are without what isn't have it times 0,
    and are NaN, which they are in no other dtype.
    """
    tensors = [variables.get(name) for name in references(step)]
    target, *others = [x for x in tensors if isinstance(x, torch.Tensor)] or [torch.empty(0)]
    if step.kind == "form in place" and step.modes and _recording_leaf(target):
        return True
    if step.name.endswith("gelu") and target.dtype != torch.float64 and target.isposinf().any():
        return True
    if _of_numbers(target, others, step):
        return True
    if step.name.endswith("conv1d") and _halves_not_finite((target, *others)):
        return True
    if step.name == "kron" and not all(map(_in_rows, (target, *others))):
        return True
    if step.name in ("view_as_complex", "view_as_real") and not target.numel():
        return True
    if step.kind in MAKE_NEW and _of_inference_with_history((target, *others)):
        return True
    if step.name == "zero_" and target.is_inference():
        return True
    if "hook" in step.kind and step.form == "method" and _unusable(target):
        return True
    if step.name.rstrip("_") in ("index_fill", "index_copy", "index_add") and not target.numel():
        return True
    if "advanced" in step.kind and step.form == "set" and _repeats(target):
        return True
    stable = dict(step.kwargs).get("stable", False)
    if step.name in _PLACES_OF_EQUALS and not stable and _has_equals(target):
        return True
    if step.form == "set" and target.numel() <= 1 and any(target is other for other in others):
        return True
    if not writes(step):
        return False
    written = _written(target, variables, step)
    return any(_one_place(target, x) or _same_but_strides(written, x) for x in others)


def _halves_not_finite(tensors: tuple[torch.Tensor, ...]) -> bool:
    return any(x.dtype == torch.bfloat16 and not bool(x.isfinite().all()) for x in tensors)


MAKE_NEW = (
    "math",
    "math of two",
    "math of three",
    "product of matrices",
    "reduction",
    "along an axis",
    "layer",
    "join",
    "choice",
    "gather",
    "scatter",
    "advanced indexing",
)
"""Kinds of steps that compute, besides those that only convert, show or write."""


def _of_inference_with_history(tensors: tuple[Any, ...]) -> bool:
    return all(x.is_inference() for x in tensors) and any(x.requires_grad for x in tensors)


_SLOPES_AT_NAN = (
    "elu",
    "selu",
    "celu",
    "relu6",
    "hardtanh",
    "hardswish",
    "hardshrink",
    "softshrink",
    "logit",
)
"""Their gradient at NaN is one thing in torch's loop over vectors and another in that over what is
left (docs/adr/extremes.md): it depends on how many elements there are. That of logit is so where
eps limits it.
"""


def _of_numbers(target: Any, others: list[Any], step: Step) -> bool:
    """Whether a step shows what nobody promises of a number.

    The sign of a NaN, as signbit and copysign read it: IEEE 754 says nothing of it, processors make
    NaN with the sign set, libraries without, and a vector unit may do otherwise than the last few
    elements beside it. Slopes at NaN. The least integer divided by -1 and cut: torch's process ends
    there, by a signal.
    """
    name = step.name.rpartition(".")[2].rstrip("_")
    read = {"signbit": target, "copysign": others[0] if others else None}.get(name)
    if read is not None and bool(read.isnan().any()):
        return True
    if name in _SLOPES_AT_NAN and target.requires_grad and bool(target.isnan().any()):
        return True
    if name == "logit" and target.requires_grad and _holds_minus_zero(target):
        return True
    return dict(step.kwargs).get("rounding_mode") == "trunc" and _holds_least(target)


def _holds_minus_zero(x: Any) -> bool:
    return x.is_floating_point() and bool(((x == 0) & x.signbit()).any())


def _holds_least(x: Any) -> bool:
    whole = not (x.is_floating_point() or x.is_complex() or x.dtype == torch.bool)
    return whole and bool((x == torch.iinfo(x.dtype).min).any()) and x.element_size() > 1


def _in_rows(x: Any) -> bool:
    """Whether it lies as a new tensor of its shape does, also along axes of size 1."""
    return bool(x.stride() == torch.empty(x.shape).stride())


def _recording_leaf(x: Any) -> bool:
    return bool(x.requires_grad and not x._is_view() and x.is_leaf)


def _has_equals(x: Any) -> bool:
    """Whether elements are equal, as NaN are among each other where they are put in order."""
    if x.is_complex():
        return False
    return bool(x.detach().unique().numel() < x.numel() or x.isnan().sum() > 1)


def _written(target: Any, variables: Mapping[str, Any], step: Step) -> Any:
    """What a step writes to: of an item assignment the part, if a basic index names it."""
    if step.form != "set" or any(isinstance(v, Ref) for v in _items(step.args[1])):
        return target
    try:
        return target.detach()[step.args[1]]
    except (RuntimeError, IndexError, ValueError):
        return target


def _items(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def _unusable(x: Any) -> bool:
    try:
        return x.grad_fn is None and not x.is_leaf
    except RuntimeError:
        return True


def _seen_otherwise(variables: Mapping[str, Any], step: Step) -> bool:
    """Whether real memory is seen as complex, or the other way round: torch then loses the view."""
    x = variables.get(next(references(step), ""))
    tensors = [y for y in variables.values() if isinstance(y, torch.Tensor)]
    return isinstance(x, torch.Tensor) and any(
        y.dtype != x.dtype and _same_memory(x, y) for y in tensors
    )


def _same_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool(a.untyped_storage()._cdata == b.untyped_storage()._cdata)


def _same_everywhere(step: Step) -> bool:
    """Whether a step writes one number, or none."""
    plain = not any(isinstance(value, Ref) for value in step.args[1:])
    one = step.name in ("fill_", "zero_") or (step.form == "set" and "advanced" not in step.kind)
    return step.kind == "form in place" or (one and plain)


def writes(step: Step) -> bool:
    """Whether a step writes to its first operand."""
    return (
        step.form == "set"
        or step.name.endswith("_")
        or (step.name.startswith("i") and (step.form == "operator"))
    )


def _repeats(x: Any) -> bool:
    return len(_places(x)) < x.numel()


def _shifted(a: Any, b: Any) -> bool:
    """Whether two tensors have some memory in common, but are not the same elements in order."""
    same = (a.data_ptr(), a.shape, a.stride()) == (b.data_ptr(), b.shape, b.stride())
    return _share(a, b) and not same


def _one_place(a: Any, b: Any) -> bool:
    """Whether b is one element of a."""
    return b.numel() == 1 and b is not a and _share(a, b)


def _same_but_strides(a: Any, b: Any) -> bool:
    """Whether both show the same elements in the same order, told apart by empty steps alone."""
    if a.data_ptr() != b.data_ptr() or (a.shape, a.stride()) == (b.shape, b.stride()):
        return False
    return bool(a.numel()) and _steps(a) == _steps(b)


def _steps(x: Any) -> list[tuple[int, int]]:
    """Sizes and strides of the axes that lead somewhere."""
    return [(n, step) for n, step in zip(x.shape, x.stride(), strict=True) if n != 1]


def _share(a: Any, b: Any) -> bool:
    return bool(a.numel() and b.numel() and _places(a) & _places(b))


def _places(x: Any) -> set[int]:
    """The addresses of the elements."""
    found = {x.data_ptr()}
    for size, stride in zip(x.shape, x.stride(), strict=True):
        found = {at + i * stride * x.element_size() for at in found for i in range(size)}
    return found
