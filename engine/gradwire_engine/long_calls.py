"""Calls of NumPy and SciPy that may take seconds, shown to whoever watches the clock.

A kernel can't be stopped from outside once it is in a library. So who has a time limit sets a
`Watch` for its thread: products of large matrices are made in blocks, between which the watch looks
at the clock, and decompositions of large matrices are handed to it as a whole. It may refuse them
before they begin, or have them run where they can be ended. Calls on small arrays ask nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from time import monotonic
from typing import Any, NamedTuple, Protocol

import numpy as np

from gradwire_engine.kernels.cores import cores
from gradwire_engine.mode import local

Array = Any

LARGE = 1 << 15
"""Elements of a matrix up to which no decomposition takes long; a singular value decomposition of
181 rows takes 10 ms."""

FEW = 1 << 16
"""Elements of both operands up to which no product takes long."""

HEAVY = 1 << 32
"""Floating-point operations from which on a product may take long: a core of 2020 does some 2**36
a second."""

PART = (1 << 34) * cores()
"""Operations in a part of a product: about half a second's. Smaller parts would take longer than
the whole by more than some hundredths, since BLAS copies the operands of each."""

_LEAST = 64
"""Rows or columns that a part has at least, and a multiple of which most parts have."""


class Work(NamedTuple):
    """What a call will do. name: the function's, for messages and to compare calls of one kind.

    shape: of the first matrix. slow: how many times longer one of its operations takes than one of
    a product, on the machines where it was measured. nbytes: of operands and results, about.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    flops: int
    nbytes: int
    slow: float = 1.0


