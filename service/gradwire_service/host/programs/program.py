"""A program: a callable on values, with an id; everything in it was checked when it was built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from gradwire_engine.catalogue import inplace_twin
from gradwire_engine.errors import error
from gradwire_engine.levels import everywhere, fresh
from gradwire_engine.mode import local
from gradwire_engine.pullback import tensors_of
from gradwire_engine.tensor import Tensor
from gradwire_service.host.elements import Array
from gradwire_service.host.programs.entry import Entry
from gradwire_service.host.programs.frame import Frame
from gradwire_service.host.programs.lifetimes import Ending, forget, lifetimes
from gradwire_service.host.protocol.step import StepPart
from gradwire_service.host.protocol.steps import OpStep
from gradwire_service.host.run import do
from gradwire_service.host.scope import Callee
from gradwire_service.host.steps import Steps

_NO_ARRAYS: Mapping[str, Array] = MappingProxyType({})


@dataclass(slots=True, eq=False, repr=False)
class Program:
    """Steps between named inputs and outputs. Frozen; runs may overlap on several threads.

    source: the text that it was read from, if it was; lines: for each step its line there.
    calls: the programs that it calls, by id. size: steps of a run, those of callees included.
    leaves: inputs that its own grad steps differentiate by. ending: names to forget, by step.
    writes: whether a step of it, or of one that it calls, is in place.
    """

    id: str
    entries: Sequence[Entry]
    steps: Sequence[StepPart]
    outputs: Sequence[str]
    source: str | None
    lines: Sequence[int]
    calls: Mapping[str, Callee]
    leaves: frozenset[str]
    size: int
    depth: int
    nbytes: int
    inputs: tuple[str, ...] = field(init=False)
    ending: list[list[Ending]] = field(init=False)
    writes: bool = field(init=False)

    def __post_init__(self) -> None:
        self.inputs = tuple(entry.name for entry in self.entries)
        self.ending = lifetimes(self.steps, self.outputs)
        self.writes = any(map(_writes, self.steps)) or any(
            getattr(callee, "writes", False) for callee in self.calls.values()
        )

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """The outputs for these inputs, in order; in the modes of this thread.

        Values are tensors, or what a transform wraps around them. An in-place op on an input
        writes into what was given.
        """
        if len(values) != len(self.entries):
            raise error(
                "invalid_argument",
                f"program {self.id}: it takes {len(self.entries)} inputs, got {len(values)}",
                raised=TypeError,
            )
        for entry, value in zip(self.entries, values, strict=True):
            if not entry.open:
                entry.check(value)
        frame = Frame(dict(zip(self.inputs, values, strict=True)), self.calls)
        if self.writes:
            frame.expect_writes(values)
        made = self._make_leaves(frame)
        outputs = self._run(frame)
        if (made or frame.variables) and not any(
            t.requires_grad for value in values for t in tensors_of(value)
        ):
            return tuple([everywhere(x, Tensor.detach) for x in outputs])
        return outputs

    def _make_leaves(self, frame: Frame) -> bool:
        """Have inputs require grad that grad steps in here differentiate by; whether any did not.

        Nobody outside sees it: these are tensors of this run.
        """
        made = False
        for name in self.leaves:
            value = frame.tensors[name]
            if not value.requires_grad and value.dtype.differentiable:
                frame.tensors[name] = fresh(value)
                made = True
        return made

    def _run(self, frame: Frame) -> tuple[Any, ...]:
        steps = Steps(frame, _NO_ARRAYS)
        steps.lines = self.lines
        frames = getattr(local.state.meter, "frames", None)
        if frames is not None:
            frames.append(frame.tensors)
        try:
            for index, step in enumerate(self.steps):
                do(steps, index, step)
                forget(self.ending[index], frame.tensors)
            return tuple([frame.given(name) for name in self.outputs])
        finally:
            if frames is not None:
                frames.pop()

    def also(self, names: Sequence[str]) -> Program:
        """The same program with these of its names as further outputs."""
        if not names:
            return self
        return replace(self, outputs=(*self.outputs, *names))

    def __repr__(self) -> str:
        return f"<program {self.id}>"


def _writes(step: StepPart) -> bool:
    return isinstance(step, OpStep) and (
        step.op == "__setitem__" or inplace_twin(step.op) is not None
    )
