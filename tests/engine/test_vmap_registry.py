"""vmap and batched walks over every op of the registry: they do what a loop does."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from tests.engine.batches import SIZE, Batch, visit
from tests.engine.samples import samples_of
from tests.engine.trial import REFUSED, Host, Trial, cast, host, like, on

from gradwire_engine.backward import grad
from gradwire_engine.batch.apply import rule_of
from gradwire_engine.batch.one_by_one import one_by_one
from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.errors import GradwireError
from gradwire_engine.op import Primitive
from gradwire_engine.tensor import Tensor
from gradwire_engine.vmap import vmap

BY_ELEMENTS = {
    "__getitem__", "argwhere", "bincount", "index_put", "linspace", "logspace", "masked_select",
    "narrow", "nn.functional.one_hot", "nonzero", "repeat_interleave", "tensor_split", "unique",
    "unique_consecutive",
}  # fmt: skip
"""Ops that for some operands look at elements, which vmap refuses by name as torch does."""

IN_FORM = {
    name
    for name, op in CATALOGUE.items()
    if op.overloads[0].function.__module__ == "gradwire_engine.reform"
}
"""Ops that change a tensor's form in place, which a transform's value doesn't do."""

IN_ROWS = {"__setitem__"}
"""Ops that write to their first operand, which then has to be batched."""

LOOPS = {
    "as_strided_outside": "it is never run: a node of views is called so",
    "factored_system": "it is for one large matrix: many go as a stack, by another op",
    "histc": "each example's intervals go from its own smallest element to its largest",
    "repeated_places": "each example repeats its places its own number of times",
    "row_shares": "rows are counted within an example: the same index in two is two rows",
}
"""The primitives with operands that go over examples one by one, and why; no others do."""

plain = [n for n in sorted(CATALOGUE) if not any(o.random for o in CATALOGUE[n].overloads)]
every_op = pytest.mark.parametrize("name", [n for n in plain if samples_of(n)])


def batches(name: str) -> list[Batch]:
    found = [Batch(name, call) for call in samples_of(name)]
    return [batch for batch in found if batch.arrays]


def front(array: Host) -> int:
    return 0


def back(array: Host) -> int:
    return array.ndim


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


def mapped(batch: Batch, subset: tuple[int, ...], where: Any) -> list[Tensor] | None:
    """What vmap gives; None where it refuses an op by name that it may refuse."""
    values, dims = batch.operands(subset, where)
    try:
        found: list[Tensor] = vmap(lambda *v: batch.run(v), in_dims=dims)(*values)
    except GradwireError as refusal:
        if refusal.code == "untraceable" and batch.name in BY_ELEMENTS | IN_FORM:
            return None
        if refusal.code == "view_in_place" and batch.name in IN_ROWS and 0 not in subset:
            return None
        raise
    return found


@every_op
def test_vmap_does_what_a_loop_does(name: str) -> None:
    for batch in batches(name):
        for subset in batch.subsets():
            for where in (front, back):
                found = mapped(batch, subset, where)
                if found is None:
                    continue
                for y, wanted in zip(found, batch.loop(subset), strict=True):
                    assert (y.shape, y.dtype.numpy) == (wanted.shape, wanted.dtype)
                    close(host(y), wanted)


SINGLE = {"f": np.dtype("float32"), "c": np.dtype("complex64")}
PLACES = 1e-5
"""Of the largest number: what sums in another order may be apart in float32."""


@every_op
def test_vmap_in_float32_does_what_a_loop_does(name: str) -> None:
    for call in samples_of(name):
        batch = Batch(name, visit(call, lambda a: a.astype(SINGLE.get(a.dtype.kind, a.dtype))))
        subset = tuple(range(len(batch.arrays)))
        found = mapped(batch, subset, front) if subset else None
        if found is None:
            continue
        for y, wanted in zip(found, batch.loop(subset), strict=True):
            assert (y.shape, y.dtype.numpy) == (wanted.shape, wanted.dtype)
            numbers = wanted[np.isfinite(wanted)] if wanted.dtype.kind in "fc" else wanted
            size = float(np.abs(numbers).max(initial=0))
            np.testing.assert_allclose(host(y), wanted, rtol=PLACES, atol=PLACES * size)


def slopes(outputs: list[Tensor], leaves: list[Tensor], cotangents: list[Host]) -> list[Host]:
    """Gradients by the leaves, zero where nothing arrives."""
    given = [(y, on("cpu", c)) for y, c in zip(outputs, cotangents, strict=True) if y.requires_grad]
    if not given:
        return [np.zeros(x.shape) for x in leaves]
    ys, cs = zip(*given, strict=True)
    return [host(g) for g in grad(ys, leaves, cs, materialize_grads=True) if g is not None]


@pytest.mark.parametrize("name", [n for n in plain if samples_of(n) and n not in REFUSED])
def test_gradients_go_through_vmap(name: str) -> None:
    rng = np.random.default_rng(11)
    for batch in batches(name):
        subset = tuple(range(len(batch.arrays)))
        values, dims = batch.operands(subset, front)
        leaves = batch.leaves(values)
        try:
            outputs = vmap(lambda *v, batch=batch: batch.run(v), in_dims=dims)(*values)
        except GradwireError as refusal:
            if (refusal.code, name) == ("leaf_in_place", "__setitem__"):
                continue  # the argument is a leaf, here as in the loop
            if refusal.code == "untraceable" and name in BY_ELEMENTS | IN_FORM:
                continue
            raise
        weights = [host(on("cpu", cast(like(rng, y.shape), y.dtype))) for y in outputs]
        found = slopes(outputs, leaves, weights)
        rows = []
        for k in range(SIZE):
            one = batch.example(subset, k)
            few = batch.leaves(one)
            rows.append(slopes(batch.run(one), few, [w[k] for w in weights]))
        for g, wanted in zip(found, zip(*rows, strict=True), strict=True):
            close(g, np.stack(wanted))


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", sorted(filter(samples_of, CATALOGUE)))
def test_a_batched_walk_does_what_a_loop_of_walks_does(name: str, create_graph: bool) -> None:
    rng = np.random.default_rng(5)
    for trial in [Trial(name, call) for call in samples_of(name)]:
        leaves = trial.tensors(trial.points)
        outputs = [y for y in trial.run(leaves) if y.requires_grad]
        if not outputs:
            continue
        many = [on("cpu", cast(like(rng, (SIZE, *y.shape)), y.dtype)) for y in outputs]
        options: dict[str, Any] = {"retain_graph": True, "allow_unused": True}
        found = grad(
            outputs, leaves, many, create_graph=create_graph, is_grads_batched=True, **options
        )
        rows = []
        for k in range(SIZE):
            one = [on("cpu", host(g)[k]) for g in many]
            rows.append(grad(outputs, leaves, one, **options))
        for g, wanted in zip(found, zip(*rows, strict=True), strict=True):
            assert (g is None) == (wanted[0] is None)
            if g is not None:
                assert g.dtype is wanted[0].dtype
                close(host(g), np.stack([host(w) for w in wanted]))


def test_no_other_op_goes_over_examples_one_by_one() -> None:
    """Where the elements may decide the result's shape, or numbers are drawn, no rule is asked."""
    every = {id(o): o for o in gc.get_objects() if isinstance(o, Primitive)}.values()
    primitives = [op for op in every if op.function.__module__.startswith("gradwire_engine.")]
    looped = {
        op.name
        for op in primitives
        if op.places and rule_of(op) is one_by_one and not (op.data_dependent or op.random)
    }
    assert looped == LOOPS.keys()
