"""Transforms that are steps of a session, where they come again: by plans, as over REST.

A session that outlives the process goes the long way: its log is run again step by step, by whoever
has no plan yet, and the values of a plan agree to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from gradwire_engine.control.known import known
from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import local, using
from gradwire_engine.spec import DType
from gradwire_engine.tensor import Tensor
from gradwire_service.host.derivatives import Ask, Wanted, derive
from gradwire_service.host.elements import Array
from gradwire_service.host.inside import Inside
from gradwire_service.host.memory import TooMuchHere
from gradwire_service.host.once.plans import (
    LARGEST_INPUTS,
    Planned,
    Plans,
    planned,
    run,
    small,
    specs_of,
    traced_long,
)
from gradwire_service.host.protocol.calls import TransformStep
from gradwire_service.host.reply import Template
from gradwire_service.host.run import modes
from gradwire_service.host.sessions import Session

Tensors = Sequence[Tensor]


class Again:
    """The plans of such steps. tracing: gives a session to trace in."""

    def __init__(self, plans: Plans, tracing: Callable[[], Session]) -> None:
        self._plans, self._tracing = plans, tracing

    def found(
        self, session: Session, program: Any, step: TransformStep, values: Sequence[Any]
    ) -> list[Tensor] | None:
        """What the long way would give; None where there is no plan."""
        key = _key(session, program, step)
        ready = None if key is None else self._plans.ready(key)
        arrays = None if ready is None else _arrays(values)
        if ready is None or arrays is None:
            return None
        case = ready.cases.get(specs_of(arrays))
        plan = None if case is None else case.plan(())
        if type(plan) is not Planned:
            return None
        filled = run(plan, arrays, session.meter, own=True)
        if filled is None:
            return None
        self._plans.note(ready)
        specs = plan.template.reply
        return [Tensor(a, s, None) for a, s in zip(filled.arrays, specs, strict=True)]

    def learn(
        self,
        session: Session,
        program: Any,
        step: TransformStep,
        values: Sequence[Any],
        results: Sequence[Tensor | None],
    ) -> None:
        """The step went well the long way, with these results; often enough, it gets a plan."""
        key, arrays = _key(session, program, step), _arrays(values)
        if key is None or arrays is None or not small(program) or not _plain(results, values):
            return
        function = self._function(session.dtype, program, step)
        specs = tuple(x.spec for x in results if x is not None)

        def make() -> Planned | None:
            if traced_long(step.transform, program) and session.meter.allowance is not None:
                raise TooMuchHere
            try:
                body = known(Inside(program), values)
            except GradwireError:  # it is looked at without a graph, in which some programs walk
                return None
            if body.outputs is None or body.draws or body.writes:
                return None
            return planned(function, arrays, Template(specs))

        self._plans.learn(key, program, arrays, (), {}, make)

    def _function(self, dtype: DType, program: Any, step: TransformStep) -> Callable[..., Tensors]:
        """The step as a function of its arguments, which is traced in a session of its own."""

        def function(*inputs: Tensor) -> Tensors:
            trial = self._tracing()
            trial.dtype = dtype
            try:
                with using(journal=None), modes(trial):
                    ask = Ask(program, inputs, Wanted.of(step), lambda *_: None)
                    found = derive(step.transform, ask)
                    outputs = () if step.values is None else found.outputs
                    return [x for x in (*found.flat(), *outputs) if x is not None]
            finally:
                trial.close()

        return function


def _key(session: Session, program: Any, step: TransformStep) -> Hashable:
    """What is asked but for elements; None where it is none of the plain ones."""
    state = local.state
    if session.durable is not None or session.device != "cpu" or step.create_graph:
        return None
    if not state.grad or state.inference or state.anomaly:
        return None
    if not (step.cotangents is step.tangents is step.vector is None):
        return None
    wrt = None if step.wrt is None else tuple(step.wrt)
    asked = step.transform, wrt, step.batched, step.strategy, step.values is None
    return (id(program), "step", asked, session.dtype)


def _arrays(values: Sequence[Any]) -> list[Array] | None:
    """The elements of arguments that lie row by row."""
    arrays, nbytes = [], 0
    for x in values:
        if type(x) is not Tensor or x.spec.device != "cpu":
            return None
        array = x.array
        nbytes += array.nbytes
        if nbytes > LARGEST_INPUTS or not array.flags.c_contiguous:
            return None
        arrays.append(array)
    return arrays


def _plain(results: Sequence[Tensor | None], values: Sequence[Any]) -> bool:
    """Whether results are new tensors, none of which shares memory with anything."""
    tensors = [x for x in results if type(x) is Tensor]
    if len(tensors) != len(results) or any(x.requires_grad or x.writes or x.flags for x in tensors):
        return False
    arrays = [x.array for x in (*tensors, *values)]
    return not any(np.may_share_memory(a, b) for a, b in combinations(arrays, 2))
