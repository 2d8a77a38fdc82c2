"""A call on batched operands as a batch rule sees it: logical specs, and the values inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwire_engine.apply import planned
from gradwire_engine.batch.one_by_one import one_by_one
from gradwire_engine.batch.value import fronted, is_rows
from gradwire_engine.errors import error
from gradwire_engine.op import APPLY, Primitive
from gradwire_engine.ops.axes import unsqueeze
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.expand import reshape
from gradwire_engine.spec import Shape, Spec


class Frame:
    """What a rule is given: an op, and operands of which some have a batch axis in front.

    call: the call on one example, with its specs, and dims that count from its first axis.
    """

    __slots__ = ("args", "call", "level", "op", "size")

    def __init__(
        self, op: Primitive, args: tuple[Any, ...], level: int, size: int | None = None
    ) -> None:
        self.op, self.args, self.level = op, args, level
        if size is None:
            size = _common_size(op, [x.size for x in _operands(op, args) if self.mine(x)])
        self.size = size
        self.call = planned(op, args)[0]

    def mine(self, item: Any) -> bool:
        """Whether an operand has a batch axis of this vmap."""
        return is_rows(item, self.level)

    def __getitem__(self, name: str) -> Any:
        """An attribute; dims are counted from the front of one example."""
        return self.call.attributes[name]

    def operand(self, name: str) -> Any:
        """An operand as the op got it: its shape is that of one example."""
        return self.args[self.op.signature.by_name[name]]

    def batched(self, name: str) -> bool:
        """Whether an operand, or one of a list, has a batch axis."""
        item = self.operand(name)
        return any(map(self.mine, item)) if type(item) in (list, tuple) else self.mine(item)

    def inner(self, name: str) -> Any:
        """An operand with its batch axis in front if it has one; else as it is."""
        item = self.operand(name)
        return item.value if self.mine(item) else item

    def front(self, name: str) -> Any:
        """An operand with a batch axis in front: the same everywhere where it had none."""
        return self.fronted(self.operand(name))

    def fronted(self, item: Any) -> Any:
        """The same of any operand; a number or None stays what it is."""
        return fronted(item, self.level, self.size) if type(item) in APPLY else item

    def axes(self, name: str) -> int:
        """The number of axes of one example of an operand."""
        return len(getattr(self.operand(name), "shape", ()))

    def behind(self, item: Any, ndim: int) -> Any:
        """An operand's value for broadcasting: axes of size 1 put in behind the batch axis."""
        if not self.mine(item):
            return item
        missing = ndim - len(item.spec.shape)
        value = item.value
        return reshape(value, (self.size, *[1] * missing, *item.shape)) if missing > 0 else value

    def raised(self, item: Any, least: int = 1) -> Any:
        """A value with its batch axis in front, and at least so many axes behind that."""
        value = self.fronted(item)
        while type(value) in APPLY and len(value.shape) <= least:
            value = unsqueeze(value, len(value.shape))
        return value

    def cast(self, value: Any, spec: Spec) -> Any:
        """A value in the dtype of a spec."""
        return value if value.dtype is spec.dtype else to_dtype(value, spec.dtype)

    def again(self, **changed: Any) -> Any:
        """The op once more on what is inside; what is not changed is as it was."""
        values = [
            changed[name]
            if name in changed
            else self.inner(name)
            if place in self.op.places
            else self.call.arguments[place]
            for name, place in self.op.signature.by_name.items()
        ]
        return self.op(*values)

    def one_by_one(self) -> Any:
        """The op on one example after the other: the last resort."""
        return one_by_one(self)

    def shaped(self, value: Any, shape: Shape) -> Any:
        """A result whose examples get this shape, which differs at most by axes of size 1."""
        wanted = (self.size, *shape)
        return value if tuple(value.shape) == wanted else reshape(value, wanted)


def _common_size(op: Primitive, sizes: list[int]) -> int:
    if len(set(sizes)) > 1:
        raise error(
            "shape_mismatch",
            f"{op.name}: the operands are batches of {', '.join(map(str, sizes))}",
            "they must be equally long",
            raised=ValueError,
        )
    return sizes[0]


def _operands(op: Primitive, args: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for place in op.places:
        item = args[place]
        found.extend(item if type(item) in (list, tuple) else (item,))
    return found
