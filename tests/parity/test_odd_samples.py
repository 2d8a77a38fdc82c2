"""Samples that torch's table lacks: values, dtypes, shapes, first and second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gradwire


class Given:
    """Operands of a sample, the same numbers in either library; floats require grad."""

    def __init__(self, module: Any) -> None:
        self.m = module
        self.F = module.nn.functional
        self.leaves: list[Any] = []
        self._random = np.random.default_rng(7)

    def x(self, *shape: int) -> Any:
        """Normal random numbers."""
        return self._leaf(self._random.normal(size=shape))

    def p(self, *shape: int) -> Any:
        """Positive ones."""
        return self._leaf(self._random.uniform(0.2, 2, shape))

    def c(self, *shape: int) -> Any:
        """Complex ones."""
        return self._leaf(self._random.normal(size=shape) + 1j * self._random.normal(size=shape))

    def _leaf(self, array: Any) -> Any:
        made = self.m.tensor(np.asarray(array))
        self.leaves.append(made.requires_grad_())
        return made


Sample = Callable[[Given], Any]

SAMPLES: dict[str, Sample] = {
    "a transposed convolution that is longer than its windows": lambda g: g.F.conv_transpose1d(
        g.x(2, 4, 9), g.x(4, 3, 3), g.x(3), dilation=2, output_padding=1
    ),
    "the same of images, in groups": lambda g: g.F.conv_transpose2d(
        g.x(2, 4, 5, 6), g.x(4, 2, 3, 2), g.x(4), dilation=(3, 2), output_padding=(2, 1), groups=2
    ),
    "huber_loss with weights has a plain mean": lambda g: g.F.huber_loss(
        g.x(3, 4), g.x(3, 4), weight=g.p(3, 4)
    ),
    "mse_loss with weights has a weighted mean": lambda g: g.F.mse_loss(
        g.x(3, 1), g.x(3, 4), weight=g.p(3, 1).detach()
    ),
    "one matrix solves a stack": lambda g: g.m.triangular_solve(g.x(2, 3, 2), g.x(3, 3)),
    "singular values alone, of a tall matrix": lambda g: g.m.svd(g.x(4, 3), compute_uv=False),
    "a conversion to another tensor's dtype": lambda g: g.x(3).to(g.m.tensor([1.0])),
    "a comparison written in place": lambda g: (g.x(3) * 2).ge_(g.x(3)),
}


def _derivatives(make: Sample, module: Any) -> list[Any]:
    given = Given(module)
    found = make(given)
    results = list(found) if isinstance(found, tuple | list) else [found]
    shown = [*results]
    outputs = [y for y in results if y.requires_grad]
    random = np.random.default_rng(8)
    for _ in range(2):
        if not outputs:
            break
        weights = [_cotangent(module, y, random) for y in outputs]
        outputs = list(
            module.autograd.grad(
                outputs, given.leaves, weights, create_graph=True, allow_unused=True
            )
        )
        shown += outputs
        outputs = [y for y in outputs if y is not None and y.requires_grad]
    return [None if y is None else y.detach().numpy() for y in shown]


def _cotangent(module: Any, like: Any, random: np.random.Generator) -> Any:
    drawn = random.normal(size=tuple(like.shape))
    return module.tensor(np.asarray(drawn + 1j * drawn if like.is_complex() else drawn)).to(
        like.dtype
    )


@pytest.mark.filterwarnings(
    "ignore:Using a target size", "ignore:torch.triangular_solve is deprecated"
)
@pytest.mark.parametrize("sample", SAMPLES)
def test_it_is_torchs(sample: str) -> None:
    found, wanted = (_derivatives(SAMPLES[sample], m) for m in (gradwire, torch))
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        if theirs is None:
            assert ours is None or not ours.any()
            continue
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


def _attended(g: Given, **changed: Any) -> Any:
    """Attention of two heads, with some arguments of another kind."""
    names = ("embed_dim_to_check", "num_heads", "in_proj_weight", "in_proj_bias", "bias_k")
    usual = dict(zip(names, (6, 2, g.x(18, 6), g.x(18), None), strict=True))
    rest = {"bias_v": None, "add_zero_attn": False, "dropout_p": 0.0}
    rest |= {"out_proj_weight": g.x(6, 6), "out_proj_bias": g.x(6)}
    query, key, value = g.x(4, 2, 6), g.x(5, 2, 6), g.x(5, 2, 6)
    return g.F.multi_head_attention_forward(query, key, value, **(usual | rest | changed))


REFUSED: dict[str, tuple[type[Exception], Sample]] = {
    "a size for one of two axes": (
        RuntimeError,
        lambda g: g.F.adaptive_avg_pool2d(g.x(1, 2, 4, 4), (3,)),
    ),
    "mirrored, and a value": (
        RuntimeError,
        lambda g: g.F.pad(g.x(2, 3, 4), (1, 2), mode="reflect", value=1.0),
    ),
    "a vector for a weight, and a bias": (
        RuntimeError,
        lambda g: g.F.linear(g.x(3, 4), g.x(4), g.x()),
    ),
    "weights of another shape": (
        ValueError,
        lambda g: g.F.huber_loss(g.x(3, 4), g.x(3, 4), weight=g.p(4)),
    ),
    "more elements than places": (
        IndexError,
        lambda g: g.m.put(g.x(3, 4), g.m.tensor([0, 5]), g.x(3)),
    ),
    "no class to count": (RuntimeError, lambda g: g.F.one_hot(g.m.tensor([]).long())),
    "a class beyond": (RuntimeError, lambda g: g.F.one_hot(g.m.tensor([4]), 2)),
    "a negative number counted": (RuntimeError, lambda g: g.m.bincount(g.m.tensor([-1]))),
    "heads that don't fit": (AssertionError, lambda g: _attended(g, num_heads=4)),
    "another width": (AssertionError, lambda g: _attended(g, embed_dim_to_check=8)),
    "no weight": (AssertionError, lambda g: _attended(g, in_proj_weight=None)),
    "one bias of two": (AssertionError, lambda g: _attended(g, bias_k=g.x(1, 1, 6))),
    "no mask that is causal": (RuntimeError, lambda g: _attended(g, is_causal=True)),
    "keys handed in, of another batch": (
        AssertionError,
        lambda g: _attended(g, static_k=g.x(3, 5, 3)),
    ),
    "a mask of another length": (
        AssertionError,
        lambda g: _attended(g, key_padding_mask=g.m.zeros(2, 4, dtype=g.m.bool)),
    ),
    "one power": (RuntimeError, lambda g: g.m.linalg.vander(g.x(3), N=1)),
}


@pytest.mark.parametrize("sample", REFUSED)
@pytest.mark.parametrize("module", [torch, gradwire], ids=["torch", "here"])
def test_it_is_refused_by_both(sample: str, module: Any) -> None:
    kind, make = REFUSED[sample]
    with pytest.raises(kind):
        make(Given(module))


def test_no_channels_leave_the_bias() -> None:
    """Torch's result then has no channels either, which is no convolution."""
    bias = gradwire.tensor([1.0, 2.0], requires_grad=True)
    made = gradwire.nn.functional.conv1d(gradwire.zeros(1, 0, 5), gradwire.zeros(2, 0, 3), bias)
    assert made.tolist() == [[[1.0] * 3, [2.0] * 3]]
    made.sum().backward()
    assert bias.grad is not None
    assert bias.grad.tolist() == [3.0, 3.0]


