"""Dropout: elements, channels, with the mean and variance kept; only in training."""

from __future__ import annotations

from typing import Any

from gradwire.nn.applied import Applied

_F = "nn.functional."


class _Dropping(Applied):
    """A module that drops with a probability, which is looked at when it is made."""

    p: float

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not 0 <= self.p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")


class Dropout(_Dropping, op=f"{_F}dropout", inplace=True): ...


class Dropout1d(_Dropping, op=f"{_F}dropout1d", inplace=True): ...


class Dropout2d(_Dropping, op=f"{_F}dropout2d", inplace=True): ...


class Dropout3d(_Dropping, op=f"{_F}dropout3d", inplace=True): ...


class AlphaDropout(_Dropping, op=f"{_F}alpha_dropout", inplace=True): ...


class FeatureAlphaDropout(_Dropping, op=f"{_F}feature_alpha_dropout", inplace=True): ...


__all__ = [
    "AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout",
]  # fmt: skip
