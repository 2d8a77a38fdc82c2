"""What a compiled function does with its arguments, for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradwire.tensor import Tensor
from gradwire_engine.errors import GradwireError

if TYPE_CHECKING:
    from gradwire.compiled import Variant


@dataclass(frozen=True)
class Explanation:
    """program: its id, None where the function runs as Python, which `why` says.

    retraces: why it was written down, a reason each time. hits: calls that needed no trace.
    trace_seconds: what writing it down took. plan: outputs, flops, bytes_moved, peak_bytes and
    regions, as `plan` of the program answers; None where only a run can say. planned: plans that
    the host has of it, steps they ran, and the seconds that making them took.
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

    def __str__(self) -> str:
        lines = [f"{self.name}({', '.join(self.inputs)})"]
        if self.program is None:
            lines.append(f"runs as Python: {self.why}")
        else:
            lines.append(f"program {self.program}, written down in {self.trace_seconds:.3g} s")
        if self.plan is not None:
            lines.append(
                f"{self.plan['flops']} FLOPs, {self.plan['bytes_moved']} bytes moved, "
                f"{self.plan['peak_bytes']} at most"
            )
        if self.planned is not None:
            lines.append(
                "plans: {made}, made in {seconds:.3g} s, run {runs} times".format(**self.planned)
            )
        lines.append(f"{self.hits} calls needed no trace; {len(self.retraces)} traces:")
        return "\n".join([*lines, *(f"  {reason}" for reason in self.retraces)])


def described(
    name: str, variant: Variant, tensors: Sequence[Tensor], retraces: Sequence[str], hits: int
) -> Explanation:
    """The explanation of a variant at these tensors."""
    traced = variant.traced
    plan = planned = program = None
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
        name, program, variant.why, shown, tuple(retraces), hits, variant.seconds, plan, planned
    )


__all__ = ["Explanation", "described"]
