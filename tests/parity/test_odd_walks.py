"""Walks that few programs do, and writes that few programs make: here as in torch, refusals too."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.parity.observe import kind_of

import gradwire


def _batched(shape: tuple[int, ...], *given: Any) -> Callable[[Any], Any]:
    """A batched walk from as many outputs of a shape as there are cotangents."""

    def run(m: Any) -> Any:
        x = m.ones(shape, requires_grad=True)
        rows = [None if g is None else m.ones(g) for g in given]
        found = m.autograd.grad([x * 2 for _ in given], x, rows, is_grads_batched=True)
        return found[0].tolist()

    return run


def _still_batched(m: Any) -> Any:
    """An output that does not require grad has no cotangent to be a batch."""
    x = m.ones(2, requires_grad=True)
    return m.autograd.grad(m.ones(2), x, is_grads_batched=True)


def _clamped(shape: tuple[int, ...], low: tuple[int, ...], high: tuple[int, ...]) -> Any:
    def run(m: Any) -> Any:
        x, a, b = (m.ones(s, requires_grad=True) for s in (shape, low, high))
        x.clamp(a, b).sum().backward()
        return [t.grad.tolist() for t in (x, a, b)]

    return run


def _loss_walked_twice(name: str) -> Callable[[Any], Any]:
    def run(m: Any) -> Any:
        x = m.tensor([0.25, 0.5], requires_grad=True)
        loss = getattr(m.nn.functional, name)(x, m.tensor([0.5, 0.25]))
        m.autograd.grad(loss, x)
        loss.backward(inputs=loss)
        return loss.grad.tolist()

    return run


def _edge_in_inference_mode(m: Any) -> Any:
    x = m.ones(2, requires_grad=True)
    with m.inference_mode():
        return m.autograd.graph.get_gradient_edge(x).output_nr


def _empty_block(m: Any) -> Any:
    x = m.ones(0, requires_grad=True)
    m.block_diag(x, m.ones(2, 2)).backward(m.ones(3, 2), create_graph=True)
    return x.grad.requires_grad


def _kron_of_inference(m: Any) -> Any:
    with m.inference_mode():
        x = m.ones(2)
    return m.kron(x, m.ones(2, requires_grad=True)).tolist()


def _written(what: str, *others: Any, of: str = "base", by: str = "grad", **made: Any) -> Any:
    """A write in place: version, history and grad mode of what it was made to."""

    def run(m: Any) -> Any:
        leaf = m.tensor([0.5, 1.5], requires_grad=True)
        with m.inference_mode():
            inside = m.tensor([0.5, 1.5])
        x = {
            "leaf": lambda: leaf,
            "base": lambda: leaf * 1,
            "expanded": lambda: (leaf[:1] * 1).expand(2),
            "of inference": inside.detach,
        }[of]()
        given = [m.tensor(o, **made) if isinstance(o, list) else o for o in others]
        with m.inference_mode(by == "inference"):
            getattr(x, what)(*given)
        node = None if x.grad_fn is None else x.grad_fn.name().rpartition(":")[2]
        return x._version, x.requires_grad, x.is_leaf, node, x.shape

    return run


def _into_itself(what: str, *places: Any) -> Callable[[Any], Any]:
    def run(m: Any) -> Any:
        x = m.tensor([0.5, 1.5])
        return getattr(x, what)(0, m.tensor([0, 1]), x, *places).tolist()

    return run


def _summed_to_a_scalar(m: Any) -> Any:
    x = m.tensor(1.5, requires_grad=True).sum_to_size(())
    return x.grad_fn.name(), x.is_leaf


def _padded(shape: tuple[int, ...], pad: tuple[int, ...], mode: str) -> Callable[[Any], Any]:
    def run(m: Any) -> Any:
        x = m.ones(shape, requires_grad=True)
        found = m.nn.functional.pad(x, pad, mode)
        found.sum().backward()
        return found.shape, x.grad.tolist()

    return run


def _multiplied(one: tuple[int, ...], other: tuple[int, ...], which: int) -> Callable[[Any], Any]:
    """A product of which one operand requires grad and is of inference mode."""

    def run(m: Any) -> Any:
        with m.inference_mode():
            inside = m.ones((one, other)[which], requires_grad=True)
        outside = m.ones((other, one)[which])
        found = inside @ outside if which == 0 else outside @ inside
        return found.requires_grad, found.is_leaf

    return run


def _lost_view_written(m: Any) -> Any:
    """What is wrong with a view is said before what is wrong with places."""
    x = m.ones(0, requires_grad=True) * 1
    part = x.chunk(2)[0]
    x.mul_(2)
    y = m.ones(0)
    y[[0]] = part


def _copied_of_inference(how: str, *given: str, by: str = "grad") -> Callable[[Any], Any]:
    """A copy of an inference tensor that got a history once it was detached."""

    def run(m: Any) -> Any:
        leaf = m.tensor([0.5, 1.5], requires_grad=True)
        with m.inference_mode():
            inside = m.tensor([0.5, 1.5])
        x = inside.detach().add_(leaf * 3)
        with m.inference_mode(by == "inference"), m.set_grad_enabled(by == "grad"):
            copy = getattr(x, how)(*(getattr(m, name) for name in given))
        node = copy.grad_fn and copy.grad_fn.name().rpartition(":")[2]
        if copy.requires_grad:
            copy.sum().backward()
        return node, copy.is_inference(), None if leaf.grad is None else leaf.grad.tolist()

    return run


def _no_elements_written(name: str, *given: Any, again: bool) -> Callable[[Any], Any]:
    """What is written to no elements has a history all the same, also after a write to the base."""

    def run(m: Any) -> Any:
        leaf = m.tensor([[0.5, 1.5]], requires_grad=True)
        base = leaf * 2
        part = base.narrow(0, 0, 0)
        if again:
            with m.no_grad():
                base.mul_(1.0)
        getattr(part.t(), name)(*(m.tensor(g) for g in given))
        base.sum().backward(create_graph=True)
        return leaf.grad.requires_grad, leaf.grad.tolist(), part.grad_fn.name()

    return run


def _written_as(seen: str, *then: int) -> Callable[[Any], Any]:
    """A batched walk through a write to a view that shows numbers of another kind."""

    def run(m: Any) -> Any:
        pairs = seen == "view_as_complex"
        leaf = m.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        base = leaf * 2 if pairs else m.view_as_complex(leaf) * 2
        view = getattr(base, seen) if seen in ("real", "imag") else getattr(m, seen)(base)
        (view[then] if then else view).mul_(5)
        rows = m.ones(3, *base.shape, dtype=base.dtype) * (1 if pairs else 1 + 2j)
        return m.autograd.grad(base, leaf, rows, is_grads_batched=True)[0].tolist()

    return run


def _hooked_beside(what: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A walk that comes to what may have no derivative before it comes to a hook."""

    def run(m: Any) -> Any:
        one, other = m.tensor([0.5, 1.5], requires_grad=True).chunk(2)
        one.register_hook(lambda g: -g)
        what(m, other).sum().backward()

    return run


