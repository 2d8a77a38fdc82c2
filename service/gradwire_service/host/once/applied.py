"""A transform of a program in one call: inputs read, the derivative taken, the reply put together.

It notes which tensors its literals became and what they go with, so that the same can be done once
more on symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.spec import DType
from gradwire_engine.tensor import Tensor
from gradwire_service.host.arguments import Reader
from gradwire_service.host.deadline import Deadline
from gradwire_service.host.derivatives import PARTS, Ask, Wanted, check, derive, listed
from gradwire_service.host.elements import Array
from gradwire_service.host.forecast import forecast
from gradwire_service.host.literals import placed
from gradwire_service.host.memory import TooMuchHere
from gradwire_service.host.once.asked import PLANNED, Done
from gradwire_service.host.once.plans import small, traced_long
from gradwire_service.host.once.references import FIELDS, Fetch, reference
from gradwire_service.host.programs import Program
from gradwire_service.host.reply import Reply
from gradwire_service.host.run import modes
from gradwire_service.host.sessions import Session, shown

CHECKS = ("gradcheck", "gradgradcheck")
"""Transforms that compare with differences, and are in float64 where nothing else is said."""


class Given(NamedTuple):
    """A literal, and where in the request it stands."""

    field: str
    name: str
    literal: Any


class Applied:
    """One request: a program, a session that lives as long as it, and what is asked."""

    def __init__(
        self,
        session: Session,
        program: Program,
        request: Any,
        arrays: Mapping[str, Array],
        fetch: Fetch,
    ) -> None:
        self.session, self.program, self.request = session, program, _marked(request)
        self.fetch = fetch
        self.reader = Reader(session, arrays)
        self.vectors: dict[tuple[str, str], Tensor] = {}
        self.dtypes: dict[tuple[str, str], DType] = {}
        self.given: list[Array] = []  # the inputs' elements, before the program may write to them

    def run(self, transform: str, until: Deadline, allowance: int | None = None) -> Reply:
        """Do it; `until` and `allowance` as for `run.run`."""
        self.session.meter.begin(until, allowance)
        with modes(self.session):
            if transform == "plan":
                self._check_names()
                return forecast(self.program, self.request, self.session.meter)
            values = self._inputs()
            if transform == "evaluate":
                return self._outputs(self.program(*values))
            if transform in CHECKS:
                return check(transform, self._ask(values), self.request)
            found = derive(transform, self._ask(values))
            answer = self._outputs(found.outputs)
            answer[PARTS.get(transform, transform)] = _shown(found.parts)
            return answer

    def tensors(self, transform: str) -> list[Tensor]:
        """What the reply has elements of, in its order."""
        with modes(self.session):
            values = self._inputs()
            if transform == "evaluate":
                return list(self.program(*values))
            found = derive(transform, self._ask(values))
            return [*found.outputs, *(part for part in found.flat() if part is not None)]

    def done(self, transform: str, reply: Reply, trying: Callable[[], Session]) -> Done | None:
        """What was run, for plans. `trying` gives a session to trace in.

        Its function raises TooMuchHere on the event loop where the trace may be long.
        """
        program = self.program
        if transform not in PLANNED or not small(program):
            return None
        refused = traced_long(transform, program) and self.session.meter.allowance is not None

        def function(*tensors: Tensor) -> Sequence[Tensor]:
            if refused:
                raise TooMuchHere
            session = trying()
            try:
                again = Applied(session, self.program, self._with(tensors), {}, self.fetch)
                return again.tensors(transform)
            finally:
                session.close()

        return Done(self.given, self.vectors, self.dtypes, reply, function)

    def _inputs(self) -> list[Tensor]:
        """The program's inputs in its order, entered into the session so that they are counted."""
        self._check_names()
        for name in self.program.inputs:
            self.session.bind(name, self._input(name))
        found = [self.session.tensors[name] for name in self.program.inputs]
        self.given = [x.array for x in found]
        return found

    def _input(self, name: str) -> Tensor:
        try:
            return self._tensor(self.request.inputs[name])
        except GradwireError as problem:
            raise placed(problem, f"inputs.{name}") from problem.__cause__

    def _check_names(self) -> None:
        given, names = self.request.inputs, self.program.inputs
        if sorted(names) != sorted(given):
            raise error(
                "invalid_request",
                f"inputs: the program takes {listed(names)}; given are {listed(given)}",
                "give each input of the program once, and no other",
            )

    def _ask(self, values: Sequence[Tensor]) -> Ask:
        return Ask(self.program, values, Wanted.of(self.request), self._read)

    def _tensor(self, value: Any) -> Tensor:
        if type(value) is Tensor:
            return value
        found = reference(value)
        if found is None:
            return self.reader.literal(value, prefer_default=True)
        return Tensor.of(self.fetch(found), device=self.session.device)

    def _read(self, value: Any, like: Tensor) -> Tensor | None:
        """A cotangent, tangent or vector for this tensor, which is noted."""
        if type(value) is not Given:
            return None if value is None else self._vector(value, like)
        try:
            found = self._vector(value.literal, like)
        except GradwireError as problem:
            raise placed(problem, f"{value.field}.{value.name}") from problem.__cause__
        self.vectors[value.field, value.name] = found
        self.dtypes[value.field, value.name] = like.dtype
        return found

    def _vector(self, value: Any, like: Tensor) -> Tensor:
        if type(value) is Tensor or reference(value) is not None:
            return self._tensor(value)
        default = like.dtype if like.dtype.is_floating_point else None
        return self.reader.literal(value, default=default, prefer_default=True)

    def _outputs(self, outputs: Sequence[Tensor]) -> dict[str, Reply]:
        named = zip(self.program.outputs, outputs, strict=True)
        return {"outputs": {name: shown(name, output) for name, output in named}}

    def _with(self, tensors: Sequence[Tensor]) -> Any:
        """The request with tensors in place of literals: inputs, then vectors in their order."""
        left = iter(tensors)
        changed: dict[str, Any] = {"inputs": {name: next(left) for name in self.program.inputs}}
        for field in FIELDS:
            values = vars(self.request).get(field)
            if values is not None:
                changed[field] = {n: None if v is None else next(left) for n, v in values.items()}
        return self.request.model_copy(update=changed)


def _shown(parts: Mapping[str, Any]) -> Reply:
    return {
        name: _shown(part)
        if isinstance(part, Mapping)
        else None
        if part is None
        else shown(name, part)
        for name, part in parts.items()
    }


def _marked(request: Any) -> Any:
    """The request with each literal knowing where it stands."""
    changed = {
        field: {n: None if v is None else Given(field, n, v) for n, v in values.items()}
        for field in FIELDS
        if (values := vars(request).get(field)) is not None
    }
    return request.model_copy(update=changed) if changed else request
