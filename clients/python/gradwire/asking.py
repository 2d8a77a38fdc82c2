"""A user's function at its arguments, and what is asked of its derivative."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from gradwire import called, current, eager
from gradwire.called import Wanted
from gradwire.modes import enable_grad
from gradwire.pytrees import check_tensors, each_once, leaves, shown
from gradwire.tensor import Tensor
from gradwire.trace import Trace, Traced, innermost, restored, taken_apart, trace
from gradwire.wire import tensors_in
from gradwire.within import within
from gradwire_engine.backward import grad
from gradwire_engine.catalogue import resolve
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.mode import local

Function = Callable[..., Any]
Argnums = int | tuple[int, ...]
RESULT = "Transposed"
"""What stands for the name of a derivative's node, which the host decides."""
ones_like = resolve("ones_like")
_BY_DIRECTION = ("jvp", "hvp", "vhp")
"""Transforms whose inputs are those that have a tangent or a vector."""

_OF_OUTPUTS = ("jvp", "jacobian")
"""Transforms that give parts for all outputs of the program, the aux ones too."""


class Ran:
    """A function that ran as Python, on tensors that record; what `Traced` is of one written down.

    entered: for each argument that is differentiated by, what its tensors are called.
    """

    def __init__(
        self, result: Any, inside: dict[str, Tensor], entered: dict[int, list[str]]
    ) -> None:
        self.outputs: list[Tensor] = []
        self.structure = taken_apart(result, self.outputs.append)
        self.inside, self.entered = inside, entered

    def restored(self, parts: Sequence[Any]) -> Any:
        """Results in the place of the outputs, in what the function gave them in."""
        return restored(self.structure, iter(parts))


def run(function: Function, args: Sequence[Any], by: set[int]) -> Ran:
    """Call a function that can't be written down, with variables for these arguments."""
    inside: dict[str, Tensor] = {}
    entered: dict[int, list[str]] = {}
    given = list(args)
    for place in sorted(by):
        made = [eager.variable(x) for x in flat(args[place])]
        entered[place] = [x._name for x in made]
        inside |= {x._name: x for x in made}
        given[place] = restored(taken_apart(args[place], ignored), iter(made))
    with enable_grad():
        return Ran(function(*given), inside, entered)


def _of_its_own(transforms: tuple[str, ...]) -> AbstractContextManager[None]:
    """The modes that a function begins in: its own blocks count, and none around the transform.

    torch.autograd.functional, which names no transforms, leaves inference as it is.
    """
    return within(grad=True, inference=False) if transforms else within(grad=True)


