"""Derivatives of a program at given inputs: what the transforms of `api.md` compute.

`derive(name, ask)` gives the outputs and the derivative's parts, by input, by output, or by both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gradwire_engine import backward as reverse
from gradwire_engine.catalogue import resolve
from gradwire_engine.errors import error
from gradwire_engine.reading import zeros
from gradwire_engine.tensor import Tensor
from gradwire_service.host.scope import Callee


class Wanted(NamedTuple):
    """What a request or a step says of a derivative, each None where it says nothing."""

    wrt: Sequence[str] | None = None
    cotangents: Mapping[str, Any] | None = None
    tangents: Mapping[str, Any] | None = None
    vector: Mapping[str, Any] | None = None
    batched: bool = False
    strategy: str | None = None

    @classmethod
    def of(cls, said: object) -> Wanted:
        """The fields that a request or a step has."""
        found = {name: getattr(said, name) for name in cls._fields if hasattr(said, name)}
        if hasattr(said, "grad_outputs"):
            found["cotangents"] = said.grad_outputs
        return cls(**found)


class Ask(NamedTuple):
    """A program, its inputs, and what is asked of them.

    read: makes a tensor of a literal or a name, with the dtype of the tensor that it goes with.
    """

    program: Callee
    inputs: Sequence[Tensor]
    wanted: Wanted
    read: Callable[[Any, Tensor], Tensor | None]
    create_graph: bool = False

    def places(self, names: Iterable[str], field: str) -> list[int]:
        """Where inputs stand that a field names."""
        known = {name: place for place, name in enumerate(self.program.inputs)}
        found = []
        for name in names:
            if name not in known:
                raise error(
                    "invalid_request",
                    f"{field}: {name[:64]!r} is no input of the program",
                    f"its inputs are {listed(known)}",
                )
            found.append(known[name])
        return found

    @property
    def wrt(self) -> list[int]:
        """Where the inputs stand that are differentiated by."""
        if self.wanted.wrt is None:
            return [i for i, x in enumerate(self.inputs) if x.dtype.differentiable]
        return self.places(self.wanted.wrt, "wrt")


class Found(NamedTuple):
    """What a transform found. parts: by name, or by two names."""

    outputs: Sequence[Tensor]
    parts: Mapping[str, Any]

    def flat(self) -> list[Tensor | None]:
        """The parts in order, one after the other."""
        return [
            part
            for entry in self.parts.values()
            for part in (entry.values() if isinstance(entry, Mapping) else (entry,))
        ]


def derive(name: str, ask: Ask) -> Found:
    """The outputs of a program and the derivative called `name`."""
    return _DERIVE[name](ask)


def listed(names: Iterable[str]) -> str:
    """Names in words."""
    return ", ".join(name[:64] for name in names) or "none"


def _run(ask: Ask, wrt: Sequence[int]) -> tuple[list[Tensor], Sequence[Tensor]]:
    """The inputs to differentiate by, as variables of their own, and the program's outputs."""
    values = list(ask.inputs)
    for place in wrt:
        x = values[place]
        connected = ask.create_graph and x.requires_grad
        values[place] = resolve("view_as")(x, x) if connected else x.detach().requires_grad_()
    return [values[place] for place in wrt], ask.program(*values)


def _named(ask: Ask, wrt: Sequence[int], parts: Sequence[Any]) -> dict[str, Any]:
    return {ask.program.inputs[place]: part for place, part in zip(wrt, parts, strict=True)}


def _cotangents(
    ask: Ask, outputs: Sequence[Tensor], given: Mapping[str, Any] | None, field: str
) -> tuple[list[Tensor], list[Tensor | None]]:
    """The outputs that have a cotangent, and these; all of them where none is given."""
    by_name = dict(zip(ask.program.outputs, outputs, strict=True))
    given = dict.fromkeys(by_name) if given is None else given
    for name in given:
        if name not in by_name:
            raise error(
                "invalid_request",
                f"{field}: {name[:64]!r} is no output of the program",
                f"its outputs are {listed(by_name)}",
            )
    chosen = [by_name[name] for name in given]
    return chosen, [
        None if value is None else ask.read(value, output)
        for value, output in zip(given.values(), chosen, strict=True)
    ]


