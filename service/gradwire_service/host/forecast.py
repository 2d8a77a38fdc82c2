"""What a program will take for inputs of given shapes, worked out without running anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradwire_engine.call import ADDRESSABLE
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.mode import using
from gradwire_engine.ops.creation import ones_like
from gradwire_engine.plan import Graph, UntraceableError, trace
from gradwire_engine.plan.parts import Part, Whole, whole
from gradwire_engine.plan.passes import without_dead
from gradwire_engine.spec import DTYPES, Spec
from gradwire_engine.tensor import Tensor
from gradwire_service.host.derivatives import PARTS, Ask, Wanted, derive
from gradwire_service.host.elements import is_shape
from gradwire_service.host.memory import Meter, TooMuchHere
from gradwire_service.host.programs import Program
from gradwire_service.host.protocol.transforms import InputSpec, PlanInputs
from gradwire_service.host.reply import Reply

_SHOWN = 2**14
"""Regions up to which those inside of loops are shown."""

Place = str | tuple[int, int]
"""Where a value comes from: an input, or a region and which of its outputs."""


class _Clock:
    """Time is taken, bytes are not: what would be allocated is only told."""

    def __init__(self, meter: Meter) -> None:
        self.tick = meter.tick

    def charge(self, nbytes: int, flops: int = 0, ops: int = 0) -> None:
        """Ask nobody."""


def forecast(program: Program, asked: PlanInputs, meter: Meter) -> Reply:
    """Shapes and dtypes of what it gives, FLOPs, bytes moved, bytes held at most, and regions.

    Raises TooMuchHere on the event loop: to make a plan takes some milliseconds.
    """
    if meter.allowance is not None:
        raise TooMuchHere
    if asked.wrt is not None and asked.transform == "evaluate":
        raise error(
            "invalid_request",
            "wrt: nothing is differentiated",
            'say what is: "transform": "value_and_grad", for one',
        )
    specs = [_spec(name, asked.inputs[name]) for name in program.inputs]
    results: dict[str, Tensor] = {}
    reply: dict[str, Reply] = {}

    def function(*inputs: Tensor) -> Sequence[Tensor]:
        outputs, parts = _given(program, asked, inputs)
        reply["outputs"] = dict(zip(program.outputs, map(_shown, outputs), strict=True))
        results.update(zip(program.outputs, outputs, strict=True))
        if asked.transform != "evaluate":
            name = PARTS.get(asked.transform, asked.transform)
            reply[name] = _specs(parts)
            results.update(_named(name, parts))
        return list(results.values())

    with using(meter=_Clock(meter)):
        found = whole(without_dead(_traced(program, function, specs)))
        return reply | {
            "flops": found.flops,
            "bytes_moved": found.moved,
            "peak_bytes": found.nbytes,
            "regions": _Regions().of(found, program.inputs, list(results)),
        }


def _given(
    program: Program, asked: PlanInputs, inputs: Sequence[Tensor]
) -> tuple[Sequence[Tensor], Mapping[str, Any]]:
    """The outputs, and the parts of the derivative that is asked for."""
    if asked.transform == "evaluate":
        return program(*inputs), {}
    wanted = Wanted.of(asked)
    if asked.transform == "value_and_grad":
        wanted = wanted._replace(cotangents=dict.fromkeys(program.outputs, ...))
    found = derive(asked.transform, Ask(program, inputs, wanted, _cotangent))
    return found.outputs, found.parts


def _cotangent(_: Any, like: Tensor) -> Tensor | None:
    """One of ones, where none is implied."""
    return ones_like(like) if like.shape and like.dtype.differentiable else None


def _named(name: str, part: Any) -> Iterator[tuple[str, Tensor]]:
    """The tensors of a derivative by their places in the reply: `grads.w`."""
    if isinstance(part, Mapping):
        for key, inner in part.items():
            yield from _named(f"{name}.{key}", inner)
    elif part is not None:
        yield name, part


def _specs(part: Any) -> Reply:
    """What a derivative will be, as its elements are answered."""
    if isinstance(part, Mapping):
        return {name: _specs(inner) for name, inner in part.items()}
    return None if part is None else _shown(part)


def _spec(name: str, given: InputSpec) -> Spec:
    spec = Spec(tuple(given.shape), DTYPES[given.dtype], "cpu")
    if not is_shape(given.shape) or spec.nbytes > ADDRESSABLE:
        raise error(
            "memory_limit",
            f"inputs: {name} would take {spec.nbytes} bytes",
            "no machine has that; give a smaller shape",
        )
    return spec


def _traced(program: Program, function: Any, specs: Sequence[Spec]) -> Graph:
    try:
        return trace(function, specs, draws=True, loops={})
    except UntraceableError as problem:
        raise _untraceable(program, problem) from None
    except GradwireError as problem:
        cause = problem.__cause__
        if not isinstance(cause, UntraceableError):
            raise
        raise _untraceable(program, cause) from None


def _untraceable(program: Program, problem: UntraceableError) -> GradwireError:
    return error(
        "untraceable",
        f"plan: program {program.id} can't be worked out from shapes alone: {problem}",
        "run it, by evaluate",
    )


class _Regions:
    """Parts as they are answered. What is inside of loops is shown as long as it isn't too much."""

    def __init__(self) -> None:
        self._left = _SHOWN

    def of(self, found: Whole, inputs: Sequence[str], results: Sequence[str] = ()) -> list[Reply]:
        """Parts; what they read by the names of inputs and the places of other regions."""
        self._left -= len(found.parts)
        places: dict[int, Place] = dict(zip(found.inputs, inputs, strict=True))
        for place, part in enumerate(found.parts):
            places |= {number: (place, output) for output, number in enumerate(part.makes)}
        gives: dict[int, list[str]] = {}
        for number, name in zip(found.outputs, results, strict=False):
            gives.setdefault(number, []).append(name)
        return [_region(part, places, gives) | self._loop(part) for part in found.parts]

    def _loop(self, part: Part) -> dict[str, Reply]:
        """What is said of a loop beside that."""
        if part.how != "loop":
            return {}
        shown = sum(len(step.parts) for step in part.inside) <= self._left
        if not shown:
            return {"times": part.times, "inside": None}
        *before, body = part.inside
        inside = [self.of(step, part.names) for step in before]
        return {"times": part.times, "inside": [*inside, self.of(body, part.names, part.results)]}


def _region(
    part: Part, places: Mapping[int, Place], gives: Mapping[int, Sequence[str]]
) -> dict[str, Reply]:
    names = ((place, name) for place, n in enumerate(part.makes) for name in gives.get(n, ()))
    return {
        "ops": list(part.ops),
        "how": part.how,
        "shape": None if part.shape is None else list(part.shape),
        "threads": part.threads,
        "reads": list(dict.fromkeys(places[n] for n in part.reads if n in places)),
        "outputs": [{"dtype": spec.dtype.name, "shape": list(spec.shape)} for spec in part.outputs],
        "gives": {name: place for place, name in names},
        "flops": part.flops,
        "bytes_moved": part.moved,
    }


def _shown(value: Tensor) -> Reply:
    return {"dtype": value.dtype.name, "shape": list(value.shape)}