class Asked:
    """A function written down at its arguments, and what is asked of its derivative.

    wanted: the tensors that it is differentiated by; names: the program's inputs for them.
    own: its outputs, without the aux ones.
    """

    def __init__(
        self,
        func: Function,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        argnums: Argnums,
        has_aux: bool,
        transforms: tuple[str, ...] = (),
    ) -> None:
        self.has_aux, self.argnums = has_aux, argnums
        self.args = tuple(args)
        numbers = [argnums] if isinstance(argnums, int) else list(argnums)
        for number in numbers:
            if not -len(args) <= number < len(args):
                raise RuntimeError(
                    f"argnums: {number} is out of range of {len(args)} positional arguments"
                )
        tensors: list[list[Tensor]] = [flat(arg) for arg in args]
        self.structures = [taken_apart(args[number], ignored) for number in numbers]
        self.wanted = [x for number in numbers for x in tensors[number]]
        outer: Any = innermost() or session_of(args, kwargs)
        by = {number % len(args) for number in numbers}
        places = iter([place for place, found in enumerate(tensors) for _ in found])
        entered: dict[int, list[str]] = {place: [] for place in by}

        def enter(inside: Trace, tensor: Tensor) -> Tensor:
            """An input for each tensor that is differentiated by, also for one that comes twice."""
            known: Tensor = outer.lifted(tensor)
            place = next(places)
            if place not in by:
                return inside.placeholder(known)
            made = inside.enter_as_it_lies(known, requires_grad=True)
            entered[place].append(made._name)
            return made

        def function(*given: Any) -> Any:
            return each_once(func(*given, **kwargs))

        function.__name__ = getattr(func, "__name__", type(func).__name__)
        self.standing = outer
        try:
            with _of_its_own(transforms):
                self.traced: Traced | Ran = trace(function, args, outer, enter, transforms)
        except GradwireError as problem:
            if problem.code != "untraceable" or not outer.runs_here:
                raise
            self.traced = run(function, args, by)
            entered = self.traced.entered
        _refuse_writes(self.traced, transforms, entered.values())
        self.names = [name for number in numbers for name in entered[number % len(args)]]
        self.inside = [self.traced.inside[name] for name in self.names]
        self.own = self.traced.outputs
        if has_aux:
            structure = self.traced.structure
            if not isinstance(structure, tuple) or len(structure) != 2:
                raise RuntimeError(
                    "with has_aux=True the function has to give a tuple (output, aux)"
                )
            own: list[Any] = []
            taken = iter(self.traced.outputs)
            restored(structure[0], (own.append(t) or t for t in taken))  # type: ignore[func-returns-value]
            self.own = own

    def only_tensor(self) -> Tensor:
        """What the function gives: a tensor, in no list or tuple."""
        found = self.like_output(self.own)
        if not isinstance(found, Tensor):
            raise RuntimeError(f"Expected f(*args) to return a tensor, got {type(found).__name__}")
        return found

    def direction(self, tensor: Tensor) -> Tensor:
        """A cotangent, tangent or vector as it is where the step stands, which may be a trace."""
        found: Tensor = (innermost() or self.standing).lifted(tensor)
        return found

    def derive(
        self, transform: str, parts: list[Wanted], **fields: Any
    ) -> tuple[list[Any], list[Any]]:
        """Record the transform; its parts, and the outputs themselves.

        fields: those of the step; directions in them are tensors.
        """
        if isinstance(self.traced, Ran):
            recorded = local.state.grad and any(x.requires_grad for x in self.wanted)
            found = eager.derive(transform, self.inside, self.own, self.names, recorded, fields)
            ended = [o if recorded else o.detach() for o in self.traced.outputs]
            return found, ended
        values = [called.wanted(self.traced, o) for o in self.traced.outputs]
        if transform == "vjp" and all(type(c) is float for c in fields["cotangents"].values()):
            parts = self._made_of([o for o in self.own if o._name in fields["cotangents"]], parts)
        elif transform == "jacobian":
            size = len(self.wanted)
            rows = [parts[i * size : (i + 1) * size] for i in range(len(self.own))]
            pairs = zip(self.own, rows, strict=True)
            parts = [part for o, row in pairs for part in self._made_of([o], row)]
        if transform not in _BY_DIRECTION:
            fields["wrt"] = self.names
        places = self._of_outputs(parts) if transform in _OF_OUTPUTS else parts
        return called.derived(self.traced, transform, places, values, **fields)

    def pushed(self, directions: Sequence[Tensor]) -> tuple[Any, list[Any]]:
        """The derivative along a tangent for each input, like the output; and the outputs."""
        pairs = zip(self.names, directions, strict=True)
        named = {name: self.direction(v) for name, v in pairs}
        parts = [Wanted(o.shape, o.dtype, RESULT) for o in self.own]
        found, outputs = self.derive("jvp", parts, tangents=named)
        return self.like_output(found), outputs

    def hold_still(self) -> None:
        """Whatever is asked from here on is asked at the values that all it reads has now."""
        if isinstance(self.traced, Traced):
            self.traced.args = [_copied(x) for x in self.traced.args]

    def _of_outputs(self, parts: Sequence[Wanted]) -> list[Wanted | None]:
        """Parts for each output of the program that has derivatives; of an aux one none."""
        size = len(parts) // len(self.own)
        rows = {o._name: parts[i * size : (i + 1) * size] for i, o in enumerate(self.own)}
        found: list[Wanted | None] = []
        for output in self.traced.outputs:
            if output.dtype.differentiable:
                found += rows.get(output._name, [None] * size)
        return found

    def _made_of(self, outputs: Sequence[Tensor], parts: Sequence[Wanted]) -> list[Wanted]:
        """Gradients of outputs, a part for each, with the arguments that these are made of.

        Those of what is linear are made of none. Found by a walk over the mirrors inside.
        """
        assert isinstance(self.traced, Traced)
        roots = [o._meta for o in outputs if o._meta.edge is not None]
        if not local.state.grad or not any(x.requires_grad for x in self.traced.args) or not roots:
            return list(parts)
        own, ones = [x._meta for x in self.inside], [ones_like(r.detach()) for r in roots]
        try:
            with within(device="meta"):
                found = grad(roots, own, ones, create_graph=True, allow_unused=True)
        except GradwireError:  # the host says what is wrong
            return list(parts)
        edges = [None if g is None else g.edge for g in found]
        pairs = zip(parts, edges, strict=True)
        return [part._replace(of=self.traced.below([edge])) for part, edge in pairs]

    def outputs(self) -> list[Any]:
        """The outputs alone."""
        if isinstance(self.traced, Ran):
            recorded = any(x.requires_grad for x in self.wanted)
            return [o if recorded else o.detach() for o in self.traced.outputs]
        return list(tensors_in([flat(called.call(self.traced))]))

    def by_argument(self, parts: Sequence[Any]) -> Any:
        """Parts in the structure of the arguments they belong to."""
        taken = iter(parts)
        found = tuple(restored(structure, taken) for structure in self.structures)
        return found[0] if isinstance(self.argnums, int) else found

    @property
    def _output(self) -> Any:
        """The structure of the output, without the aux."""
        structure = self.traced.structure
        return structure[0] if self.has_aux else structure

    @property
    def shown(self) -> str:
        """The structure of the output in words."""
        return shown(self._output)

    def check_output(self, asked: str) -> None:
        """Derivatives are of tensors only, and of one at least."""
        check_tensors(
            leaves(self.like_output(self.own)),
            f"{asked}: expected f(*args) to return only tensors, got unsupported type",
            f"{asked}: Expected f to be a function that has non-empty output",
        )

    def like_output(self, parts: Sequence[Any]) -> Any:
        """Parts in the structure of the output they belong to."""
        return restored(self._output, iter(parts))

    def with_aux(self, outputs: Sequence[Any]) -> Any:
        """The outputs in what the function gave them in."""
        return self.traced.restored(outputs)


