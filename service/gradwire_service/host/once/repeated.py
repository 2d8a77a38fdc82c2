"""A request to run a program in one call, and the plan there may be for it from those before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradwire_engine.spec import DType, float32
from gradwire_service.host import literals
from gradwire_service.host.deadline import Deadline
from gradwire_service.host.elements import Array
from gradwire_service.host.ledger import Ledger
from gradwire_service.host.limits import Limits
from gradwire_service.host.memory import Meter
from gradwire_service.host.once.asked import Asked, Done
from gradwire_service.host.once.plans import (
    LARGEST_INPUTS,
    Known,
    Planned,
    Plans,
    planned,
    run,
    specs_of,
)
from gradwire_service.host.once.references import Fetch, reference
from gradwire_service.host.origins import Origins
from gradwire_service.host.reply import Filled, Template

_NOWHERE = Origins()
"""What has no nodes needs no marks."""


class Repeated:
    """A request, and the plans that it may find its own among."""

    def __init__(
        self, plans: Plans, asked: Asked | None, binaries: Mapping[str, Array], fetch: Fetch
    ) -> None:
        self._plans, self._asked = plans, asked
        self._binaries, self._fetch = binaries, fetch

    def answer(
        self, limits: Limits, ledger: Ledger, until: Deadline, allowance: int | None
    ) -> Filled | None:
        """What a plan gives; None where there is none, or where anything is odd."""
        asked = self._asked
        known = None if asked is None else self._plans.ready(asked.key)
        if known is None or asked is None:
            return None
        meter = Meter(tuple, min(limits.session_bytes, LARGEST_INPUTS), ledger, _NOWHERE)
        meter.begin(until, allowance)
        try:
            return self._answer(asked, known, meter)
        finally:
            meter.forget()

    def _answer(self, asked: Asked, known: Known, meter: Meter) -> Filled | None:
        try:
            inputs = [self._array(value, meter, float32) for value in asked.inputs]
            case = known.cases.get(specs_of(inputs))
            if case is None:
                return None
            given = asked.vectors.items()
            vectors = [self._array(value, meter, case.dtypes[key]) for key, value in given]
            found = case.plan(vectors)
        except Exception:  # the long way says what is wrong
            return None
        if type(found) is not Planned:
            return None
        with np.errstate(all="ignore"):
            answer = run(found, [*inputs, *vectors], meter)
        if answer is not None:
            self._plans.note(known)
        return answer

    def _array(self, value: Any, meter: Meter, dtype: DType) -> Array:
        found = reference(value)
        if found is None:
            default = dtype if dtype.is_floating_point else float32
            return literals.decode(
                value, default=default, prefer_default=True, binaries=self._binaries, limits=meter
            )
        array = self._fetch(found)
        if not array.flags.c_contiguous:
            raise ValueError
        return array

    def learn(self, done: Done | None) -> None:
        """The long way went well."""
        asked = self._asked
        if asked is None or done is None or asked.vectors.keys() != done.vectors.keys():
            return
        vectors = [done.vectors[key].array for key in asked.vectors]

        def make() -> Planned | None:
            return planned(done.function, [*done.inputs, *vectors], Template(done.reply))

        self._plans.learn(asked.key, asked.owner, done.inputs, vectors, done.dtypes, make)
