"""Programs run in one call: in a session that lives as long as the call, or by a plan."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gradwire_engine.spec import float32, float64
from gradwire_engine.symbol import SYMBOLIC
from gradwire_service.host import applying, passing
from gradwire_service.host.applied import CHECKS
from gradwire_service.host.elements import Array
from gradwire_service.host.limits import Limits
from gradwire_service.host.memory import Ledger
from gradwire_service.host.plans import Plans
from gradwire_service.host.programs import Program, Programs, build
from gradwire_service.host.protocol import EvaluateRequest, GradStep, SessionCreate
from gradwire_service.host.protocol import Program as Model
from gradwire_service.host.repeated import Repeated
from gradwire_service.host.reply import Filled, Reply
from gradwire_service.host.sessions import Session
from gradwire_service.host.transforms import Fetch, Transform

_NONE: Mapping[str, Array] = MappingProxyType({})


class Once:
    """Runs them. Where there is a plan, the reply is a template and what fills it.

    `allowance` and `seconds` are as for `run.run`; `fetch` gives the arrays of tensors that lie in
    sessions.
    """

    def __init__(self, limits: Limits, ledger: Ledger, programs: Programs, fetch: Fetch) -> None:
        self.limits, self.ledger = limits, ledger
        self.programs, self.fetch = programs, fetch
        self.plans = Plans()

    def run(
        self,
        request: EvaluateRequest,
        arrays: Mapping[str, Array] = _NONE,
        fetch: Fetch | None = None,
        allowance: int | None = None,
        seconds: float | None = None,
    ) -> Reply | Filled:
        """Run a program of the body, and differentiate it where the request asks for that."""
        fetch, seconds = fetch or self.fetch, seconds or self.limits.seconds
        again = Repeated(self.plans, passing.asked(request), arrays, fetch)
        found = again.answer(self.limits, self.ledger, seconds, allowance)
        if found is not None:
            return found
        if type(request) is EvaluateRequest and _has_grad_steps(request.program):
            # Its inputs require no grad: a program makes variables of its own of them.
            return self.apply(
                "evaluate", request.program, request, arrays, fetch, allowance, seconds
            )
        session = self._passing()
        try:
            way = Transform(session, request, arrays, fetch)
            answer = way.run(seconds, allowance)
            again.learn(passing.done(way, answer, self._tracing))
            return answer
        finally:
            session.close()

    def apply(
        self,
        transform: str,
        program: Program | Model,
        request: Any,
        arrays: Mapping[str, Array] = _NONE,
        fetch: Fetch | None = None,
        allowance: int | None = None,
        seconds: float | None = None,
    ) -> Reply | Filled:
        """A transform of a stored program or of an inline one."""
        fetch, seconds = fetch or self.fetch, seconds or self.limits.seconds
        again = Repeated(self.plans, applying.asked(transform, program, request), arrays, fetch)
        found = again.answer(self.limits, self.ledger, seconds, allowance)
        if found is not None:
            return found
        if not isinstance(program, Program):
            program = build(program, arrays, self.programs.find, self.limits)
        session = self._passing()
        if transform in CHECKS:
            session.dtype = float64
        try:
            way = applying.Watched(session, program, request, arrays, fetch)
            answer = way.run(transform, seconds, allowance)
            again.learn(way.done(transform, answer, self._tracing))
            return answer
        finally:
            session.close()

    def _passing(self, device: str = "cpu", ledger: Ledger | None = None) -> Session:
        """A session that lives as long as one call."""
        asked = SessionCreate.model_construct(device=device)
        return Session(
            "one call", asked, float32, self.limits, ledger or self.ledger, self.programs.find
        )

    def _tracing(self) -> Session:
        """A session in which nothing is allocated."""
        return self._passing(SYMBOLIC, Ledger(2**63))


def _has_grad_steps(program: Model) -> bool:
    return any(type(step) is GradStep for step in program.ops or ())
