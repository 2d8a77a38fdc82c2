"""Anomaly mode: backward names the node that made the first NaN, and the line that built it."""

from __future__ import annotations

import warnings
from typing import Any

from gradwire_engine.mode import local, using


class detect_anomaly(using):
    """Have walks in this block look for NaN in what each node gives; check_nan=False: don't look.

    Tensors made in the block remember the line that made them, for the error.
    """

    def __init__(self, check_nan: bool = True) -> None:
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=2,
        )
        super().__init__(anomaly=True, check_nan=bool(check_nan))


class set_detect_anomaly:
    """Switch anomaly mode on or off: from the call on, and as a context only inside of it."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        state = local.state
        self._before = state.anomaly, state.check_nan
        state.anomaly, state.check_nan = bool(mode), bool(check_nan)

    def __enter__(self) -> None:
        """The mode is in force already."""

    def __exit__(self, *exc: Any) -> None:
        local.state.anomaly, local.state.check_nan = self._before


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return local.state.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether it looks for NaN."""
    return local.state.check_nan


__all__ = [
    "detect_anomaly",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "set_detect_anomaly",
]
