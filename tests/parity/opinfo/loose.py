"""A Python number in the place of each tensor in turn: taken or refused as by torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from tests.parity.opinfo.checks import Found
from tests.parity.opinfo.sides import Ours, apply, flat
from tests.parity.opinfo.stand import CALLED, Unlike, answered, named

NUMBER = 2


class Call(NamedTuple):
    """A sample's arguments with a number among them, and what they were called with."""

    where: str
    input: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def calls(sample: Any) -> Iterator[Call]:
    """The sample with each tensor replaced, which stands in no list."""
    given = (sample.input, *sample.args)
    for place, value in enumerate(given):
        if isinstance(value, torch.Tensor):
            first, *rest = (NUMBER if i == place else v for i, v in enumerate(given))
            yield Call(f"argument {place}", first, tuple(rest), sample.kwargs)
    for name, value in sample.kwargs.items():
        if isinstance(value, torch.Tensor):
            yield Call(name, sample.input, sample.args, sample.kwargs | {name: NUMBER})


def loosely(op: Any, call: Call) -> Found:
    """Whether only one side takes it: of torch any error, here a TypeError, or one of the kind."""
    if op.name.startswith("__"):
        raise Unlike("an operator, which Python asks of a tensor")
    theirs = _refusal(lambda: op.op(call.input, *call.args, **call.kwargs))
    ours = _refusal(lambda: _asked(op, Ours(call)))
    if (theirs is None) != (ours is None):
        yield f"number as {call.where}: {theirs!r:.80} on torch, {ours!r:.120} here"


def _asked(op: Any, ours: Ours) -> Any:
    """The SDK's answer, also where torch refuses before it gives the call over."""
    CALLED.clear()
    try:
        return apply(op, ours)
    except Unlike:
        raise
    except Exception:
        if CALLED or str(op.op.__module__).startswith("torch.testing"):  # of the table's own making
            raise
    first, args, kwargs = ours.call
    return answered(named(op.name), (first, *args), kwargs)


def _refusal(run: Any) -> Exception | None:
    try:
        found = run()
    except Unlike:
        raise
    except Exception as problem:
        return problem
    return TypeError("NotImplemented") if flat(found)[:1] == [NotImplemented] else None
