"""What a graph takes, before it runs: floating-point operations, bytes moved, bytes held at once.

A multiplication with its addition counts as two operations; an elementwise function as one for each
element, whatever it is; factorisations by their leading term. What only moves or compares elements
counts as none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire_engine.plan.graph import Graph, Line
from gradwire_engine.promote import Weak
from gradwire_engine.spec import Spec


def flops(line: Line) -> int:
    """Floating-point operations of one call."""
    op = line.op
    if op.view or op.exact or op.random or not operands(line):
        return 0
    counted = _COUNTED.get(op.name)
    if counted is not None:
        return counted(operands(line), line.specs)
    if op.family == "elementwise":
        return sum(spec.size for spec in line.specs)
    if op.name.startswith("linalg."):
        return _factorised(operands(line))
    return sum(spec.size for spec in operands(line))


def moved(line: Line) -> int:
    """Bytes that one call reads and writes; a view neither reads nor writes."""
    if line.op.view:
        return 0
    return sum(spec.nbytes for spec in (*operands(line), *line.specs))


def operands(line: Line) -> list[Spec]:
    """The specs of a call's tensors."""
    return [
        spec
        for place in line.op.places
        for spec in _several(line.arguments[place])
        if isinstance(spec, Spec)
    ]


def _several(argument: Any) -> Sequence[Any]:
    single = argument is None or isinstance(argument, Spec | Weak)
    return (argument,) if single else argument


def peak(graph: Graph, inputs: Sequence[Spec]) -> int:
    """Bytes held at once at most: inputs and constants throughout, results until their last use.

    A view holds what it is a view of. inputs: their specs.
    """
    owner = _owners(graph)
    ending = _ending(graph, owner)
    sizes: dict[int, int] = {}
    held = most = sum(spec.nbytes for spec in inputs) + _constant_bytes(graph)
    for index, line in enumerate(graph.lines):
        if not line.op.view:
            sizes |= zip(line.results, [spec.nbytes for spec in line.specs], strict=True)
            held += line.nbytes
        most = max(most, held)
        held -= sum(sizes.pop(number, 0) for number in ending.get(index, ()))
    return most


def _owners(graph: Graph) -> dict[int, int]:
    """For each result the value whose memory it lies in: itself, or what it is a view of."""
    owner: dict[int, int] = {}
    for line in graph.lines:
        for number in line.results:
            source = line.operands[0] if line.op.view else number
            owner[number] = owner.get(source, source)
    return owner


def _ending(graph: Graph, owner: dict[int, int]) -> dict[int, list[int]]:
    """For each line the values that nobody needs after it."""
    last: dict[int, int] = {}
    for index, line in enumerate(graph.lines):
        for number in (*line.results, *line.operands):
            last[owner.get(number, number)] = index
    kept = {owner.get(number, number) for number in graph.outputs}
    ending: dict[int, list[int]] = {}
    for number, index in last.items():
        if number not in kept:
            ending.setdefault(index, []).append(number)
    return ending


def _constant_bytes(graph: Graph) -> int:
    return sum(int(getattr(value, "nbytes", 0)) for value in graph.constants.values())


def _product(given: Sequence[Spec], made: Sequence[Spec]) -> int:
    """A matrix product: for each element of the result one sum over the axis in common."""
    return 2 * sum(spec.size for spec in made) * given[0].shape[-1]


def _product_added(given: Sequence[Spec], made: Sequence[Spec]) -> int:
    """The same where what is added stands first."""
    return _product(given[1:], made) + sum(spec.size for spec in made)


def _added_over(given: Sequence[Spec], made: Sequence[Spec]) -> int:
    """A sum of the products of a stack."""
    return _product_added(given, made) * given[1].shape[0]


def _convolved(given: Sequence[Spec], made: Sequence[Spec]) -> int:
    """For each element of the result one sum over a window of the channels of its group."""
    weight = given[1]
    return 2 * made[0].size * (weight.size // max(1, weight.shape[0]))


def _convolved_back(given: Sequence[Spec], made: Sequence[Spec]) -> int:
    """For each element of the operand a window of the result is added to."""
    weight = given[1]
    return 2 * given[0].size * (weight.size // max(1, weight.shape[0]))


def _windows(given: Sequence[Spec], made: Sequence[Spec]) -> int:
    """The gradient of a convolution's weight: as much as the convolution."""
    return 2 * given[1].size * (made[0].size // max(1, made[0].shape[0]))


def _factorised(given: Sequence[Spec]) -> int:
    """A factorisation of a stack of matrices of m by n: 2 m n min(m, n) each."""
    shape = given[0].shape
    return 2 * given[0].size * min(shape[-2:]) if len(shape) > 1 else given[0].size


_COUNTED: dict[str, Callable[[Sequence[Spec], Sequence[Spec]], int]] = {
    "matmul": _product,
    "nn.functional.linear": _product,
    "addmm": _product_added,
    "addmv": _product_added,
    "baddbmm": _product_added,
    "addbmm": _added_over,
    "convolved": _convolved,
    "convolved_back": _convolved_back,
    "window_products": _windows,
}
"""Ops that take more than an operation for each element."""
