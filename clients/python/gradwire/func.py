"""torch.func: functions over functions; the user's function travels as a program."""

from __future__ import annotations

from typing import Any

from gradwire.asking import RESULT, Argnums, Asked, Function
from gradwire.autograd.transformable import FORWARD, REVERSE, VMAP
from gradwire.called import Wanted
from gradwire.functions import op
from gradwire.pytrees import check_tensors, leaves, shown
from gradwire.tensor import Tensor
from gradwire.vmapped import vmap
from gradwire_engine.errors import error


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
        asked = Asked(func, args, kwargs, argnums, has_aux, (REVERSE,))
        loss = asked.only_tensor()
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
    asked = Asked(func, primals, {}, tuple(range(len(primals))), has_aux, (REVERSE,))
    asked.check_output("vjp(f, *primals)")
    outputs = asked.outputs()

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        """retain_graph, create_graph: torch's; the graph stays, and is made where it is wanted."""
        made, like = shown(cotangents), asked.shown
        if made != like:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {made}, primal output: {like}"
            )
        given = leaves(cotangents)
        parts = [Wanted(x.shape, x.dtype, RESULT) for x in asked.wanted]
        pairs = list(zip(asked.own, given, strict=True))
        for place, (o, v) in enumerate(pairs):
            if isinstance(v, Tensor) and v.shape != o.shape:
                raise error(
                    "shape_mismatch",
                    f"vjp: output {place} has shape {list(o.shape)}, its cotangent has "
                    f"{list(v.shape)}",
                    "give each output a cotangent of its shape",
                )
        named = {o._name: asked.direction(v) for o, v in pairs}
        return asked.by_argument(asked.derive("vjp", parts, cotangents=named)[0])

    value = asked.with_aux(outputs)
    return (value[0], pull, value[1]) if has_aux else (value, pull)


def jvp(func: Function, primals: Any, tangents: Any, *, has_aux: bool = False) -> Any:
    """What the function gives, and its derivative in the direction of the tangents."""
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError("jvp: Expected primals and tangents to be tuples")
    if shown(primals) != shown(tangents):
        raise RuntimeError(
            "jvp: Expected primals and tangents to have the same python structure, got "
            f"{shown(primals)} and {shown(tangents)}"
        )
    directions = leaves(tangents)
    for name, found in (("primals", leaves(primals)), ("tangents", directions)):
        check_tensors(
            found,
            f"jvp: Expected {name} to only contain Tensors",
            f"jvp: Expected {name} to contain at least one Tensor.",
        )
    for place, (x, t) in enumerate(zip(leaves(primals), directions, strict=True)):
        if (x.shape, x.dtype) != (t.shape, t.dtype):
            raise error(
                "shape_mismatch" if x.shape != t.shape else "dtype_mismatch",
                f"jvp: primal {place} is {x._meta.spec}, its tangent is {t._meta.spec}",
                "give each primal a tangent of its shape and dtype",
            )
    asked = Asked(func, primals, {}, tuple(range(len(primals))), has_aux, (FORWARD,))
    asked.check_output("jvp(f, primals, tangents)")
    pushed, outputs = asked.pushed(directions)
    value = asked.with_aux(outputs)
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
        kinds = (VMAP, FORWARD) if strategy == "forward-mode" else (REVERSE,)
        asked = Asked(func, args, kwargs, argnums, has_aux, kinds)
        asked.check_output("jacobian")
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
    """What the function gives, and its derivative there as a function of tangents.

    There: at the values of all that it reads now, whatever is written to that later.
    """
    asked = Asked(func, primals, {}, tuple(range(len(primals))), False, (FORWARD,))
    asked.check_output("linearize(f, *primals)")
    outputs = asked.outputs()
    asked.hold_still()
    like, specs = shown(primals), [(x.shape, x.dtype) for x in asked.wanted]

    def push(*tangents: Any) -> Any:
        if shown(tangents) != like:
            raise RuntimeError(
                "Expected the tangents to have the same structure as the primals, which is "
                f"{like}; got {shown(tangents)}"
            )
        directions = leaves(tangents)
        for place, (tangent, (shape, dtype)) in enumerate(zip(directions, specs, strict=True)):
            if tangent.shape != shape or tangent.dtype != dtype:
                raise RuntimeError(
                    f"tangent:{place} is {tangent.dtype.name}{list(tangent.shape)}, which doesn't "
                    f"match the corresponding primal, {dtype.name}{list(shape)}"
                )
        return asked.pushed(directions)[0]

    return asked.with_aux(outputs), push


def stack_module_state(models: Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Parameters and buffers of equal modules, each as one tensor with an axis of modules first."""
    listed = list(models)
    if not listed:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if any(m.training is not listed[0].training for m in listed):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if any(type(m) is not type(listed[0]) for m in listed):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = _stacked([dict(m.named_parameters()) for m in listed])
    return params, _stacked([dict(m.named_buffers()) for m in listed])


def _stacked(named: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Each name's tensors as one leaf, which records where they do."""
    found = {}
    for name, first in named[0].items():
        every = [tensors[name] for tensors in named]
        if any(t.requires_grad is not first.requires_grad for t in every):
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        made = op("stack")([t.detach() for t in every])
        found[name] = made.requires_grad_(first.requires_grad)
    return found


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
    "stack_module_state",
    "vjp",
    "vmap",
]
