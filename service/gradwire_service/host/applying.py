"""Transforms of programs, as plans see them: what was read, and the same once more on symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gradwire_engine.spec import DType
from gradwire_engine.tensor import Tensor
from gradwire_service.host.applied import Applied
from gradwire_service.host.derivatives import Ask, Wanted, derive
from gradwire_service.host.elements import Array
from gradwire_service.host.memory import TooMuchHere
from gradwire_service.host.programs import Program
from gradwire_service.host.protocol import Program as Model
from gradwire_service.host.repeated import Asked, Done
from gradwire_service.host.reply import Reply
from gradwire_service.host.run import modes
from gradwire_service.host.sessions import Session
from gradwire_service.host.transforms import Fetch, names_of

FIELDS = ("grad_outputs", "cotangents", "tangents", "vector")
"""Fields of requests that have literals by the name of what they go with."""

PLANNED = (
    "evaluate", "value_and_grad", "vjp", "jvp", "hvp", "vhp", "jacobian", "hessian",
)  # fmt: skip
"""Transforms whose replies are tensors of the program's and nothing else."""

_LONGEST = 2**14
"""Bytes of a program that may be kept."""


class Given(NamedTuple):
    """A literal, and where in the request it stands."""

    field: str
    name: str
    literal: Any


def asked(transform: str, program: Program | Model, request: Any) -> Asked | None:
    """The request by its program's address; None if it is odd, or of a kind without plans."""
    names = program.inputs if isinstance(program, Program) else names_of(program)
    given = request.inputs
    if transform not in PLANNED or len(names) != len(given) or not given.keys() >= set(names):
        return None
    said = vars(request)
    literals = {field: said[field] for field in FIELDS if said.get(field) is not None}
    vectors = {
        (field, name): value
        for field, values in literals.items()
        for name, value in values.items()
        if value is not None
    }
    rest = [(k, v) for k, v in said.items() if k not in (*FIELDS, "inputs", "program")]
    plain = tuple((k, tuple(v) if type(v) is list else v) for k, v in rest)
    called = tuple((field, tuple(values)) for field, values in literals.items())
    key = (id(program), transform, plain, called, tuple(vectors))
    return Asked(key, program, [given[name] for name in names], vectors)


class Watched(Applied):
    """A transform that notes which tensors its literals became, and what they go with."""

    def __init__(
        self,
        session: Session,
        program: Program,
        request: Any,
        arrays: Mapping[str, Array],
        fetch: Fetch,
    ) -> None:
        super().__init__(session, program, _marked(request), arrays, fetch)
        self.vectors: dict[tuple[str, str], Tensor] = {}
        self.dtypes: dict[tuple[str, str], DType] = {}
        self.given: list[Array] = []  # the inputs' elements, before the program may write to them

    def _inputs(self) -> list[Tensor]:
        found = super()._inputs()
        self.given = [x.array for x in found]
        return found

    def _tensor(self, value: Any) -> Tensor:
        return value if type(value) is Tensor else super()._tensor(value)

    def _read(self, value: Any, like: Tensor) -> Tensor | None:
        if type(value) is not Given:
            return super()._read(value, like)
        literal = value.literal
        found = literal if type(literal) is Tensor else super()._read(literal, like)
        if found is not None:
            self.vectors[value.field, value.name] = found
            self.dtypes[value.field, value.name] = like.dtype
        return found

    def tensors(self, transform: str) -> list[Tensor]:
        """What the reply has elements of, in its order."""
        with modes(self.session):
            values = self._inputs()
            if transform == "evaluate":
                return list(self.program(*values))
            found = derive(
                transform, Ask(self.program, values, Wanted.of(self.request), self._read)
            )
            return [*found.outputs, *(part for part in found.flat() if part is not None)]

    def done(self, transform: str, reply: Reply, trying: Callable[[], Session]) -> Done | None:
        """What was run, for plans. `trying` gives a session to trace in.

        Its function raises TooMuchHere on the event loop: a derivative's trace may be long.
        """
        if transform not in PLANNED or self.program.nbytes > _LONGEST:
            return None
        inline = self.session.meter.allowance is not None

        def function(*tensors: Tensor) -> Sequence[Tensor]:
            if inline:
                raise TooMuchHere
            session = trying()
            try:
                again = Watched(session, self.program, self._with(tensors), {}, self.fetch)
                return again.tensors(transform)
            finally:
                session.close()

        return Done(self.given, self.vectors, self.dtypes, reply, function)

    def _with(self, tensors: Sequence[Tensor]) -> Any:
        """The request with tensors in place of literals: inputs, then vectors in their order."""
        left = iter(tensors)
        changed: dict[str, Any] = {"inputs": {name: next(left) for name in self.program.inputs}}
        for field in FIELDS:
            values = vars(self.request).get(field)
            if values is not None:
                changed[field] = {n: None if v is None else next(left) for n, v in values.items()}
        return self.request.model_copy(update=changed)


def _marked(request: Any) -> Any:
    """The request with each literal knowing where it stands."""
    changed = {
        field: {n: None if v is None else Given(field, n, v) for n, v in values.items()}
        for field in FIELDS
        if (values := vars(request).get(field)) is not None
    }
    return request.model_copy(update=changed) if changed else request