def _refuse_writes(
    traced: Traced | Ran, transforms: Sequence[str], entered: Iterable[Sequence[str]]
) -> None:
    """As torch: what a function under a transform writes to is its own. The write would be lost."""
    if not transforms or isinstance(traced, Ran):
        return
    own = {name for names in entered for name in names}
    for place in traced.written:
        if traced.trace.inputs[place][0] not in own:
            raise error(
                "invalid_argument",
                f"{traced.trace.called}: under a gradient's transform it writes in place to a "
                "tensor that is none of those it is differentiated by",
                "give that tensor as an argument to differentiate by, or clone() it inside",
                raised=RuntimeError,
            )


def _copied(tensor: Tensor) -> Tensor:
    """A copy: in a trace a step of it, outside a leaf, since derivatives don't lead further."""
    if innermost() is not None:
        return tensor.clone()
    found: Tensor = tensor.detach().clone()
    return found.requires_grad_(tensor.requires_grad)


def flat(value: Any) -> list[Tensor]:
    """The tensors in a structure, in order."""
    found: list[Tensor] = []
    taken_apart(value, found.append)
    return found


def ignored(tensor: Tensor) -> None:
    """Only the structure is wanted."""


def session_of(args: Any, kwargs: dict[str, Any]) -> Any:
    first = next(iter(flat([*args, *kwargs.values()])), None)
    return current.session() if first is None else first.session


__all__ = ["RESULT", "Argnums", "Asked", "Function", "flat", "session_of"]
