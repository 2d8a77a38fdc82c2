"""The Kullback-Leibler divergence of one distribution from another."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from gradwire.distributions.discrete import Bernoulli, Categorical
from gradwire.distributions.distribution import Distribution, Independent
from gradwire.distributions.real import Exponential, Normal, Uniform
from gradwire.functions import op
from gradwire.tensor import Tensor

Formula = Callable[[Any, Any], Tensor]
_FORMULAS: dict[tuple[type, type], Formula] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Decorates a formula for two classes, and all that derive from them."""
    if not all(isinstance(t, type) and issubclass(t, Distribution) for t in (type_p, type_q)):
        raise TypeError("Expected type_p and type_q to be subclasses of Distribution")

    def keep(formula: Formula) -> Formula:
        _FORMULAS[type_p, type_q] = formula
        return formula

    return keep


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """How far q is from p, in nats: the mean under p of log p - log q."""
    for mine in type(p).__mro__:
        for its in type(q).__mro__:
            if (mine, its) in _FORMULAS:
                return _FORMULAS[mine, its](p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    softplus = op("nn.functional.softplus")
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    ones = ones.masked_fill(q.probs == 0, inf).masked_fill(p.probs == 0, 0)
    return ones + zeros.masked_fill(q.probs == 1, inf).masked_fill(p.probs == 1, 0)


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    each = p.probs * (p.logits - q.logits)
    each = each.masked_fill(q.probs == 0, inf).masked_fill(p.probs == 0, 0)
    return each.sum(-1)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return found.masked_fill((q.low > p.low) | (q.high < p.high), inf)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return p.summed(kl_divergence(p.base_dist, q.base_dist))


__all__ = ["kl_divergence", "register_kl"]
