"""Samples of ops that rename, cut, join and arrange axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.engine.samples import Call, Draw

Rng = np.random.Generator


def each(*uses: tuple[Any, ...], shape: tuple[int, ...] = (4, 6), **options: Any) -> Draw:
    """One tensor of a shape, with each of these further arguments."""
    return lambda rng: [((rng.standard_normal(shape), *use), options) for use in uses]


def many(*calls: tuple[list[tuple[int, ...]], tuple[Any, ...]]) -> Draw:
    """Lists of tensors of these shapes, with further arguments."""

    def draw(rng: Rng) -> list[Call]:
        return [(([rng.standard_normal(s) for s in shapes], *rest), {}) for shapes, rest in calls]

    return draw


def join(*draws: Draw) -> Draw:
    """The samples of several draws."""
    return lambda rng: [call for draw in draws for call in draw(rng)]


def _like_another(rng: Rng) -> list[Call]:
    return [((rng.standard_normal((2, 3)), rng.standard_normal((3, 2))), {})]


def _meshgrid(rng: Rng) -> list[Call]:
    x, y = rng.standard_normal(3), rng.standard_normal(2)
    return [((x, y), {"indexing": "ij"}), (([x, y],), {"indexing": "xy"})]


def _repeat_interleave(rng: Rng) -> list[Call]:
    x = rng.standard_normal((2, 3))
    counts = np.array([1, 0, 2])
    return [
        ((x, 2), {}),
        ((x, 2, 1), {}),
        ((x, counts, 1), {}),
        ((counts,), {}),
        ((x, counts, 1), {"output_size": 3}),
    ]


def _tensor_split(rng: Rng) -> list[Call]:
    x = rng.standard_normal((5, 3))
    return [((x, where), {}) for where in (2, (1, 4), np.array(2), np.array([1, 3]))]


def _narrow(rng: Rng) -> list[Call]:
    x = rng.standard_normal((5, 3))
    return [((x, 0, 1, 3), {}), ((x, -1, np.array(1), 2), {}), ((x, 0, -2, 1), {})]


def _pad(rng: Rng) -> list[Call]:
    image, line = rng.standard_normal((1, 2, 4, 5)), rng.standard_normal((2, 4))
    wrapped: list[Call] = [
        ((operand, pad, mode), {})
        for mode in ("reflect", "replicate", "circular")
        for operand, pad in ((line, (1, 2)), (image, (2, 1, 0, 3)), (image, (-1, 2, 1, -1)))
    ]
    constant: list[Call] = [((line, (1, 2)), {}), ((line, (1, -2, 0, 1), "constant", 2.0), {})]
    return wrapped + constant


def _scatters(rng: Rng, *rest: Any, part: tuple[int, ...]) -> list[Call]:
    return [((rng.standard_normal((4, 6)), rng.standard_normal(part), *rest), {})]


SAMPLES: dict[str, Draw] = {
    "transpose": each((0, 1), (-1, 0)),
    "swapaxes": each((0, 1)),
    "permute": each(((1, 0),), ((-1, 0),)),
    "t": join(each(()), each((), shape=(3,))),
    "T": each((), shape=(2, 3, 4)),
    "mT": each((), shape=(2, 3, 4)),
    "mH": each((), shape=(2, 3, 4)),
    "H": each(()),
    "movedim": each((0, 2), ((0, 1), (2, 0)), shape=(2, 3, 4)),
    "squeeze": each((), (0,), ((0, 2),), (1,), shape=(1, 3, 1)),
    "squeeze_": lambda rng: [
        ((np.ones((1, 3, 1), int), *dim), {}) for dim in ((), (0,), ((0, 2),))
    ],
    "unsqueeze_": lambda rng: [((np.arange(3), dim), {}) for dim in (0, -1)],
    "t_": lambda rng: [((np.ones(shape, int),), {}) for shape in ((2, 3), (3,))],
    "transpose_": lambda rng: [((np.ones((2, 3, 4), int), 0, 2), {})],
    "swapaxes_": lambda rng: [((np.ones((2, 3, 4), int), 0, 2), {})],
    "swapdims_": lambda rng: [((np.ones((2, 3, 4), int), 0, 2), {})],
    "unsqueeze": each((0,), (-1,), (1,)),
    "flatten": each((), (1,), (0, 1), shape=(2, 3, 4)),
    "unflatten": each((1, (2, -1)), (-1, (3, 2))),
    "ravel": each(()),
    "view": each(((3, 8),), ((-1,),)),
    "reshape": each(((3, 8),), ((-1, 2),)),
    "view_as": _like_another,
    "reshape_as": _like_another,
    "contiguous": each(()),
    "expand": join(each(((5, 4, 6),)), each(((3, 4),), ((-1, 4),), shape=(3, 1))),
    "expand_as": lambda rng: [((rng.standard_normal((3, 1)), rng.standard_normal((3, 4))), {})],
    "broadcast_to": each(((2, 4, 6),)),
    "select": each((0, 1), (1, -2)),
    "slice": each((), (1, 1, 5, 2), (0, -3, None, 1), (0, 3, 1, 1)),
    "narrow": _narrow,
    "diagonal": each((), (1,), (-2, 1, 0)),
    "linalg.diagonal": each((), shape=(2, 3, 4)),
    "unfold": each((1, 3, 1), (0, 2, 2), (1, 3, 4)),
    "as_strided": each(((2, 3), (6, 2), 1), ((3, 3), (1, 1)), ((2,), (0,))),
    "detach": each(()),
    "split": each((2,), (4, 1), ((1, 3),), ((2, 4), -1)),
    "split_with_sizes": each(((1, 3),)),
    "chunk": each((3,), (4, 1)),
    "tensor_split": _tensor_split,
    "hsplit": each((3,), ((1, 4),)),
    "vsplit": each((2,), ((1, 2),)),
    "dsplit": each((2,), ((1,),), shape=(2, 3, 4)),
    "unbind": each((), (1,)),
    "cat": many(([(2, 3), (1, 3), (0,)], ()), ([(2, 3), (2, 2)], (-1,)), ([(3,)], ())),
    "stack": many(([(2, 3), (2, 3)], ()), ([(2,), (2,)], (-1,)), ([(), ()], ())),
    "hstack": many(([(2, 3), (2, 1)], ()), ([(2,), (3,)], ())),
    "vstack": many(([(2, 3), (3,)], ())),
    "dstack": many(([(2, 3), (2, 3)], ()), ([(3,), (3,)], ())),
    "column_stack": many(([(2, 3), (2,)], ()), ([(), ()], ())),
    "block_diag": many(([(2, 3), (3,), ()], ())),
    "broadcast_tensors": many(([(2, 1), (3,)], ())),
    "cartesian_prod": many(([(2,), (3,)], ()), ([(2,)], ())),
    "combinations": each((), (3,), (2, True), shape=(4,)),
    "meshgrid": _meshgrid,
    "atleast_1d": join(each((), shape=()), many(([(), (2,)], ()))),
    "atleast_2d": join(each((), shape=(3,)), each((), shape=())),
    "atleast_3d": join(each((), shape=(3,)), each(())),
    "flip": each(((0,),), ((0, 1),)),
    "fliplr": each(()),
    "flipud": each(()),
    "roll": each((1,), ((1, -2), (0, 1))),
    "rot90": each((), (2,), (-1, (1, 0))),
    "tril": each((), (1,), (-1,)),
    "triu": each((), (1,), (-1,)),
    "diag": join(each((), (1,)), each((), (-1,), shape=(3,))),
    "diag_embed": each((), (1, 0, 2)),
    "diagflat": each((), (1,)),
    "repeat": each(((2, 3),), ((2, 1, 2),), ((0, 1),)),
    "tile": each(((2,),), ((2, 1, 2),)),
    "repeat_interleave": _repeat_interleave,
    "constant_pad_nd": each(((1, 2),), ((1, -1, -1, 2), 0.5)),
    "nn.functional.pad": _pad,
    "select_scatter": lambda rng: _scatters(rng, 0, 1, part=(6,)),
    "slice_scatter": lambda rng: _scatters(rng, 1, 1, 5, 2, part=(4, 2)),
    "diagonal_scatter": lambda rng: _scatters(rng, 1, part=(4,)),
    "as_strided_scatter": lambda rng: _scatters(rng, (2, 2), (6, 1), 1, part=(2, 2)),
}
