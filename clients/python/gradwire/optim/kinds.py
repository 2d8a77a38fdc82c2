"""Optimisers that change each parameter by its own gradient; the engine has their settings."""

from __future__ import annotations

from gradwire.optim.optimizer import Optimizer


class SGD(Optimizer):
    """Down the gradient, with momentum."""

    kind = "sgd"


class Adam(Optimizer):
    """By the moments of the gradient."""

    kind = "adam"


class AdamW(Optimizer):
    """Adam on weights that decay by themselves."""

    kind = "adamw"


class RMSprop(Optimizer):
    """By the gradient over the root of the mean of its squares."""

    kind = "rmsprop"


class Adagrad(Optimizer):
    """By the gradient over the root of the sum of its squares."""

    kind = "adagrad"


def by_kind(kind: str) -> type[Optimizer]:
    """The class of an optimizer that the engine calls so."""
    from gradwire.optim.lbfgs import LBFGS

    return next(c for c in (SGD, Adam, AdamW, RMSprop, Adagrad, LBFGS) if c.kind == kind)


__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "RMSprop", "by_kind"]
