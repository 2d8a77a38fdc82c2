"""Samples of Fourier transforms: sizes even and odd, cut off and padded, axes, norms."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.engine.samples import Call, Draw

Rng = np.random.Generator


def _of(*ways: dict[str, Any], complex_: bool = False) -> Draw:
    def draw(rng: Rng) -> list[Call]:
        found = []
        for way in ways:
            points = rng.uniform(-1, 1, (2, 3, 4))
            if complex_:
                points = points + 1j * rng.uniform(-1, 1, points.shape)
            found.append(((points,), way))
        return found

    return draw


ONE: tuple[dict[str, Any], ...] = (
    {},
    {"n": 5, "norm": "ortho"},
    {"n": 3, "dim": 1, "norm": "forward"},
    {"n": 2, "dim": 0},
)
TWO: tuple[dict[str, Any], ...] = (
    {},
    {"s": (2, 5), "norm": "ortho"},
    {"dim": (2, 0), "norm": "forward"},
)
SEVERAL: tuple[dict[str, Any], ...] = (*TWO, {"s": (4,)}, {"dim": (1,)}, {"s": (-1, 2)})


def _windows(rng: Rng) -> list[Call]:
    signal, window = rng.uniform(-1, 1, (2, 20)), rng.uniform(0.5, 1, 5)
    return [
        ((signal, 8), {"return_complex": True}),
        ((signal[0], 7, 2), {"return_complex": False, "normalized": True, "onesided": False}),
        ((signal, 6, 3, 5, window, False), {"return_complex": True, "align_to_window": True}),
    ]


def _frames(rng: Rng) -> list[Call]:
    frames = rng.uniform(-1, 1, (2, 8, 6)) + 1j * rng.uniform(-1, 1, (2, 8, 6))
    window = rng.uniform(0.5, 1, 7)
    return [
        ((frames[:, :5], 8), {}),
        ((frames[0], 8, 3, 8, rng.uniform(0.5, 1, 8)), {"length": 24}),
        ((frames, 8, 2, 7, window), {"return_complex": True, "normalized": True}),
    ]


SAMPLES: dict[str, Draw] = {
    **{f"fft.{name}": _of(*ONE) for name in ("fft", "ifft", "rfft", "ihfft")},
    **{f"fft.{name}": _of(*ONE[1:], {"dim": 1}) for name in ("irfft", "hfft")},
    **{f"fft.{name}": _of(*TWO) for name in ("fft2", "ifft2", "rfft2", "irfft2", "hfft2")},
    "fft.ihfft2": _of(*TWO),
    **{f"fft.{name}": _of(*SEVERAL) for name in ("fftn", "ifftn", "rfftn", "irfftn", "hfftn")},
    "fft.ihfftn": _of(*SEVERAL),
    **{
        f"fft.{name}": _of({}, {"dim": (1,)}, {"dim": (0, -1)})
        for name in ("fftshift", "ifftshift")
    },
    **{f"fft.{n}": lambda rng: [((5,), {}), ((4, 0.5), {})] for n in ("fftfreq", "rfftfreq")},
    "stft": _windows,
    "istft": _frames,
}
