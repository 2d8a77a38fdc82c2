"""What a program will take for inputs of given shapes, worked out without running anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradwire_engine.call import ADDRESSABLE
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.mode import using
from gradwire_engine.plan import Graph, Plan, UntraceableError, simplified, trace
from gradwire_engine.plan.figures import peak
from gradwire_engine.plan.parts import Part, parts_of, parts_op_by_op
from gradwire_engine.plan.passes import without_dead
from gradwire_engine.spec import DTYPES, Spec
from gradwire_engine.tensor import Tensor
from gradwire_service.host.derivatives import PARTS, Ask, Wanted, derive
from gradwire_service.host.elements import is_shape
from gradwire_service.host.memory import Meter, TooMuchHere
from gradwire_service.host.programs import Program
from gradwire_service.host.protocol.transforms import InputSpec, PlanInputs
from gradwire_service.host.reply import Reply

_LONGEST = 2**12
"""Lines of a graph up to which a plan is made to be looked at: half a second."""


class _Clock:
    """Time is taken, bytes are not."""

    def __init__(self, meter: Meter) -> None:
        self.tick = meter.tick

    def charge(self, nbytes: int, flops: int = 0, ops: int = 0) -> None:
        """Nothing is allocated."""


def forecast(program: Program, asked: PlanInputs, meter: Meter) -> Reply:
    """Shapes and dtypes of what it gives, FLOPs, bytes moved, bytes held at most, and regions.

    Raises TooMuchHere on the event loop: to make a plan takes some milliseconds.
    """
    if meter.allowance is not None:
        raise TooMuchHere
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
        graph = without_dead(_traced(program, function, specs))
    return reply | _taken(graph, program.inputs, list(results))


def _given(
    program: Program, asked: PlanInputs, inputs: Sequence[Tensor]
) -> tuple[Sequence[Tensor], Mapping[str, Any]]:
    """The outputs, and the parts of the derivative that is asked for."""
    if asked.transform == "evaluate":
        return program(*inputs), {}
    found = derive(asked.transform, Ask(program, inputs, Wanted.of(asked), _unread))
    return found.outputs, found.parts


def _unread(value: Any, like: Tensor) -> Tensor | None:  # noqa: ARG001
    """Cotangents are none but those implied."""
    return None


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
        return trace(function, specs, draws=True)
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


def _taken(graph: Graph, inputs: Sequence[str], results: Sequence[str]) -> dict[str, Reply]:
    """What a run takes: by the plan where it has one, else op by op."""
    if _runs_op_by_op(graph):
        parts, first, last = parts_op_by_op(graph), graph.inputs, graph.outputs
        most = peak(graph, graph.given)
    else:
        plan = Plan(simplified(graph))
        parts, first, last = parts_of(plan), plan.code.inputs, plan.code.outputs
        most = plan.nbytes + plan.kept + sum(spec.nbytes for spec in graph.given)
    places: dict[int, str | int] = dict(zip(first, inputs, strict=True))
    places |= {number: place for place, part in enumerate(parts) for number in part.makes}
    gives: dict[int, list[str]] = {}
    for number, name in zip(last, results, strict=True):
        gives.setdefault(number, []).append(name)
    return {
        "flops": sum(part.flops for part in parts),
        "bytes_moved": sum(part.moved for part in parts),
        "peak_bytes": most,
        "regions": [_region(part, places, gives) for part in parts],
    }


def _runs_op_by_op(graph: Graph) -> bool:
    """Whether there is never a plan: for random numbers, half precision, and what is too long."""
    return len(graph.lines) > _LONGEST or any(
        line.op.random or any(spec.dtype.half for spec in line.specs) for line in graph.lines
    )


def _region(
    part: Part, places: Mapping[int, str | int], gives: Mapping[int, Sequence[str]]
) -> Reply:
    """A part; what it reads by the names of inputs and the places of other regions."""
    return {
        "ops": list(part.ops),
        "how": part.how,
        "shape": None if part.shape is None else list(part.shape),
        "threads": part.threads,
        "reads": list(dict.fromkeys(places[n] for n in part.reads if n in places)),
        "outputs": [{"dtype": spec.dtype.name, "shape": list(spec.shape)} for spec in part.outputs],
        "gives": {
            name: place for place, number in enumerate(part.makes) for name in gives.get(number, ())
        },
        "flops": part.flops,
        "bytes_moved": part.moved,
    }


def _shown(value: Tensor) -> Reply:
    return {"dtype": value.dtype.name, "shape": list(value.shape)}
