"""Cutting a failing program to a few steps: leave steps out, then make what is left simpler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.parity.differential.step import WALKS, Program, Step

Fails = Callable[[Program], int | None]
"""Where a program fails, if it does in the way that is looked for."""


def shrunk(program: Program, fails: Fails) -> Program:
    """A program as short as can be found that fails in the same way."""
    at = fails(program)
    if at is None:
        return program
    program = program[: at + 1]
    while True:
        before = program
        program = _shorter(program, fails)
        program = _simpler(program, fails)
        if program == before:
            return program


def _shorter(program: Program, fails: Fails) -> Program:
    """Leave out runs of steps, long ones first; the last step stays."""
    size = max(len(program) // 2, 1)
    while size:
        start = len(program) - 1 - size
        while start >= 0:
            tried = program[:start] + program[start + size :]
            if fails(tried) is not None:
                program = tried
            start -= size
        size //= 2
    return program


def _simpler(program: Program, fails: Fails) -> Program:
    for place, step in enumerate(program):
        for other in _variants(step):
            tried = (*program[:place], other, *program[place + 1 :])
            if fails(tried) is not None:
                program = tried
                break
    return program


def _variants(step: Step) -> Iterator[Step]:
    """The step with less to it: no modes, an option fewer, smaller data."""
    if step.modes:
        yield replace(step, modes=())
        yield replace(step, modes=step.modes[:1])
    for place in range(len(step.kwargs)):
        if step.kwargs[place][0] not in ("dtype",):
            yield replace(step, kwargs=step.kwargs[:place] + step.kwargs[place + 1 :])
    for place, value in enumerate(step.args):
        for other in _simpler_value(step, value):
            yield replace(step, args=(*step.args[:place], other, *step.args[place + 1 :]))


def _simpler_value(step: Step, value: Any) -> Iterator[Any]:
    if step.kind == "leaf":
        if isinstance(value, list) and value:
            yield from (value[:1], value[0], value[:2])
    elif isinstance(value, list) and len(value) > 1 and step.kind not in WALKS:
        yield from (value[:1], value[1:])
    elif isinstance(value, float):
        yield 2.0
