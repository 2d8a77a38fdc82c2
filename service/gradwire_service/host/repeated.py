"""A request to run a program in one call, and the plan there may be for it from those before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gradwire_engine.spec import DType, float32
from gradwire_engine.tensor import Tensor
from gradwire_service.host import literals
from gradwire_service.host.elements import Array
from gradwire_service.host.limits import Limits
from gradwire_service.host.memory import Ledger, Meter, TooMuchHere
from gradwire_service.host.origins import Origins
from gradwire_service.host.plans import Planned, Plans, planned, run
from gradwire_service.host.protocol import (
    BindStep,
    EvaluateRequest,
    GradStep,
    OpStep,
    ValueAndGradRequest,
)
from gradwire_service.host.reply import Filled, Reply, Template
from gradwire_service.host.sessions import Session
from gradwire_service.host.transforms import Fetch, Transform, names_of, reference

_PLAIN = frozenset({OpStep, BindStep, GradStep})
"""Steps that say all of what they do; others name programs, which can be deleted."""


_LONGEST, _MOST = 2**14, 2**10
"""Characters of source text, and arguments of steps with the elements of literals among them."""

_FEW = 16
"""Steps of a program that is traced on the event loop, which takes about as many milliseconds."""

_ARGUMENTS = ("args", "kwargs")

_NOWHERE = Origins()
"""What has no nodes needs no marks."""


class Repeated:
    """A request with its key: program, what is asked of it, and which cotangents are given."""

    def __init__(
        self, plans: Plans, request: EvaluateRequest, binaries: Mapping[str, Array], fetch: Fetch
    ) -> None:
        self._plans, self._request = plans, request
        self._binaries, self._fetch = binaries, fetch
        self._asked: tuple[Any, ...] = ()
        self._cotangents: dict[str, Any] = {}
        if isinstance(request, ValueAndGradRequest):
            wrt, given = request.wrt, request.grad_outputs
            self._asked = (wrt if wrt is None else tuple(wrt), None)
            if given is not None:
                self._cotangents = {n: v for n, v in given.items() if v is not None}
                self._asked = (self._asked[0], tuple(given), tuple(self._cotangents))
        self._key = (id(request.program), self._asked)

    def answer(
        self, limits: Limits, ledger: Ledger, seconds: float, allowance: int | None
    ) -> Filled | None:
        """What a plan gives; None where there is none, or where anything is odd."""
        meter = Meter(tuple, limits.session_bytes, ledger, _NOWHERE)
        meter.begin(seconds, allowance)
        try:
            return self._answer(meter)
        finally:
            meter.forget()

    def _answer(self, meter: Meter) -> Filled | None:
        try:
            inputs = self._inputs(meter)
            case = self._plans.case(self._key, inputs)
            if case is None:
                return None
            given = self._cotangents.items()
            cotangents = [self._array(v, meter, case.dtypes[n]) for n, v in given]
            found = case.plan(cotangents)
        except Exception:  # the long way says what is wrong
            return None
        if type(found) is not Planned:
            return None
        answer = run(found, [*inputs, *cotangents], meter)
        self._plans.answered += answer is not None
        return answer

    def _inputs(self, meter: Meter) -> list[Array]:
        given, names = self._request.inputs, names_of(self._request.program)
        if len(given) != len(names):
            raise KeyError
        return [self._array(given[name], meter, float32) for name in names]

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

    def learn(self, done: Transform, answer: Reply, trying: Callable[[], Session]) -> None:
        """The long way went well. `trying` gives a session to trace in."""
        if not all(type(step) in _PLAIN for step in done.program) or not self._short():
            return
        inputs = [leaf.array for leaf in done.leaves.values()]
        cotangents = [g.array for g in done.cotangents.values()]

        def make() -> Planned | None:
            if done.session.meter.allowance is not None and len(done.program) > _FEW:
                raise TooMuchHere
            return planned(self._traced(trying()), [*inputs, *cotangents], Template(answer))

        dtypes = {name: output.dtype for name, output in done.outputs.items()}
        self._plans.learn(self._key, self._request.program, inputs, cotangents, dtypes, make)

    def _short(self) -> bool:
        """Whether the program is so short that it may be kept."""
        program = self._request.program
        if program.source is not None:
            return len(program.source) <= _LONGEST
        steps = program.ops or ()
        return _count([getattr(s, field, None) for s in steps for field in _ARGUMENTS]) <= _MOST

    def _traced(self, session: Session) -> Callable[..., list[Tensor]]:
        """The program as a function of tensors: inputs, then cotangents, to outputs and grads."""

        def function(*tensors: Tensor) -> list[Tensor]:
            request = self._with(tensors)
            try:
                return list(Transform(session, request, {}, self._fetch).tensors())
            finally:
                session.close()

        return function

    def _with(self, tensors: Sequence[Tensor]) -> EvaluateRequest:
        """The request with tensors in place of literals."""
        request, left = self._request, iter(tensors)
        inputs = {name: next(left) for name in names_of(request.program)}
        changed: dict[str, Any] = {"inputs": inputs}
        if self._cotangents:
            given = dict.fromkeys(request.grad_outputs)  # type: ignore[attr-defined]
            changed["grad_outputs"] = given | {name: next(left) for name in self._cotangents}
        return request.model_copy(update=changed)


def _count(value: Any) -> int:
    """How many values there are in a JSON value; no further than matters."""
    pending, count = [value], 0
    while pending and count <= _MOST:
        item = pending.pop()
        count += 1
        if type(item) is dict:
            pending.extend(item.values())
        elif type(item) is list:
            pending.extend(item[: _MOST + 1])
    return count
