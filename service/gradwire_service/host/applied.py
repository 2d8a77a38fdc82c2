"""A transform of a program in one call: inputs read, the derivative taken, the reply put together.

`host/transforms.py` does the same for an inline program's value and gradient, with less on the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradwire_engine.errors import error
from gradwire_engine.tensor import Tensor
from gradwire_service.host.arguments import Reader
from gradwire_service.host.derivatives import Ask, Wanted, check, derive, listed
from gradwire_service.host.elements import Array
from gradwire_service.host.forecast import forecast
from gradwire_service.host.programs import Program
from gradwire_service.host.reply import Reply
from gradwire_service.host.run import modes
from gradwire_service.host.sessions import Session, shown
from gradwire_service.host.transforms import Fetch, reference

CHECKS = ("gradcheck", "gradgradcheck")
"""Transforms that compare with differences, and are in float64 where nothing else is said."""

PARTS = {"value_and_grad": "grads"}
"""What the derivative is called in the reply, where not as the transform."""


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
        self.session, self.program, self.request = session, program, request
        self.fetch = fetch
        self.reader = Reader(session, arrays)

    def run(self, transform: str, seconds: float, allowance: int | None = None) -> Reply:
        """Do it; `seconds` and `allowance` as for `run.run`."""
        self.session.meter.begin(seconds, allowance)
        with modes(self.session):
            if transform == "plan":
                self._check_names()
                return forecast(self.program, self.request.inputs, self.session.meter)
            values = self._inputs()
            if transform == "evaluate":
                return self._outputs(self.program(*values))
            ask = Ask(self.program, values, Wanted.of(self.request), self._read)
            if transform in CHECKS:
                return check(transform, ask, self.request)
            found = derive(transform, ask)
            answer = self._outputs(found.outputs)
            answer[PARTS.get(transform, transform)] = _shown(found.parts)
            return answer

    def _inputs(self) -> list[Tensor]:
        """The program's inputs in its order, entered into the session so that they are counted."""
        self._check_names()
        for name in self.program.inputs:
            self.session.bind(name, self._tensor(self.request.inputs[name]))
        return [self.session.tensors[name] for name in self.program.inputs]

    def _check_names(self) -> None:
        given, names = self.request.inputs, self.program.inputs
        if sorted(names) != sorted(given):
            raise error(
                "invalid_request",
                f"inputs: the program takes {listed(names)}; given are {listed(given)}",
                "give each input of the program once, and no other",
            )

    def _tensor(self, value: Any) -> Tensor:
        found = reference(value)
        if found is None:
            return self.reader.literal(value, prefer_default=True)
        return Tensor.of(self.fetch(found), device=self.session.device)

    def _read(self, value: Any, like: Tensor) -> Tensor | None:
        """A cotangent, tangent or vector for this tensor."""
        if value is None:
            return None
        if reference(value) is not None:
            return self._tensor(value)
        default = like.dtype if like.dtype.is_floating_point else None
        return self.reader.literal(value, default=default, prefer_default=True)

    def _outputs(self, outputs: Sequence[Tensor]) -> dict[str, Reply]:
        named = zip(self.program.outputs, outputs, strict=True)
        return {"outputs": {name: shown(name, output) for name, output in named}}


def _shown(parts: Mapping[str, Any]) -> Reply:
    return {
        name: _shown(part)
        if isinstance(part, Mapping)
        else None
        if part is None
        else shown(name, part)
        for name, part in parts.items()
    }
