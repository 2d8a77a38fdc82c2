"""Custom functions on what transforms wrap: under vmap, and with tangents.

Under vmap the forward runs once on batched values; its node is one of the values inside, and its
rule runs the backward once, on batched values again. In forward mode the tangents of the results
come from the backward program, which is linear in its cotangents, transposed by a local walk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gradwire_engine.batch.layer import examples
from gradwire_engine.batch.value import Batched, fronted, is_rows
from gradwire_engine.catalogue import resolve
from gradwire_engine.dual import dual, transposed, unpacked
from gradwire_engine.reading import fit
from gradwire_engine.signature import VALUE_TYPES
from gradwire_engine.spec import Shape
from gradwire_engine.tape import Program

Forward = Callable[..., Any]
"""Gives a `Made`."""
Apply = Callable[[Forward, Sequence[Any]], list[Any]]
"""How a custom function is applied to what is inside."""


def on_values(apply: Apply, forward: Forward, args: Sequence[Any]) -> list[Any]:
    """Apply a custom function to arguments of which some are wrapped; the outermost wrapper."""
    level = max(a.level for a in args if hasattr(a, "level"))
    batched = any(is_rows(a, level) for a in args)
    return (_batched if batched else _moved)(apply, forward, args, level)


# under vmap


def _batched(apply: Apply, forward: Forward, args: Sequence[Any], level: int) -> list[Any]:
    size = next(a.size for a in args if is_rows(a, level))
    dims = [is_rows(a, level) for a in args]

    def inside(*values: Any) -> Any:
        pairs = zip(values, dims, strict=True)
        made = forward(*[Batched(v, level) if mine else v for v, mine in pairs])
        rows = {id(o): fronted(o, level, size) for o in made.outputs if type(o) in VALUE_TYPES}
        rows |= {id(v): v.value for v in (*made.saved, *made.dirty) if is_rows(v, level)}
        saved = [id(v) in rows for v in made.saved]
        shapes = [a.shape if type(a) in VALUE_TYPES else None for a in args]
        rule = BatchedBackward(
            made.function.backward, size, tuple(saved), tuple(dims), tuple(shapes)
        )
        return made._replace(
            function=made.function._replace(backward=rule),
            outputs=[rows.get(id(o), o) for o in made.outputs],
            saved=[rows.get(id(v), v) for v in made.saved],
            non_differentiable=[rows[id(v)] for v in made.non_differentiable],
            dirty=[rows.get(id(v), v) for v in made.dirty],
        )

    found = apply(inside, [a.value if mine else a for a, mine in zip(args, dims, strict=True)])
    return [Batched(o, level) if type(o) in VALUE_TYPES else o for o in found]


@dataclass(frozen=True, slots=True)
class BatchedBackward:
    """A backward for all examples at once.

    saved, dims: which saved values and arguments have a batch axis, in front; shapes: of one
    example of each argument, None of what is no tensor.
    """

    backward: Program
    size: int
    saved: tuple[bool, ...]
    dims: tuple[bool, ...]
    shapes: tuple[Shape | None, ...]

    @property
    def id(self) -> str:
        """The program's."""
        return self.backward.id

    def __call__(self, *given: Any) -> tuple[Any, ...]:
        wraps = [*self.saved, *[True] * (len(given) - len(self.saved))]
        dims = [w and type(v) in VALUE_TYPES for v, w in zip(given, wraps, strict=True)]
        with examples(self.size, "different", dims, given) as (level, rows):
            found = self.backward(*rows)
            if len(found) != len(self.dims):
                return tuple(found)  # the rule says what is wrong
            return tuple([self._own(place, g, level) for place, g in enumerate(found)])

    def _own(self, place: int, g: Any, level: int) -> Any:
        """The gradient of an argument: of one that all examples share, the sum of theirs."""
        shape = self.shapes[place]
        if type(g) not in VALUE_TYPES or shape is None:
            return g
        if tuple(g.shape) != tuple(shape) and len(g.shape) >= len(shape):
            g = resolve("sum_to_size")(g, shape)
        rows = fronted(g, level, self.size)
        return rows if self.dims[place] else resolve("sum")(rows, 0)


# in forward mode


def _moved(apply: Apply, forward: Forward, args: Sequence[Any], level: int) -> list[Any]:
    pairs = [unpacked(a, level) if type(a) in VALUE_TYPES else (a, None) for a in args]
    kept: list[Any] = []

    def inside(*values: Any) -> Any:
        kept.extend((forward(*values), values))
        return kept[0]

    primals = [primal for primal, _ in pairs]
    outputs = apply(inside, primals)
    made, seen = kept
    fixed = [any(o is c for c in made.non_differentiable) for o in made.outputs]
    own = {id(made.outputs[i]): o for i, o in enumerate(outputs)}
    own |= {id(v): p for v, p in zip(seen, primals, strict=True)}
    saved = [own.get(id(v), v) for v in made.saved]
    tangents = _transposed(
        made.function.backward, saved, [t for _, t in pairs], outputs, fixed, level
    )
    return [o if t is None else dual(o, t, level) for o, t in zip(outputs, tangents, strict=True)]


def _transposed(
    backward: Program,
    saved: Sequence[Any],
    tangents: Sequence[Any],
    outputs: Sequence[Any],
    fixed: Sequence[bool],
    level: int,
) -> list[Any]:
    """The tangents of the outputs: the gradient, by cotangents, of what backward makes of them."""

    def gradients(variables: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        for g, t in zip(backward(*saved, *variables), tangents, strict=False):
            if type(g) in VALUE_TYPES and t is not None:
                yield fit(g, t.spec), t

    moves = [
        type(o) in VALUE_TYPES and o.dtype.differentiable and not still
        for o, still in zip(outputs, fixed, strict=True)
    ]
    return list(transposed(gradients, outputs, moves, (*saved, *tangents), level))
