"""Sums of products by index letters, and products over chosen axes, as batched matrix products."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from gradwire_engine.accepted import BOOLS, one_dtype, refuse
from gradwire_engine.arrays import Array
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.families import composite
from gradwire_engine.ops.arithmetic import mul
from gradwire_engine.ops.axes import permute
from gradwire_engine.ops.expand import expand, reshape, sum
from gradwire_engine.ops.matmul import matmul
from gradwire_engine.ops.views import diagonal
from gradwire_engine.signature import Arrays, Data, Ints, axes
from gradwire_engine.spec import Shape

DOTS = "…"
"""Stands for the axes of an ellipsis, each with a number behind it."""


class Term(NamedTuple):
    """A tensor whose axes are named."""

    value: Any
    names: tuple[str, ...]


def _refuse(equation: str, why: str) -> GradwireError:
    return error("invalid_argument", f"einsum: {equation!r}: {why}", "as in 'bij,bjk->bik'")


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
    """What an equation says of operands of certain shapes: names of axes and the names' sizes."""

    terms: tuple[tuple[str, ...], ...]
    out: tuple[str, ...]
    sizes: dict[str, int]


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
    return Plan(terms, tuple(out), _sizes(terms, shapes, equation))


def _sizes(
    terms: tuple[tuple[str, ...], ...], shapes: tuple[Shape, ...], equation: str
) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for names, shape in zip(terms, shapes, strict=True):
        for name, size in zip(names, shape, strict=True):
            have = sizes.setdefault(name, size)
            if have != size and 1 not in (have, size):
                raise error(
                    "shape_mismatch",
                    f"einsum: {equation!r}: {name} has size {have} in one operand, {size} in "
                    "another",
                    "equal letters need equal sizes, or 1",
                )
            sizes[name] = max(have, size) if 0 not in (have, size) else 0
    return sizes


def _summed(term: Term, kept: set[str]) -> Term:
    """A term without the axes that nobody else needs, or that have size 1."""
    gone = tuple(i for i, n in enumerate(term.names) if n not in kept)
    if not gone:
        return term
    left = tuple(n for n in term.names if n in kept)
    return Term(sum(term.value, gone), left)


def _arranged(term: Term, names: tuple[str, ...], sizes: dict[str, int]) -> Any:
    """The term's axes in this order, expanded to full size; all of the names are its own."""
    value, size = term.value, tuple(sizes[n] for n in names)
    if term.names != names:
        value = permute(value, tuple(term.names.index(n) for n in names))
    return value if value.shape == size else expand(value, size)


def _contracted(a: Term, b: Term, kept: set[str], sizes: dict[str, int]) -> Term:
    """Two terms to one, by a batched matrix product over the names that end here."""
    a = _summed(a, kept | set(b.names))
    b = _summed(b, kept | set(a.names))
    shared = [n for n in a.names if n in b.names]
    stack = tuple(n for n in shared if n in kept)
    inner = tuple(n for n in shared if n not in kept)
    rows = tuple(n for n in a.names if n not in shared)
    columns = tuple(n for n in b.names if n not in shared)
    lead = tuple(sizes[n] for n in stack) or (1,)  # as they lie: to join them may take a copy
    count = [prod(sizes[n] for n in names) for names in (rows, inner, columns)]
    left = _shaped(_arranged(a, stack + rows + inner, sizes), (*lead, count[0], count[1]))
    right = _shaped(_arranged(b, stack + inner + columns, sizes), (*lead, count[1], count[2]))
    found = matmul(left, right) if inner else mul(left, right)
    names = stack + rows + columns
    return Term(_shaped(found, tuple(sizes[n] for n in names)), names)


def _shaped(value: Any, shape: Shape) -> Any:
    return value if value.shape == shape else reshape(value, shape)


@composite()
def einsum(equation: str, operands: Arrays) -> Array:
    """Multiply tensors and sum over axes, each named by a letter: 'ij,jk->ik' is a product."""
    plan = _planned(equation, tuple([tuple(value.shape) for value in operands]))
    named = zip(operands, plan.terms, strict=True)
    terms = [_without_repeats(Term(value, names)) for value, names in named]
    out, sizes = plan.out, plan.sizes
    first, *rest = terms
    for i, term in enumerate(rest):
        later = {n for t in rest[i + 1 :] for n in t.names}
        first = _contracted(first, term, later | set(out), sizes)
    first = _summed(first, set(out))
    return _arranged(first, out, sizes)


@composite()
def tensordot(a: Array, b: Array, dims: Data = 2) -> Array:
    """Sum of products over the last axes of a and the first of b (an int), or over axes named."""
    ours, theirs = _contracted_axes(a, b, dims)
    one_dtype("tensordot", a=a, b=b)
    refuse("tensordot", (BOOLS,), a)
    sizes_a, sizes_b = [a.shape[i] for i in ours], [b.shape[i] for i in theirs]
    if sizes_a != sizes_b and any(
        m != n and 1 not in (m, n) for m, n in zip(sizes_a, sizes_b, strict=True)
    ):
        raise error(
            "shape_mismatch",
            f"tensordot: the axes to sum over have sizes {sizes_a} in a and {sizes_b} in b",
            "they must be equal pairwise",
        )
    letters = [chr(ord("a") + i) for i in range(a.ndim)]
    others = [chr(ord("A") + i) for i in range(b.ndim)]
    for i, j in zip(ours, theirs, strict=True):
        others[j] = letters[i]
    left = [n for i, n in enumerate(letters) if i not in ours]
    right = [n for j, n in enumerate(others) if j not in theirs]
    equation = f"{''.join(letters)},{''.join(others)}->{''.join(left + right)}"
    return einsum(equation, (a, b))


def _contracted_axes(a: Any, b: Any, dims: Any) -> tuple[Ints, Ints]:
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise error(
                "invalid_argument",
                f"tensordot: dims is {dims}, the tensors have {a.ndim} and {b.ndim} axes",
                "dims is at least 0 and at most the number of axes of either",
            )
        return tuple(range(a.ndim - dims, a.ndim)), tuple(range(dims))
    if not isinstance(dims, tuple) or len(dims) != 2 or len(dims[0]) != len(dims[1]):
        raise error(
            "invalid_argument",
            f"tensordot: dims {dims} are not two equally long lists",
            "give an int, or axes of a and as many of b",
        )
    ours, theirs = (
        axes("tensordot", tuple(d), x.ndim) if d else () for d, x in zip(dims, (a, b), strict=True)
    )
    return ours, theirs
