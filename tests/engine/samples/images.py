"""Samples of ops on images and signals: convolution, pooling, resizing, windows as columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.engine.samples import Call, Draw

F = "nn.functional."
Shape = tuple[int, ...]


def planes(*uses: tuple[Any, ...] | dict[str, Any], shape: Shape) -> Draw:
    """One input of a shape whose elements are far from equal, with each of these arguments."""

    def draw(rng: np.random.Generator) -> list[Call]:
        count = int(np.prod(shape))
        return [_call(rng.permutation(count).reshape(shape) * 0.3, use) for use in uses]

    return draw


def _call(x: np.ndarray, use: tuple[Any, ...] | dict[str, Any]) -> Call:
    return ((x,), use) if isinstance(use, dict) else ((x, *use), {})


def joined(*draws: Draw) -> Draw:
    """The samples of several draws."""
    return lambda rng: [call for draw in draws for call in draw(rng)]


def products(*calls: tuple[Shape, Shape, int | None, dict[str, Any]]) -> Draw:
    """Inputs and weights of these shapes, a bias of a length, further arguments."""

    def draw(rng: np.random.Generator) -> list[Call]:
        return [
            (
                (
                    rng.standard_normal(x),
                    rng.standard_normal(w),
                    None if b is None else rng.standard_normal(b),
                ),
                options,
            )
            for x, w, b, options in calls
        ]

    return draw


def _unpool(axes: int) -> Draw:
    def draw(rng: np.random.Generator) -> list[Call]:
        x = rng.standard_normal((1, 2, *[2] * axes))
        starts = np.zeros((1,), np.int64)
        for _ in range(axes):  # the first element of each window of 2, in a plane of 4 each way
            starts = (starts[..., None] * 4 + np.array([0, 2])).reshape(*starts.shape, 2)
        indices = np.broadcast_to(starts, x.shape) + np.array([0, 1]).reshape(1, 2, *[1] * axes)
        return [
            ((x, indices, 2), {}),
            ((x[0], indices[0], 2), {"stride": 2, "output_size": (4,) * axes}),
        ]

    return draw


def _grid_sample(rng: np.random.Generator) -> list[Call]:
    image, volume = rng.standard_normal((2, 2, 3, 4)), rng.standard_normal((1, 1, 2, 3, 2))
    places = rng.uniform(-1.3, 1.3, (2, 2, 3, 2))
    calls: list[Call] = [
        ((image, places), {"mode": mode, "padding_mode": padding, "align_corners": corners})
        for mode in ("bilinear", "nearest", "bicubic")
        for padding, corners in (("zeros", True), ("border", False), ("reflection", False))
    ]
    calls += [((image, places, "bilinear", "reflection", True), {})]
    return [*calls, ((volume, rng.uniform(-0.9, 0.9, (1, 2, 1, 2, 3))), {})]


def _affine_grid(rng: np.random.Generator) -> list[Call]:
    flat, deep = rng.standard_normal((2, 2, 3)), rng.standard_normal((1, 3, 4))
    return [((flat, (2, 1, 3, 2), True), {}), ((deep, (1, 1, 2, 3, 1)), {})]


_MAX: tuple[Any, ...] = (
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
    {"kernel_size": 2, "stride": 1, "dilation": 2, "return_indices": True},
)
_AVG: tuple[Any, ...] = (
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False},
    {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
)

SAMPLES: dict[str, Draw] = {
    F + "conv1d": products(
        ((2, 2, 6), (3, 2, 3), 3, {"stride": 2, "padding": 1}),
        ((2, 6), (3, 2, 2), None, {"padding": "same"}),
        ((1, 4, 5), (2, 2, 1), None, {"groups": 2}),
    ),
    F + "conv2d": products(
        ((2, 4, 5, 4), (2, 2, 3, 2), 2, {"stride": (2, 1), "padding": (1, 0), "groups": 2}),
        ((2, 5, 5), (3, 2, 2, 3), 3, {"dilation": (2, 1)}),
        ((1, 2, 4, 4), (1, 2, 2, 2), None, {"padding": "same"}),
        ((2, 2, 8, 8), (3, 2, 1, 1), 3, {}),
        ((2, 3, 4, 5), (3, 1, 2, 3), 3, {"groups": 3, "padding": 1, "stride": (1, 2)}),
    ),
    F + "conv3d": products(
        ((1, 1, 3, 4, 3), (2, 1, 2, 2, 2), 2, {"padding": (0, 1, 0), "stride": (1, 2, 1)}),
    ),
    F + "conv_transpose1d": products(
        ((2, 2, 3), (2, 3, 3), 3, {"stride": 2, "output_padding": 1}),
        ((2, 4), (2, 1, 2), None, {"dilation": 2, "padding": 1, "groups": 2}),
    ),
    F + "conv_transpose2d": products(
        ((1, 4, 3, 2), (4, 1, 2, 3), 2, {"stride": (2, 1), "padding": (0, 1), "groups": 2}),
        ((2, 8, 8), (2, 3, 1, 1), 3, {}),
    ),
    F + "conv_transpose3d": products(((1, 2, 2, 2, 2), (2, 1, 2, 1, 2), 1, {"stride": (2, 1, 1)})),
    F + "max_pool1d": planes(*_MAX, shape=(2, 2, 7)),
    F + "max_pool2d": joined(
        planes(*_MAX, shape=(1, 2, 5, 5)), planes((2,), ((2, 1),), shape=(2, 4, 4))
    ),
    F + "max_pool3d": planes(*_MAX, shape=(1, 1, 4, 3, 5)),
    F + "max_pool1d_with_indices": planes((2,), shape=(2, 2, 6)),
    F + "max_pool2d_with_indices": planes((2,), shape=(1, 2, 4, 4)),
    F + "max_pool3d_with_indices": planes((2,), shape=(1, 1, 2, 4, 2)),
    F + "adaptive_max_pool1d": planes((3,), (5, True), shape=(2, 2, 7)),
    F + "adaptive_max_pool2d": planes((2,), ((3, None),), shape=(1, 2, 4, 5)),
    F + "adaptive_max_pool3d": planes(((2, 1, 2),), shape=(1, 1, 4, 3, 3)),
    F + "max_unpool1d": _unpool(1),
    F + "max_unpool2d": _unpool(2),
    F + "max_unpool3d": _unpool(3),
    F + "avg_pool1d": planes(*_AVG, shape=(2, 2, 7)),
    F + "avg_pool2d": planes(
        *_AVG, {"kernel_size": (4, 2), "divisor_override": 3}, shape=(1, 2, 4, 5)
    ),
    F + "avg_pool3d": planes(*_AVG, shape=(1, 1, 4, 3, 4)),
    F + "adaptive_avg_pool1d": planes((3,), (1,), shape=(2, 2, 7)),
    F + "adaptive_avg_pool2d": planes((2,), ((3, None),), shape=(1, 2, 4, 6)),
    F + "adaptive_avg_pool3d": planes(((2, 1, 2),), shape=(1, 1, 4, 3, 3)),
    F + "lp_pool1d": planes((2.0, 2), (3.0, 3, 2), shape=(2, 2, 7)),
    F + "lp_pool2d": planes((2.0, 2), (float("inf"), 2), shape=(1, 2, 4, 5)),
    F + "lp_pool3d": planes((2.0, 2), shape=(1, 1, 2, 4, 3)),
    F + "grid_sample": _grid_sample,
    F + "affine_grid": _affine_grid,
    F + "unfold": planes((2,), (2, 2, 1, 2), shape=(1, 2, 4, 5)),
    F + "fold": joined(
        planes((3, 2), shape=(1, 8, 4)), planes(((4, 3), 2, 1, 1, (2, 1)), shape=(8, 12))
    ),
    F + "interpolate": joined(
        planes(
            *[{"size": n, "mode": m} for n in (3, 7) for m in ("nearest", "linear", "area")],
            {"scale_factor": 1.6, "mode": "nearest-exact"},
            shape=(2, 1, 5),
        ),
        planes(
            {"size": (6, 3), "mode": "bilinear"},
            {"size": (6, 3), "mode": "bilinear", "align_corners": True},
            {"scale_factor": 1.7, "mode": "bicubic"},
            {"scale_factor": (0.4, 1.5), "mode": "bilinear", "antialias": True},
            {"size": (2, 4), "mode": "bicubic", "antialias": True},
            {"scale_factor": 1.7, "mode": "bicubic", "recompute_scale_factor": True},
            shape=(1, 2, 4, 5),
        ),
        planes({"size": (3, 4, 2), "mode": "trilinear"}, shape=(1, 1, 2, 3, 3)),
    ),
    F + "upsample": planes({"scale_factor": 2}, shape=(1, 2, 3, 2)),
    F + "upsample_nearest": planes({"size": 5}, shape=(1, 2, 3, 2)),
    F + "upsample_bilinear": planes({"scale_factor": 2}, shape=(1, 2, 3, 2)),
    F + "pixel_shuffle": planes((2,), shape=(1, 4, 2, 3)),
    F + "pixel_unshuffle": planes((2,), shape=(1, 2, 4, 2)),
    F + "channel_shuffle": planes((2,), shape=(1, 4, 2, 2)),
    F + "glu": planes((), (0,), shape=(2, 4)),
}
