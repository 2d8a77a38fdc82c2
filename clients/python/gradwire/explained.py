"""What a compiled function does with its arguments, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gradwire.tensor import Tensor
from gradwire_engine.errors import GradwireError, error

if TYPE_CHECKING:
    from gradwire.compiled import Variant


_SHOWN = 20
"""Lines of regions."""


@dataclass(frozen=True)
class Explanation:
    """program: its id, None where the function runs as Python, which `why` says.

    retraces: why it was written down, a reason each time. hits: calls that needed no trace.
    trace_seconds: what writing it down took. plan: outputs, flops, bytes_moved, peak_bytes and
    regions, as `plan` of the program answers; None where only a run can say. planned: plans that
    the host has of it, runs of them, and the seconds that making them took. given: dtypes and
    shapes of the program's inputs.
    """

    name: str
    program: str | None
    why: str
    inputs: tuple[str, ...]
    retraces: tuple[str, ...]
    hits: int
    trace_seconds: float
    plan: dict[str, Any] | None
    planned: dict[str, Any] | None
    given: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def picture(self, format: str = "svg") -> str:
        """The plan, its regions and their sizes, as "svg", "dot" or "mermaid"."""
        draw = import_module("gradwire_service.host.picture").DRAW
        if format not in draw:
            said = f"{format!r} is none of the formats"
            raise error("invalid_argument", said, f"one of {', '.join(draw)}", raised=ValueError)
        if self.plan is None:
            said = f"{self.name} has no plan to draw: {self.why or 'only a run can say'}"
            raise error("untraceable", said, "write it so that no step depends on a value")
        plan = import_module("gradwire_service.host.picture.plan")
        return str(draw[format](plan.plan_graph(self.plan, self.given)))

    def __str__(self) -> str:
        lines = [f"{self.name}({', '.join(self.inputs)})"]
        if self.program is None:
            lines.append(f"runs as Python: {self.why}")
        else:
            lines.append(f"program {self.program}, written down in {self.trace_seconds:.3g} s")
        if self.plan is not None:
            regions = [*_lines(self.plan["regions"], 1)]
            many = sum(region["how"] != "view" for region in self.plan["regions"])
            lines.append(
                f"{self.plan['flops']:,} FLOP in {many} regions, "
                f"{self.plan['bytes_moved']:,} bytes moved, "
                f"{self.plan['peak_bytes']:,} held at most"
            )
            lines += regions[:_SHOWN]
            if len(regions) > _SHOWN:
                lines.append(f"  and {len(regions) - _SHOWN} more")
        if self.planned is not None:
            loops = any(region["how"] == "loop" for region in (self.plan or {})["regions"])
            lines.append(LOOPS if loops else _of_plans(**self.planned))
        lines.append(f"{self.hits} calls needed no trace; {len(self.retraces)} traces:")
        return "\n".join([*lines, *(f"  {reason}" for reason in self.retraces)])


LOOPS = "runs op by op; the steps of its loops are planned"


def _lines(regions: Sequence[Mapping[str, Any]], depth: int) -> Iterator[str]:
    """Regions but views, as people read them; below a loop those of a step."""
    for region in regions:
        if region["how"] != "view":
            yield "  " * depth + _line(region)
            for step in region.get("inside") or ():
                yield from _lines(step, depth + 1)


def _line(region: Mapping[str, Any]) -> str:
    times = f" × {region['times']:,}" if region["how"] == "loop" else ""
    how = "" if region["shape"] is None else f" ({region['how']}, over {region['shape']})"
    flops = f": {region['flops']:,} FLOP" if region["flops"] else ""
    return " · ".join(region["ops"]) + times + how + flops


def _of_plans(made: int, runs: int, seconds: float) -> str:
    """What there was of plans."""
    if not made:
        return f"no plan yet, {runs} runs op by op"
    return f"{made} plans, made in {seconds:.3g} s; {runs} runs"


def described(
    name: str, variant: Variant, tensors: Sequence[Tensor], retraces: Sequence[str], hits: int
) -> Explanation:
    """The explanation of a variant at these tensors."""
    traced = variant.traced
    plan = planned = program = None
    inputs: dict[str, Any] = {}
    if traced is not None:
        program = traced.id
        values = [*tensors, *traced.args[len(tensors) :]]
        inputs = {
            name: {"dtype": x.dtype.name, "shape": list(x.shape)}
            for (name, _), x in zip(traced.trace.inputs, values, strict=True)
        }
        try:
            plan = dict(
                traced.trace.outer.transport.transform(
                    "plan", {"program": program, "inputs": inputs}
                )
            )
            planned = plan.pop("planned")
        except GradwireError as problem:
            if problem.code != "untraceable":
                raise
    shown = tuple(f"{x.dtype.name}{list(x.shape)}" for x in tensors)
    return Explanation(
        name, program, variant.why, shown, tuple(retraces), hits, variant.seconds, plan, planned,
        inputs,
    )  # fmt: skip


__all__ = ["Explanation", "described"]
