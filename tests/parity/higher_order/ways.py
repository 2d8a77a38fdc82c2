"""Derivatives of a function, and every way to ask for them.

A quantity is worked out once by torch, the plain way, with loops of reverse mode; all ways have to
give that. A way is written once, for torch's names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tests.parity.higher_order.function import POINTS, Function
from tests.parity.higher_order.wrapped import checkpointed, in_function


class At:
    """A function at its arguments on one module, with all that ways need beside it."""

    def __init__(self, torch: Any, function: Function, tensor: Callable[[Any], Any]) -> None:
        self.torch, self.function = torch, function
        self.f, self.F = function.scalar(torch), function.vector(torch)
        self.func, self.functional = torch.func, torch.autograd.functional
        points = [function.points(n) for n in range(POINTS)]
        self.x = tuple(tensor(p) for p in points[0])
        self.rows = tuple(torch.stack([tensor(p[i]) for p in points]) for i in range(len(self.x)))
        self.v = tuple(tensor(d) for d in function.directions(function.shapes))
        self.w = tuple(tensor(d**2 if d.ndim else d) for d in function.directions(function.shapes))
        outputs = listed(self.F(*self.x))
        self.u = tuple(tensor(d) for d in function.directions([tuple(y.shape) for y in outputs]))
        self.by = tuple(range(len(self.x)))

    def leaves(self) -> tuple[Any, ...]:
        """The arguments as leaves that require grad."""
        return tuple(x.detach().clone().requires_grad_() for x in self.x)

    def rows_of(self, tensors: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The examples of batched arguments."""
        return [tuple(t[n] for t in tensors) for n in range(POINTS)]

    def dot(self, parts: Any, weights: Any) -> Any:
        """The sum of the products of two tuples of tensors."""
        pairs = zip(listed(parts), listed(weights), strict=True)
        return sum((p * w).sum() for p, w in pairs)

    def grad(self, outputs: Any, inputs: Any, weights: Any = None, **options: Any) -> Any:
        """torch.autograd.grad with zeros for what has no part."""
        wanted = [y for y in listed(outputs) if y.requires_grad]
        if not wanted:
            return tuple(self.torch.zeros_like(x) for x in inputs)
        given = None
        if weights is not None:
            pairs = zip(listed(outputs), listed(weights), strict=True)
            given = [w for y, w in pairs if y.requires_grad]
        return self.torch.autograd.grad(wanted, inputs, given, materialize_grads=True, **options)


def listed(value: Any) -> list[Any]:
    """The tensors of a result, one after the other."""
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in listed(item)]
    return [value]


Way = Callable[[At], Any]


class Quantity(NamedTuple):
    """What is asked for: worked out the plain way by torch, and by each way here."""

    plain: Way
    ways: dict[str, Way]


def _loop(at: At, derive: Callable[[At, tuple[Any, ...]], Any]) -> Any:
    """A derivative at each example, stacked."""
    found = [listed(derive(at, row)) for row in at.rows_of(at.rows)]
    return [at.torch.stack(list(parts)) for parts in zip(*found, strict=True)]


def _slope(at: At, f: Any = None) -> Any:
    x = at.leaves()
    return at.grad((f or at.f)(*x), x)


def _along(at: At, parts: Any, direction: Any, x: Any) -> Any:
    """The sum of the products, which requires grad also where the parts are constant."""
    return at.dot(parts, direction) + 0 * at.dot(x, x)


def _second(at: At, f: Any) -> Any:
    """Reverse over reverse, by hand."""
    x = at.leaves()
    return at.grad(_along(at, at.grad(f(*x), x, create_graph=True), at.v, x), x)


def _by_backward(at: At) -> Any:
    x = at.leaves()
    y = at.f(*x)
    if not y.requires_grad:
        return tuple(at.torch.zeros_like(a) for a in x)
    y.backward(create_graph=True)
    return tuple(at.torch.zeros_like(a) if a.grad is None else a.grad for a in x)


def _third(at: At) -> Any:
    x = at.leaves()
    first = at.grad(at.f(*x), x, create_graph=True)
    second = at.grad(_along(at, first, at.v, x), x, create_graph=True)
    return at.grad(_along(at, second, at.w, x), x)


def _batched_rows(at: At) -> Any:
    """A Jacobian by is_grads_batched."""
    x = at.leaves()
    found = []
    for y in listed(at.F(*x)):
        eye = at.torch.eye(y.numel(), dtype=y.dtype).reshape((y.numel(), *y.shape))
        rows = [None] * len(x)
        if y.requires_grad:
            options = {"is_grads_batched": True, "allow_unused": True, "retain_graph": True}
            rows = at.torch.autograd.grad([y], x, [eye], **options)
        shapes = [(*y.shape, *a.shape) for a in x]
        found.append([_rows_as(at, r, s) for r, s in zip(rows, shapes, strict=True)])
    return found


def _rows_as(at: At, rows: Any, shape: tuple[int, ...]) -> Any:
    return at.torch.zeros(shape, dtype=at.torch.float64) if rows is None else rows.reshape(shape)


