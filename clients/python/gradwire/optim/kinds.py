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


__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "RMSprop"]
