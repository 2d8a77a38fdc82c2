"""Sums of products by index letters, and products over chosen axes, as batched matrix products."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from gradwire_engine.accepted import one_dtype
from gradwire_engine.arrays import Array
from gradwire_engine.errors import GradwireError, invalid_argument, shape_mismatch
from gradwire_engine.families import composite
from gradwire_engine.ops.arithmetic import mul
from gradwire_engine.ops.axes import permute
from gradwire_engine.ops.expand import reshape, row_major, sum, view
from gradwire_engine.ops.matmul import matmul
from gradwire_engine.ops.views import diagonal
from gradwire_engine.signature import Arrays, Data, Ints, axes
from gradwire_engine.spec import DTYPES, Shape

DOTS = "…"
"""Stands for the axes of an ellipsis, each with a number behind it."""


class Term(NamedTuple):
    """A tensor whose axes are named."""

    value: Any
    names: tuple[str, ...]


def _refuse(equation: str, why: str) -> GradwireError:
    return invalid_argument(f"einsum: {equation!r}: {why}", "as in 'bij,bjk->bik'")


def _letters(text: str, equation: str) -> list[str]:
    """The names in one term of an equation; an ellipsis is one name here."""
    text = text.replace(" ", "").replace("...", DOTS)
    for letter in text:
        if not (letter == DOTS or (letter.isascii() and letter.isalpha())):
            raise _refuse(equation, f"{letter!r} is not a letter")
    if text.count(DOTS) > 1:
        raise _refuse(equation, "there are two ellipses in one term")
    return list(text)


def _named(letters: list[str], shape: Shape, equation: str) -> tuple[str, ...]:
    """A name for every axis of an operand, axes of the ellipsis counted from the last."""
    hidden = len(shape) - len(letters) + (DOTS in letters)
    if hidden < 0 or (hidden and DOTS not in letters):
        raise _refuse(equation, f"{''.join(letters)!r} does not name the axes of {list(shape)}")
    names: list[str] = []
    for letter in letters:
        names += [f"{DOTS}{hidden - i}" for i in range(hidden)] if letter == DOTS else [letter]
    return tuple(names)


def _without_repeats(term: Term) -> Term:
    """A name that stands twice means the diagonal of the two axes."""
    value, names = term
    for i, name in enumerate(names):
        if name in names[i + 1 :]:
            j = names.index(name, i + 1)
            left = tuple(n for k, n in enumerate(names) if k not in (i, j))
            return _without_repeats(Term(diagonal(value, 0, i, j), (*left, name)))
    return term


class Plan(NamedTuple):
    """What an equation says of operands of certain shapes: names of axes and the names' sizes.

    out: of the result. ended: those of operands that the result has not.
    """

    terms: tuple[tuple[str, ...], ...]
    out: tuple[str, ...]
    ended: tuple[str, ...]
    size: Shape


@lru_cache(maxsize=512)
def _planned(equation: str, shapes: tuple[Shape, ...]) -> Plan:
    left, arrow, right = equation.partition("->")
    texts = left.split(",")
    if len(texts) != len(shapes):
        raise _refuse(equation, f"it has {len(texts)} terms for {len(shapes)} operands")
    letters = [_letters(text, equation) for text in texts]
    terms = tuple(_named(ls, shape, equation) for ls, shape in zip(letters, shapes, strict=True))
    names = [name for term in terms for name in dict.fromkeys(term)]
    dots = sorted({n for n in names if n[0] == DOTS}, key=lambda n: -int(n[1:]))
    if arrow:
        wanted = _letters(right, equation)
        out = [n for ls in wanted for n in (dots if ls == DOTS else [ls])]
    else:
        every = [ls for one in letters for ls in one]
        out = [*dots, *sorted(n for n in set(names) if n[0] != DOTS and every.count(n) == 1)]
    if len(set(out)) != len(out) or any(n not in names for n in out):
        raise _refuse(equation, "the result's letters must be distinct and among the operands'")
    sizes = _sizes(terms, shapes, equation)
    ended = tuple(sorted(n for n in sizes if n not in out))
    return Plan(terms, tuple(out), ended, tuple(sizes[n] for n in out))


def _sizes(
    terms: tuple[tuple[str, ...], ...], shapes: tuple[Shape, ...], equation: str
) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for names, shape in zip(terms, shapes, strict=True):
        for name, size in zip(names, shape, strict=True):
            have = sizes.setdefault(name, size)
            if have != size and 1 not in (have, size):
                raise shape_mismatch(
                    f"einsum: {equation!r}: {name} has size {have} in one operand, {size} in "
                    "another",
                    "equal letters need equal sizes, or 1",
                )
            sizes[name] = max(have, size) if 0 not in (have, size) else 0
    return sizes


def _wide(term: Term) -> dict[str, int]:
    """The names of axes that are not of size 1, with their sizes: only those are summed over."""
    return {n: size for n, size in zip(term.names, term.value.shape, strict=True) if size != 1}


def _summed(term: Term, gone: list[str]) -> Term:
    """A term without some of its axes."""
    if not gone:
        return term
    left = tuple(n for n in term.names if n not in gone)
    return Term(sum(term.value, tuple(term.names.index(n) for n in gone)), left)


def _ordered(term: Term, names: tuple[str, ...]) -> Any:
    """The term's axes in this order, with one of size 1 for each name that it has not."""
    own = tuple(n for n in names if n in term.names)
    value = _permuted(term, own)
    if len(own) == len(names):
        return value
    sizes = dict(zip(own, value.shape, strict=True))
    return reshape(value, tuple(sizes.get(n, 1) for n in names))


