"""Errors: of torch's classes, at the call where shapes tell, naming the line where elements do."""

from __future__ import annotations

import socket
import threading
import traceback
from collections.abc import Callable

import numpy as np
import pytest
from tests.clients.conftest import Counted

import gradwire as torch
from gradwire import GradwireError
from gradwire.session import Session
from gradwire_engine.errors import CODES


@pytest.mark.parametrize(
    ("act", "kind", "code"),
    [
        (lambda: torch.ones(3) + torch.ones(4), RuntimeError, "shape_mismatch"),
        (lambda: torch.ones(2, 3) @ torch.ones(2, 3), RuntimeError, "shape_mismatch"),
        (lambda: torch.ones(2).sum(3), IndexError, "invalid_argument"),
        (lambda: torch.ones(2)[5], IndexError, "invalid_argument"),
        (lambda: torch.ones(2).view(3), RuntimeError, "shape_mismatch"),
        (lambda: torch.ones(2, dtype=torch.int64).mean(), RuntimeError, "dtype_mismatch"),
        (lambda: (torch.ones(2, requires_grad=True) * 2).backward(), RuntimeError, "not_scalar"),
        (lambda: torch.ones(()).backward(), RuntimeError, "requires_no_grad"),
        (lambda: torch.tensor([1], requires_grad=True), RuntimeError, "dtype_mismatch"),
        (lambda: torch.ones(2, requires_grad=True).add_(1), RuntimeError, "leaf_in_place"),
        (lambda: torch.add(torch.ones(2), [1, 2]), TypeError, "invalid_argument"),
        (lambda: torch.ones(2).sum(nonsense=3), TypeError, "invalid_argument"),
        (lambda: torch.ones(2, device="cuda:7"), RuntimeError, "unsupported_device"),
    ],
)
def test_what_shapes_decide_raises_at_the_call(counted: Counted, act, kind, code: str) -> None:
    with pytest.raises(kind) as caught:
        act()
    assert isinstance(caught.value, GradwireError)
    assert caught.value.code == code
    assert counted.take() == []
    last = [f for f in traceback.extract_tb(caught.tb) if f.filename == __file__][-1]
    assert "lambda" in last.name


def test_a_refused_call_leaves_no_trace(session: Session) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    for act in (
        lambda: y.add_(torch.ones(3)),
        lambda: x.add_(1),
        lambda: setattr(x, "grad", torch.ones(5)),
        lambda: y.requires_grad_(False),
        lambda: torch.autograd.grad(y.sum(), [x, torch.ones(2, requires_grad=True)]),
    ):
        with pytest.raises(RuntimeError):
            act()
    assert (x._version, y._version, x.grad) == (0, 0, None)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


@pytest.mark.recorded
def test_elements_that_fail_are_of_torchs_class(session: Session) -> None:
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(IndexError) as caught:
        x[torch.tensor([0, 7])]
    found = caught.value
    assert isinstance(found, GradwireError)
    assert found.code == "invalid_argument"
    assert found.step is not None
    assert any(__file__ in note for note in found.__notes__)
    if "http" in session.transport.url:
        assert found.request_id
    assert x.sum().item() == 3.0


def _late_failure() -> tuple[torch.Tensor, ...]:
    """Steps of which the third fails when they are sent, since the mirror can't know."""
    a = torch.ones(2)
    b = a * 2
    place = torch.tensor(9)
    bad = b[place]
    c = bad + 1
    return a, b, bad, c


@pytest.mark.recorded
def test_steps_before_a_late_failure_are_kept_and_those_after_are_lost(session: Session) -> None:
    a, b, bad, c = _late_failure()
    with torch.no_grad():
        a.add_(1)
    assert a._version == 1
    with pytest.raises(IndexError) as caught:
        c.tolist()
    assert any("in _late_failure" in n or __file__ in n for n in caught.value.__notes__)
    assert a._version == 0, "add_ was not run"
    assert a.tolist() == [1.0, 1.0]
    assert b.tolist() == [2.0, 2.0]
    for lost in (bad, c):
        with pytest.raises(RuntimeError, match="was never made") as caught:
            lost.shape  # noqa: B018
        assert caught.value.code == "tensor_not_found"
        with pytest.raises(RuntimeError, match="was never made"):
            lost * 2
        with pytest.raises(RuntimeError, match="was never made"):
            a * lost
    assert (a + b).tolist() == [3.0, 3.0]


@pytest.mark.recorded
def test_lost_tensors_are_not_freed_on_the_host(session: Session) -> None:
    a, b, bad, c = _late_failure()
    with pytest.raises(IndexError):
        c.item()
    del bad, c
    assert (a + b).tolist() == [3.0, 3.0]
    del a, b
    assert session.info()["tensors"] <= 1


