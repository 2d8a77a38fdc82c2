"""Nested calls of several results, as only source text has them: `x.max(0)[1]`, `cat(x.split(2))`.

Such a call has one temporary name, and each of its results a name that begins with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from gradwire_engine.errors import error
from gradwire_service.host.protocol.steps import BindStep, OpStep

Several = Mapping[str, Sequence[str]]


def spread(step: OpStep, several: Several) -> OpStep | BindStep:
    """The step with the names of all results where it says the name of their call.

    Taking one of them by its number is no op: that result gets a second name.
    """
    first = step.args[0] if step.args else None
    if step.op == "__getitem__" and type(first) is str and first in several:
        return _one(step, several[first])
    args = [_names(value, several) for value in step.args]
    kwargs = {key: _names(value, several) for key, value in step.kwargs.items()}
    return OpStep.model_construct(op=step.op, args=args, kwargs=kwargs, out=step.out)


def _names(value: Any, several: Several) -> Any:
    return list(several[value]) if type(value) is str and value in several else value


def _one(step: OpStep, names: Sequence[str]) -> BindStep:
    index = step.args[1]
    if type(index) is not int or not -len(names) <= index < len(names):
        raise error(
            "invalid_argument",
            f"the call gives {len(names)} results, and the index is {index}",
            f"a number from {-len(names)} to {len(names) - 1} takes one of them",
            raised=IndexError,
        )
    return BindStep.model_construct(bind=names[index], out=cast(str, step.out))
