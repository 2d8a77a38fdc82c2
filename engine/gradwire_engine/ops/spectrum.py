"""Eigenvalues and singular values with their vectors.

The derivatives are those of M. Giles, "Collected matrix derivative results for forward and reverse
mode algorithmic differentiation" (2008), extended to complex matrices. Those of vectors don't exist
where eigenvalues (singular values) coincide.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading
from gradwire_engine.errors import invalid_argument
from gradwire_engine.families import composite, internal, primitive
from gradwire_engine.kernels import large_matrices, singular_vectors
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.laid import COLUMNS
from gradwire_engine.ops.arithmetic import conj, div, is_complex, mul, sub
from gradwire_engine.ops.axes import mH as adjoint
from gradwire_engine.ops.axes import unsqueeze
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.complex import imag, real
from gradwire_engine.ops.creation import zeros
from gradwire_engine.ops.diagonals import diag_embed
from gradwire_engine.ops.expand import sum
from gradwire_engine.ops.matmul import matmul
from gradwire_engine.ops.square import need_matrices, solve_system
from gradwire_engine.ops.views import diagonal, narrow
from gradwire_engine.rule import checked, vjp
from gradwire_engine.spec import Spec, complex_of, real_of

Pair = tuple[Array, Array]
Triple = tuple[Array, Array, Array]


def diagonals(x: Any) -> Any:
    """The diagonal of each matrix."""
    return diagonal(x, 0, x.ndim - 2, x.ndim - 1)


def _gaps(values: Any) -> Any:
    """values[j] - values[i] at (i, j); 1 on the diagonal, where nothing is divided by it."""
    found = sub(unsqueeze(values, -2), unsqueeze(values, -1))
    return found + diag_embed(mul(values, 0) + 1)


def _over(x: Any, y: Any) -> Any:
    """x / y, but 0 for 0 / 0: what has no cotangent needs no vectors to be determined."""
    return div(x, where((y == 0) & (x == 0), 1, y))


def _with_diagonal(x: Any, values: Any) -> Any:
    """Each matrix with these values on its diagonal."""
    return x + diag_embed(sub(values, diagonals(x)))


def _skew(x: Any) -> Any:
    return sub(x, adjoint(x))


@internal(vjp(input=lambda g: g), fallible=True, batch=leading)
def of_any_phase(xp: Any, input: Array, turned: Array, back: Array, asked: str) -> Array:
    """A cotangent of vectors whose phase nothing depends on: else there is no derivative.

    turned, back: how fast the loss grows with each vector's phase, and what makes up for it. They
    are compared as torch does, to a hundredth of 1 and of their size.
    """
    if not bool(xp.allclose(turned, back, 1e-2, 1e-2)):
        raise invalid_argument(
            f"backward of {asked}: complex vectors are known up to a factor e^{{i phi}}, and the "
            "loss depends on it, so it has no derivative",
            "take of the vectors what no phase changes, as abs() or v v^H",
        )
    return input


def _phases(x: Any, g: Any, dim: int) -> Any:
    """How fast a loss with cotangents g grows with the phase of each vector along an axis."""
    return sum(imag(mul(conj(x), g)), (dim,))


def _eigh_spec(A: Spec, UPLO: str) -> tuple[Spec, Spec]:
    need_matrices("linalg.eigh", A, square=True)
    if UPLO.upper() not in ("L", "U"):
        raise invalid_argument(f"linalg.eigh: UPLO is {UPLO!r}", "it is 'L' or 'U'")
    return Spec(A.shape[:-1], real_of(A.dtype), ""), A


def _phases_free(asked: str) -> Any:
    """A check of the cotangent of eigenvectors, of which no complex one's phase may count."""

    def check(g_values: Any, g_vectors: Any, values: Any, vectors: Any) -> Any:
        if is_complex(vectors):
            turned = _phases(vectors, g_vectors, -2)
            g_vectors = of_any_phase(g_vectors, turned, mul(turned, 0), asked)
        return g_values, g_vectors, values, vectors

    return check