def _value_and_grad(ask: Ask) -> Found:
    wrt = ask.wrt
    leaves, outputs = _run(ask, wrt)
    if not leaves:
        return Found(outputs, {})
    chosen, cotangents = _cotangents(ask, outputs, ask.wanted.cotangents, "grad_outputs")
    grads = reverse.grad(
        chosen,
        leaves,
        cotangents,
        create_graph=ask.create_graph,
        allow_unused=True,
        names=[ask.program.inputs[place] for place in wrt],
    )
    return Found(outputs, _named(ask, wrt, grads))


def _pull(
    outputs: Sequence[Tensor],
    leaves: Sequence[Tensor],
    cotangents: Sequence[Tensor | None],
    create_graph: bool,
) -> list[Tensor]:
    """Gradients of the outputs that depend on anything; zeros for leaves they don't depend on."""
    pairs = [(y, g) for y, g in zip(outputs, cotangents, strict=True) if y.requires_grad]
    if not pairs or not leaves:
        return [zeros(x.spec) for x in leaves]
    found = reverse.grad(
        [y for y, _ in pairs],
        leaves,
        [g for _, g in pairs],
        retain_graph=True,
        create_graph=create_graph,
        materialize_grads=True,
    )
    return [g for g in found if g is not None]


def _vjp(ask: Ask) -> Found:
    wrt = ask.wrt
    leaves, outputs = _run(ask, wrt)
    chosen, cotangents = _cotangents(ask, outputs, ask.wanted.cotangents, "cotangents")
    if not ask.wanted.batched:
        found = _pull(chosen, leaves, cotangents, ask.create_graph)
        return Found(outputs, _named(ask, wrt, found))
    count = _rows("cotangents", cotangents)
    rows = [
        _pull(chosen, leaves, [_row(g, i) for g in cotangents], ask.create_graph)
        for i in range(count)
    ]
    return Found(outputs, _named(ask, wrt, [_stack(column) for column in zip(*rows, strict=True)]))


def _rows(field: str, given: Sequence[Tensor | None]) -> int:
    """The length of the leading axis that batched vectors have in common."""
    counts = {g.shape[0] if g is not None and g.shape else None for g in given}
    if len(counts) == 1 and None not in counts:
        (count,) = counts
        if count:
            return count
    raise error(
        "shape_mismatch",
        f"{field}: batched, so each needs a leading axis, and all of one length; the lengths are "
        f"{', '.join('none' if c is None else str(c) for c in counts)}",
        "stack the vectors along a new first axis",
    )


def _row(stacked: Tensor | None, index: int) -> Tensor | None:
    return None if stacked is None else resolve("select")(stacked, 0, index)


def _stack(rows: Sequence[Tensor]) -> Tensor:
    made: Tensor = resolve("stack")(list(rows), 0)
    return made


def _directions(ask: Ask, given: Mapping[str, Any] | None, field: str) -> dict[int, Tensor]:
    """Tangents or vectors by the place of their input; at least one."""
    places = ask.places(given or (), field)
    found: dict[int, Tensor] = {}
    for place, value in zip(places, (given or {}).values(), strict=True):
        made = ask.read(value, ask.inputs[place])
        if made is not None:
            found[place] = made
    if not found:
        raise error(
            "invalid_request",
            f"{field}: none is given",
            f"give one for at least one input; the inputs are {listed(ask.program.inputs)}",
        )
    return found


def _check_direction(ask: Ask, field: str, place: int, shape: Sequence[int]) -> None:
    wanted = ask.inputs[place].shape
    if tuple(shape) != tuple(wanted):
        raise error(
            "shape_mismatch",
            f"{field}: {ask.program.inputs[place]} has shape {list(wanted)}, what is given for it "
            f"has {list(shape)}",
            "they must be equal, but for the leading axis of a batch",
        )


