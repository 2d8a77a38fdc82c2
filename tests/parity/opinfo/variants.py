"""The other ways to call an op: as a method, in place, by its other names, as an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from tests.parity.opinfo.checks import Found, differs
from tests.parity.opinfo.sides import Ours, apply
from tests.parity.opinfo.stand import Stand, Unlike


class Variant(NamedTuple):
    """As much of an entry of the table as the checks ask for, with another way to call it."""

    name: str
    op: Callable[..., Any]
    supports_autograd: bool
    supports_gradgrad: bool
    in_place: bool


LEFT_OUT = {"as_strided_": "memory by size and stride"}
"""In-place forms that the catalogue does not promise, as left_out.py has it of whole entries."""


def variants(op: Any) -> Iterator[tuple[str, Variant]]:
    """Each other way to call an entry's op, by what it is called."""
    for name in (op.name, *(alias.name for alias in op.aliases)):
        last = name.rpartition(".")[2]
        if name != op.name:
            yield f"alias {name}", _variant(op, next(a.op for a in op.aliases if a.name == name))
        if hasattr(torch.Tensor, name) and _is_function(op):
            yield f"method {name}", _variant(op, _method(name))
        written = f"{last}_"
        here = "." not in name and hasattr(torch.Tensor, written) and written not in LEFT_OUT
        if here and not last.startswith("__"):
            yield f"in place {written}", _variant(op, _in_place(written), in_place=True)


def _is_function(op: Any) -> bool:
    """Whether it is no method already, and takes its tensor first as the method does."""
    return hasattr(torch, op.name) and op.method_variant is not None


def _variant(op: Any, call: Callable[..., Any], *, in_place: bool = False) -> Variant:
    return Variant(op.name, call, op.supports_autograd, op.supports_gradgrad, in_place)


def _method(name: str) -> Callable[..., Any]:
    return lambda input, *args, **kwargs: getattr(input, name)(*args, **kwargs)


def _in_place(name: str) -> Callable[..., Any]:
    """A call on a copy: what it gives, the copy after it, whether these are one, its version."""

    def run(input: Any, *args: Any, **kwargs: Any) -> Any:
        target = input.clone()
        found = getattr(target, name)(*args, **kwargs)
        one = (found.tensor is target.tensor) if isinstance(found, Stand) else found is target
        return found, target, one, target._version

    return run


def varied(op: Variant, sample: Any) -> Found:
    """What differs for a sample in this way; where torch refuses it, it has to be refused."""
    if not isinstance(sample.input, torch.Tensor) or sample.input.dtype is torch.complex32:
        return
    try:
        op.op(sample.input, *sample.args, **sample.kwargs)
    except Exception as refusal:
        yield from _refused(op, sample, refusal)
        return
    if op.in_place:
        sample.output_process_fn_grad = lambda result: result
    yield from differs(op, sample)


def _refused(op: Variant, sample: Any, refusal: Exception) -> Found:
    try:
        apply(op, Ours(sample))
    except Unlike:
        raise
    except Exception:
        return
    yield f"{str(refusal)[:100]!r} was torch's answer, here it was done"
