"""autograd.Function: what is ours of it. What is torch's stands in tests/parity."""

from __future__ import annotations

from typing import Any

import pytest

import gradwire as torch
from gradwire.session import Session


class Square(torch.autograd.Function):
    """Counts its calls on the class."""

    called: list[str] = []  # noqa: RUF012

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        Square.called.append("forward")
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        Square.called.append("backward")
        (x,) = ctx.saved_tensors
        return 2 * x * g


class LooksForward(torch.autograd.Function):
    """Its forward reads a value."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.scale = x.sum().item()  # read in forward
        ctx.save_for_backward(x, y := x.exp())
        ctx.mark_non_differentiable(order := x.argsort())
        return y * 1, order, y

    @staticmethod
    def backward(ctx: Any, g: Any, _: Any, h: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y * ctx.scale / x.sum() + h * y


@pytest.mark.recorded
def test_it_is_written_down_once_and_runs_at_the_host(session: Session) -> None:
    Square.called.clear()
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Square.apply(x)
    assert Square.called == ["forward", "backward"]
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert Square.called == ["forward", "backward"]
    assert x.grad.tolist() == [4.0, 8.0]


class Weighed(torch.autograd.Function):
    """x m w², of which m gets no gradient, and a fourth operand that gets ones."""

    @staticmethod
    def forward(ctx: Any, x: Any, m: Any, w: Any, v: Any) -> Any:
        ctx.save_for_backward(x, m, w)
        return x * m * w * w

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, m, w = ctx.saved_tensors
        return g * m * w * w, None, 2 * g * m * x * w, torch.ones_like(g)


@pytest.mark.recorded
def test_operands_without_a_gradient_stand_between_others(session: Session) -> None:
    x, m, w, v = (torch.tensor([n], requires_grad=True) for n in (2.0, 3.0, 5.0, 7.0))
    y = Weighed.apply(x, m, w, v)
    by_x, by_w, by_v = torch.autograd.grad(y, [x, w, v], create_graph=True)
    assert [by_x.tolist(), by_w.tolist(), by_v.tolist()] == [[75.0], [60.0], [1.0]]
    (alone,) = torch.autograd.grad(y, [w], create_graph=True)
    assert (alone.tolist(), alone.requires_grad) == ([60.0], True)
    assert [part.tolist() for part in torch.autograd.grad(alone, [x, w])] == [[30.0], [12.0]]


def test_backward_is_not_called_where_nothing_is_recorded(session: Session) -> None:
    Square.called.clear()
    assert Square.apply(torch.tensor([3.0])).tolist() == [9.0]
    assert Square.called == ["forward"]


def test_a_forward_that_looks_at_values(session: Session) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    if session.transport.url != "embedded":
        line = LooksForward.forward.__code__.co_firstlineno + 2
        with pytest.raises(RuntimeError, match=rf"LooksForward.*functions\.py:{line}") as refused:
            LooksForward.apply(x)
        assert getattr(refused.value, "code", None) == "untraceable"
        return
    a, order, b = LooksForward.apply(x)
    assert order.tolist() == [0, 1] and not order.requires_grad
    assert a.grad_fn.name() == "LooksForwardBackward"
    (g,) = torch.autograd.grad((a + b).sum(), x, create_graph=True)
    assert torch.allclose(g, 2 * x.exp())
    (second,) = torch.autograd.grad(b.sum() + 0 * g.sum(), x)
    assert torch.allclose(second, x.exp())


def test_tensors_in_a_list_are_no_outputs(session: Session) -> None:
    class Listed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return [x * 2]

    with pytest.raises(TypeError, match="a tuple with tensors, not tensors in a list"):
        Listed.apply(torch.tensor([1.0]))


def test_a_failed_forward_changes_nothing(session: Session) -> None:
    class Writes(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.add_(1)
            raise ValueError("after the write")

    x = torch.tensor([1.0])
    with pytest.raises(ValueError, match="after the write"):
        Writes.apply(x)
    assert x.tolist() == [1.0] and x._version == 0


class LooksBackward(torch.autograd.Function):
    """Its backward reads values: of what was saved, of ctx, and of the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any, n: int) -> Any:
        ctx.save_for_backward(x)
        ctx.inner, ctx.n = x.exp(), n
        return ctx.inner * n

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        scale = ctx.n if float(g.sum()) > 0 else -ctx.n  # read in backward
        assert x.numpy().shape == (2,)
        return abs(g) * ctx.inner * scale, None


@pytest.mark.recorded
def test_a_backward_that_looks_at_values(session: Session) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = LooksBackward.apply(x, 3)
    assert y.grad_fn.name() == "LooksBackwardBackward"
    if session.transport.url != "embedded":
        line = LooksBackward.backward.__code__.co_firstlineno + 3
        with pytest.raises(RuntimeError, match=rf"LooksBackward.*functions\.py:{line}") as refused:
            (-y).sum().backward()
        assert getattr(refused.value, "code", None) == "untraceable"
        assert x.grad is None
        return
    (-y).sum().backward(retain_graph=True)
    assert torch.allclose(x.grad, -3 * x.detach().exp())
    with pytest.raises(RuntimeError, match=r"LooksBackward\.backward looks at values: it can't be"):
        torch.autograd.grad(y.square().sum(), x, create_graph=True)
    assert torch.allclose(torch.autograd.grad(y.sum(), x)[0], 3 * x.detach().exp())


@pytest.mark.recorded
def test_a_backward_in_python_may_give_nothing(session: Session) -> None:
    class First(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * float(g.sum()), None

    x, y = (torch.tensor([2.0], requires_grad=True) for _ in range(2))
    found = First.apply(x, y)
    if session.transport.url != "embedded":
        with pytest.raises(RuntimeError, match="First") as refused:
            found.backward(torch.tensor([3.0]))
        assert getattr(refused.value, "code", None) == "untraceable"
        assert x.grad is None and y.grad is None
        return
    found.backward(torch.tensor([3.0]))
    assert (x.grad.tolist(), y.grad.tolist()) == ([9.0], [0.0])


@pytest.mark.parametrize("called", [lambda f, x: f()(x), lambda f, x: f.apply(x).backward()])
def test_what_is_no_function(session: Session, called: Any) -> None:
    """One that is made and called, and one with two backwards."""

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            return g * 2

    with pytest.raises(RuntimeError, match="function"):
        called(Twice, torch.tensor(1.0, requires_grad=True))


def test_what_a_backward_in_python_raises(session: Session) -> None:
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise KeyError(f"after a look at {float(g)}")

    x = torch.tensor(1.0, requires_grad=True)
    y = Fails.apply(x)
    embedded = session.transport.url == "embedded"
    told = "after a look at 1.0" if embedded else "Fails.backward looks at the value"
    with pytest.raises(KeyError if embedded else RuntimeError, match=told):
        y.backward()
    assert x.grad is None
