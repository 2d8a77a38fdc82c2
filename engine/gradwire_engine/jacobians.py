"""Whole Jacobians, in one batched walk: rows by reverse mode, or columns by forward mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from gradwire_engine import nest
from gradwire_engine.backward import grad
from gradwire_engine.forward import Pushed, push
from gradwire_engine.mode import local
from gradwire_engine.ops.axes import movedim
from gradwire_engine.ops.expand import reshape
from gradwire_engine.ops.join import cat
from gradwire_engine.ops.sequences import eye
from gradwire_engine.ops.views import narrow
from gradwire_engine.pullback import Argnums, Pullback, chosen, need_tensors, refusal
from gradwire_engine.reading import zeros
from gradwire_engine.spec import Spec
from gradwire_engine.vmap import vmap

Function = Callable[..., Any]


def jacrev(
    function: Function,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
) -> Function:
    """The Jacobian by reverse mode: for each result and argument a tensor (*result, *argument).

    chunk_size: rows done at once; None: all of a result.
    """
    if chunk_size is not None and chunk_size < 1:
        raise refusal(
            f"jacrev: chunk_size is {chunk_size}", "it must be at least 1", raised=ValueError
        )

    def jacobian_of(*args: Any) -> Any:
        _check_real("jacrev", "argument", nest.leaves(args))
        made = Pullback("jacrev", function, args, argnums, has_aux)
        _check_real("jacrev", "result", made.outputs)
        found = from_rows(made, chunk_size)
        return (found, nest.mapped(made.settled, made.aux)) if has_aux else found

    return jacobian_of


def from_rows(made: Pullback, chunk_size: int | None = None) -> Any:
    """The Jacobian of a function that has run, as a nest of nests."""
    create = made.beyond and local.state.grad
    blocks = [rows(y, made.variables, create, chunk_size) for y in made.outputs]
    full = [
        [zeros_between(y, x) if b is None else b for b, x in zip(row, made.variables, strict=True)]
        for y, row in zip(made.outputs, blocks, strict=True)
    ]
    nested = [nest.filled(made.moved, iter(row)) for row in full]
    return nest.filled(made.raw, iter(nested))


def rows(
    y: Any, variables: Sequence[Any], create_graph: bool, chunk_size: int | None = None
) -> list[Any]:
    """The Jacobian of one tensor by some, (*y, *x) each, all rows (of a chunk) in one walk.

    None where it depends on none of a variable's elements.
    """
    count = y.spec.size
    if not y.requires_grad or not count:
        return [None] * len(variables)
    step = chunk_size or count
    basis = unit_rows(y.spec, count, 0)
    parts = [
        grad(
            [y],
            variables,
            [narrow(basis, 0, start, min(step, count - start))],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
            is_grads_batched=True,
        )
        for start in range(0, count, step)
    ]
    columns = zip(*parts, strict=True)
    return [
        None if column[0] is None else reshape(_joined(column), (*y.shape, *x.shape))
        for column, x in zip(columns, variables, strict=True)
    ]


def _joined(parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else cat(tuple(parts), 0)


def unit_rows(spec: Spec, count: int, before: int) -> Any:
    """Rows of the unit matrix of `count` rows, from column `before` on, each in a shape."""
    full = eye(count, dtype=spec.dtype, device=spec.device)
    part = full if spec.size == count else narrow(full, 1, before, spec.size)
    return reshape(part, (count, *spec.shape))


def zeros_between(y: Any, x: Any) -> Any:
    """The Jacobian of a tensor that doesn't depend on another."""
    return zeros(y.spec.with_(shape=(*y.shape, *x.shape), dtype=x.dtype))


def jacfwd(
    function: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Function:
    """The Jacobian by forward mode: all columns in one run of the function."""

    def jacobian_of(*args: Any) -> Any:
        _check_real("jacfwd", "argument", nest.leaves(args))
        moved = chosen("jacfwd", args, argnums)
        primals = nest.leaves(moved)
        need_tensors("jacfwd", "arguments", primals)
        pushed, slopes = columns(
            primals,
            lambda along: push(
                "jacfwd", function, args, primals, along,
                argnums=argnums, moved=moved, has_aux=has_aux,
            ),
            randomness,
        )  # fmt: skip
        outputs = nest.leaves(pushed.result)
        _check_real("jacfwd", "result", outputs)
        nested = [nest.filled(moved, iter(row)) for row in slopes]
        found = nest.filled(pushed.result, iter(nested))
        return (found, pushed.aux) if has_aux else found

    return jacobian_of


def columns(
    primals: Sequence[Any], run: Callable[[Sequence[Any]], Pushed], randomness: str = "error"
) -> tuple[Pushed, list[list[Any]]]:
    """What a run along one tangent for each primal gives, and the Jacobian, (*y, *x) each."""
    sizes = [x.spec.size for x in primals]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    total = sum(sizes)
    units = [unit_rows(x.spec, total, s) for x, s in zip(primals, starts, strict=True)]
    kept: list[Pushed] = []

    def along(*tangents: Any) -> list[Any]:
        kept.append(run(tangents))
        return kept[0].full_tangents

    slopes = vmap(along, randomness=randomness)(*units)
    blocks = [[_columns(t, x, s) for x, s in zip(primals, starts, strict=True)] for t in slopes]
    return kept[0], blocks


def _columns(slope: Any, x: Any, start: int) -> Any:
    """Of a tangent for each column the part for one primal, with that primal's axes last."""
    part = movedim(narrow(slope, 0, start, x.spec.size), (0,), (-1,))
    return reshape(part, (*slope.shape[1:], *x.shape))


def hessian(function: Function, argnums: Argnums = 0) -> Function:
    """The Hessian: columns by forward mode of the gradient by reverse mode."""
    return jacfwd(jacrev(function, argnums), argnums)


def jacobian(
    function: Function, argnums: Argnums = 0, has_aux: bool = False, *, strategy: str | None = None
) -> Function:
    """The Jacobian by the mode that has less to do.

    strategy: "forward-mode" or "reverse-mode"; left out, the shapes decide: reverse mode does as
    much as there are results, forward mode as there are arguments, and runs the function again.
    """
    if strategy not in (None, "forward-mode", "reverse-mode"):
        raise refusal(
            f"jacobian: strategy is {strategy!r}",
            'it must be "forward-mode" or "reverse-mode"',
            raised=AssertionError,
        )
    forward = jacfwd(function, argnums, has_aux)

    def jacobian_of(*args: Any) -> Any:
        if strategy == "forward-mode":
            return forward(*args)
        _check_real("jacobian", "argument", nest.leaves(args))
        made = Pullback("jacobian", function, args, argnums, has_aux)
        if strategy is None and _size(made.variables) < _size(made.outputs):
            return forward(*args)
        _check_real("jacobian", "result", made.outputs)
        found = from_rows(made)
        return (found, nest.mapped(made.settled, made.aux)) if has_aux else found

    return jacobian_of


def _size(values: Sequence[Any]) -> int:
    return sum(prod(v.shape) for v in values)


def _check_real(asked: str, what: str, values: Sequence[Any]) -> None:
    for value in values:
        if getattr(value, "dtype", None) is not None and value.dtype.is_complex:
            raise refusal(
                f"{asked}: {what}s must be real, one is {value.dtype.name}",
                "use vjp or jvp, or view_as_real",
                "dtype_mismatch",
            )
