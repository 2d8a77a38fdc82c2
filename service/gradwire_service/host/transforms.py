"""Programs run in one call, without a session of their own: evaluate, value_and_grad."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gradwire_engine import backward as reverse
from gradwire_engine.errors import error
from gradwire_engine.spec import DTYPES
from gradwire_engine.tensor import Tensor
from gradwire_service.host.elements import Array
from gradwire_service.host.protocol import (
    EvaluateRequest,
    Program,
    ProgramInput,
    StepPart,
    ValueAndGradRequest,
    limit_steps,
)
from gradwire_service.host.reply import Reply
from gradwire_service.host.run import do, modes
from gradwire_service.host.sessions import Session, shown
from gradwire_service.host.steps import Steps


class Reference(NamedTuple):
    """A tensor that lies in a session already."""

    session: str
    tensor: str


Fetch = Callable[[Reference], Array]
"""How a reference becomes an array."""


_LITERALS = ("inputs", "grad_outputs", "cotangents", "tangents", "vector")
"""Fields of transforms that hold literals by name."""


def references(request: object) -> Iterator[Reference]:
    """The tensors of sessions that a request uses."""
    fields = vars(request)
    for field in _LITERALS:
        for value in (fields.get(field) or {}).values():
            found = reference(value)
            if found is not None:
                yield found


def reference(value: Any) -> Reference | None:
    """The reference that {"session": …, "tensor": …} is; None for a literal."""
    if type(value) is not dict or "session" not in value:
        return None
    session, tensor = value["session"], value.get("tensor")
    if value.keys() != {"session", "tensor"} or type(session) is not str or type(tensor) is not str:
        raise error(
            "invalid_request",
            "inputs: an object with session needs tensor beside it and nothing else",
            '{"session": "s_…", "tensor": "w"}',
        )
    return Reference(session, tensor)


class Transform:
    """One request: its program, and a session that lives as long as it."""

    def __init__(
        self,
        session: Session,
        request: EvaluateRequest,
        arrays: Mapping[str, Array],
        fetch: Fetch,
    ) -> None:
        self.session = session
        self.request = request
        self.fetch = fetch
        self.steps = Steps(session, arrays)
        self.leaves: dict[str, Tensor] = {}
        self.given: list[Array] = []  # the leaves' elements, before the program may write to them
        self.program: Sequence[StepPart] = ()
        self.outputs: dict[str, Tensor] = {}
        self.cotangents: dict[str, Tensor] = {}

    def run(self, seconds: float, allowance: int | None = None) -> Reply:
        """Run the program; differentiate it too where the request asks for that."""
        self.session.meter.begin(seconds, allowance)
        with modes(self.session):
            grads = self._results()
            shown_outputs = {name: shown(name, t) for name, t in self.outputs.items()}
            if grads is None:
                return {"outputs": shown_outputs}
            shown_grads = {n: None if g is None else shown(n, g) for n, g in grads.items()}
            return {"outputs": shown_outputs, "grads": shown_grads}

    def tensors(self) -> Iterator[Tensor]:
        """Run it, and give what the reply has elements of, in its order."""
        with modes(self.session):
            grads = self._results() or {}
        yield from self.outputs.values()
        yield from (g for g in grads.values() if g is not None)

    def _results(self) -> dict[str, Tensor | None] | None:
        """Run the program; its outputs are then in `outputs`, the result are the gradients."""
        request, session = self.request, self.session
        self._enter_inputs()
        wrt = self._wrt(request) if isinstance(request, ValueAndGradRequest) else []
        for name in wrt:
            self.leaves[name].requires_grad_()
        self.program = _steps(request.program, self.steps)
        for index, step in enumerate(self.program):
            do(self.steps, index, step)
        self.outputs = {name: session.find(name) for name in request.program.outputs}
        return self._grads(request, wrt) if isinstance(request, ValueAndGradRequest) else None

    def _enter_inputs(self) -> None:
        entries, given = self.request.program.inputs, self.request.inputs
        names = names_of(self.request.program)
        if sorted(names) != sorted(given):
            raise error(
                "invalid_request",
                f"inputs: the program takes {_listed(names)}; given are {_listed(given)}",
                "give each input of the program once, and no other",
            )
        for entry, name in zip(entries, names, strict=True):
            tensor = self._tensor(given[name])
            if isinstance(entry, ProgramInput):
                _check(entry, tensor)
            self.leaves[name] = tensor
            self.given.append(tensor.array)
            self.session.bind(name, tensor)

    def _tensor(self, value: Any) -> Tensor:
        if type(value) is Tensor:
            return value
        found = reference(value)
        if found is None:
            return self.steps.reader.literal(value, prefer_default=True)
        return Tensor.of(self.fetch(found), device=self.session.device)

    def _wrt(self, request: ValueAndGradRequest) -> list[str]:
        if request.wrt is None:
            return [name for name, leaf in self.leaves.items() if leaf.dtype.differentiable]
        for name in request.wrt:
            if name not in self.leaves:
                raise error(
                    "invalid_request",
                    f"wrt: {name!r} is no input of the program",
                    f"its inputs are {_listed(self.leaves)}",
                )
        return request.wrt

    def _grads(self, request: ValueAndGradRequest, wrt: list[str]) -> dict[str, Tensor | None]:
        """Gradients of the outputs that have a cotangent; of all, if none was given."""
        if not wrt:
            return {}
        given, outputs = request.grad_outputs, self.outputs
        if given is None:
            given = dict.fromkeys(outputs)
        for name in given:
            if name not in outputs:
                raise error(
                    "invalid_request",
                    f"grad_outputs: {name!r} is no output of the program",
                    f"its outputs are {_listed(outputs)}",
                )
        cotangents = {n: self._cotangent(value, outputs[n]) for n, value in given.items()}
        self.cotangents = {n: g for n, g in cotangents.items() if g is not None}
        found = reverse.grad(
            [outputs[name] for name in given],
            [self.leaves[name] for name in wrt],
            list(cotangents.values()),
            allow_unused=True,
            names=wrt,
        )
        return dict(zip(wrt, found, strict=True))

    def _cotangent(self, value: Any, output: Tensor) -> Tensor | None:
        if type(value) is Tensor or reference(value) is not None:
            return self._tensor(value)
        return self.steps.reader.cotangent(value, output)


def names_of(program: Program) -> list[str]:
    """The names of a program's inputs."""
    return [entry if type(entry) is str else entry.name for entry in program.inputs]  # type: ignore[union-attr]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(name[:64] for name in names) or "none"


def _check(entry: ProgramInput, tensor: Tensor) -> None:
    """An input has the dtype and shape that the program fixes for it."""
    if entry.dtype is not None and tensor.dtype is not DTYPES[entry.dtype]:
        raise error(
            "dtype_mismatch",
            f"inputs: {entry.name} is {tensor.dtype.name}, the program fixes {entry.dtype}",
            f'send {{"dtype": "{entry.dtype}", "data": …}}',
        )
    wanted = entry.shape
    if wanted is None:
        return
    if len(wanted) != len(tensor.shape) or any(
        size not in (None, given) for size, given in zip(wanted, tensor.shape, strict=True)
    ):
        raise error(
            "shape_mismatch",
            f"inputs: {entry.name} has shape {list(tensor.shape)}, the program fixes {wanted}",
            "null in the program's shape leaves an axis open",
        )


def _steps(program: Program, steps: Steps) -> Sequence[StepPart]:
    limits = steps.session.limits
    if program.source is None:
        ops: Sequence[StepPart] = program.ops or ()
        limit_steps(len(ops), limits.program_steps)
        return ops
    return steps.written(program.source, limits.program_steps)
