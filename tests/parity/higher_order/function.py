"""A random function of tensors, as data: drawn from a seed, run on torch or on gradwire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from tests.parity.higher_order.kinds import GROUPS, KINDS, Kind, Settings

SHAPES = ((), (2,), (3,), (1,), (2, 2), (2, 3), (3, 2), (1, 3), (3, 1), (2, 1, 2))
POINTS = 3
"""Points that a function is drawn at: where it is differentiated, and two more for batches."""
STEPS = (3, 9)
SMALL, LARGEST, CLOSEST = 12, 30.0, 1e-4
"""Elements of a value; their size; how near a jump of the slope may be."""


@dataclass(frozen=True)
class Step:
    """A kind with its settings, on values made before: inputs first, then steps."""

    kind: str
    operands: tuple[int, ...]
    settings: Settings = ()


@dataclass(frozen=True)
class Function:
    """Steps on inputs of these shapes. The last `outputs` values are what it gives."""

    seed: int
    shapes: tuple[tuple[int, ...], ...]
    steps: tuple[Step, ...]
    outputs: int = 1

    def values(self, torch: Any, inputs: Sequence[Any]) -> list[Any]:
        """All values, the inputs first."""
        values = list(inputs)
        for step in self.steps:
            operands = [values[i] for i in step.operands]
            values.append(KINDS[step.kind].run(torch, *operands, *step.settings))
        return values

    def vector(self, torch: Any) -> Any:
        """The function on a module: it gives one tensor, or a tuple of some."""

        def vector(*inputs: Any) -> Any:
            last = self.values(torch, inputs)[-self.outputs :]
            return tuple(last) if self.outputs > 1 else last[0]

        return vector

    def scalar(self, torch: Any) -> Any:
        """The function on a module, followed by a sum with weights."""

        def scalar(*inputs: Any) -> Any:
            last = self.values(torch, inputs)[-1].reshape(-1)
            return (last * torch.linspace(0.5, 1.7, last.shape[0], dtype=last.dtype)).sum()

        return scalar

    def points(self, number: int = 0) -> list[np.ndarray]:
        """Arguments, far enough from where slopes jump; number: which of the POINTS."""
        rng = np.random.default_rng((self.seed, number))
        return [np.asarray(rng.uniform(-1.5, 1.5, shape)) for shape in self.shapes]

    def directions(self, shapes: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """Tangents or cotangents of these shapes."""
        rng = np.random.default_rng((self.seed, POINTS))
        return [np.asarray(rng.uniform(-1, 1, tuple(shape))) for shape in shapes]

    def shorter(self) -> list[Function]:
        """The function cut off after each of its steps, the shortest first."""
        return [replace(self, steps=self.steps[:n], outputs=1) for n in range(1, len(self.steps))]

    def __str__(self) -> str:
        lines = [f"v{i} = input of shape {shape}" for i, shape in enumerate(self.shapes)]
        for number, step in enumerate(self.steps, len(self.shapes)):
            given = [f"v{i}" for i in step.operands] + [repr(s) for s in step.settings]
            lines.append(f"v{number} = {step.kind}({', '.join(given)})")
        return "\n".join([*lines, f"gives the last {self.outputs}"])


def drawn(seed: int) -> Function:
    """The function of a seed; every step is tried at all points, and kept where it fits."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 4))
    shapes = tuple(SHAPES[i] for i in rng.integers(0, len(SHAPES), count))
    length = int(rng.integers(*STEPS))
    made = Function(seed, shapes, ())
    values = [[torch.from_numpy(p) for p in made.points(n)] for n in range(POINTS)]
    while len(made.steps) < length:
        step = _step(rng, [tuple(v.shape) for v in values[0]])
        results = None if step is None else [_tried(step, at) for at in values]
        if step is None or results is None or any(r is None for r in results):
            continue
        for at, result in zip(values, results, strict=True):
            at.append(result)
        made = replace(made, steps=(*made.steps, step))
    return replace(made, outputs=int(rng.choice([1, 1, 2])))


def _step(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> Step | None:
    group = GROUPS[str(rng.choice(list(GROUPS)))]
    name = str(rng.choice(list(group)))
    kind = group[name]
    recent = max(0, len(shapes) - 3) if rng.integers(2) else 0
    operands = tuple(int(i) for i in rng.integers(recent, len(shapes), kind.arity))
    try:
        return Step(name, operands, kind.settings(rng, [shapes[i] for i in operands]))
    except (ValueError, IndexError):
        return None


def _tried(step: Step, values: Sequence[torch.Tensor]) -> torch.Tensor | None:
    """What a step gives at a point; None where it can't be a step of a function."""
    kind: Kind = KINDS[step.kind]
    operands = [values[i] for i in step.operands]
    try:
        result: torch.Tensor = kind.run(torch, *operands, *step.settings)
        edge = kind.edge(*[o.numpy() for o in operands], *step.settings)
    except (RuntimeError, IndexError, TypeError, ValueError):
        return None
    fits = 0 < result.numel() <= SMALL and result.abs().max() <= LARGEST
    return result if fits and edge >= CLOSEST and bool(result.isfinite().all()) else None