def test_a_comparison_in_place_has_no_tangent() -> None:
    x = gradwire.tensor([0.3, 0.5])
    value, moved = gradwire.func.jvp(lambda v: v.clone().eq_(0.5), (x,), (x,))
    assert value.tolist() == [0.0, 1.0]
    assert moved.tolist() == [0.0, 0.0]


def test_distances_of_order_0_have_zeros_for_gradients() -> None:
    """Torch has no second derivative of them."""
    for m in (torch, gradwire):
        x = m.tensor([[1.0, 0.0], [1.0, 2.0], [float("nan"), 2.0]], requires_grad=True)
        for found in (m.cdist(x, x, p=0.0), m.nn.functional.pdist(x, p=0.0)):
            assert found.isnan().sum() == (found.numel() * 5 // 9 if found.ndim == 2 else 2)
            (gradient,) = m.autograd.grad(found.nansum(), x)
            assert gradient.tolist() == [[0.0, 0.0]] * 3


def test_linalg_calls_its_matrix_by_either_name() -> None:
    x = gradwire.tensor([[4.0, 1.0], [1.0, 3.0]])
    for name in ("A", "input"):
        assert gradwire.linalg.det(**{name: x}).item() == pytest.approx(11.0)


def test_rows_of_bags_are_scaled_by_their_own_frequency() -> None:
    """Torch divides by how often another row occurs: docs/adr/wrong-gradients-of-torch.md."""
    found = []
    for m in (torch, gradwire):
        table = m.ones(5, 1, requires_grad=True)
        places, offsets = m.tensor([1, 1, 2, 3, 3, 3, 0]), m.tensor([0, 3, 5])
        bags = m.nn.functional.embedding_bag(
            places, table, offsets, mode="sum", scale_grad_by_freq=True
        )
        found.append(m.autograd.grad(bags.sum(), table)[0].flatten().tolist())
    assert found[1] == [1.0, 1.0, 1.0, 1.0, 0.0]
    assert found[0] != found[1], "torch is right now: the decision can go"