def _jvp(ask: Ask) -> Found:
    tangents = _directions(ask, ask.wanted.tangents, "tangents")
    batched = ask.wanted.batched
    count = _rows("tangents", list(tangents.values())) if batched else 1
    for place, tangent in tangents.items():
        _check_direction(ask, "tangents", place, tangent.shape[1:] if batched else tangent.shape)
    leaves, outputs = _run(ask, list(tangents))
    rows = [
        _push(
            outputs,
            leaves,
            [_row(t, i) if batched else t for t in tangents.values()],
            ask.create_graph,
        )
        for i in range(count)
    ]
    parts = [_stack(column) for column in zip(*rows, strict=True)] if batched else rows[0]
    return Found(outputs, dict(zip(ask.program.outputs, parts, strict=True)))


def _push(
    outputs: Sequence[Tensor], leaves: Sequence[Tensor], tangents: Sequence[Any], record: bool
) -> list[Tensor]:
    """The jacobian times a vector by two walks back: the second one through the first."""
    vectors = [zeros(y.spec).requires_grad_() for y in outputs]
    pulled = _pull(outputs, leaves, vectors, create_graph=True)
    return _pull(pulled, vectors, tangents, record)


def _scalar(ask: Ask, outputs: Sequence[Tensor], name: str) -> Tensor:
    """The only output of a program that second derivatives are taken of."""
    if len(outputs) != 1:
        raise error(
            "invalid_request",
            f"{name}: the program has {len(outputs)} outputs",
            "second derivatives are of one output",
        )
    if outputs[0].spec.size != 1:
        raise error(
            "not_scalar",
            f"{name}: {ask.program.outputs[0]} has shape {list(outputs[0].shape)}, and has to be "
            "a scalar",
            "reduce it with .sum() or .mean(), or take the jacobian of the gradient",
        )
    return outputs[0]


def _vhp(ask: Ask) -> Found:
    vectors = _directions(ask, ask.wanted.vector, "vector")
    for place, vector in vectors.items():
        _check_direction(ask, "vector", place, vector.shape)
    leaves, outputs = _run(ask, list(vectors))
    y = _scalar(ask, outputs, "vhp")
    slopes = _pull([y], leaves, [None], create_graph=True)
    found = _pull(slopes, leaves, list(vectors.values()), ask.create_graph)
    return Found(outputs, _named(ask, list(vectors), found))


def _jacobian_rows(y: Tensor, leaves: Sequence[Tensor], record: bool) -> list[Tensor]:
    """The jacobian of an output by each leaf, one walk back for each of its elements."""
    flat = resolve("reshape")(y, (-1,))
    size = y.spec.size
    rows = [_pull([resolve("select")(flat, 0, i)], leaves, [None], record) for i in range(size)]
    if not rows:
        return [zeros(x.spec._replace(shape=(*y.shape, *x.shape))) for x in leaves]
    return [
        resolve("reshape")(_stack(column), (*y.shape, *x.shape))
        for column, x in zip(zip(*rows, strict=True), leaves, strict=True)
    ]


def _jacobian(ask: Ask) -> Found:
    wrt = ask.wrt
    leaves, outputs = _run(ask, wrt)
    parts = {
        name: _named(ask, wrt, _jacobian_rows(y, leaves, ask.create_graph))
        for name, y in zip(ask.program.outputs, outputs, strict=True)
    }
    return Found(outputs, parts)


def _hessian(ask: Ask) -> Found:
    wrt = ask.wrt
    leaves, outputs = _run(ask, wrt)
    y = _scalar(ask, outputs, "hessian")
    slopes = _pull([y], leaves, [None], create_graph=True)
    parts = [_named(ask, wrt, _jacobian_rows(slope, leaves, ask.create_graph)) for slope in slopes]
    return Found(outputs, _named(ask, wrt, parts))


_DERIVE: dict[str, Callable[[Ask], Found]] = {
    "value_and_grad": _value_and_grad,
    "vjp": _vjp,
    "jvp": _jvp,
    "hvp": _vhp,  # the hessian is symmetric
    "vhp": _vhp,
    "jacobian": _jacobian,
    "hessian": _hessian,
}
