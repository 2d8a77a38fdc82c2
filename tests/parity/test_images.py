"""Ops on images, signals and bags against torch: values, gradients, their gradients, node names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tests.engine.samples import Call, bags, images
from tests.engine.trial import host, on

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import CATALOGUE, resolve
from gradwire_engine.errors import GradwireError
from gradwire_engine.tensor import Tensor

SAMPLES = images.SAMPLES | bags.SAMPLES
F = torch.nn.functional

ONCE = {"nn.functional.grid_sample", "nn.functional.embedding_bag", "nn.functional.ctc_loss"}
"""What torch differentiates only once, or not at all a second time for some arguments."""

OTHER_NAMES = {"nn.functional.lp_pool1d", "nn.functional.lp_pool2d", "nn.functional.lp_pool3d"}
"""Made of other ops in torch too, by another last step where the norm is the maximum."""

# torch warns of older names, and of what an argument left out means
pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated", "ignore:Default", "ignore:Using")


def mapped(value: Any, make: Callable[[np.ndarray], Any]) -> Any:
    """The same structure with its arrays made into something else."""
    if isinstance(value, np.ndarray):
        return make(value)
    if isinstance(value, dict):
        return {k: mapped(v, make) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(mapped(v, make) for v in value)
    return value


def theirs(array: np.ndarray) -> torch.Tensor:
    return torch.tensor(np.array(array), requires_grad=array.dtype.kind == "f")


def ours(array: np.ndarray) -> Tensor:
    return on("cpu", array, array.dtype.kind == "f")


class Side:
    """A call on one of the two libraries, its leaves and its results that have a gradient."""

    def __init__(self, run: Callable[..., Any], call: Call, make: Callable[..., Any]) -> None:
        self.leaves: list[Any] = []
        args, kwargs = mapped(call, lambda a: self._leaf(make(a)))
        found = run(*args, **kwargs)
        self.outputs = list(found) if isinstance(found, tuple) else [found]
        self.rooted = [y for y in self.outputs if y.requires_grad]

    def _leaf(self, leaf: Any) -> Any:
        if leaf.requires_grad:
            self.leaves.append(leaf)
        return leaf


def both(name: str, call: Call) -> tuple[Side, Side]:
    return Side(getattr(F, name.rpartition(".")[2]), call, theirs), Side(resolve(name), call, ours)


def equal(found: Tensor | None, wanted: torch.Tensor | None) -> None:
    if found is None or wanted is None:
        left = host(found) if found is not None else wanted
        assert left is None or not np.any(np.asarray(left)), "a gradient on one side only"
        return
    expected = wanted.detach().numpy()
    assert (found.shape, host(found).dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(host(found), expected, rtol=1e-9, atol=1e-10)


def weights(values: list[Any]) -> tuple[list[torch.Tensor], list[Tensor]]:
    rng = np.random.default_rng(1)
    drawn = [rng.standard_normal(tuple(v.shape)) for v in values]
    return [torch.tensor(d) for d in drawn], [on("cpu", np.asarray(d)) for d in drawn]


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_values_and_derivatives_are_torchs(name: str) -> None:
    for call in SAMPLES[name](np.random.default_rng(0)):
        them, us = both(name, call)
        for y, wanted in zip(us.outputs, them.outputs, strict=True):
            equal(y, wanted)
        assert len(us.rooted) == len(them.rooted)
        if name not in OTHER_NAMES:
            assert [y.grad_fn.name() for y in us.rooted] == [y.grad_fn.name() for y in them.rooted]
        twice = name not in ONCE
        their_g, our_g = weights(them.rooted)
        wanted = torch.autograd.grad(
            them.rooted, them.leaves, their_g, create_graph=twice, allow_unused=True
        )
        found = grad(us.rooted, us.leaves, our_g, create_graph=True, allow_unused=True)
        for a, b in zip(found, wanted, strict=True):
            equal(a, b)
        if twice:
            second(us, found, them, wanted)


def second(us: Side, found: Any, them: Side, wanted: Any) -> None:
    """Gradients of gradients, of those that depend on anything on torch's side."""
    pairs = [(a, b) for a, b in zip(found, wanted, strict=True) if b is not None]
    pairs = [(a, b) for a, b in pairs if b.requires_grad]
    if not pairs or not all(a.requires_grad for a, _ in pairs):
        return
    their_g, our_g = weights([b for _, b in pairs])
    more = torch.autograd.grad([b for _, b in pairs], them.leaves, their_g, allow_unused=True)
    mine = grad([a for a, _ in pairs], us.leaves, our_g, allow_unused=True)
    for a, b in zip(mine, more, strict=True):
        equal(a, b)


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape)


