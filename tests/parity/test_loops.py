"""Gradients through long loops: scan's, with and without checkpoints, and torch's."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.cases.loops import RECURRENCES, prepare

pytest.importorskip("torch", reason="make parity installs torch")


@pytest.mark.parametrize("checkpoint", [False, True])
@pytest.mark.parametrize("name", RECURRENCES)
def test_a_scan_is_torchs_loop(name: str, checkpoint: bool) -> None:
    loss, gradients = prepare("engine", name, 30, checkpoint, "float64")()
    wanted, others = prepare("torch", name, 30, dtype="float64")()
    np.testing.assert_allclose(loss.numpy(), wanted.detach().numpy(), rtol=1e-12)
    for found, other in zip(gradients, others, strict=True):
        scale = float(np.abs(other.numpy()).max())
        np.testing.assert_allclose(found.numpy(), other.numpy(), rtol=1e-11, atol=1e-12 * scale)
