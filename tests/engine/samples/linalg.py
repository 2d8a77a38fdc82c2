"""Samples of linear algebra and attention, and what its derivatives hold for.

HERMITIAN: ops that read one triangle and mean the whole Hermitian matrix; their derivatives are
those along Hermitian directions. UP_TO_PHASE: ops whose vectors are any multiple by
exp(i t), of real ones by -1, so that only losses that don't depend on it have a derivative (see
test_ops_linalg.py): which results these are, and the axis of each along which a vector lies.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dsytrf
from tests.engine.samples import Call, Draw

Rng = np.random.Generator

HERMITIAN = frozenset(
    ("cholesky", "linalg.cholesky", "linalg.cholesky_ex", "linalg.eigh", "linalg.eigvalsh")
)
UP_TO_PHASE = {
    "linalg.eigh": {1: -2},
    "linalg.eig": {1: -2},
    "linalg.svd": {0: -2, 2: -1},
    "svd": {0: -2, 2: -2},
}


def drawn(rng: Rng, *shape: int) -> np.ndarray:
    """Numbers between -1 and 1."""
    return rng.uniform(-1, 1, shape)


def square(rng: Rng, *batch: int, n: int = 3) -> np.ndarray:
    """Matrices far from singular, with different singular values."""
    return 0.3 * drawn(rng, *batch, n, n) + np.diag(np.arange(1.0, n + 1))


def definite(rng: Rng, *batch: int, n: int = 3) -> np.ndarray:
    """Symmetric positive definite matrices with different eigenvalues."""
    a = square(rng, *batch, n=n)
    return np.asarray(a @ a.swapaxes(-1, -2))


def of_squares(**options: object) -> Draw:
    """One matrix, and a stack of them."""
    return lambda rng: [((square(rng),), dict(options)), ((square(rng, 2),), dict(options))]


def of_definite(*ways: dict[str, object]) -> Draw:
    """Symmetric matrices, one and a stack, in these ways."""
    return lambda rng: [
        ((m,), dict(way)) for way in (ways or ({},)) for m in (definite(rng), definite(rng, 2))
    ]


def of_any(*ways: dict[str, object]) -> Draw:
    """A tall matrix, a wide one, and a stack, in these ways."""

    def draw(rng: Rng) -> list[Call]:
        found = drawn(rng, 4, 3), drawn(rng, 3, 4), square(rng, 2)
        return [((m,), dict(way)) for way in (ways or ({},)) for m in found]

    return draw


def _solve(rng: Rng) -> list[Call]:
    a, stack = square(rng), square(rng, 2)
    return [
        ((a, drawn(rng, 3)), {}),
        ((a, drawn(rng, 3, 2)), {}),
        ((stack, drawn(rng, 2, 3)), {}),
        ((stack, drawn(rng, 3, 2)), {}),
        ((a, drawn(rng, 2, 3)), {"left": False}),
    ]


def _triangular(rng: Rng) -> list[Call]:
    a, b = square(rng), drawn(rng, 2, 3, 2)
    return [
        ((a, b), {"upper": True}),
        ((a, b), {"upper": False, "unitriangular": True}),
        ((a, drawn(rng, 2, 3)), {"upper": True, "left": False}),
    ]


def _triangular_solve(rng: Rng) -> list[Call]:
    a, b = square(rng), drawn(rng, 3, 2)
    return [((b, a), {}), ((b, a), {"upper": False, "transpose": True})]


def _symmetric(rng: Rng) -> list[Call]:
    """Indefinite matrices, the stack with a 2 by 2 block on the diagonal of D."""
    one, stack = definite(rng), definite(rng, 2)
    one[0, 0], stack[1] = -one[0, 0], [[0.0, 2.0, 0.5], [2.0, 0.0, 0.3], [0.5, 0.3, 1.0]]
    return [((m,), {"hermitian": hermitian}) for m in (one, stack) for hermitian in (False, True)]


def _factored_by_ldl(rng: Rng) -> list[Call]:
    """The factors of [[0, 2, 0.5], [2, 0, 0.3], [0.5, 0.3, 1]]: a block, then a number."""
    packed, pivots, _ = dsytrf(np.array([[0.0, 2.0, 0.5], [2.0, 0.0, 0.3], [0.5, 0.3, 1.0]]), 1)
    return [
        ((np.tril(packed), pivots, drawn(rng, *batch, 3, 2)), {"hermitian": hermitian})
        for batch in ((), (2,))
        for hermitian in (False, True)
    ]


def _factored(rng: Rng) -> list[Call]:
    low = np.linalg.cholesky(definite(rng))
    return [((low,), {}), ((low.T.copy(),), {"upper": True})]


def _factored_system(rng: Rng) -> list[Call]:
    low = np.linalg.cholesky(definite(rng))
    return [((drawn(rng, 3, 2), low), {}), ((drawn(rng, 3, 2), low.T.copy()), {"upper": True})]


def _powers(rng: Rng) -> list[Call]:
    return [((square(rng, 2), n), {}) for n in (0, 1, 3, -2)]


def _least_squares(rng: Rng) -> list[Call]:
    tall, wide = drawn(rng, 4, 3), drawn(rng, 3, 4)
    return [((tall, drawn(rng, 4, 2)), {"driver": "gelsd"}), ((wide, drawn(rng, 3, 2)), {})]


def _tensors(rng: Rng) -> list[Call]:
    whole = square(rng, n=6).reshape(2, 3, 2, 3)
    return [((whole, drawn(rng, 2, 3)), {})]


def _norms(rng: Rng) -> list[Call]:
    x = drawn(rng, 2, 3, 4)
    return [((x, order), {}) for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)] + [
        ((x, "fro", (0, 1), True), {})
    ]


def _any_norm(rng: Rng) -> list[Call]:
    x, m = drawn(rng, 2, 3), drawn(rng, 2, 3, 4)
    return [((x,), {}), ((x, 1, 1), {}), ((m, "nuc", (0, 1)), {}), ((x, 2), {}), ((x[0], 3), {})]


def _torch_norm(rng: Rng) -> list[Call]:
    x = drawn(rng, 2, 3)
    return [((x,), {}), ((x, 1, 1), {}), ((x, "nuc"), {}), ((x, 3, (0,), True), {})]


def _conditions(rng: Rng) -> list[Call]:
    return [((square(rng, 2),), {"p": p}) for p in (None, 2, -2, "fro", 1, np.inf)]


def _attention(rng: Rng) -> list[Call]:
    q, k, v = drawn(rng, 2, 3, 4), drawn(rng, 2, 5, 4), drawn(rng, 2, 5, 3)
    mask = np.array([[True] * 5, [False] * 5, [True, False, True, False, True]])
    heads = drawn(rng, 2, 4, 3, 2), drawn(rng, 2, 2, 5, 2), drawn(rng, 2, 2, 5, 2)
    return [
        ((q, k, v), {}),
        ((q, k, v, mask), {"scale": 0.3}),
        ((q, k, v, drawn(rng, 3, 5)), {}),
        ((q, k, v), {"is_causal": True}),
        (heads, {"enable_gqa": True}),
    ]


def _many_heads(rng: Rng) -> list[Call]:
    q, k, v = drawn(rng, 3, 2, 4), drawn(rng, 5, 2, 4), drawn(rng, 5, 2, 4)
    extra = drawn(rng, 1, 1, 4), drawn(rng, 1, 1, 4)
    projections = drawn(rng, 12, 4), drawn(rng, 12)
    out = drawn(rng, 4, 4), drawn(rng, 4)
    padding = np.array([[False, True, False, False, False], [False] * 5])
    plain = (q, k, v, 4, 2, *projections, None, None, False, 0.0, *out)
    return [
        (plain, {"key_padding_mask": padding}),
        ((q, k, v, 4, 2, *projections, *extra, True, 0.0, *out), {"need_weights": False}),
    ]


def _factored_solve(rng: Rng) -> list[Call]:
    packed, pivots = _packed(square(rng))
    b = drawn(rng, 3, 2)
    ways: list[dict[str, object]] = [{}, {"adjoint": True}]
    return [((packed, pivots, b), way) for way in ways] + [
        ((packed, pivots, b.T.copy()), {"left": False})
    ]


def _packed(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """LU factors without swaps, and the pivots that say so."""
    low, up = np.eye(3), a.copy()
    for i in range(3):
        low[i + 1 :, i] = up[i + 1 :, i] / up[i, i]
        up[i + 1 :] -= low[i + 1 :, i : i + 1] * up[i]
    return np.tril(low, -1) + np.triu(up), np.arange(1, 4, dtype=np.int32)


def _reflections(rng: Rng) -> list[Call]:
    return [((drawn(rng, 4, 3), drawn(rng, 3)), {}), ((drawn(rng, 2, 4, 3), drawn(rng, 2, 2)), {})]


def _reflected(rng: Rng) -> list[Call]:
    a, tau = drawn(rng, 4, 3), drawn(rng, 3)
    return [
        ((a, tau, drawn(rng, 4, 2)), {}),
        ((a, tau, drawn(rng, 4, 2)), {"transpose": True}),
        ((a, tau, drawn(rng, 2, 4)), {"left": False}),
    ]


def _points(rng: Rng) -> list[Call]:
    y, x = drawn(rng, 2, 4), np.cumsum(rng.uniform(0.5, 1.5, 4))
    return [((y,), {"dx": 0.5}), ((y, x), {}), ((y,), {"dim": 0})]


def _slopes(rng: Rng) -> list[Call]:
    f, x = drawn(rng, 4, 5), np.cumsum(rng.uniform(0.5, 1.5, 4))
    return [
        ((f,), {}),
        ((f,), {"spacing": 0.5, "edge_order": 2}),
        ((f,), {"spacing": [x], "dim": 0, "edge_order": 2}),
    ]


def _differences(rng: Rng) -> list[Call]:
    x = drawn(rng, 3, 4)
    return [((x,), {}), ((x, 2, 0), {}), ((x,), {"prepend": x[:, :1], "append": x})]


SAMPLES: dict[str, Draw] = {
    "linalg.lu": of_any(),
    "linalg.lu_factor": of_any(),
    "linalg.lu_factor_ex": of_any(),
    "lu": of_any({}, {"get_infos": True}),
    "lu_unpack": lambda rng: [(_packed(square(rng)), {})],
    "linalg.lu_solve": _factored_solve,
    "lu_solve": lambda rng: [((drawn(rng, 3, 2), *_packed(square(rng))), {})],
    "linalg.ldl_factor": _symmetric,
    "linalg.ldl_factor_ex": _symmetric,
    "linalg.ldl_solve": _factored_by_ldl,
    "linalg.householder_product": _reflections,
    "ormqr": _reflected,
    "trapezoid": _points,
    "cumulative_trapezoid": _points,
    "gradient": _slopes,
    "diff": _differences,
    "sum_to_size": lambda rng: [((drawn(rng, 2, 3), (1, 3)), {}), ((drawn(rng, 2, 3), (3,)), {})],
    "linalg.inv": of_squares(),
    "linalg.inv_ex": of_squares(),
    "linalg.det": of_squares(),
    "linalg.slogdet": of_squares(),
    "logdet": of_definite(),
    "linalg.solve": _solve,
    "linalg.solve_ex": _solve,
    "linalg.solve_triangular": _triangular,
    "triangular_solve": _triangular_solve,
    "linalg.cholesky": of_definite({}, {"upper": True}),
    "linalg.cholesky_ex": of_definite(),
    "cholesky": of_definite({}, {"upper": True}),
    "cholesky_inverse": _factored,
    "cholesky_solve": _factored_system,
    "linalg.eigh": of_definite({}, {"UPLO": "U"}),
    "linalg.eigvalsh": of_definite(),
    "linalg.eig": of_squares(),
    "linalg.eigvals": of_squares(),
    "linalg.svd": of_any({"full_matrices": False}),
    "svd": of_any(),
    "linalg.svdvals": of_any(),
    "linalg.qr": of_any(),
    "qr": of_any(),
    "linalg.matrix_power": _powers,
    "linalg.matrix_exp": of_squares(),
    "linalg.pinv": of_any({}, {"rtol": 1e-6}),
    "pinverse": of_any(),
    "linalg.matrix_rank": of_any({}, {"atol": 0.1}),
    "linalg.lstsq": _least_squares,
    "linalg.tensorinv": lambda rng: [((square(rng, n=6).reshape(2, 3, 6),), {})],
    "linalg.tensorsolve": _tensors,
    "linalg.matrix_norm": _norms,
    "linalg.norm": _any_norm,
    "norm": _torch_norm,
    "linalg.cond": _conditions,
    "linalg.vander": lambda rng: [((drawn(rng, 2, 3),), {}), ((drawn(rng, 2),), {"N": 4})],
    "nn.functional.scaled_dot_product_attention": _attention,
    "nn.functional.multi_head_attention_forward": _many_heads,
}