def _permuted(term: Term, names: tuple[str, ...]) -> Any:
    if term.names == names:
        return term.value
    return permute(term.value, tuple(term.names.index(n) for n in names))


def _joined(a: Term, b: Term, plan: Plan, uses: Counter[str]) -> Term:
    """Two terms to one: axes that only one has are summed, those that end in both contracted.

    As torch's: by a matrix product where an axis of both ends here that is not of size 1, else
    element by element, which takes operands of any two dtypes.
    """
    wide_a, wide_b = _wide(a), _wide(b)
    alone_a: list[str] = []
    alone_b: list[str] = []
    inner: list[str] = []
    for n in plan.ended:
        if n in wide_a and n in wide_b:
            uses[n] -= 1
            inner += [n] if uses[n] == 1 else []
        elif uses[n] == 1 and (n in wide_a or n in wide_b):
            (alone_a if n in wide_a else alone_b).append(n)
    a, b = _summed(a, alone_a), _summed(b, alone_b)
    names = tuple(n for n in (*plan.out, *plan.ended) if n in a.names or n in b.names)
    if not inner:
        return Term(mul(_ordered(a, names), _ordered(b, names)), names)
    return _contracted(_wide_only(a), _wide_only(b), inner, names)


def _wide_only(term: Term) -> Term:
    """A term without its axes of size 1."""
    wide = _wide(term)
    if len(wide) == len(term.names):
        return term
    return Term(reshape(term.value, tuple(wide.values())), tuple(wide))


def _contracted(a: Term, b: Term, inner: list[str], order: tuple[str, ...]) -> Term:
    """A batched matrix product of terms without axes of size 1; order: of the result's names."""
    ends = tuple(inner)
    stack = tuple(n for n in order if n in a.names and n in b.names and n not in inner)
    rows = tuple(n for n in order if n in a.names and n not in b.names)
    columns = tuple(n for n in order if n in b.names and n not in a.names)
    sizes = _wide(a) | _wide(b)
    lead = tuple(sizes[n] for n in stack) or (1,)  # as they lie: to join them may take a copy
    high, deep, across = (prod(sizes[n] for n in names) for names in (rows, ends, columns))
    left = _shaped(_permuted(a, stack + rows + ends), (*lead, high, deep))
    right = _shaped(_permuted(b, stack + ends + columns), (*lead, deep, across))
    names = stack + rows + columns
    names += tuple(n for n in order if n not in sizes)  # of size 1
    found = _shaped(matmul(left, right), tuple(sizes.get(n, 1) for n in names))
    left_over = tuple(n for n in order if n not in inner)
    return Term(_permuted(Term(found, names), left_over), left_over)


def _shaped(value: Any, shape: Shape) -> Any:
    return value if value.shape == shape else reshape(value, shape)


