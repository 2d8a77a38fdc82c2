"""Where torch's table says that an op raises, the SDK raises too: that class, or one above it."""

from __future__ import annotations

from typing import Any

from tests.parity.opinfo.checks import Found
from tests.parity.opinfo.numbers import to_numpy
from tests.parity.opinfo.sides import Ours, apply, flat, is_tensor
from tests.parity.opinfo.stand import CALLED, Unlike, answered, named

from gradwire_engine.errors import GradwireError


def refused(op: Any, case: Any) -> Found:
    """What differs for one case of the table."""
    sample = case.sample_input
    if "out" in sample.kwargs:
        raise Unlike("out=, which there is not")
    if op.name.startswith("__r") and not is_tensor(sample.input):
        raise Unlike("an operator of a number, which Python asks its tensor for")
    if not _refused_by_torch(op, sample):
        return
    problem = _raised(op, Ours(sample))
    if problem is None:
        yield f"error: nothing was raised for {case.error_regex[:80]!r}"
    elif not isinstance(problem, (GradwireError, TypeError)):
        yield f"error: {type(problem).__name__} ({problem}) comes from the inside"
    elif not _fits(problem, case.error_type):
        yield f"error: {type(problem).__name__} ({problem}) for {case.error_type}"


def _refused_by_torch(op: Any, sample: Any) -> bool:
    """Whether it really raises: the table's cases without a message do not always."""
    try:
        op.op(sample.input, *sample.args, **sample.kwargs)
    except Exception:
        return True
    return False


def _raised(op: Any, ours: Ours) -> Exception | None:
    """What the SDK raises, at the call or, where elements decide, when it is read."""
    CALLED.clear()
    try:
        found = apply(op, ours)
    except Unlike:
        raise
    except Exception as problem:
        if CALLED:
            return problem
    else:
        return _read(found)
    first, args, kwargs = ours.call  # torch itself refused, before it gave the call over
    try:
        found = answered(named(op.name), (first, *args), kwargs)
    except Exception as problem:
        return problem
    return _read(found)


def _read(found: Any) -> Exception | None:
    if found is NotImplemented:  # of an operator, for which Python raises a TypeError
        return TypeError("NotImplemented")
    try:
        for value in flat(found):
            if is_tensor(value):
                to_numpy(value)
    except GradwireError as problem:
        return problem
    return None


def _fits(problem: Exception, wanted: Any) -> bool:
    """The same class, or a builtin one above it: RuntimeError for a LinAlgError."""
    kinds = wanted if isinstance(wanted, tuple) else (wanted,)
    above = (object, BaseException, Exception)
    own = [c for c in type(problem).__mro__ if c.__module__ == "builtins" and c not in above]
    return any(isinstance(problem, k) or any(issubclass(k, c) for c in own) for k in kinds)