class Watch(Protocol):
    """Watches the time of a thread's work; each method may raise that there is too little left."""

    def foresee(self, work: Work) -> None:
        """Refuse work before it begins, if it would take longer than may be."""

    def look(self, work: Work | None = None, took: float = 0.0) -> None:
        """Raise where the time is over. work: what is under way, since `took` seconds."""

    def learn(self, work: Work, seconds: float) -> None:
        """Note what work took in fact."""

    def run(self, work: Work, call: Function, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Return what a call gives, wherever it is run."""


class Function:
    """A function of a library, by the names under which any process finds it."""

    __slots__ = ("module", "name", "own")

    def __init__(self, module: str, name: str, own: Callable[..., Any]) -> None:
        self.module, self.name, self.own = module, name, own

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call it, by the thread's watch where the first matrix is large."""
        first = args[0]
        if type(first) is not np.ndarray or first.size < LARGE:
            return self.own(*args, **named)
        watch = local.state.watch
        if watch is None:
            return self.own(*args, **named)
        return watch.run(_factored(self.name, args, named), self, args, named)


class Functions:
    """A module whose decompositions, those of `FACTORISATIONS`, are watched; the rest is as it is.

    The module is imported when first used, since SciPy is slow to import.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self._module), name)
        if {name, name[1:]} & FACTORISATIONS.keys():  # LAPACK's begin with a letter for the dtype
            found = Function(self._module, name, found)
        setattr(self, name, found)
        return found


def lapack(name: str, *arrays: Array) -> Function:
    """SciPy's `name` of LAPACK, as "getrf", for arrays of this dtype; watched."""
    (found,) = import_module("scipy.linalg").get_lapack_funcs((name,), arrays)
    return Function("scipy.linalg.lapack", found.typecode + name, found)


class Cost(NamedTuple):
    """What a decomposition takes: flops for each m n min(m, n), and for each n² and column of B.

    slow: see Work; how many times, measured with OpenBLAS 0.3.30 at 1,000 to 3,000 rows.
    """

    flops: float
    slow: float
    right: float = 0.0


FACTORISATIONS = {
    "svd": Cost(21, 2.0),
    "eig": Cost(25, 4.0),
    "eigvals": Cost(10, 6.0),
    "eigh": Cost(9, 2.0),
    "eigvalsh": Cost(4 / 3, 3.0),
    "qr": Cost(8 / 3, 2.0),
    "inv": Cost(2, 1.5),
    "solve": Cost(2 / 3, 1.5, 2),
    "solve_triangular": Cost(0, 1.5, 1),
    "det": Cost(2 / 3, 1.5),
    "slogdet": Cost(2 / 3, 1.5),
    "cholesky": Cost(1 / 3, 1.5),
    "lu": Cost(2 / 3, 2.0),
    "expm": Cost(24, 1.5),
    "getrf": Cost(2 / 3, 1.5),
    "getrs": Cost(0, 1.5, 2),
    "sytrf": Cost(1 / 3, 3.0),
    "hetrf": Cost(1 / 3, 3.0),
}
"""By their leading terms, after Golub and Van Loan, Matrix Computations, for real matrices."""

_VALUES_ALONE = Cost(8 / 3, 4.0)
"""Singular values without vectors."""

_COMPLEX = 4
"""Real operations in one of complex numbers, about."""

_NO_BLAS = 20.0
"""How many times slower NumPy's own products are, as those of integers."""

Triple = tuple[Array, Array, Array]
"""The operands of a product and its result."""


def _factored(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Work:
    """The work of a decomposition of a stack of matrices, with a right-hand side or without."""
    A: Array = args[0]
    cost = FACTORISATIONS.get(name) or FACTORISATIONS[name[1:]]
    if named.get("compute_uv") is False:
        name, cost = "svdvals", _VALUES_ALONE
    rows, columns = A.shape[-2:]
    flops = cost.flops * A.size * min(rows, columns)
    nbytes = 3 * A.nbytes
    if cost.right:
        B = next(x for x in reversed(args) if type(x) is np.ndarray and x.dtype == A.dtype)
        flops += cost.right * A.shape[-1] * B.size
        nbytes = A.nbytes + 2 * B.nbytes
    if A.dtype.kind == "c":
        flops *= _COMPLEX
    return Work(name, A.dtype.name, A.shape, int(flops), nbytes, cost.slow)


def look() -> None:
    """End the work of this thread where its time is over; for loops over parts of a long call."""
    watch = local.state.watch
    if watch is not None:
        watch.look()


Run = Callable[..., Array]
"""A product of stacks that are alike, written into `out`."""


def matmul(xp: Any, a: Array, b: Array, run: Run | None = None, out: Array | None = None) -> Array:
    """a @ b, in parts where it takes long; into `out` if that is given.

    run: what makes a part, xp.matmul if left out.
    """
    if type(a) is np.ndarray and (a.size > FEW or b.size > FEW) and a.ndim > 1 < b.ndim:
        work = _product(a, b)
        if work.flops >= HEAVY:
            return _in_parts(work, run or np.matmul, a, b, out)
    run = xp.matmul if run is None else run
    return run(a, b) if out is None else run(a, b, out=out)


def _product(a: Array, b: Array) -> Work:
    flops = 2 * max(a.size * b.shape[-1], b.size * a.shape[-2])
    nbytes = a.nbytes + b.nbytes + flops // 2 // max(1, a.shape[-1]) * a.itemsize
    kind = a.dtype.kind
    flops *= _COMPLEX if kind == "c" else 1
    return Work("matmul", a.dtype.name, a.shape, flops, nbytes, 1.0 if kind in "fc" else _NO_BLAS)


def _in_parts(work: Work, run: Run, a: Array, b: Array, out: Array | None) -> Array:
    """The same parts whether or not somebody watches, since these decide about the last bits."""
    watch = local.state.watch
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if out is None:
        out = np.empty((*stack, a.shape[-2], b.shape[-1]), np.result_type(a, b))
    if watch is not None:
        watch.foresee(work)
    began = monotonic()
    a = np.broadcast_to(a, (*stack, *a.shape[-2:]))
    b = np.broadcast_to(b, (*stack, *b.shape[-2:]))
    for one, other, into in parts((a, b, out), work.flops, PART / work.slow):
        if watch is not None:
            watch.look(work, monotonic() - began)
        run(one, other, out=into)
    if watch is not None:
        watch.learn(work, monotonic() - began)
    return out


def parts(arrays: Triple, flops: float, most: float) -> Iterator[Triple]:
    """Halve a stack, or the longer side of a result, until a part has no more than `most` flops.

    Where the halves end depends on nothing but shapes: BLAS may sum in another order in blocks of
    other sizes, and the same product has to be the same, to the last bit, each time.
    """
    a, b, out = arrays
    if out.ndim > 2 and len(out) == 1:
        yield from parts((a[0], b[0], out[0]), flops, most)
        return
    if flops <= most or (out.ndim == 2 and max(out.shape) < 2 * _LEAST):
        yield arrays
        return
    across = out.ndim == 2 and out.shape[1] > out.shape[0]
    length = out.shape[1] if across else len(out)
    middle = (length + 1) // 2 if out.ndim > 2 else -(-length // (2 * _LEAST)) * _LEAST
    for part in (slice(0, middle), slice(middle, length)):
        same = b if b.ndim == 2 else b[part]  # all of a matrix, that part of a stack
        half = (a, b[:, part], out[:, part]) if across else (a[part], same, out[part])
        yield from parts(half, flops * (part.stop - part.start) / length, most)
