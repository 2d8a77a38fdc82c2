"""What a program will take for inputs of given shapes, worked out without running anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradwire_engine.call import ADDRESSABLE
from gradwire_engine.control.known import figures
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.mode import using
from gradwire_engine.plan import Graph, UntraceableError, trace
from gradwire_engine.plan.figures import flops, moved, peak
from gradwire_engine.plan.graph import Line
from gradwire_engine.plan.passes import without_dead
from gradwire_engine.spec import DTYPES, Spec
from gradwire_engine.tensor import Tensor
from gradwire_service.host.elements import is_shape
from gradwire_service.host.inside import Inside
from gradwire_service.host.programs import Program
from gradwire_service.host.protocol.transforms import InputSpec
from gradwire_service.host.reply import Reply
from gradwire_service.host.scope import Meter


class _Clock:
    """Time is taken, bytes are not."""

    def __init__(self, meter: Meter) -> None:
        self.tick = meter.tick

    def charge(self, nbytes: int, flops: int = 0, ops: int = 0) -> None:
        """Nothing is allocated."""


def forecast(program: Program, given: Mapping[str, InputSpec], meter: Meter) -> Reply:
    """Shapes and dtypes of the outputs, FLOPs, bytes moved, bytes held at most, and regions."""
    specs = [_spec(name, given[name]) for name in program.inputs]
    outputs: list[Tensor] = []

    def function(*inputs: Tensor) -> Sequence[Tensor]:
        outputs[:] = program(*inputs)
        return outputs

    with using(meter=_Clock(meter)):
        graph = without_dead(_traced(program, function, specs))
    return {
        "outputs": {name: _shown(y.spec) for name, y in zip(program.outputs, outputs, strict=True)},
        "flops": sum(map(flops, graph.lines)),
        "bytes_moved": sum(map(moved, graph.lines)),
        "peak_bytes": peak(graph, specs),
        "regions": list(map(_region, graph.lines)),
        "planned": figures(Inside(program))._asdict(),
    }


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


def _region(line: Line) -> Reply:
    return {
        "ops": [line.op.name],
        "outputs": list(map(_shown, line.specs)),
        "flops": flops(line),
        "bytes_moved": moved(line),
    }


def _shown(spec: Spec) -> Reply:
    return {"dtype": spec.dtype.name, "shape": list(spec.shape)}
