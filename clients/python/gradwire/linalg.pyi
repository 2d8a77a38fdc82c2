"""torch.linalg, from the catalogue.

Made from the catalogue by `make docs`.
"""

from collections.abc import Sequence
from typing import Any, overload
from gradwire._typed import results
from gradwire._typed.arguments import Ints
from gradwire.tensor import Tensor
from gradwire_engine.spec import DType

def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The triangular Cholesky factor of each positive definite matrix."""

def cholesky_ex(
    A: Tensor,
    *,
    upper: bool = False,
    check_errors: bool = False,
) -> results.linalg_cholesky_ex:
    """The Cholesky factor of each matrix, and an info that is not 0 where there is none."""

def cond(A: Tensor, p: Any = None) -> Tensor:
    """The condition number of each matrix: its norm times that of its inverse."""

def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product of vectors of three numbers along an axis."""

def det(A: Tensor) -> Tensor:
    """The determinant of each square matrix."""

def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of the matrices in the last two axes."""

def eig(A: Tensor) -> results.linalg_eig:
    """Complex eigenvalues and eigenvectors of each square matrix."""

def eigh(A: Tensor, UPLO: str = 'L') -> results.linalg_eigh:
    """Real eigenvalues, rising, and eigenvectors of each Hermitian matrix."""

def eigvals(A: Tensor) -> Tensor:
    """The complex eigenvalues of each square matrix."""

def eigvalsh(A: Tensor, UPLO: str = 'L') -> Tensor:
    """The real eigenvalues, rising, of each Hermitian matrix."""

def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of the reflections 1 - tau[i] v[i] v[i]ᴴ."""

def inv(A: Tensor) -> Tensor:
    """The inverse of each square matrix."""

def inv_ex(A: Tensor, *, check_errors: bool = False) -> results.linalg_inv_ex:
    """The inverse of each square matrix, and an info that is not 0 where there is none."""

def ldl_factor(A: Tensor, *, hermitian: bool = False) -> results.linalg_ldl_factor:
    """LDL factors of each symmetric matrix, packed, and pivots; without a derivative."""

def ldl_factor_ex(
    A: Tensor,
    *,
    hermitian: bool = False,
    check_errors: bool = False,
) -> results.linalg_ldl_factor_ex:
    """LDL factors of each matrix, their pivots, and where a block of D is 0."""

def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """The X of each system A X = B with A given by its LDL factors; without a derivative."""

def lstsq(
    A: Tensor,
    B: Tensor,
    rcond: float | None = None,
    *,
    driver: str | None = None,
) -> results.linalg_lstsq:
    """The X with the least |A X - B|, the squared residuals, rank and singular values of A."""

def lu(A: Tensor, *, pivot: bool = True) -> results.linalg_lu:
    """A permutation and triangular factors of each matrix: A = P L U."""

def lu_factor(A: Tensor, *, pivot: bool = True) -> results.linalg_lu_factor:
    """LU factors of each matrix, packed into one, with their pivots."""

def lu_factor_ex(
    A: Tensor,
    *,
    pivot: bool = True,
    check_errors: bool = False,
) -> results.linalg_lu_factor_ex:
    """LU factors of each matrix, their pivots, and where a pivot is 0."""

def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
) -> Tensor:
    """The X of each system A X = B (Aᴴ X = B; X A = B) with A given by its LU factors."""

def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product of vectors, matrices or broadcast stacks of matrices."""

def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of each square matrix."""

def matrix_norm(
    A: Tensor,
    ord: Any = 'fro',
    dim: Ints = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """A norm of each matrix in two axes: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."""

def matrix_power(A: Tensor, n: int) -> Tensor:
    """Each square matrix times itself, n times; its inverse where n is negative."""

@overload
def matrix_rank(
    A: Tensor,
    *,
    atol: Tensor | None = None,
    rtol: Tensor | None = None,
    hermitian: bool = False,
) -> Tensor:
    """The numerical rank of each matrix: how many singular values count as more than 0."""
@overload
def matrix_rank(A: Tensor, tol: Tensor, hermitian: bool = False) -> Tensor: ...

@overload
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """Product of several matrices in the cheapest order; first and last may be vectors."""
@overload
def multi_dot(*tensors: Tensor) -> Tensor: ...

def norm(
    A: Tensor,
    ord: Any = None,
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """A norm of vectors or matrices; of all elements as one vector where nothing else is said."""

@overload
def pinv(
    A: Tensor,
    *,
    atol: Tensor | None = None,
    rtol: Tensor | None = None,
    hermitian: bool = False,
) -> Tensor:
    """The pseudo-inverse of each matrix."""
@overload
def pinv(A: Tensor, rcond: Tensor, hermitian: bool = False) -> Tensor: ...

def qr(A: Tensor, mode: str = 'reduced') -> results.linalg_qr:
    """An orthogonal Q and an upper triangular R with A = Q R for each matrix."""

def slogdet(A: Tensor) -> results.linalg_slogdet:
    """Sign (or phase) of each determinant and the logarithm of its size."""

def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The X of each system A X = B (or X A = B), for vectors or matrices B."""

def solve_ex(
    A: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    check_errors: bool = False,
) -> results.linalg_solve_ex:
    """The X of each system A X = B, and an info that is not 0 where A is singular."""

def solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Tensor:
    """The X of each system A X = B (or X A = B) with a triangular A."""

def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> results.linalg_svd:
    """Singular values, falling, and vectors of each matrix: A = U diag(S) Vh."""

def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values, falling, of each matrix."""

def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of a tensor seen as a matrix of its first `ind` axes by the others."""

@overload
def tensorsolve(A: Tensor, B: Tensor, dims: Ints | None = None) -> Tensor:
    """The X with tensordot(A, X, X.ndim) = B."""
@overload
def tensorsolve(A: Tensor, B: Tensor, *dims: int) -> Tensor: ...

def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element, in a new last axis."""

def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Inner products of vectors along an axis, the first conjugated."""

def vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """The p-norm over some axes, or over all: the p-th root of the sum of |x|^p."""
