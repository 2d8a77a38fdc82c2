"""Programs run in one call: in a session that lives as long as the call, or by a plan."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gradwire_engine.control.known import figures
from gradwire_engine.spec import float64
from gradwire_engine.symbol import SYMBOLIC
from gradwire_service.host.deadline import Deadline
from gradwire_service.host.elements import Array
from gradwire_service.host.inside import Inside
from gradwire_service.host.ledger import Ledger
from gradwire_service.host.limits import Limits
from gradwire_service.host.once.again import Again
from gradwire_service.host.once.applied import CHECKS, Applied
from gradwire_service.host.once.asked import asked
from gradwire_service.host.once.plans import Plans
from gradwire_service.host.once.references import Fetch
from gradwire_service.host.once.repeated import Repeated
from gradwire_service.host.programs import Program, Programs, build
from gradwire_service.host.protocol.requests import Program as Model
from gradwire_service.host.protocol.requests import SessionCreate
from gradwire_service.host.protocol.transforms import EvaluateRequest, ValueAndGradRequest
from gradwire_service.host.reply import Filled, Reply
from gradwire_service.host.sessions import Session

_NONE: Mapping[str, Array] = MappingProxyType({})

_BUILT = 64
"""Programs of bodies that are kept as they were built, for requests that bring the same again."""


class Once:
    """Runs them. Where there is a plan, the reply is a template and what fills it.

    `allowance` and `until` are as for `run.run`; `fetch` gives the arrays of tensors that lie in
    sessions.
    """

    def __init__(self, limits: Limits, ledger: Ledger, programs: Programs, fetch: Fetch) -> None:
        self.limits, self.ledger = limits, ledger
        self.programs, self.fetch = programs, fetch
        self.plans = Plans(ledger)
        self.again = Again(self.plans, self._tracing)
        self._built: OrderedDict[int, tuple[Model, Program]] = OrderedDict()

    def run(
        self,
        request: EvaluateRequest,
        arrays: Mapping[str, Array] = _NONE,
        fetch: Fetch | None = None,
        allowance: int | None = None,
        until: Deadline | None = None,
    ) -> Reply | Filled:
        """Run a program of the body, and differentiate it where the request asks for that."""
        transform = "value_and_grad" if isinstance(request, ValueAndGradRequest) else "evaluate"
        return self.apply(transform, request.program, request, arrays, fetch, allowance, until)

    def apply(
        self,
        transform: str,
        program: Program | Model,
        request: Any,
        arrays: Mapping[str, Array] = _NONE,
        fetch: Fetch | None = None,
        allowance: int | None = None,
        until: Deadline | None = None,
    ) -> Reply | Filled:
        """A transform of a stored program or of an inline one."""
        fetch, until = fetch or self.fetch, until or Deadline(self.limits.seconds)
        again = Repeated(self.plans, asked(transform, program, request), arrays, fetch)
        found = again.answer(self.limits, self.ledger, until, allowance)
        if found is not None:
            return found
        if not isinstance(program, Program):
            program = self._program(program, arrays)
        session = self._passing()
        if transform in CHECKS:
            session.dtype = float64
        try:
            way = Applied(session, program, request, arrays, fetch)
            answer = way.run(transform, until, allowance)
            if transform == "plan":
                known = figures(Inside(program)).plus(self.plans.figures(program))
                return answer | {"planned": known._asdict()}
            again.learn(way.done(transform, answer, self._tracing))
            return answer
        finally:
            session.close()

    def _program(self, model: Model, arrays: Mapping[str, Array]) -> Program:
        """The program of a body; the same one again has it ready, unless it calls others' names."""
        kept = self._built.get(id(model))
        if kept is not None and kept[0] is model:
            return kept[1]
        made = build(model, arrays, self.programs.find, self.limits)
        if not arrays and not made.calls:
            self._built[id(model)] = model, made
            while len(self._built) > _BUILT:
                self._built.popitem(last=False)
        return made

    def _passing(self, device: str = "cpu", ledger: Ledger | None = None) -> Session:
        """A session that lives as long as one call."""
        wanted = SessionCreate.model_construct(device=device)
        return Session("one call", wanted, self.limits, ledger or self.ledger, self.programs.find)

    def _tracing(self) -> Session:
        """A session in which nothing is allocated."""
        return self._passing(SYMBOLIC, Ledger(2**63))
