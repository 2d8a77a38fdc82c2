"""Dropout: elements, channels, with the mean and variance kept; only in training."""

from __future__ import annotations

from gradwire.nn.applied import Applied

_F = "nn.functional."


class Dropout(Applied, op=f"{_F}dropout", inplace=True): ...


class Dropout1d(Applied, op=f"{_F}dropout1d", inplace=True): ...


class Dropout2d(Applied, op=f"{_F}dropout2d", inplace=True): ...


class Dropout3d(Applied, op=f"{_F}dropout3d", inplace=True): ...


class AlphaDropout(Applied, op=f"{_F}alpha_dropout", inplace=True): ...


class FeatureAlphaDropout(Applied, op=f"{_F}feature_alpha_dropout", inplace=True): ...


__all__ = [
    "AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout",
]  # fmt: skip
