"""Functions that torch has twice: at the top level other parameters, or another order of them.

There a reduction is a number, running statistics stand behind the weights, a table before its
indices. `torch.nn.functional` has what people call; these are for scripts that took the other one.
"""

from __future__ import annotations

from typing import Any

from gradwire.functions import op
from gradwire.tensor import Tensor

_REDUCTIONS = {1: "mean", 2: "sum"}
"""By number; all others are none. Torch says that 1 is the default, and means 0."""


def _layer(name: str, *args: Any, **kwargs: Any) -> Tensor:
    return op(f"nn.functional.{name}")(*args, **kwargs)


def _reduction(asked: str, number: Any) -> str:
    if type(number) is not int:
        raise TypeError(
            f"{asked}(): argument 'reduction' must be int, not {type(number).__name__}; "
            f"torch.nn.functional.{asked} takes names"
        )
    return _REDUCTIONS.get(number, "none")


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:  # fmt: skip
    """Rows of a table by their numbers; the table first. padding_idx: below 0 for none."""
    padding = None if padding_idx < 0 else padding_idx
    given = {"scale_grad_by_freq": scale_grad_by_freq, "sparse": sparse}
    return _layer("embedding", indices, weight, padding, **given)


def kl_div(
    input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False
) -> Tensor:
    """The Kullback-Leibler divergence. reduction: 1 for the mean, 2 for the sum."""
    how = _reduction("kl_div", reduction)
    return _layer("kl_div", input, target, reduction=how, log_target=log_target)


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: int = 0, zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """The loss of all alignments. reduction: 1 for the mean, 2 for the sum."""
    how = _reduction("ctc_loss", reduction)
    given = (log_probs, targets, input_lengths, target_lengths, blank, how, zero_infinity)
    return _layer("ctc_loss", *given)


def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """Normalisation over a batch; weight and bias before the running statistics."""
    given = (running_mean, running_var, weight, bias, training, momentum, eps)
    return _layer("batch_norm", input, *given)


def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float,
    cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """Normalisation over each example; weight and bias before the running statistics."""
    given = (running_mean, running_var, weight, bias, use_input_stats, momentum, eps)
    return _layer("instance_norm", input, *given)


def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5, cudnn_enable: bool = True,
) -> Tensor:  # fmt: skip
    """Normalisation over the last axes."""
    return _layer("layer_norm", input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """Normalisation over groups of channels."""
    return _layer("group_norm", input, num_groups, weight, bias, eps)


def _with_numbers(name: str, before: tuple[str, ...], defaults: dict[str, Any]) -> Any:
    """A loss whose last parameter is a number that says how it is reduced."""
    order = (*before, *defaults, "reduction")

    def loss(*args: Any, **kwargs: Any) -> Tensor:
        if len(args) > len(order):
            raise TypeError(f"{name}(): takes {len(order)} positional arguments, got {len(args)}")
        given = dict(zip(order, args, strict=False)) | kwargs
        given["reduction"] = _reduction(name, given.get("reduction", 0))
        return _layer(name, **(defaults | given))

    loss.__name__ = loss.__qualname__ = name
    loss.__doc__ = f"torch.nn.functional.{name}; reduction: 1 for the mean, 2 for the sum."
    return loss


_PAIR = ("input1", "input2", "target")
LOSSES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "binary_cross_entropy_with_logits": (("input", "target"), {"weight": None, "pos_weight": None}),
    "cosine_embedding_loss": (_PAIR, {"margin": 0.0}),
    "hinge_embedding_loss": (("input", "target"), {"margin": 1.0}),
    "margin_ranking_loss": (_PAIR, {"margin": 0.0}),
    "poisson_nll_loss": (("input", "target", "log_input", "full", "eps"), {}),
    "triplet_margin_loss": (
        ("anchor", "positive", "negative"),
        {"margin": 1.0, "p": 2, "eps": 1e-6, "swap": False},
    ),
}  # fmt: skip
"""Losses by the names of what comes before the reduction, with defaults where there are some."""

FUNCTIONS: dict[str, Any] = {
    f.__name__: f
    for f in (
        embedding, kl_div, ctc_loss, batch_norm, instance_norm, layer_norm, group_norm,
        *(_with_numbers(name, *parts) for name, parts in LOSSES.items()),
    )
}  # fmt: skip

__all__ = ["FUNCTIONS"]