def _eigh_gradient(
    g_eigenvalues: Any, g_eigenvectors: Any, eigenvalues: Any, eigenvectors: Any
) -> Any:
    turned = mul(_skew(matmul(adjoint(eigenvectors), g_eigenvectors)), 0.5)
    inner = _with_diagonal(_over(turned, _gaps(eigenvalues)), g_eigenvalues)
    return matmul(matmul(eigenvectors, inner), adjoint(eigenvectors))


@primitive(
    vjp(A=checked(_phases_free("linalg.eigh"), _eigh_gradient)),
    spec=_eigh_spec,
    name="linalg.eigh",
    outputs=("eigenvalues", "eigenvectors"),
    fallible=True,
    formula="V (diag(g_L) + skew(Vᴴ g_V) / 2E) Vᴴ with E[i, j] = L[j] - L[i]",
    batch=leading,
    lies=COLUMNS,
)
def eigh(xp: Any, A: Array, UPLO: str = "L") -> Pair:
    """Real eigenvalues, rising, and eigenvectors of each Hermitian matrix."""
    values, vectors = xp.linalg.eigh(A, UPLO.upper())
    return values, vectors


@composite(name="linalg.eigvalsh")
def eigvalsh(A: Array, UPLO: str = "L") -> Array:
    """The real eigenvalues, rising, of each Hermitian matrix."""
    return eigh(A, UPLO)[0]


def _eig_spec(A: Spec) -> tuple[Spec, Spec]:
    need_matrices("linalg.eig", A, square=True)
    found = A.with_(dtype=complex_of(A.dtype))
    return found.with_(shape=A.shape[:-1]), found


def _eig_gradient(
    g_eigenvalues: Any, g_eigenvectors: Any, eigenvalues: Any, eigenvectors: Any
) -> Any:
    """For vectors of length 1, whose phase a loss must not depend on."""
    lying = adjoint(eigenvectors)
    turned = matmul(lying, g_eigenvectors)
    stretch = mul(matmul(lying, eigenvectors), unsqueeze(real(diagonals(turned)), -2))
    inner = _with_diagonal(_over(sub(turned, stretch), conj(_gaps(eigenvalues))), g_eigenvalues)
    return solve_system(lying, matmul(inner, lying))


@primitive(
    vjp(A=checked(_phases_free("linalg.eig"), _eig_gradient)),
    spec=_eig_spec,
    name="linalg.eig",
    outputs=("eigenvalues", "eigenvectors"),
    fallible=True,
    formula="V⁻ᴴ (diag(g_L) + (Vᴴ g_V - VᴴV Re diag(Vᴴ g_V)) / conj(E)) Vᴴ",
    batch=leading,
    lies=COLUMNS,
)
def eig(xp: Any, A: Array) -> Pair:
    """Complex eigenvalues and eigenvectors of each square matrix."""
    values, vectors = xp.linalg.eig(A)
    return values, vectors


@composite(name="linalg.eigvals")
def eigvals(A: Array) -> Array:
    """The complex eigenvalues of each square matrix."""
    return eig(A)[0]


def _svd_spec(A: Spec, full_matrices: bool, driver: str | None) -> tuple[Spec, Spec, Spec]:
    need_matrices("linalg.svd", A)
    if driver is not None and A.device == "cpu":
        raise invalid_argument(
            f"linalg.svd: driver={driver!r} of a matrix on cpu",
            "leave it out: drivers are those of CUDA devices",
        )
    *batch, m, n = A.shape
    k = min(m, n)
    left, right = (m, n) if full_matrices else (k, k)
    values = Spec((*batch, k), real_of(A.dtype), "")
    return A.with_(shape=(*batch, m, left)), values, A.with_(shape=(*batch, right, n))


