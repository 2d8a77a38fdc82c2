"""Optimisers that change each parameter by its own gradient; the engine has their settings."""

from __future__ import annotations

from gradwire.optim.optimizer import Hosted


class SGD(Hosted):
    """Down the gradient, with momentum."""

    kind = "sgd"


class Adam(Hosted):
    """By the moments of the gradient."""

    kind = "adam"


class AdamW(Hosted):
    """Adam on weights that decay by themselves."""

    kind = "adamw"


class RMSprop(Hosted):
    """By the gradient over the root of the mean of its squares."""

    kind = "rmsprop"


class Adagrad(Hosted):
    """By the gradient over the root of the sum of its squares."""

    kind = "adagrad"


__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "RMSprop"]