@pytest.mark.recorded
def test_mirrors_agree_with_the_host_after_a_failure(session: Session) -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.sum().backward(retain_graph=True)
    first = x.grad
    place = torch.tensor(5)
    x[place]
    x.grad = None
    x.requires_grad_(False)
    with torch.no_grad():
        x.mul_(7)
        first.zero_()
    with pytest.raises(IndexError):
        x.tolist()
    assert x.requires_grad
    assert x.grad is first
    assert x.tolist() == [1.0] * 3
    assert first.tolist() == [2.0] * 3
    y.sum().backward()
    assert x.grad.tolist() == [4.0] * 3
    assert_agrees(session, x, y, first)


def assert_agrees(session: Session, *tensors: torch.Tensor) -> None:
    """What the mirrors say is what the host says."""
    found = session.flush([t._name for t in tensors], data=False)
    for t in tensors:
        host = found[t._name]
        assert host is not None
        node = t.grad_fn
        assert host.shape == tuple(t.shape)
        assert host.dtype is t.dtype
        assert (host.requires_grad, host.is_leaf) == (t.requires_grad, t.is_leaf)
        assert host.version == t._version
        assert host.grad_fn == (None if node is None else node.name().rpartition("::")[2])


def test_a_failed_backward_changes_no_gradient(session: Session) -> None:
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    y = (x.exp() * w).sum()
    y.backward()
    before = x.grad.numpy()
    with pytest.raises(RuntimeError) as caught:
        y.backward()
    assert caught.value.code == "graph_freed"
    assert np.array_equal(x.grad.numpy(), before)


def test_tensors_of_two_sessions_do_not_mix(session: Session) -> None:
    a = torch.ones(2)
    with torch.connect(None).session():
        b = torch.ones(2)
        with pytest.raises(RuntimeError, match="two sessions"):
            a + b
        with pytest.raises(RuntimeError, match="two sessions"):
            torch.cat([a, b])
        assert (b + 1).tolist() == [2.0, 2.0]
        assert (a + 1).session is session, "an op goes where its operands live"


def test_a_closed_session_says_so(door: str | None) -> None:
    with torch.connect(door).session():
        x = torch.ones(2)
    with pytest.raises(RuntimeError) as caught:
        x.tolist()
    assert caught.value.code == "session_closed"
    with pytest.raises(RuntimeError, match="closed"):
        x + 1


@pytest.mark.recorded
def test_a_session_that_the_host_closed_says_so(session: Session) -> None:
    x = torch.ones(2)
    x.tolist()
    session.transport.delete(session.id)
    with pytest.raises(RuntimeError) as caught:
        (x + 1).tolist()
    assert caught.value.code == "session_closed"


@pytest.mark.recorded
def test_an_interrupted_request_is_done_with_the_next(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.ones(2)
    x.tolist()

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    y = x + 1
    with monkeypatch.context() as patched:
        patched.setattr(session.transport, "steps", interrupted, raising=False)
        with pytest.raises(KeyboardInterrupt):
            y.tolist()
    z = x * 2
    assert (y.tolist(), z.tolist()) == ([2.0, 2.0], [2.0, 2.0])


def test_a_server_that_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(TimeoutError) as caught:  # which is no refusal
            torch.connect(url, timeout=0.2).session()
    assert caught.value.code == "unanswered"
    torch.connect(None)


def test_a_server_that_is_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answering = threading.Thread(target=_say_hello, args=(listener,))
        answering.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(RuntimeError, match="answered 418"):
            torch.connect(url).session()
        answering.join()
    torch.connect(None)


def _say_hello(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 418 I'm a teapot\r\nContent-Length: 5\r\n\r\nhello")


def test_no_server() -> None:
    with pytest.raises(ConnectionError, match="is the server running"):
        torch.connect("http://127.0.0.1:9").session()


def test_unknown_names_are_attribute_errors(session: Session) -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        torch.nonsense  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        torch.ones(2).nonsense  # noqa: B018
    assert not hasattr(torch.linalg, "sin")


def test_every_code_has_a_class() -> None:
    assert all(issubclass(code.raised, Exception) for code in CODES.values())


@pytest.mark.parametrize(
    ("attempt", "way"),
    [
        (lambda: torch.Tensor([1.0, 2.0]), "torch.tensor"),
        (lambda: torch.Tensor(2, 3), "torch.zeros"),
        (lambda: torch.optim.SGD(torch.nn.Linear(1, 1), lr=0.1), ".parameters()"),
        (lambda: torch.nn.Linear(2, 2)(np.ones((1, 2), "float32")), "torch.tensor"),
    ],
)
def test_common_slips_are_told_the_way_out(attempt: Callable[[], object], way: str) -> None:
    with pytest.raises(TypeError, match=way.replace("(", r"\(").replace(")", r"\)")):
        attempt()


@pytest.mark.parametrize("size", [3, 80])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("inv", "diagonal element 2 is zero"),
        ("solve", "input matrix is singular"),
        ("cholesky", "leading minor of order 2 is not positive-definite"),
        ("inv of a stack", "(Batch element 1): the diagonal element 2 is zero"),
    ],
)
def test_a_matrix_that_lacks_something_says_where(
    session: Session, name: str, said: str, size: int
) -> None:
    bad = torch.eye(size)
    bad[1, 1] = 0
    if "stack" in name:
        bad = torch.stack([torch.eye(size), bad])
    act = getattr(torch.linalg, name.split()[0])
    with pytest.raises(torch.linalg.LinAlgError) as caught:
        (act(bad, torch.ones(size)) if name == "solve" else act(bad)).sum().item()
    assert said in str(caught.value)
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value, GradwireError)
    assert caught.value.code == "numerical_error"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("act", "kind"),
    [
        (lambda: torch.stack([]), RuntimeError),
        (lambda: torch.cat([]), ValueError),
        (lambda: ~torch.ones(2), TypeError),
        (lambda: torch.ones(2)["a"], TypeError),
        (lambda: torch.ones(2).__setitem__("a", 1), TypeError),
    ],
)
def test_calls_that_make_no_sense_raise_what_torch_raises(session: Session, act, kind) -> None:
    with pytest.raises(kind) as caught:
        act()
    assert isinstance(caught.value, GradwireError)
    assert caught.value.hint


