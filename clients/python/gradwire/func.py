"""torch.func: functions over functions; the user's function travels as a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire import called, current, eager
from gradwire.called import Wanted
from gradwire.modes import enable_grad
from gradwire.tensor import Tensor
from gradwire.trace import Trace, Traced, innermost, restored, taken_apart, trace
from gradwire.wire import tensors_in
from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import local

Function = Callable[..., Any]
Argnums = int | tuple[int, ...]
RESULT = "Transposed"
"""What stands for the name of a derivative's node, which the host decides."""


def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The gradient of a function that gives one scalar, by the arguments of these numbers."""
    both = grad_and_value(func, argnums, has_aux)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The gradient, and what the function gives."""

    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        asked = Asked(func, args, kwargs, argnums, has_aux)
        loss = asked.only_output("grad")
        if loss.ndim:
            raise RuntimeError(
                "Expected f(*args) to return a scalar tensor, got tensor with "
                f"{loss.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        parts = [Wanted(x.shape, x.dtype, RESULT) for x in asked.wanted]
        cotangents = {loss._name: 1.0}
        found, outputs = asked.derive("vjp", parts, cotangents=cotangents)
        return asked.by_argument(found), asked.with_aux(outputs)

    return gradient_and_value


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """What the function gives, and a function from cotangents to the gradients of all primals."""
    asked = Asked(func, primals, {}, tuple(range(len(primals))), has_aux)
    outputs = asked.outputs()

    def pull(*cotangents: Any) -> Any:
        given = list(tensors_in(cotangents))
        if len(given) != len(asked.own):
            raise RuntimeError(
                f"Expected {len(asked.own)} cotangents, in the structure of the output, got "
                f"{len(given)}"
            )
        parts = [Wanted(x.shape, x.dtype, RESULT) for x in asked.wanted]
        pairs = zip(asked.own, given, strict=True)
        named = {o._name: asked.name_of(v) for o, v in pairs}
        return asked.by_argument(asked.derive("vjp", parts, cotangents=named)[0])

    value = asked.with_aux(outputs)
    return (value[0], pull, value[1]) if has_aux else (value, pull)


def jvp(func: Function, primals: Any, tangents: Any, *, has_aux: bool = False) -> Any:
    """What the function gives, and its derivative in the direction of the tangents."""
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError("jvp: Expected primals and tangents to be tuples")
    if len(primals) != len(tangents):
        raise RuntimeError("jvp: Expected primals and tangents to have the same structure")
    asked = Asked(func, primals, {}, tuple(range(len(primals))), has_aux)
    directions = list(tensors_in(tangents))
    pairs = zip(asked.names, directions, strict=True)
    named = {name: asked.name_of(v) for name, v in pairs}
    parts = [Wanted(o.shape, o.dtype, RESULT) for o in asked.own]
    found, outputs = asked.derive("jvp", parts, tangents=named)
    value = asked.with_aux(outputs)
    pushed = asked.like_output(found)
    return (value[0], pushed, value[1]) if has_aux else (value, pushed)


def jacrev(
    func: Function,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function:
    """The Jacobian, by rows: reverse mode."""
    return _jacobian(func, argnums, has_aux, "reverse-mode")


def jacfwd(
    func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Function:
    """The Jacobian, by columns: forward mode."""
    return _jacobian(func, argnums, has_aux, "forward-mode")


def _jacobian(func: Function, argnums: Argnums, has_aux: bool, strategy: str | None) -> Function:
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        asked = Asked(func, args, kwargs, argnums, has_aux)
        parts = [
            Wanted((*o.shape, *x.shape), o.dtype, RESULT) for o in asked.own for x in asked.wanted
        ]
        found, outputs = asked.derive("jacobian", parts, strategy=strategy)
        size = len(asked.wanted)
        rows = [asked.by_argument(found[i * size : (i + 1) * size]) for i in range(len(asked.own))]
        made = asked.like_output(rows)
        return (made, asked.with_aux(outputs)[1]) if has_aux else made

    return jacobian


def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """The Hessian: forward mode over reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """What the function gives, and its derivative there as a function of tangents."""

    def push(*tangents: Any) -> Any:
        return jvp(func, primals, tangents)[1]

    asked = Asked(func, primals, {}, tuple(range(len(primals))), False)
    return asked.with_aux(asked.outputs()), push


_BY_DIRECTION = ("jvp", "hvp", "vhp")
"""Transforms whose inputs are those that have a tangent or a vector."""


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
        made = [eager.variable(x) for x in _flat(args[place])]
        entered[place] = [x._name for x in made]
        inside |= {x._name: x for x in made}
        given[place] = restored(taken_apart(args[place], _ignored), iter(made))
    with enable_grad():
        return Ran(function(*given), inside, entered)


def _may_run(outer: Any) -> bool:
    """Whether the user's Python may run in the place of a program: embedded, and in no trace."""
    return not isinstance(outer, Trace) and outer.transport.url == "embedded"


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
    ) -> None:
        self.has_aux, self.argnums = has_aux, argnums
        self.args = tuple(args)
        numbers = [argnums] if isinstance(argnums, int) else list(argnums)
        for number in numbers:
            if not -len(args) <= number < len(args):
                raise RuntimeError(
                    f"argnums: {number} is out of range of {len(args)} positional arguments"
                )
        tensors: list[list[Tensor]] = [_flat(arg) for arg in args]
        self.structures = [taken_apart(args[number], _ignored) for number in numbers]
        self.wanted = [x for number in numbers for x in tensors[number]]
        outer: Any = innermost() or _session_of(args, kwargs)
        by = {number % len(args) for number in numbers}
        places = iter([place for place, found in enumerate(tensors) for _ in found])
        entered: dict[int, list[str]] = {place: [] for place in by}

        def enter(inside: Trace, tensor: Tensor) -> Tensor:
            """An input for each tensor that is differentiated by, also for one that comes twice."""
            known: Tensor = outer.lifted(tensor) if isinstance(outer, Trace) else tensor
            place = next(places)
            if place not in by:
                return inside.placeholder(known)
            made = inside.enter(known, known.shape, requires_grad=True)
            entered[place].append(made._name)
            return made

        def function(*given: Any) -> Any:
            return func(*given, **kwargs)

        function.__name__ = getattr(func, "__name__", type(func).__name__)
        self.standing, self.ran = outer, False
        try:
            self.traced: Traced | Ran = trace(function, args, outer, enter)
        except GradwireError as problem:
            if problem.code != "untraceable" or not _may_run(outer):
                raise
            self.traced, self.ran = run(function, args, by), True
            entered = self.traced.entered
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

    def only_output(self, asked: str) -> Tensor:
        """The one tensor that the function gives."""
        if len(self.own) != 1:
            raise RuntimeError(f"{asked}: Expected f(*args) to return one tensor")
        return self.own[0]

    def name_of(self, tensor: Tensor) -> Any:
        """What stands for a tensor in the step: its name there, which may be a trace further in."""
        if self.ran:
            return tensor
        place: Any = innermost() or self.standing
        found: Tensor = place.lifted(tensor) if isinstance(place, Trace) else tensor
        return found._name

    def derive(
        self, transform: str, parts: list[Wanted], **fields: Any
    ) -> tuple[list[Any], list[Any]]:
        """Record the transform; its parts, and the outputs themselves."""
        if isinstance(self.traced, Ran):
            recorded = local.state.grad and any(x.requires_grad for x in self.wanted)
            found = eager.derive(transform, self.inside, self.own, self.names, recorded, fields)
            ended = [o if recorded else o.detach() for o in self.traced.outputs]
            return found, ended
        values = [Wanted(o.shape, o.dtype, called.node_of(o)) for o in self.traced.outputs]
        if transform not in _BY_DIRECTION:
            fields["wrt"] = self.names
        return called.derived(self.traced, transform, parts, values, **fields)

    def outputs(self) -> list[Any]:
        """The outputs alone."""
        if isinstance(self.traced, Ran):
            recorded = any(x.requires_grad for x in self.wanted)
            return [o if recorded else o.detach() for o in self.traced.outputs]
        return list(tensors_in([_flat(called.call(self.traced))]))

    def by_argument(self, parts: Sequence[Any]) -> Any:
        """Parts in the structure of the arguments they belong to."""
        taken = iter(parts)
        found = tuple(restored(structure, taken) for structure in self.structures)
        return found[0] if isinstance(self.argnums, int) else found

    def like_output(self, parts: Sequence[Any]) -> Any:
        """Parts in the structure of the output they belong to."""
        structure = self.traced.structure
        return restored(structure[0] if self.has_aux else structure, iter(parts))

    def with_aux(self, outputs: Sequence[Any]) -> Any:
        """The outputs in what the function gave them in."""
        return self.traced.restored(outputs)


def _flat(value: Any) -> list[Tensor]:
    found: list[Tensor] = []
    taken_apart(value, found.append)
    return found


def _ignored(tensor: Tensor) -> None:
    """Only the structure is wanted."""


def _session_of(args: Any, kwargs: dict[str, Any]) -> Any:
    first = next(iter(_flat([*args, *kwargs.values()])), None)
    return current.session() if first is None else first.session


def vmap(
    func: Function,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Function:
    """The function for every example along an axis of its arguments, at once."""

    def batched(*args: Any, **kwargs: Any) -> Any:
        tensors: list[Tensor] = []
        structure = taken_apart(args, tensors.append)
        dims = _dims_of(in_dims, args, len(tensors), structure)
        size = _batch_size(tensors, dims)
        session: Any = innermost() or _session_of(args, kwargs)
        axes = iter(dims)

        def enter(inside: Trace, tensor: Tensor) -> Tensor:
            axis = next(axes)
            known: Tensor = session.lifted(tensor) if isinstance(session, Trace) else tensor
            if axis is None:
                return inside.placeholder(known)
            shape = list(known.shape)
            del shape[axis]
            return inside.enter(known, shape)

        def function(*given: Any) -> Any:
            return func(*given, **kwargs)

        function.__name__ = getattr(func, "__name__", type(func).__name__)
        traced = trace(function, args, session, enter)
        entered = [d for d in dims if d is not None]
        places = _in_dims(traced, tensors, dims, entered)
        ends = _out_dims(out_dims, traced)
        parts = [
            Wanted(_with(o.shape, end, size), o.dtype, called.node_of(o))
            for o, end in zip(traced.outputs, ends, strict=True)
        ]
        fields = {"in_dims": places, "out_dims": ends, "randomness": randomness}
        return traced.restored(called.record({"vmap": traced.id}, traced, parts, **fields))

    return batched


def _dims_of(in_dims: Any, args: Sequence[Any], count: int, structure: Any) -> list[int | None]:
    """The axis of each tensor among the arguments; one number stands for all below it."""
    if not isinstance(in_dims, int | tuple):
        raise ValueError(
            f"vmap: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}"
        )
    if not args:
        raise ValueError("vmap: got no inputs. Maybe you forgot to add inputs")
    given = (in_dims,) * len(args) if isinstance(in_dims, int) else in_dims
    if len(given) != len(args):
        raise ValueError(
            f"vmap: in_dims is not compatible with the structure of `inputs`: {len(given)} for "
            f"{len(args)} arguments"
        )
    found: list[int | None] = []
    for dim, arg in zip(given, args, strict=True):
        _spread(dim, arg, found)
    return found


def _spread(dim: Any, value: Any, found: list[int | None]) -> None:
    if isinstance(value, Tensor):
        if dim is not None and (not isinstance(dim, int) or not -value.ndim <= dim < value.ndim):
            raise ValueError(
                f"vmap: Got in_dim={dim} for some input, but that input is a Tensor of "
                f"dimensionality {value.ndim} so expected in_dim to satisfy "
                f"{-value.ndim} <= in_dim < {value.ndim}."
            )
        found.append(None if dim is None else dim % value.ndim)
    elif isinstance(value, dict):
        for key, item in value.items():
            _spread(dim[key] if isinstance(dim, dict) else dim, item, found)
    elif isinstance(value, list | tuple):
        each = dim if isinstance(dim, list | tuple) else [dim] * len(value)
        for part, item in zip(each, value, strict=True):
            _spread(part, item, found)


def _batch_size(tensors: Sequence[Tensor], dims: Sequence[int | None]) -> int:
    sizes: list[int] = [t.shape[d] for t, d in zip(tensors, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: at least one of the inputs must have a dim to be mapped over")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, "
            f"got sizes {sizes} for the mapped dimension"
        )
    return sizes[0]


def _in_dims(
    traced: Traced, tensors: Sequence[Tensor], dims: Sequence[int | None], entered: Sequence[int]
) -> list[int | None]:
    """The axis of each input of the program: of captured tensors none."""
    left = iter(entered)
    shared = {id(held) for held in traced.trace._captured.values()}
    places = traced.trace.held[::2]
    found = [None if id(place) in shared else next(left) for place in places]
    return found + [None] * (len(traced.trace.inputs) - len(found))


def _out_dims(out_dims: Any, traced: Traced) -> list[int]:
    count = len(traced.outputs)
    given = [out_dims] * count if isinstance(out_dims, int) else list(out_dims)
    if len(given) != count:
        raise ValueError(
            f"vmap: out_dims is not compatible with the structure of outputs: {len(given)} for "
            f"{count} outputs"
        )
    for end, output in zip(given, traced.outputs, strict=True):
        if end is None or not -output.ndim - 1 <= end <= output.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of "
                f"[{-output.ndim - 1}, {output.ndim}], but got {end})"
            )
    pairs = zip(given, traced.outputs, strict=True)
    return [end % (o.ndim + 1) for end, o in pairs]


def _with(shape: Sequence[int], place: int, size: int) -> tuple[int, ...]:
    return (*shape[:place], size, *shape[place:])


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with these tensors in the place of its parameters and buffers."""
    given = parameter_and_buffer_dicts
    named = dict(given) if isinstance(given, dict) else {k: v for d in given for k, v in d.items()}
    before: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for path, tensor in named.items():
            owner, _, name = path.rpartition(".")
            holder = module.get_submodule(owner)
            kind = holder._parameters if name in holder._parameters else holder._buffers
            if name not in kind:
                if strict:
                    raise RuntimeError(f"functional_call: there is no parameter {path!r}")
                continue
            before.append((kind, name, kind[name]))
            kind[name] = tensor
        inputs = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*inputs, **(kwargs or {}))
    finally:
        for kind, name, old in reversed(before):
            kind[name] = old


__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "vjp",
    "vmap",
]