REFUSED: list[tuple[str, Call]] = [
    ("conv2d", ((draw(1, 3, 4, 4), draw(2, 4, 3, 3)), {})),
    ("conv2d", ((draw(1, 3, 4, 4), draw(2, 3, 5, 5)), {})),
    ("conv2d", ((draw(1, 3, 4, 4), draw(2, 3, 3)), {})),
    ("conv2d", ((draw(3, 4), draw(2, 3, 3, 3)), {})),
    ("conv2d", ((draw(1, 3, 4, 4), draw(2, 3, 3, 3), draw(3)), {})),
    ("conv2d", ((draw(1, 3, 4, 4), draw(2, 3, 3, 3)), {"padding": -1})),
    ("conv2d", ((draw(1, 3, 4, 4), draw(2, 3, 3, 3)), {"stride": 0})),
    ("conv2d", ((draw(1, 3, 4, 4), draw(2, 3, 3, 3)), {"dilation": 0})),
    ("conv2d", ((draw(1, 3, 4, 4), draw(2, 3, 3, 3)), {"groups": 0})),
    ("conv2d", ((draw(1, 4, 4, 4), draw(3, 2, 3, 3)), {"groups": 2})),
    ("conv2d", ((draw(1, 3, 4, 4), draw(2, 3, 3, 3)), {"stride": (1, 2, 3)})),
    ("conv2d", ((draw(1, 3, 4, 4), draw(2, 3, 3, 3)), {"padding": "around"})),
    ("conv2d", ((draw(1, 3, 4, 4), draw(2, 3, 3, 3)), {"padding": "same", "stride": 2})),
    ("conv2d", ((draw(1, 3, 4, 4).astype("f4"), draw(2, 3, 3, 3)), {})),
    ("conv_transpose2d", ((draw(1, 3, 4, 4), draw(2, 4, 3, 3)), {})),
    ("conv_transpose2d", ((draw(1, 3, 4, 4), draw(3, 4, 3, 3)), {"output_padding": 1})),
    ("conv_transpose2d", ((draw(1, 3, 2, 2), draw(3, 4, 1, 1)), {"padding": 3})),
    ("max_pool2d", ((draw(1, 2, 4, 4), 5), {})),
    ("max_pool2d", ((draw(1, 2, 4, 4), 2), {"padding": 2})),
    ("max_pool2d", ((draw(1, 2, 0, 4), 2), {})),
    ("avg_pool2d", ((draw(1, 2, 4, 4), 2), {"divisor_override": 0})),
    ("avg_pool2d", ((draw(1, 1, 1, 4, 4), 2), {})),
    ("adaptive_avg_pool2d", ((draw(1, 2, 4, 4), (-1, 2)), {})),
    ("adaptive_max_pool2d", ((draw(2, 2), (2, 2)), {})),
    ("unfold", ((draw(1, 2, 4, 4), 5), {})),
    ("fold", ((draw(1, 8, 5), 3, 2), {})),
    ("interpolate", ((draw(1, 2, 4, 4),), {})),
    ("interpolate", ((draw(1, 2, 4, 4), 2), {"mode": "linear"})),
    ("interpolate", ((draw(1, 2, 4, 4), 2), {"mode": "nearest", "align_corners": True})),
    ("interpolate", ((draw(1, 2, 4, 4), 2), {"scale_factor": 2.0})),
    ("interpolate", ((draw(1, 2, 4, 4), 0), {})),
    ("grid_sample", ((draw(1, 2, 4, 4), draw(2, 2, 2, 2)), {})),
    ("grid_sample", ((draw(1, 2, 4, 4), draw(1, 2, 2, 2)), {"mode": "cubic"})),
    ("affine_grid", ((draw(2, 2, 3), (1, 1, 2, 2)), {})),
    ("pixel_shuffle", ((draw(1, 3, 2, 2), 2), {})),
    ("glu", ((draw(2, 3),), {})),
    ("embedding_bag", ((np.array([0, 1]), draw(3, 2)), {})),
    ("embedding_bag", ((np.array([0, 1]), draw(3, 2), np.array([1])), {})),
    ("ctc_loss", ((draw(5, 1, 3), np.array([[1, 2]]), (6,), (2,)), {})),
    ("ctc_loss", ((draw(5, 1, 3), np.array([[1, 2]]), (5,), (2,)), {"blank": 3})),
]


@pytest.mark.parametrize(
    ("name", "call"), REFUSED, ids=[f"{n}-{i}" for i, (n, _) in enumerate(REFUSED)]
)
def test_what_torch_refuses_is_refused_with_its_class(name: str, call: Call) -> None:
    with pytest.raises(Exception) as theirs_raised:  # noqa: PT011 (whatever class it is)
        getattr(F, name)(*mapped(call[0], theirs), **call[1])
    with pytest.raises(GradwireError) as raised:
        resolve(f"nn.functional.{name}")(*mapped(call[0], ours), **call[1])
    assert isinstance(raised.value, theirs_raised.type), str(theirs_raised.value)
    assert raised.value.detail
    assert raised.value.hint


@pytest.mark.parametrize("norm_type", [1.0, 2.0, float("inf")])
def test_rows_beyond_a_norm_are_scaled_in_the_weight_itself(norm_type: float) -> None:
    index, table = np.array([[0, 1], [1, 3]]), draw(5, 3)
    theirs_table, ours_table = torch.tensor(table), on("cpu", table)
    options: dict[str, Any] = {"max_norm": 1.0, "norm_type": norm_type}
    wanted = F.embedding(torch.tensor(index), theirs_table, **options)
    found = resolve("nn.functional.embedding")(on("cpu", index), ours_table, **options)
    equal(found, wanted)
    equal(ours_table, theirs_table)


def test_every_op_sampled_is_in_the_catalogue() -> None:
    assert set(SAMPLES) <= set(CATALOGUE)
