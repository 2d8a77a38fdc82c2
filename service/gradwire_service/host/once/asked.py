"""What a request to run a program asks for, apart from elements: by that it is known again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from gradwire_engine.spec import DType
from gradwire_engine.tensor import Tensor
from gradwire_service.host.elements import Array
from gradwire_service.host.once.references import FIELDS
from gradwire_service.host.programs import Program
from gradwire_service.host.protocol.requests import Program as Model
from gradwire_service.host.reply import Reply

Vectors = Mapping[Any, Any]
"""Cotangents, tangents and the like, by what tells them apart: each goes with some value."""

PLANNED = (
    "evaluate", "value_and_grad", "vjp", "jvp", "hvp", "vhp", "jacobian", "hessian",
)  # fmt: skip
"""Transforms whose replies are tensors of the program's and nothing else."""


class Asked(NamedTuple):
    """A request as far as plans care.

    key: the program, and all that is asked of it but for elements; owner: held with what is kept.
    inputs: literals in the program's order. vectors: literals that are read like other values.
    """

    key: Hashable
    owner: object
    inputs: Sequence[Any]
    vectors: Vectors


class Done(NamedTuple):
    """A request that went well the long way.

    inputs: as they came, before the program wrote to any.
    dtypes: of the values that vectors go with. function: the same on tensors, inputs first, to all
    that the reply has elements of, in its order.
    """

    inputs: Sequence[Array]
    vectors: Mapping[Any, Tensor]
    dtypes: Mapping[Any, DType]
    reply: Reply
    function: Callable[..., Sequence[Tensor]]


def asked(transform: str, program: Program | Model, request: Any) -> Asked | None:
    """The request by its program's address; None if it is odd, or of a kind without plans."""
    entries = program.inputs
    names = [entry if isinstance(entry, str) else entry.name for entry in entries]
    given = request.inputs
    if transform not in PLANNED or len(names) != len(given) or not given.keys() >= set(names):
        return None
    said = vars(request)
    literals = {field: said[field] for field in FIELDS if said.get(field) is not None}
    vectors = {
        (field, name): value
        for field, values in literals.items()
        for name, value in values.items()
        if value is not None
    }
    rest = [(k, v) for k, v in said.items() if k not in (*FIELDS, "inputs", "program")]
    plain = tuple((k, tuple(v) if type(v) is list else v) for k, v in rest)
    called = tuple((field, tuple(values)) for field, values in literals.items())
    key = (id(program), transform, plain, called, tuple(vectors))
    return Asked(key, program, [given[name] for name in names], vectors)