def _lost_view_beside_no_axis(name: str, *axes: int) -> Callable[[Any], Any]:
    """What is wrong with a view is said before what is wrong with axes."""

    def run(m: Any) -> Any:
        x = m.ones(2, 2, requires_grad=True) * 1
        part = x.chunk(2)[0]
        x.mul_(2)
        return getattr(part, name)(part, *axes)

    return run


def _written_after_rms_norm(m: Any) -> Any:
    """What is kept of halves for the second walk are float32 copies of them."""
    x = m.tensor([[-1.75], [0.25]], dtype=m.bfloat16, requires_grad=True)
    y = x * 2
    z = m.nn.functional.rms_norm(y, (1,), m.tensor([0.125], dtype=m.bfloat16))
    (g,) = m.autograd.grad(z, x, m.ones_like(z), create_graph=True)
    y[-1:] = 1.0
    g.backward(m.ones_like(g))
    return x.grad is None


PROGRAMS: dict[str, Callable[[Any], Any]] = (
    {
        "a batch without rows": _batched((3,), (2, 3), (0, 3)),
        "a cotangent that is no batch": _batched((), ()),
        "ones that are a batch of one": _batched((1,), None),
        "ones that are no batch": _batched((), None),
        "ones beside a longer batch": _batched((1,), (2, 1), None),
        "a batch of what is not walked": _still_batched,
        "limits that are smaller": _clamped((2, 3), (3,), (2, 1)),
        "a limit that is larger than the other two": _clamped((1, 3), (), (2, 3)),
        "a limit that is larger than the tensor": _clamped((3,), (2, 1), (1,)),
        "the edge of a leaf in inference mode": _edge_in_inference_mode,
        "the gradient of no block": _empty_block,
        "kron saves an inference tensor": _kron_of_inference,
        "a number for a tensor is said first": _written("atan2_", 2.0, of="leaf"),
        "logical_not of a leaf": _written("logical_not_", of="leaf"),
        "logical_or leaves the history": _written("logical_or_", [0.0, 1.0]),
        "another name of gt": _written("greater_", 1.0),
        "bernoulli": _written("bernoulli_", 0.5),
        "conj_physical of an expanded view": _written("conj_physical_", of="expanded"),
        "a result that is one of inference mode": _written(
            "pow_", [2.0, 3.0], of="of inference", requires_grad=True
        ),
        "a count in inference mode": _written(
            "add_", [2.0, 3.0], of="of inference", by="inference"
        ),
        "no count in inference mode": _written("add_", 2.0, of="of inference", by="inference"),
        "scatter_reduce from itself": _into_itself("scatter_reduce_", "sum"),
        "index_reduce from itself": _into_itself("index_reduce_", "prod"),
        "addr to what is larger": lambda m: m.addr(m.ones(2, 1), m.ones(1), m.ones(1)),
        "index_put from itself": lambda m: (x := m.ones(3)).index_put_((m.tensor([0, 1, 2]),), x),
        "index_put of a number": lambda m: m.ones(3).index_put_((m.tensor([0]),), 2.0),
        "one index_put by a mask": lambda m: (
            (x := m.ones(1)).index_put_((m.tensor([True]),), x).tolist()
        ),
        "products of one bool": lambda m: m.tensor(True).cumprod_(0).tolist(),
        "sums of no bools": lambda m: m.tensor([], dtype=m.bool).cumsum_(0).tolist(),
        "a view that is lost, and no place": _lost_view_written,
        "sum_to_size of a scalar": _summed_to_a_scalar,
        "a write after rms_norm of halves": _written_after_rms_norm,
    }
    | {
        f"{name} in place has a node of its own": _written(name)
        for name in ("acosh_", "arcsinh_", "atanh_")
    }
    | {
        f"{name} walked twice, at last to itself": _loss_walked_twice(name)
        for name in ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "binary_cross_entropy")
    }
)


