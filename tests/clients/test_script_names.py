"""Names that scripts call on the way."""

from __future__ import annotations

import pytest

import gradwire as torch
from gradwire import nn
from gradwire.session import Session


def test_shapes_broadcast() -> None:
    assert torch.broadcast_shapes((3, 1), 4, (1, 1, 1)) == (1, 3, 4)
    assert torch.broadcast_shapes() == ()
    with pytest.raises(RuntimeError):
        torch.broadcast_shapes((3,), (2,))
    with pytest.raises(RuntimeError):
        torch.broadcast_shapes((-1,))


def test_arrays_are_copied_where_it_is_asked(session: Session) -> None:
    x = torch.ones(2)
    assert torch.asarray(x) is x
    assert torch.asarray(x, copy=True) is not x
    assert torch.asarray([1, 2]).dtype is torch.int64
    assert torch.asarray(x, requires_grad=True).requires_grad
    assert not x.requires_grad
    with pytest.raises(ValueError, match="copy"):
        torch.asarray([1], copy=False)
    with pytest.raises(ValueError, match="copy"):
        torch.asarray(x, dtype=torch.float64, copy=False)


def test_a_gpu_that_is_not_there_is_refused(session: Session) -> None:
    with pytest.raises(RuntimeError, match="cuda"):
        torch.ones(2).cuda()
    with pytest.raises(RuntimeError, match="cuda:1"):
        torch.ones(2).cuda(1)


def test_anomaly_mode_is_set() -> None:
    torch.set_anomaly_enabled(True, check_nan=False)
    assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_check_nan_enabled()
    torch.set_anomaly_enabled(False)
    assert not torch.is_anomaly_enabled()


def test_upsampling_is_interpolation(session: Session) -> None:
    x = torch.arange(4.0).reshape(1, 1, 2, 2)
    near = nn.UpsamplingNearest2d(scale_factor=2)(x)
    assert near[0, 0, 0].tolist() == [0, 0, 1, 1]
    across = nn.UpsamplingBilinear2d(size=(3, 3))(x)
    assert across[0, 0].tolist() == [[0, 0.5, 1], [1, 1.5, 2], [2, 2.5, 3]]


def test_triplets_by_a_distance_of_ones_own(session: Session) -> None:
    loss = nn.TripletMarginWithDistanceLoss(
        distance_function=lambda a, b: (a - b).abs().sum(-1), margin=2.0
    )
    a, p, n = torch.zeros(1, 2), torch.ones(1, 2), torch.full((1, 2), 1.5)
    assert loss(a, p, n).item() == 1.0