def test_further_cotangents_are_left_aside_as_in_torch(session: Session) -> None:
    x = torch.ones(2, requires_grad=True)
    given = [torch.full((), 3.0), torch.ones(())]
    assert torch.autograd.grad(x.sum(), x, given)[0].tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="2 outputs"):
        torch.autograd.grad([x.sum(), x.sum()], x, given[:1])


class _Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 3


def test_gradcheck_names_places_as_the_caller_has_them(session: Session) -> None:
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)

    def act(scale, x):
        return scale * 1, _Wrong.apply(x)

    scale = torch.ones(2, dtype=torch.float64)
    with pytest.raises(RuntimeError) as caught:
        torch.autograd.gradcheck(act, (scale, x))
    assert "output 1 with respect to input 1" in str(caught.value)
    with pytest.raises(RuntimeError) as fast:
        torch.autograd.gradcheck(act, (scale, x), fast_mode=True)
    assert str(fast.value).count("gradcheck") == 1


def test_what_cannot_be_checkpointed_is_named(session: Session) -> None:
    def looks(x):
        return x * x.sum().item()

    def act():
        return torch.utils.checkpoint.checkpoint(looks, torch.ones(2), use_reentrant=False)

    if session.transport.url == "embedded":
        assert act().tolist() == [2.0, 2.0]  # there it runs all the same
        return
    with pytest.raises(RuntimeError, match="looks"):
        act()


def test_what_is_written_down_is_named_by_function_and_line(session: Session) -> None:
    """Not by the ids of programs, which nobody wrote by hand."""
    x, far = torch.ones(3, 2), torch.tensor([[0], [5], [1]])

    def outer(a, i):
        return torch.func.vmap(picked, in_dims=(None, 0))(a * 2, i)

    def picked(a, i):
        return a.gather(0, i.reshape(1))

    drawn = lambda a: a + torch.rand(2)  # noqa: E731
    for name, run in {
        "picked": lambda: torch.func.vmap(picked)(x, far).tolist(),
        "outer": lambda: torch.func.vmap(outer)(x, far).tolist(),
        "compiled": lambda: torch.compile(picked)(x[0], far[1]).tolist(),
        "<lambda>": lambda: torch.func.vmap(drawn)(x),
    }.items():
        with pytest.raises(torch.GradwireError) as raised:
            run()
        said = str(raised.value)
        assert "program p_" not in said
        assert f"in {name if name == '<lambda>' else 'picked'}, at {__file__}:" in said
        assert said.index("gather:" if name != "<lambda>" else "rand:") > 0


def test_vectors_that_do_not_fit_are_named_by_place(session: Session) -> None:
    x, w = torch.ones(3, 2), torch.ones(2, 5)

    def act(a, b):
        return a.detach(), a @ b

    _, pull = torch.func.vjp(act, x, w)
    with pytest.raises(RuntimeError, match=r"vjp: output 1 has shape \[3, 5\].*\[2, 2\]"):
        pull((x, torch.ones(2, 2)))
    with pytest.raises(RuntimeError, match=r"jvp: primal 1 is .*\[2, 5\].*\[2, 4\]"):
        torch.func.jvp(act, (x, w), (x, torch.ones(2, 4)))
    with pytest.raises(RuntimeError, match=r"jvp: primal 0 is float32.*float64"):
        torch.func.jvp(act, (x, w), (x.double(), w))
