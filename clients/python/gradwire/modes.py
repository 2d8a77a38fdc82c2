"""Grad modes as contexts and decorators."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ContextDecorator
from functools import partial, wraps
from inspect import isgeneratorfunction
from typing import Any, TypeVar

from gradwire import in_force
from gradwire.thread import threads
from gradwire.within import end_stale_modes
from gradwire_engine.mode import local, using

Function = TypeVar("Function", bound=Callable[..., Any])


class _Decorating(ContextDecorator):
    """A mode that is in force for a generator function wherever that runs."""

    def __call__(self, function: Function) -> Function:
        if isgeneratorfunction(function):
            return _stepwise(function, self._recreate_cm)
        return super().__call__(function)


class _Mode(_Decorating, using):
    """A mode that may decorate with or without brackets."""

    kept = True

    def __new__(cls, function: Any = None) -> Any:
        made = super().__new__(cls)
        if not callable(function):
            return made
        made.__init__()  # type: ignore[misc]
        return made(function)

    def __enter__(self) -> None:
        if threads.here.blocks:
            end_stale_modes()
        super().__enter__()

    def _recreate_cm(self) -> Any:
        """Each call of a decorated function has a context of its own, on its own thread."""
        return using(**self._fields)


def _stepwise(function: Function, mode: Callable[[], Any]) -> Function:
    """A generator function in a mode, which is in force while it runs and not where it waits."""

    @wraps(function)
    def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        running = function(*args, **kwargs)
        go_on: Callable[[], Any] = partial(next, running)
        while True:
            try:
                with mode():
                    value = go_on()
            except StopIteration as end:
                return end.value
            try:
                go_on = partial(running.send, (yield value))
            except GeneratorExit:
                with mode():
                    running.close()
                raise
            except BaseException as problem:  # thrown in by who uses it
                go_on = partial(running.throw, problem)

    return generator  # type: ignore[return-value]


class no_grad(_Mode):
    """Record nothing: results require no grad."""

    def __init__(self) -> None:
        super().__init__(grad=False)


class enable_grad(_Mode):
    """Record again, inside a no_grad block."""

    def __init__(self) -> None:
        super().__init__(grad=True)

    def _recreate_cm(self) -> Any:
        return enable_grad()

    def __enter__(self) -> None:
        super().__enter__()
        _ask_for_grad(1)

    def __exit__(self, *exc: object) -> None:
        _ask_for_grad(-1)
        super().__exit__(*exc)


def _ask_for_grad(change: int) -> None:
    """A function that is written down has to record also where it runs in no_grad."""
    trace: Any = in_force.innermost()
    if hasattr(trace, "asked_to_record"):
        trace.asked_to_record += change


class inference_mode(_Mode):
    """Record nothing and make inference tensors, which autograd can never use."""

    def __init__(self, mode: bool = True) -> None:
        super().__init__(inference=bool(mode), grad=not mode)


class set_grad_enabled(_Decorating):
    """no_grad or enable_grad by a flag: from the call on, and as a context only inside of it."""

    def __init__(self, mode: bool) -> None:
        if threads.here.blocks:
            end_stale_modes()
        self._mode = bool(mode)
        self._before = local.state.grad
        local.state.grad = self._mode

    def __call__(self, function: Function) -> Function:
        local.state.grad = self._before
        return super().__call__(function)

    def _recreate_cm(self) -> Any:
        return using(grad=self._mode)

    def __enter__(self) -> None:
        local.state.grad = self._mode

    def __exit__(self, *exc: object) -> None:
        local.state.grad = self._before


def is_grad_enabled() -> bool:
    """Whether ops record now."""
    if threads.here.blocks:
        end_stale_modes()
    return local.state.grad


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on."""
    return local.state.inference


__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
]