def _svd_formula(g_u: Any, g_s: Any, g_vh: Any, u: Any, s: Any, vh: Any) -> Any:
    """Only the vectors that belong to singular values count; the others of a full U, V may turn."""
    k = s.shape[-1]
    u, g_u = (narrow(x, x.ndim - 1, 0, k) for x in (u, g_u))
    vh, g_vh = (narrow(x, x.ndim - 2, 0, k) for x in (vh, g_vh))
    row, column = unsqueeze(s, -2), unsqueeze(s, -1)
    gaps = _gaps(mul(s, s))
    left = _skew(matmul(adjoint(u), g_u))
    right = _skew(matmul(vh, adjoint(g_vh)))
    inner = mul(_over(left, gaps), row) + mul(column, _over(right, gaps)) + diag_embed(g_s)
    if is_complex(u):
        inner = inner + diag_embed(_over(diagonals(left), mul(s, 2)))
    found = matmul(matmul(u, inner), vh)
    if u.shape[-2] > k:
        outside = sub(g_u, matmul(u, matmul(adjoint(u), g_u)))
        found = found + matmul(_over(outside, row), vh)
    if vh.shape[-1] > k:
        outside = sub(g_vh, matmul(matmul(g_vh, adjoint(vh)), vh))
        found = found + matmul(u, _over(outside, column))
    return found


@one_pass(_svd_formula, lambda u, vh: u.with_(shape=(*u.shape[:-1], vh.shape[-1])))
def svd_gradient(
    xp: Any, g_u: Array, g_s: Array, g_vh: Array, u: Array, s: Array, vh: Array
) -> Array:
    """The same on arrays."""
    return singular_vectors.gradient(xp, g_u, g_s, g_vh, u, s, vh)


def _both_turn(g_u: Any, g_s: Any, g_vh: Any, u: Any, s: Any, vh: Any) -> Any:
    """A check that the loss changes with no common phase of a pair of vectors."""
    if is_complex(u):
        k = s.shape[-1]
        left, g_left = (narrow(x, x.ndim - 1, 0, k) for x in (u, g_u))
        right, g_right = (narrow(x, x.ndim - 2, 0, k) for x in (vh, g_vh))
        turned, back = _phases(left, g_left, -2), _phases(right, g_right, -1)
        g_u = of_any_phase(g_u, mul(turned, 2), mul(back, 2), "linalg.svd")
    return g_u, g_s, g_vh, u, s, vh


@primitive(
    vjp(
        A=checked(
            _both_turn, lambda g_U, g_S, g_Vh, U, S, Vh: svd_gradient(g_U, g_S, g_Vh, U, S, Vh)
        )
    ),
    spec=_svd_spec,
    name="linalg.svd",
    outputs=("U", "S", "Vh"),
    fallible=True,
    formula="U (diag(g_S) + skew(Uᴴ g_U) / E S + S skew(Vᴴ g_V) / E) Vᴴ + what lies outside",
    batch=leading,
    lies=COLUMNS,
)
def linalg_svd(
    xp: Any, A: Array, full_matrices: bool = True, *, driver: str | None = None
) -> Triple:
    """Singular values, falling, and vectors of each matrix: A = U diag(S) Vh."""
    return large_matrices.singular(xp, A, full_matrices)


@composite(name="linalg.svdvals")
def svdvals(A: Array, *, driver: str | None = None) -> Array:
    """The singular values, falling, of each matrix."""
    return linalg_svd(A, False, driver=driver)[1]


class Svd(NamedTuple):
    """What svd gives: V, where linalg.svd gives its adjoint."""

    U: Any
    S: Any
    V: Any


@composite()
def svd(input: Array, some: bool = True, compute_uv: bool = True) -> Svd:
    """Singular values, falling, and vectors of each matrix: input = U diag(S) Vᴴ."""
    if not compute_uv:
        m, n = need_matrices("svd", input).shape[-2:]
        like = {"dtype": input.dtype, "device": input.device}
        u, v = (zeros((*input.shape[:-2], k, k), **like) for k in (m, n))
        return Svd(u, svdvals(input), v)
    u, s, vh = linalg_svd(input, not some)
    return Svd(u, s, adjoint(vh))
