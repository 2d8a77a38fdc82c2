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
        return _of_rows(made, has_aux, chunk_size)

    return jacobian_of


def _of_rows(made: Pullback, has_aux: bool, chunk_size: int | None = None) -> Any:
    """The Jacobian of a function that has run, with its aux, and nothing more of it."""
    found = from_rows(made, chunk_size)
    made.close()
    return (found, nest.mapped(made.settled, made.aux)) if has_aux else found


def from_rows(made: Pullback, chunk_size: int | None = None) -> Any:
    """The Jacobian of a function that has run, as a nest of nests."""
    create = made.beyond and local.state.grad
    blocks = rows(made.outputs, made.variables, create, chunk_size)
    nested = [nest.filled(made.moved, iter(full_row)) for full_row in blocks]
    return nest.filled(made.raw, iter(nested))


def rows(
    outputs: Sequence[Any],
    variables: Sequence[Any],
    create_graph: bool,
    chunk_size: int | None = None,
) -> list[list[Any]]:
    """The Jacobian of some tensors by others, (*y, *x) each: all rows, or a chunk, in one walk."""
    sizes = [y.spec.size for y in outputs]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    total = sum(sizes)
    moving = [(y, start) for y, start in zip(outputs, starts, strict=True) if y.requires_grad]
    if not moving or not total:
        return [[zeros_between(y, x) for x in variables] for y in outputs]
    basis = [unit_rows(y.spec, total, start) for y, start in moving]
    step = chunk_size or total
    parts = [
        grad(
            [y for y, _ in moving],
            variables,
            [narrow(unit, 0, start, min(step, total - start)) for unit in basis],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
            is_grads_batched=True,
        )
        for start in range(0, total, step)
    ]
    whole = [
        column[0] if len(column) == 1 or column[0] is None else cat(column, 0)
        for column in zip(*parts, strict=True)
    ]
    return [
        [_block(jac, y, x, start) for jac, x in zip(whole, variables, strict=True)]
        for y, start in zip(outputs, starts, strict=True)
    ]


def _block(jac: Any, y: Any, x: Any, start: int) -> Any:
    if jac is None:
        return zeros_between(y, x)
    return reshape(narrow(jac, 0, start, y.spec.size), (*y.shape, *x.shape))


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

    slopes = vmap(along, randomness=randomness, columns=True)(*units)
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
        return _of_rows(made, has_aux)

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