def _alone(term: Term, plan: Plan) -> Any:
    """What an equation of one term says."""
    value = permute(term.value, tuple(term.names.index(n) for n in (*plan.out, *plan.ended)))
    gone = tuple(range(len(plan.out), len(term.names)))
    return sum(value, gone) if gone else value


@composite()
def einsum(equation: str, operands: Arrays) -> Array:
    """Multiply tensors and sum over axes, each named by a letter: 'ij,jk->ik' is a product."""
    plan = _planned(equation, tuple([tuple(value.shape) for value in operands]))
    named = zip(operands, plan.terms, strict=True)
    first, *rest = [_without_repeats(Term(value, names)) for value, names in named]
    if not rest:
        return _alone(first, plan)
    uses = Counter(n for term in (first, *rest) for n in _wide(term))
    for term in rest:
        first = _joined(first, term, plan, uses)
    return view(first.value, plan.size) if plan.ended else first.value


@composite()
def tensordot(a: Array, b: Array, dims: Data = 2) -> Array:
    """Sum of products over the last axes of a and the first of b (an int), or over axes named."""
    ours, theirs = _contracted_axes(a, b, dims)
    one_dtype("tensordot", a=a, b=b)
    sizes_a, sizes_b = [a.shape[i] for i in ours], [b.shape[i] for i in theirs]
    if sizes_a != sizes_b and any(
        m != n and 1 not in (m, n) for m, n in zip(sizes_a, sizes_b, strict=True)
    ):
        raise shape_mismatch(
            f"tensordot: the axes to sum over have sizes {sizes_a} in a and {sizes_b} in b",
            "they must be equal pairwise",
        )
    for i, j, m, n in zip(ours, theirs, sizes_a, sizes_b, strict=True):
        if n == 1 != m:
            a = sum(a, (i,), True, dtype=DTYPES[a.dtype.name])
        elif m == 1 != n:
            b = sum(b, (j,), True, dtype=DTYPES[b.dtype.name])
    rows = tuple(i for i in range(a.ndim) if i not in ours)
    columns = tuple(j for j in range(b.ndim) if j not in theirs)
    size = (*[a.shape[i] for i in rows], *[b.shape[j] for j in columns])
    high, deep = (prod(a.shape[i] for i in places) for places in (rows, ours))
    left, right = permute(a, rows + ours), permute(b, theirs + columns)
    if prod(size) == high == 1:
        return reshape(_one_number(left, right), size)
    found = matmul(reshape(left, (high, deep)), reshape(right, (deep, prod(size[len(rows) :]))))
    return reshape(found, size)


def _one_number(left: Any, right: Any) -> Any:
    """The sum of all products, of which torch copies no operand that lies otherwise."""
    if row_major(left) and row_major(right):
        return matmul(reshape(left, (-1,)), reshape(right, (-1,)))
    one, two = (view(x, tuple(n for n in x.shape if n != 1)) for x in (left, right))
    return sum(mul(one, two), dtype=DTYPES[one.dtype.name])


@composite(numbers=())
def inner(input: Array, other: Array) -> Array:
    """Sums of products over the last axis of both; a plain product where one is 0-d."""
    if input.ndim == 0 or other.ndim == 0:
        return mul(input, other)
    if input.shape[-1] != other.shape[-1]:
        raise shape_mismatch(
            f"inner: the last axes of {list(input.shape)} and {list(other.shape)} must be equal",
            "transpose one?",
        )
    return tensordot(input, other, ((input.ndim - 1,), (other.ndim - 1,)))


def _contracted_axes(a: Any, b: Any, dims: Any) -> tuple[Ints, Ints]:
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise invalid_argument(
                f"tensordot: dims is {dims}, the tensors have {a.ndim} and {b.ndim} axes",
                "dims is at least 0 and at most the number of axes of either",
            )
        return tuple(range(a.ndim - dims, a.ndim)), tuple(range(dims))
    pairs = isinstance(dims, tuple) and len(dims) == 2 and all(isinstance(d, tuple) for d in dims)
    if not pairs or len(dims[0]) != len(dims[1]):
        raise invalid_argument(
            f"tensordot: dims {dims} are not two equally long lists",
            "give an int, or axes of a and as many of b",
        )
    ours, theirs = (
        axes("tensordot", tuple(d), x.ndim) if d else () for d, x in zip(dims, (a, b), strict=True)
    )
    return ours, theirs