def _mapped_vjp(at: At) -> Any:
    """A Jacobian by a map of pulled back rows, for one output."""
    y, pull = at.func.vjp(at.F, *at.x)
    outputs = listed(y)
    found = []
    for place, out in enumerate(outputs):

        def row(v: Any, place: int = place) -> Any:
            zeros = [at.torch.zeros_like(o) for o in outputs]
            zeros[place] = v
            return pull(tuple(zeros) if at.function.outputs > 1 else zeros[0])

        eye = at.torch.eye(out.numel(), dtype=out.dtype).reshape(out.numel(), *out.shape)
        rows = at.func.vmap(row)(eye)
        found.append([r.reshape((*out.shape, *a.shape)) for r, a in zip(rows, at.x, strict=True)])
    return found


GRADIENT = Quantity(
    _slope,
    {
        "autograd.grad": _slope,
        "backward": _by_backward,
        "grad": lambda at: at.func.grad(at.f, at.by)(*at.x),
        "grad_and_value": lambda at: at.func.grad_and_value(at.f, at.by)(*at.x)[0],
        "vjp": lambda at: at.functional.vjp(at.f, at.x)[1],
        "jacrev": lambda at: at.func.jacrev(at.f, at.by)(*at.x),
        "jacfwd": lambda at: at.func.jacfwd(at.f, at.by)(*at.x),
        "checkpointed": lambda at: _slope(at, checkpointed(at.torch, at.f)),
        "checkpointed, grad": lambda at: at.func.grad(checkpointed(at.torch, at.f), at.by)(*at.x),
        "in a Function": lambda at: _slope(at, in_function(at.torch, at.f)),
    },
)
HESSIAN = Quantity(
    lambda at: at.functional.hessian(at.f, at.x),
    {
        "functional": lambda at: at.functional.hessian(at.f, at.x),
        "functional, create_graph": lambda at: at.functional.hessian(
            at.f, at.leaves(), create_graph=True
        ),
        "functional, vectorize": lambda at: at.functional.hessian(at.f, at.x, vectorize=True),
        "functional, forward": lambda at: at.functional.hessian(
            at.f, at.x, vectorize=True, outer_jacobian_strategy="forward-mode"
        ),
        "hessian": lambda at: at.func.hessian(at.f, at.by)(*at.x),
        "jacrev of jacrev": lambda at: at.func.jacrev(at.func.jacrev(at.f, at.by), at.by)(*at.x),
        "jacrev of jacfwd": lambda at: at.func.jacrev(at.func.jacfwd(at.f, at.by), at.by)(*at.x),
        "jacfwd of jacfwd": lambda at: at.func.jacfwd(at.func.jacfwd(at.f, at.by), at.by)(*at.x),
        "jacrev of grad": lambda at: at.func.jacrev(at.func.grad(at.f, at.by), at.by)(*at.x),
        "checkpointed": lambda at: at.functional.hessian(checkpointed(at.torch, at.f), at.x),
        "checkpointed, vectorize": lambda at: at.functional.hessian(
            checkpointed(at.torch, at.f), at.x, vectorize=True
        ),
        "in a Function": lambda at: at.functional.hessian(in_function(at.torch, at.f), at.x),
    },
)
HVP = Quantity(
    lambda at: at.functional.hvp(at.f, at.x, at.v)[1],
    {
        "hvp": lambda at: at.functional.hvp(at.f, at.x, at.v)[1],
        "vhp": lambda at: at.functional.vhp(at.f, at.x, at.v)[1],
        "vhp, create_graph": lambda at: at.functional.vhp(
            at.f, at.leaves(), at.v, create_graph=True
        )[1],
        "forward over reverse": lambda at: at.func.jvp(at.func.grad(at.f, at.by), at.x, at.v)[1],
        "reverse over forward": lambda at: at.func.grad(
            lambda *x: at.func.jvp(at.f, x, at.v)[1], at.by
        )(*at.x),
        "reverse over reverse": lambda at: _second(at, at.f),
        "grad of grad": lambda at: at.func.grad(
            lambda *x: at.dot(at.func.grad(at.f, at.by)(*x), at.v), at.by
        )(*at.x),
        "checkpointed": lambda at: _second(at, checkpointed(at.torch, at.f)),
        "in a Function": lambda at: _second(at, in_function(at.torch, at.f)),
    },
)
THIRD = Quantity(
    _third,
    {
        "autograd.grad": _third,
        "forward over forward over reverse": lambda at: at.func.jvp(
            lambda *x: at.func.jvp(at.func.grad(at.f, at.by), x, at.v)[1], at.x, at.w
        )[1],
        "reverse of hvp": lambda at: at.func.grad(
            lambda *x: at.dot(at.func.jvp(at.func.grad(at.f, at.by), x, at.v)[1], at.w), at.by
        )(*at.x),
    },
)
EXAMPLES = Quantity(
    lambda at: _loop(at, lambda at, x: at.functional.vjp(at.f, x)[1]),
    {
        "vmap of grad": lambda at: at.func.vmap(at.func.grad(at.f, at.by))(*at.rows),
        "grad of vmap": lambda at: at.func.grad(
            lambda *rows: at.func.vmap(at.f)(*rows).sum(), at.by
        )(*at.rows),
        "vmap of jacfwd": lambda at: at.func.vmap(at.func.jacfwd(at.f, at.by))(*at.rows),
        "vmap of checkpointed": lambda at: at.func.vmap(
            at.func.grad(checkpointed(at.torch, at.f), at.by)
        )(*at.rows),
    },
)
EXAMPLES_SECOND = Quantity(
    lambda at: _loop(at, lambda at, x: at.functional.hvp(at.f, x, at.v)[1]),
    {
        "vmap of hvp": lambda at: at.func.vmap(
            lambda *x: at.func.jvp(at.func.grad(at.f, at.by), x, at.v)[1]
        )(*at.rows),
        "grad of vmap of grad": lambda at: at.func.grad(
            lambda *rows: at.func.vmap(lambda *x: at.dot(at.func.grad(at.f, at.by)(*x), at.v))(
                *rows
            ).sum(),
            at.by,
        )(*at.rows),
        "jvp of vmap of grad": lambda at: at.func.jvp(
            at.func.vmap(at.func.grad(at.f, at.by)),
            at.rows,
            tuple(v.expand(POINTS, *v.shape) for v in at.v),
        )[1],
    },
)
EXAMPLES_HESSIAN = Quantity(
    lambda at: _loop(at, lambda at, x: at.functional.hessian(at.f, x)),
    {"vmap of hessian": lambda at: at.func.vmap(at.func.hessian(at.f, at.by))(*at.rows)},
)
JACOBIAN = Quantity(
    lambda at: at.functional.jacobian(at.F, at.x),
    {
        "functional": lambda at: at.functional.jacobian(at.F, at.x),
        "functional, create_graph": lambda at: at.functional.jacobian(
            at.F, at.leaves(), create_graph=True
        ),
        "functional, vectorize": lambda at: at.functional.jacobian(at.F, at.x, vectorize=True),
        "functional, forward": lambda at: at.functional.jacobian(
            at.F, at.x, vectorize=True, strategy="forward-mode"
        ),
        "jacrev": lambda at: at.func.jacrev(at.F, at.by)(*at.x),
        "jacfwd": lambda at: at.func.jacfwd(at.F, at.by)(*at.x),
        "is_grads_batched": _batched_rows,
        "vmap of vjp": _mapped_vjp,
        "checkpointed": lambda at: at.functional.jacobian(checkpointed(at.torch, at.F), at.x),
        "in a Function": lambda at: at.functional.jacobian(in_function(at.torch, at.F), at.x),
    },
)
JVP = Quantity(
    lambda at: at.functional.jvp(at.F, at.x, at.v)[1],
    {
        "functional": lambda at: at.functional.jvp(at.F, at.x, at.v)[1],
        "functional, create_graph": lambda at: at.functional.jvp(
            at.F, at.leaves(), at.v, create_graph=True
        )[1],
        "jvp": lambda at: at.func.jvp(at.F, at.x, at.v)[1],
        "linearize": lambda at: at.func.linearize(at.F, *at.x)[1](*at.v),
        "checkpointed": lambda at: at.func.jvp(checkpointed(at.torch, at.F), at.x, at.v)[1],
    },
)
VJP = Quantity(
    lambda at: at.functional.vjp(at.F, at.x, _like(at, at.u))[1],
    {
        "functional": lambda at: at.functional.vjp(at.F, at.x, _like(at, at.u))[1],
        "vjp": lambda at: at.func.vjp(at.F, *at.x)[1](_like(at, at.u)),
        "autograd.grad": lambda at: _pulled(at, at.F),
        "checkpointed": lambda at: _pulled(at, checkpointed(at.torch, at.F)),
        "in a Function": lambda at: _pulled(at, in_function(at.torch, at.F)),
    },
)
EXAMPLES_JVP = Quantity(
    lambda at: _loop(at, lambda at, x: at.functional.jvp(at.F, x, at.v)[1]),
    {
        "vmap of jvp": lambda at: at.func.vmap(lambda *x: at.func.jvp(at.F, x, at.v)[1])(*at.rows),
        "jvp of vmap": lambda at: at.func.jvp(
            at.func.vmap(at.F), at.rows, tuple(v.expand(POINTS, *v.shape) for v in at.v)
        )[1],
    },
)


def _like(at: At, parts: tuple[Any, ...]) -> Any:
    """Cotangents in what the function gives its results in."""
    return parts if at.function.outputs > 1 else parts[0]


def _pulled(at: At, function: Any) -> Any:
    x = at.leaves()
    return at.grad(function(*x), x, at.u)


QUANTITIES = {
    "gradient": GRADIENT,
    "hessian": HESSIAN,
    "hvp": HVP,
    "third order": THIRD,
    "gradients of examples": EXAMPLES,
    "hvp of examples": EXAMPLES_SECOND,
    "hessians of examples": EXAMPLES_HESSIAN,
    "jacobian": JACOBIAN,
    "jvp": JVP,
    "vjp": VJP,
    "jvp of examples": EXAMPLES_JVP,
}
