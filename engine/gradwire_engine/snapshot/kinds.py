"""Every kind of cell: how it is written, filled in again, and looked over once all are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from gradwire_engine.checkpoint import Packed, Region
from gradwire_engine.function_rule import Refuse
from gradwire_engine.snapshot import edges, nodes, programs, tensors
from gradwire_engine.tape import AccumulateGrad, Bound, Extra, Node, Output
from gradwire_engine.tensor import Storage, Tensor, View

if TYPE_CHECKING:
    from gradwire_engine.snapshot.reader import Reader
    from gradwire_engine.snapshot.writer import Row, Writer

PROGRAM = "program"
"""The kind of what the engine doesn't know: a user's program, which never changes."""


def _nothing(*_: Any) -> None:
    """There is nothing in it, or no more than what was seen to when it was filled in."""


class Kind(NamedTuple):
    """One kind. width: the items of its row, its name included."""

    name: str
    type: type
    width: int
    write: Callable[[Writer, Any, Row], None]
    read: Callable[[Reader, Any, Row], None]
    check: Callable[[Reader, Any], None] = _nothing


_KINDS = (
    Kind("tensor", Tensor, 8, tensors.write, tensors.read, tensors.check),
    Kind("storage", Storage, 3, tensors.write_storage, tensors.read_storage),
    Kind("view", View, 7, tensors.write_view, tensors.read_view),
    Kind("node", Node, 7, nodes.write, nodes.read, nodes.check),
    Kind("output", Output, 3, edges.write_output, edges.read_output, edges.check_output),
    Kind("leaf", AccumulateGrad, 5, edges.write_leaf, edges.read_leaf, edges.check_leaf),
    Kind("extra", Extra, 5, edges.write_extra, edges.read_extra, edges.check_extra),
    Kind("bound", Bound, 3, programs.write_bound, programs.read_bound),
    Kind("refuse", Refuse, 1, _nothing, _nothing),
    Kind("packed", Packed, 4, programs.write_packed, programs.read_packed, programs.check_packed),
    Kind("region", Region, 8, programs.write_region, programs.read_region),
)
BY_NAME = {kind.name: kind for kind in _KINDS}
BY_TYPE = {kind.type: kind for kind in _KINDS}
