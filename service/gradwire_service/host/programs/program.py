"""A program: a callable on values, with an id; everything in it was checked when it was built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from gradwire_service.host.programs.lifetimes import forget, lifetimes
from gradwire_service.host.protocol.step import StepPart
from gradwire_service.host.protocol.steps import OpStep
from gradwire_service.host.run import do
from gradwire_service.host.scope import Callee
from gradwire_service.host.steps import Steps

_NO_ARRAYS: Mapping[str, Array] = MappingProxyType({})


class Program:
    """Steps between named inputs and outputs. Frozen; runs may overlap on several threads.

    source: the text that it was read from, if it was; lines: for each step its line there.
    calls: the programs that it calls, by id. size: steps of a run, those of callees included.
    leaves: inputs that its own grad steps differentiate by. ending: names to forget, by step.
    writes: whether a step of it, or of one that it calls, is in place.
    """

    __slots__ = (
        "calls", "depth", "ending", "entries", "id", "inputs", "leaves", "lines", "nbytes",
        "outputs", "size", "source", "steps", "writes",
    )  # fmt: skip

    def __init__(
        self,
        key: str,
        entries: Sequence[Entry],
        steps: Sequence[StepPart],
        outputs: Sequence[str],
        *,
        source: str | None = None,
        lines: Sequence[int] = (),
        calls: Mapping[str, Callee],
        leaves: frozenset[str] = frozenset(),
        size: int = 0,
        depth: int = 1,
        nbytes: int = 0,
    ) -> None:
        self.id = key
        self.entries = tuple(entries)
        self.inputs = tuple(entry.name for entry in entries)
        self.steps, self.outputs, self.lines = tuple(steps), tuple(outputs), tuple(lines)
        self.source, self.calls, self.leaves = source, calls, leaves
        self.ending = lifetimes(steps, outputs)
        self.size, self.depth, self.nbytes = size, depth, nbytes
        self.writes = any(map(_writes, steps)) or any(
            getattr(callee, "writes", False) for callee in calls.values()
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
        return Program(
            self.id,
            self.entries,
            self.steps,
            [*self.outputs, *names],
            source=self.source,
            lines=self.lines,
            calls=self.calls,
            leaves=self.leaves,
            size=self.size,
            depth=self.depth,
            nbytes=self.nbytes,
        )

    def __repr__(self) -> str:
        return f"<program {self.id}>"


def _writes(step: StepPart) -> bool:
    return isinstance(step, OpStep) and (
        step.op == "__setitem__" or inplace_twin(step.op) is not None
    )