def _put(*places: Any, by: str = "index_put", accumulate: bool = False) -> Callable[[Any], Any]:
    """Some of these places have no axes: numbers and bools."""

    def run(m: Any) -> Any:
        leaf = m.zeros(2, 2, requires_grad=True)
        value = m.tensor([5.0, 6.0], requires_grad=True)
        found = getattr(leaf * 1, by)([m.tensor(p) for p in places], value, accumulate)
        (found * m.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
        node = found.grad_fn.name().rpartition(":")[2]
        return node, found.tolist(), leaf.grad.tolist(), value.grad.tolist()

    return run


PROGRAMS |= {
    f"{by} at {places}, {'added' if accumulate else 'written'}": _put(
        *places, by=by, accumulate=accumulate
    )
    for by in ("index_put", "index_put_")
    for places in ((1,), (1, [0, 1]), ([0, 1], -1), (True, [1, 0]), (2, [0, 1]))
    for accumulate in (False, True)
}
PROGRAMS |= {
    f"{name} of no elements, {'their base written before' if again else 'nothing before'}": (
        _no_elements_written(name, *given, again=again)
    )
    for name, given in (("sin_", ()), ("atan2_", (2.0,)), ("mul_", (2.0,)), ("zero_", ()))
    for again in (False, True)
}
PROGRAMS |= {
    f"a batch beside a write through {seen}, at {then}": _written_as(seen, *then)
    for seen, *then in (
        ("view_as_complex",),
        ("view_as_complex", 0),
        ("view_as_real",),
        ("view_as_real", 1, 0),
        ("real",),
        ("imag", 1),
    )
}
PROGRAMS |= {
    f"a scalar selected from at {places}": lambda m, places=places: (
        m.tensor(2.0).index_select(0, m.tensor(places, dtype=m.int64)).tolist()
    )
    for places in ([0], [1], [-1], [], [0, 0], [1, 1])
}
PROGRAMS |= {
    f"{name} of a lost view, along axis 3": _lost_view_beside_no_axis(name, *axes)
    for name, *axes in (("slice_scatter", 3), ("select_scatter", 3, 0), ("diagonal_scatter", 0, 3))
}
PROGRAMS |= {
    f"a hook of no gradient beside {name}": _hooked_beside(what)
    for name, what in {
        "x // 2": lambda m, x: x // 2,
        "2 // x": lambda m, x: 2 // x,
        "2 % x": lambda m, x: 2 % x,
        "x % 2": lambda m, x: x % 2,
        "heaviside": lambda m, x: m.heaviside(x, m.zeros(1)),
    }.items()
}
PROGRAMS |= {
    f"{how} of an inference tensor with a history, {by}": _copied_of_inference(how, *given, by=by)
    for how, *given in (("clone",), ("half",), ("to", "float64"), ("to", "float32"), ("cfloat",))
    for by in ("grad", "no_grad", "inference")
}
PROGRAMS |= {
    f"{by} at a number that is no tensor": lambda m, by=by: getattr(m.ones(2, 2), by)(
        (1, m.tensor([0, 1])), m.tensor(5.0)
    )
    for by in ("index_put", "index_put_")
}
PROGRAMS |= {
    f"{one} @ {other}, {('first', 'second')[which]} of inference": _multiplied(one, other, which)
    for one, other in itertools.product(((2,), (2, 2), (3, 2, 2)), repeat=2)
    for which in (0, 1)
}
PROGRAMS |= {
    f"{mode} padding {pad} of {shape}": _padded(shape, pad, mode)
    for mode in ("reflect", "replicate", "circular")
    for shape, pad in (
        ((2, 3), (-3, 0)),
        ((0, 3), (1, 1)),
        ((0, 1, 3), (1, 1)),
        ((1, 0, 3), (1, 1)),
        ((1, 2, 3), (-3, 0, 0, 0)),
        ((1, 2, 3), (-3, 0, -2, 0)),
        ((2, 2, 3), (-3, 0, 1, 1)),
    )
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_in_torch(name: str) -> None:
    with warnings.catch_warnings(), gradwire.connect(None).session():
        warnings.simplefilter("ignore")
        assert _told(gradwire, PROGRAMS[name]) == _told(torch, PROGRAMS[name])


def _told(m: Any, program: Callable[[Any], Any]) -> Any:
    """What comes of a program: its result, or the class of the error."""
    try:
        return program(m)
    except Exception as problem:
        return kind_of(problem)
