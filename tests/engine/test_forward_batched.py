"""Forward mode of batched values: vmap of a jvp and the jvp of a vmap do what a loop does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.engine.batches import SIZE, Batch, values_in
from tests.engine.samples import samples_of
from tests.engine.test_vmap_registry import BY_ELEMENTS, IN_FORM, IN_ROWS, plain
from tests.engine.trial import REFUSED, Host, host, on

from gradwire_engine.forward import push
from gradwire_engine.mode import no_grad
from gradwire_engine.spec import DType, float32, float64
from gradwire_engine.tensor import Tensor
from gradwire_engine.vmap import vmap

LEFT_OUT = BY_ELEMENTS | IN_FORM | IN_ROWS | REFUSED
"""Ops that look at elements or write to a leaf: what vmap says of them is tested there."""

NARROW = {"float", "cfloat", "half", "bfloat16", "to"}
"""Conversions, whose precision is that of what they convert to."""


def batch_of(name: str, dtype: DType) -> Batch | None:
    """The smallest sample with operands and results of floats, in a dtype."""
    found = [Batch(name, call) for call in samples_of(name)]
    moving = [b for b in found if any(a.dtype.kind == "f" for a in b.arrays) and gives_floats(b)]
    if not moving:
        return None
    batch = min(moving, key=lambda b: sum(a.size for a in b.arrays))
    batch.rows = [r.astype(dtype.numpy) if r.dtype.kind == "f" else r for r in batch.rows]
    return batch


def gives_floats(batch: Batch) -> bool:
    """Whether a result can have a tangent, which a comparison's can't."""
    results = values_in(batch.run([on("cpu", a) for a in batch.arrays]))
    return any(y.dtype.differentiable for y in results)


def tangents(batch: Batch, at: list[Tensor], along: list[Tensor]) -> list[Tensor]:
    """The tangents of the results that have one."""
    places = [i for i, x in enumerate(at) if x.dtype.differentiable]

    def run(*moved: Any) -> list[Any]:
        values = list(at)
        for place, value in zip(places, moved, strict=True):
            values[place] = value
        return [y for y in values_in(batch.run(values)) if y.dtype.differentiable]

    inputs = [at[i] for i in places]
    return list(push("test", run, tuple(inputs), inputs, along).full_tangents)


@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
@pytest.mark.parametrize("name", [n for n in plain if n not in LEFT_OUT and samples_of(n)])
def test_tangents_of_a_batch_are_those_of_its_examples(name: str, dtype: DType) -> None:
    batch = batch_of(name, dtype)
    if batch is None:
        return
    rng = np.random.default_rng(3)
    rows = [on("cpu", r) for r in batch.rows]
    moving = [r for r in rows if r.dtype.differentiable]
    along = [on("cpu", rng.uniform(-1, 1, r.shape).astype(r.dtype.numpy)) for r in moving]
    with no_grad():
        wanted = [_one(batch, k, along) for k in range(SIZE)]
        inside = vmap(lambda x, v: tangents(batch, list(x), list(v)))(tuple(rows), tuple(along))
        outside = _of_vmap(batch, rows, along)
    for found in (inside, outside):
        for column, y in zip(zip(*wanted, strict=True), found, strict=True):
            agree(name, host(y), np.stack(column), dtype)


def _one(batch: Batch, index: int, along: list[Tensor]) -> list[Host]:
    at = [on("cpu", rows[index]) for rows in batch.rows]
    return [host(t) for t in tangents(batch, at, [on("cpu", host(v)[index]) for v in along])]


def _of_vmap(batch: Batch, rows: list[Tensor], along: list[Tensor]) -> list[Tensor]:
    """The tangents of the function over the batch."""
    places = [i for i, x in enumerate(rows) if x.dtype.differentiable]

    def run(*moved: Any) -> list[Any]:
        values = list(rows)
        for place, value in zip(places, moved, strict=True):
            values[place] = value
        found = vmap(lambda *v: batch.run(v))(*values)
        return [y for y in values_in(found) if y.dtype.differentiable]

    inputs = [rows[i] for i in places]
    return list(push("test", run, tuple(inputs), inputs, along).full_tangents)


def agree(name: str, found: Host, wanted: Host, dtype: DType) -> None:
    """To the precision of the dtype; large numbers set the scale."""
    assert found.dtype == wanted.dtype
    rough = dtype is float32 or name in NARROW
    tolerance = 2e-2 if name in ("half", "bfloat16") else 2e-4 if rough else 1e-9
    scale = np.abs(wanted).max(initial=1)
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale)
