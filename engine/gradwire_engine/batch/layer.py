"""A vmap in progress: its level and size, and how random numbers are drawn inside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gradwire_engine.batch.frame import Frame
from gradwire_engine.batch.one_by_one import one_by_one
from gradwire_engine.batch.rules import leading
from gradwire_engine.batch.value import Batched, fronted, is_rows
from gradwire_engine.errors import error
from gradwire_engine.levels import entered
from gradwire_engine.mode import Layer as Outer
from gradwire_engine.mode import local, using
from gradwire_engine.op import APPLY, Primitive
from gradwire_engine.ops.expand import expand
from gradwire_engine.ops.views import select

ERROR, DIFFERENT, SAME = RANDOMNESS = ("error", "different", "same")
"""What a random op does inside vmap: refuse, draw for each example, draw once for all."""


class Layer:
    """One vmap while its function runs. outer: the vmap around it.

    columns: it is over the unit tangents of a Jacobian, and none that the user asked for.
    """

    __slots__ = ("columns", "level", "outer", "randomness", "size")

    def __init__(
        self,
        level: int,
        size: int,
        randomness: str,
        outer: Outer | None,
        columns: bool = False,
    ) -> None:
        self.level, self.size, self.columns = level, size, columns
        self.randomness, self.outer = randomness, outer

    def lift(self, value: Any) -> Any:
        """A value with a row for each example of this vmap, and of those around it."""
        if is_rows(value, self.level):
            return value.within(self.outer.lift) if self.outer else value
        if value.level > self.level:
            return value.within(self.lift)
        inner = self.outer.lift(value) if self.outer else value
        return Batched(expand(inner, (self.size, *inner.shape)), self.level)

    def draw(self, op: Primitive, args: tuple[Any, ...]) -> Any:
        """Apply a random op: refused, drawn for each example, or once for all of them."""
        if self.randomness == ERROR:
            raise error(
                "invalid_argument",
                f"vmap: {op.name} draws random numbers, and randomness is 'error'",
                "pass randomness='different' or 'same', or draw outside of vmap",
            )
        with using(vmap=self.outer):
            return (
                self._different(op, args) if self.randomness == DIFFERENT else self._once(op, args)
            )

    def _different(self, op: Primitive, args: tuple[Any, ...]) -> Any:
        if op.places:
            lifted = list(args)
            for place in op.places:
                if type(args[place]) in APPLY:
                    lifted[place] = Batched(fronted(args[place], self.level, self.size), self.level)
            frame = Frame(op, tuple(lifted), self.level)
            rows = (op.batch or _shaped)(frame)
            return Batched(frame.shaped(rows, frame.call.outputs[0].shape), self.level)
        elif "size" in op.signature.by_name:
            sized = list(args)
            place = op.signature.by_name["size"]
            sized[place] = (self.size, *args[place])
            found = op.dispatch(tuple(sized), {})
        else:
            found = one_by_one(Frame(op, args, self.level, self.size))
        return Batched(found, self.level)

    def _once(self, op: Primitive, args: tuple[Any, ...]) -> Any:
        """One draw, from what is the same for all; only an operand's shape may stand in for it."""
        used = [self._example(op, a) if place in op.places else a for place, a in enumerate(args)]
        return op.dispatch(tuple(used), {})

    def _example(self, op: Primitive, arg: Any) -> Any:
        if not is_rows(arg, self.level):
            return arg
        if op.batch is not None:
            raise error(
                "invalid_argument",
                f"vmap: {op.name} draws by elements that differ from example to example, "
                "and randomness is 'same'",
                "pass randomness='different'",
            )
        return select(arg.value, 0, 0)


def _shaped(b: Frame) -> Any:
    """An op that takes only the shape of its operand, or a `shape` by name.

    One that draws by elements has a batch rule of its own.
    """
    if "shape" in b.op.signature.by_name:
        return b.again(input=b.front("input"), shape=(b.size, *b["shape"]))
    return leading(b)


@contextmanager
def examples(
    size: int, randomness: str, dims: Sequence[bool], values: Sequence[Any]
) -> Iterator[tuple[int, list[Any]]]:
    """Within a vmap of so many examples: its level, and these values as they are in it.

    dims: which of the values are many, a row for each example.
    """
    with entered() as level, using(vmap=Layer(level, size, randomness, local.state.vmap)):
        yield (
            level,
            [Batched(v, level) if many else v for v, many in zip(values, dims, strict=True)],
        )


def layer_at(level: int) -> Any:
    """The vmap in progress at this level."""
    layer: Any = local.state.vmap
    while layer is not None and layer.level > level:
        layer = layer.outer
    return layer
