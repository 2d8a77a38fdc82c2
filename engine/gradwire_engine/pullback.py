"""A function run once on variables of its own, and what reverse mode gives of it then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradwire_engine import nest
from gradwire_engine.backward import check_cotangent, grad_of_moving, numbered
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.levels import abandon, everywhere, fresh
from gradwire_engine.mode import local, using
from gradwire_engine.op import APPLY
from gradwire_engine.tape import AccumulateGrad, Output, target
from gradwire_engine.tensor import Tensor

Argnums = int | tuple[int, ...] | None
"""Which arguments of a function are differentiated by; None: all."""


def refusal(
    detail: str, hint: str, code: str = "invalid_argument", raised: type[Exception] = RuntimeError
) -> GradwireError:
    """What a function or an argument that doesn't fit is answered."""
    return error(code, detail, hint, raised=raised)


class Pullback:
    """The run of a function: its result, and gradients of that by some of its arguments.

    moved: the arguments that argnums say, as a nest; variables: what stood for their tensors.
    outputs: the result's tensors. beyond: whether gradients may be asked by anything else as well,
    for instance by what the caller's own tensors were made of; if not, nothing need be recorded.
    """

    def __init__(
        self,
        asked: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        argnums: Argnums = None,
        has_aux: bool = False,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        self.asked, self.aux = asked, None
        self.moved = chosen(asked, args, argnums)
        flat = nest.leaves(self.moved)
        need_tensors(asked, "arguments", flat)
        with using(inference=False, grad=True):
            self.variables = [fresh(x) for x in flat]
            again = nest.filled(self.moved, iter(self.variables))
            result = function(*replaced(args, argnums, again), **(kwargs or {}))
        if has_aux:
            result, self.aux = without_aux(asked, result)
        self.raw = result
        self.outputs = nest.leaves(result)
        need_tensors(asked, "results", self.outputs)
        for y in self.outputs:
            if not y.dtype.differentiable:
                raise refusal(
                    f"{asked}: a result of the function is {y.dtype.name}",
                    "results must be floating or complex; give others as aux, or over REST name "
                    "the outputs to derive in grad_outputs",
                    "dtype_mismatch",
                )
        self.beyond = _lead_beyond(self.outputs, self.variables)

    @property
    def result(self) -> Any:
        """The result, with the history that it has for the caller."""
        return nest.mapped(self.settled, self.raw)

    def settled(self, value: Any) -> Any:
        """A value as the caller gets it: without history if that led to the variables only."""
        if type(value) not in APPLY or (self.beyond and local.state.grad):
            return value
        return everywhere(value, Tensor.detach)

    def pull(
        self, cotangents: Sequence[Any] | None, names: Sequence[str] | None = None, **options: Any
    ) -> list[Any]:
        """The gradients by the variables; zeros where the outputs don't depend on one.

        cotangents: one for each output; None: 1 for a scalar. names: what error texts call the
        outputs. Options are those of `grad`.
        """
        given = [None] * len(self.outputs) if cotangents is None else cotangents
        for place, (y, g) in enumerate(zip(self.outputs, given, strict=True)):
            if g is not None and not options.get("is_grads_batched"):
                check_cotangent(self.asked, numbered("output", place, names), y.spec, g.spec)
        moving = [g for y, g in zip(self.outputs, given, strict=True) if y.requires_grad]
        recorded = self.beyond or any(g is not None and g.requires_grad for g in moving)
        options |= {"create_graph": recorded and local.state.grad, "materialize_grads": True}
        return grad_of_moving(self.outputs, self.variables, given, **options)

    def close(self) -> None:
        """Say that no gradients by the variables will be asked any more."""
        for variable in self.variables:
            abandon(variable)


def _lead_beyond(values: Sequence[Any], variables: Sequence[Any]) -> bool:
    """Whether the history of some values leads to any leaf that is none of the variables."""
    own = {id(t.edge) for x in variables for t in tensors_of(x)}
    ways = history(values)
    leaves = (node for node in ways if type(node) is AccumulateGrad and node.leaf() is not None)
    return any(id(node) not in own for node in leaves)


def leads_to(values: Sequence[Any], variable: Any) -> bool:
    """Whether any of the values was made of a variable."""
    own = {id(target(t.edge)) for t in tensors_of(variable) if t.edge is not None}
    return any(id(node) in own for node in history(values))


def history(values: Sequence[Any]) -> Iterator[Any]:
    """The nodes and leaves that gradients of some values come to, in no particular order."""
    stack: list[Any] = [t.edge for y in values for t in tensors_of(y)]
    seen: set[int] = set()
    while stack:
        edge = stack.pop()
        node = edge.node if type(edge) is Output else edge
        if node is not None and id(node) not in seen:
            seen.add(id(node))
            yield node
            stack.extend(getattr(node, "edges", ()))


def tensors_of(value: Any) -> list[Tensor]:
    """The tensors that a value is made of."""
    found: list[Tensor] = []

    def take(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    everywhere(value, take)
    return found


def chosen(asked: str, args: tuple[Any, ...], argnums: Argnums) -> Any:
    """The arguments that argnums say: one, or a tuple; all if None."""
    if argnums is None:
        return args
    if isinstance(argnums, int):
        return args[_place(asked, argnums, len(args))]
    if not isinstance(argnums, tuple):
        raise refusal(f"{asked}: argnums is {argnums!r}", "give an int or a tuple of ints")
    places = [_place(asked, number, len(args)) for number in argnums]
    if not places or len(set(places)) != len(places):
        raise refusal(f"{asked}: argnums is {argnums}", "name at least one argument, each once")
    return tuple(args[place] for place in places)


def _place(asked: str, number: Any, count: int) -> int:
    if not isinstance(number, int) or not -count <= number < count:
        raise refusal(
            f"{asked}: argnums has {number!r}, there are {count} positional arguments",
            "count from 0, or from -1 backwards",
        )
    return number % count


def replaced(args: tuple[Any, ...], argnums: Argnums, new: Any) -> tuple[Any, ...]:
    """The arguments with those that argnums say replaced."""
    if argnums is None:
        return tuple(new)
    found = list(args)
    pairs = [(argnums, new)] if isinstance(argnums, int) else zip(argnums, new, strict=True)
    for number, value in pairs:
        found[number] = value
    return tuple(found)


def need_tensors(asked: str, what: str, values: Sequence[Any]) -> None:
    """Refuse what is no tensor among the differentiated ones, and that there is none."""
    if not values:
        raise refusal(f"{asked}: there is no tensor among the {what}", "there must be one")
    for value in values:
        if type(value) not in APPLY:
            raise refusal(
                f"{asked}: there is a {type(value).__name__} among the {what}",
                "they must be tensors, in tuples, lists and dicts",
            )


def without_aux(asked: str, given: Any) -> tuple[Any, Any]:
    """A function's result and its aux."""
    if not (isinstance(given, tuple) and len(given) == 2):
        raise refusal(f"{asked}: with has_aux the function must give a pair", "(result, aux)")
    return given
