"""Embedded sessions that nobody has to watch: ops run where they are called, and so does Python."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from functools import partial
from threading import Event, Thread
from time import sleep
from typing import Any, ClassVar
from weakref import ref

import numpy as np
import pytest

import gradwire as torch
from gradwire.local_session import LocalSession
from gradwire_engine.errors import GradwireError


@pytest.fixture(autouse=True)
def session() -> Iterator[Any]:
    with torch.connect().session() as found:
        yield found
    torch.connect()


def test_which_sessions_are_here() -> None:
    client = torch.connect()
    limits = {"ttl_seconds": 60}, {"memory_limit_bytes": 2**30}
    for settings in ({}, {"seed": 3}, {"device": "cpu"}, {"label": "l"}, *limits):
        found = client.session(**settings)
        assert isinstance(found, LocalSession), settings
        found.close()


def test_a_limit_counts_memory_and_not_what_is_written_down() -> None:
    with torch.connect().session(memory_limit_bytes=4_100_000):
        x = torch.ones(500_000)
        assert torch.func.grad(lambda x: (x * 2).sum())(x).shape == (500_000,)
        with pytest.raises(GradwireError, match="would pass the session's limit of 4100000 bytes"):
            torch.cat([x, x, x])
        assert (x * 2).sum().item() == 1_000_000


def test_a_limit_holds_in_the_profile_and_in_the_function_of_another_session() -> None:
    client = torch.connect()
    with client.session() as outer, client.session(memory_limit_bytes=1_000_000) as limited:

        class Asks(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                with limited:
                    torch.zeros(500_000)
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g

        with outer.profile(), pytest.raises(GradwireError, match="limit of 1000000 bytes"):
            torch.zeros(500_000)
        with (
            client.session(memory_limit_bytes=2**30),
            pytest.raises(GradwireError, match="limit of 1000000 bytes"),
        ):
            Asks.apply(torch.ones(3))


class Mine(RuntimeError):
    """What a handler of the program raises."""


@pytest.mark.parametrize("op", [torch.sin, lambda x: x + x, torch.sum, lambda x: x * 2.0])
def test_what_a_handler_raises_within_an_op_comes_through(op) -> None:
    x = torch.ones(3)

    def handler(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_globals["__name__"].startswith("gradwire_engine.quick"):
            sys.setprofile(None)
            raise Mine

    wanted = op(x).tolist()
    sys.setprofile(handler)
    try:
        with pytest.raises(Mine):
            op(x)
    finally:
        sys.setprofile(None)
    assert op(x).tolist() == wanted


def test_near_its_limit_a_session_asks_no_collector(monkeypatch) -> None:
    def refused(*_: Any) -> Any:
        raise AssertionError("asked")

    monkeypatch.setattr(gc, "get_referrers", refused)
    with torch.connect().session(memory_limit_bytes=900_000):
        kept = torch.zeros(200_000)
        for _ in range(20):
            torch.zeros(20_000)
        with pytest.raises(GradwireError, match="limit of 900000 bytes"):
            torch.zeros(200_000)
        del kept
        assert torch.zeros(200_000).sum().item() == 0


def test_a_session_that_python_forgot_is_closed_for_who_attaches() -> None:
    client = torch.connect()
    forgotten = client.session()
    key = forgotten.id
    del forgotten
    with pytest.raises(GradwireError, match=f"session {key} was closed"):
        client.attach(key)


def test_an_error_that_elements_reveal_comes_at_the_call() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        x[torch.tensor([0, 7])]
    with pytest.raises(RuntimeError, match="singular"):
        torch.linalg.inv(torch.zeros(2, 2))
    y.sum().backward()
    assert x.grad.tolist() == [2.0] * 3


class Square(torch.autograd.Function):
    called: ClassVar[list[str]] = []

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        Square.called.append("forward")
        ctx.save_for_backward(x)
        ctx.largest = x.abs().max().item()
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        Square.called.append("backward")
        (x,) = ctx.saved_tensors
        assert ctx.largest == x.abs().max().item()
        return 2 * x * g


def test_a_function_is_called_as_python() -> None:
    Square.called.clear()
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    y = Square.apply(x)
    assert Square.called == ["forward"]
    y.sum().backward(retain_graph=True)
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    slope.sum().backward()
    assert Square.called == ["forward", "backward", "backward"]
    assert x.grad.tolist() == [4.0, -2.0]


def test_a_function_without_gradients_for_some_results_gets_none() -> None:
    seen = []

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            seen.append((g is None, h is None))
            return g * 2

    x = torch.ones(2, requires_grad=True)
    Two.apply(x)[0].sum().backward()
    assert seen == [(False, True)]
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_hook_is_python_in_the_walk() -> None:
    which: ContextVar[str] = ContextVar("which", default="none")
    x, w, seen = (*(torch.ones(2, requires_grad=True) for _ in range(2)), [])
    loss = (w * 3).sum()

    def hook(g: Any) -> Any:
        seen.append((which.get(), g.sum().item()))
        loss.backward(retain_graph=True)  # a walk within the walk
        return g + torch.autograd.grad(loss, w, retain_graph=True)[0]

    w.register_hook(lambda g: g * 2)
    x.register_hook(hook)
    which.set("mine")
    (x * 2).sum().backward()
    assert seen == [("mine", 4.0)]
    assert x.grad.tolist() == [8.0, 8.0]
    assert w.grad.tolist() == [6.0, 6.0]


def test_a_hook_that_raises_undoes_the_walk() -> None:
    x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
    x.grad = torch.ones(2)

    def hook(g: Any) -> None:
        y.data.add_(1)
        raise KeyError("no")

    handle = x.register_hook(hook)
    with pytest.raises(KeyError, match="no"):
        (x * y).sum().backward()
    assert (x.grad.tolist(), y.grad, y.tolist()) == ([1.0, 1.0], None, [1.0, 1.0])
    handle.remove()
    (x * y).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_checkpoint_calls_the_function_again_with_the_same_numbers() -> None:
    calls = []

    def region(x: Any) -> Any:
        calls.append(x.sum().item())
        return torch.nn.functional.dropout(x * 2, 0.5).sin()

    torch.manual_seed(5)
    x = torch.arange(6.0).requires_grad_()
    torch.utils.checkpoint.checkpoint(region, x, use_reentrant=False).sum().backward()
    after = torch.rand(2).tolist()
    assert calls == [15.0, 15.0]
    torch.manual_seed(5)
    z = x.detach().requires_grad_()
    region(z).sum().backward()
    assert x.grad.tolist() == z.grad.tolist()
    assert torch.rand(2).tolist() == after


def test_a_snapshot_refuses_python_by_name(session: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    y = Square.apply(x)
    with pytest.raises(NotImplementedError, match=r"Square\.backward"):
        session.snapshot()
    del y

    def spy(g: Any) -> None: ...

    z = x * 2
    z.register_hook(spy)
    with pytest.raises(NotImplementedError, match="spy"):
        session.snapshot()
    del z
    with torch.connect().restore(session.snapshot({"x": x})) as again:
        assert again.kept["x"].tolist() == [1.0, 1.0]


def test_who_attaches_by_a_label_shares_tensors_hooks_and_what_is_kept() -> None:
    with torch.connect().session(label="shared") as one:
        x, seen = torch.tensor([1.0, 2.0], requires_grad=True), []
        one.tensors["x"] = x
        x.register_hook(seen.append)
        other = torch.connect().attach("shared")
        with other.here():
            other.tensors["y"] = other.tensors["x"] * 3
            other.tensors["y"].sum().backward()
        assert one.tensors["y"].tolist() == [3.0, 6.0]
        assert x.grad.tolist() == seen[0].tolist() == [3.0, 3.0]
        one.refresh()
        del other.tensors["x"]
        assert "x" not in other.tensors
        assert (x + 1).tolist() == [2.0, 3.0]  # who holds it has it
    one.close()
    with pytest.raises(RuntimeError, match="closed"):
        other.tensors["y"]


def test_a_module_that_takes_names_has_the_optimizer_of_the_last_one_go() -> None:
    with torch.connect().session(label="replaced") as session:
        for _ in range(3):
            model = torch.nn.Linear(2, 2)
            optimizer = torch.optim.Adam(model.parameters())
            model(torch.ones(2)).sum().backward()
            optimizer.step()
            del model, optimizer
        assert set(session.tensors) == {"weight", "bias"}
        assert len(session.host.optimizers) == 1
    session.close()


def test_a_session_that_nobody_used_for_its_time_to_live_ends() -> None:
    with torch.connect().session(ttl_seconds=0.2) as session:
        x = torch.ones(2)
        for _ in range(4):
            sleep(0.1)
            assert (x + 1).tolist() == [2.0, 2.0]
        sleep(0.3)
        for use in (x.tolist, lambda: x + 1, lambda: x.add_(1), session.info):
            with pytest.raises(RuntimeError, match=r"expired 0\.2 seconds after") as told:
                use()
            assert told.value.code == "session_expired"


def test_attaching_gives_the_same_session(session: Any) -> None:
    x = torch.ones(2)
    assert torch.connect().attach(session.id) is session
    session.tensors["mine"] = x
    del x
    assert session.tensors["mine"].tolist() == [1.0, 1.0]
    session.tensors["mine"].add_(1)
    assert session.tensors["mine"].tolist() == [2.0, 2.0]
    del session.tensors["mine"]
    assert "mine" not in session.tensors


def test_sessions_do_not_mix_and_end(session: Any) -> None:
    x = torch.ones(2)
    with torch.connect().session() as other:
        y = torch.ones(2)
        with pytest.raises(GradwireError, match="two sessions"):
            x + y
        with pytest.raises(GradwireError, match="two sessions"):
            torch.cat([x, y])
    assert not other.is_usable
    for use in (lambda: y + 1, lambda: y.tolist(), lambda: y.add_(1), lambda: torch.cat([y, y])):
        with pytest.raises(RuntimeError, match="was closed"):
            use()
    assert (x + 1).tolist() == [2.0, 2.0]


def test_a_transaction_undoes_what_is_done_in_it(session: Any) -> None:
    w = torch.nn.Linear(2, 1)
    opt = torch.optim.Adam(w.parameters(), lr=0.5)
    x, before = torch.ones(3, 2), [p.tolist() for p in w.parameters()]
    state = torch.get_rng_state()
    with pytest.raises(KeyError), session.transaction():
        (w(x) * torch.rand(3, 1)).sum().backward()
        opt.step()
        x[0] = 5.0
        x.mul_(2)
        raise KeyError
    assert [p.tolist() for p in w.parameters()] == before
    assert w.weight.grad is None
    assert x.tolist() == [[1.0, 1.0]] * 3
    assert torch.equal(torch.get_rng_state(), state)
    with session.transaction():
        x[0] = 5.0
        x[1] = 6.0
    assert x.tolist() == [[5.0, 5.0], [6.0, 6.0], [1.0, 1.0]]


def test_a_write_that_fails_changes_nothing(session: Any) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    alias = x[1]
    with pytest.raises(GradwireError):
        x[0] = torch.ones(4)
    with pytest.raises(KeyError), session.transaction():
        x[0] = 9.0
        x[0] = 8.0
        alias[1] = 7.0
        raise KeyError
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert alias.tolist() == [3.0, 4.0, 5.0]


def test_numpy_warns_of_nothing_and_its_settings_stay() -> None:
    before = np.geterr()
    assert (torch.zeros(2) / 0).isnan().all()
    assert torch.tensor([1e38]).mul(1e38).isinf().all()
    x = torch.zeros(2, requires_grad=True)
    x.sqrt().sum().backward()
    assert x.grad.isinf().all()
    assert np.geterr() == before


def test_a_generator_of_ones_own() -> None:
    torch.manual_seed(1)
    first = torch.Generator().manual_seed(7)
    a = torch.rand(3, generator=first)
    own = torch.rand(3)
    again = torch.Generator().manual_seed(7)
    torch.manual_seed(1)
    assert torch.rand(3, generator=again).tolist() == a.tolist()
    assert torch.rand(3).tolist() == own.tolist()
    assert torch.rand(3, generator=first).tolist() == torch.rand(3, generator=again).tolist()


def test_what_a_function_saved_is_freed_by_the_walk_and_watched_until_then() -> None:
    x = torch.ones(3, requires_grad=True)
    h = x * 1
    y = Square.apply(h)
    watched = ref(h._meta.storage)
    with torch.no_grad():
        h.add_(1)
    with pytest.raises(RuntimeError, match=r"Square.backward: saved tensor 0 .* at version 1"):
        y.sum().backward()
    z = Square.apply(h)
    z.sum().backward()
    del h, y
    assert watched() is None  # though z still has its graph
    assert z.grad_fn is not None


@pytest.mark.parametrize(
    "index",
    [
        0, -1, (1, 2), (slice(None), 1), (slice(1, None), slice(0, 3, 2)), ..., (..., 0),
        slice(2, 2), (1, ...), (-2, slice(None, -1)), (0, 1, 2),
    ],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("kind", ["number", "whole number", "tensor", "one element", "view"])
def test_items_are_written_as_numpy_writes_them(index: Any, kind: str) -> None:
    x, n = torch.arange(24.0).reshape(2, 3, 4).clone(), np.arange(24.0).reshape(2, 3, 4)
    part = n[index].shape
    value: Any = {
        "number": lambda: -1.5,
        "whole number": lambda: 7,
        "tensor": lambda: torch.full(part, -2.0),
        "one element": lambda: torch.full((1,) * len(part), 3.0),
        "view": lambda: torch.full((*part, 2), 4.0)[..., 0],
    }[kind]()
    kept, before = x.detach().clone(), x._version
    x[index] = value
    n[index] = value.numpy() if isinstance(value, torch.Tensor) else value
    assert x.numpy().tolist() == n.tolist()
    assert x._version == before + 1
    assert kept.tolist() == np.arange(24.0).reshape(2, 3, 4).tolist()


def test_what_items_are_written_to_is_watched() -> None:
    x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    product = (w * x).sum()
    row = x[1:]
    x[0] = 2.0
    assert (row._version, row.tolist()) == (1, [1.0, 1.0])
    x[1] = 3.0
    assert row.tolist() == [3.0, 1.0]
    with pytest.raises(RuntimeError, match="modified in place"):
        product.backward()
    with pytest.raises(RuntimeError, match="leaf"):
        w[0] = 1.0
    with torch.no_grad():
        w[0] = 5.0
    assert (w._version, w.tolist()) == (1, [5.0, 1.0, 1.0])
    x[1:] = x[:-1].clone()
    with pytest.raises(RuntimeError, match="some elements"):
        x[1:] = x[:-1]
    y = torch.zeros(2)
    y[0] = w[1] * 2
    y.sum().backward()
    assert w.grad.tolist() == [0.0, 2.0, 0.0]
    for wrong, value in ((3, 1.0), ((0, 0), 1.0), (0, torch.ones(2)), (slice(None, None, -1), 1.0)):
        before = x.tolist(), x._version
        with pytest.raises((IndexError, RuntimeError, ValueError)):
            x[wrong] = value
        assert (x.tolist(), x._version) == before


# what threads, other sessions and contexts must not see of each other


def at_once(*works: Any) -> None:
    """Run these on threads of their own that take turns as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [Thread(target=work) for work in works]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)


def test_threads_draw_numbers_of_their_own() -> None:
    x, drawn = torch.ones(4), []

    def draw() -> None:
        drawn.extend([tuple(torch.rand_like(x).tolist()) for _ in range(300)])

    def fail() -> None:
        for _ in range(300):
            with pytest.raises(GradwireError):
                x + torch.ones(3)

    with torch.connect().session():
        at_once(draw, draw, fail)
    assert len(set(drawn)) == 600


def test_threads_lose_no_write() -> None:
    x = torch.zeros(4, 200)

    def write(row: int) -> None:
        for place in range(200):
            x[row, place] = 1.0

    at_once(*[partial(write, row) for row in range(4)])
    assert x.sum().item() == 800


def test_a_checkpoint_runs_again_with_its_numbers_whatever_other_threads_draw() -> None:
    x, over = torch.ones(64, requires_grad=True), Event()

    def region(v: Any) -> Any:
        return v * torch.rand_like(v)

    outs = [torch.utils.checkpoint.checkpoint(region, x, use_reentrant=False) for _ in range(30)]
    found: list[Any] = []

    def walk() -> None:
        for out in outs:
            x.grad = None
            out.sum().backward()
            found.append(x.grad.tolist())
        over.set()

    def draw() -> None:
        while not over.is_set():
            torch.rand_like(x.detach())

    at_once(walk, draw)
    assert found == [out.tolist() for out in outs]


def test_a_gradient_is_set_wherever_it_is_set(session: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    with session.transaction():
        x.grad = torch.ones(2)
    assert x.grad.tolist() == [1.0, 1.0]
    with session.profile():
        x.grad = None
    assert x.grad is None
    with torch.connect().session():
        foreign = torch.ones(2)
    with pytest.raises(GradwireError, match="two sessions"):
        x.grad = foreign


def test_hooks_and_functions_give_tensors_of_their_session() -> None:
    with torch.connect().session():
        foreign = torch.ones(2)
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda _: foreign)
    with pytest.raises(GradwireError, match="two sessions"):
        (x * 2).sum().backward()
    assert x.grad is None


def test_a_graph_of_an_undone_transaction_is_not_taken_for_a_later_one(session: Any) -> None:
    x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    with pytest.raises(KeyError), session.transaction():
        x[0] = 5.0
        y = (w * x).sum()
        raise KeyError
    (w * x).sum().backward()
    assert w.grad.tolist() == [1.0, 1.0, 1.0]
    x[1] = 9.0
    with pytest.raises(RuntimeError, match="modified in place"):
        y.backward()


def test_blocks_within_a_walk_do_not_keep_it_from_being_undone(session: Any) -> None:
    a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    a.grad = torch.ones(2)

    def another(_: Any) -> None:
        with session.transaction():
            pass
        session.flush()

    def fail(_: Any) -> None:
        raise KeyError

    a.register_post_accumulate_grad_hook(another)
    b.register_post_accumulate_grad_hook(fail)
    with pytest.raises(KeyError):
        (a * 2 + b * 3).sum().backward()
    assert (a.grad.tolist(), b.grad) == ([1.0, 1.0], None)


def test_a_backward_writes_items_in_batched_walks() -> None:
    class Writes(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            found = g.clone()
            found[0] = 5.0
            return found

    x = torch.ones(2, requires_grad=True)
    y = Writes.apply(x)
    (found,) = torch.autograd.grad(y, x, torch.ones(3, 2), is_grads_batched=True)
    assert found.tolist() == [[5.0, 1.0]] * 3


def test_a_backward_that_walks_its_own_node_finds_what_was_saved() -> None:
    class Walks(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.inner = False
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if not ctx.inner:
                ctx.inner = True
                torch.autograd.grad(loss, x, retain_graph=True)
            (saved,) = ctx.saved_tensors
            return g * saved

    x = torch.tensor([2.0, 3.0], requires_grad=True)
    loss = Walks.apply(x).sum()
    loss.backward()
    assert x.grad.tolist() == [2.0, 3.0]


def test_the_users_python_has_its_own_contexts() -> None:
    count: ContextVar[int] = ContextVar("count", default=0)
    seen = []

    class Counts(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            count.set(count.get() + 1)
            seen.append(np.geterr()["divide"])
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            count.set(count.get() + 1)
            seen.append(np.geterr()["divide"])
            return g / 0

    x = torch.ones(2, requires_grad=True)
    with np.errstate(divide="raise"):
        Counts.apply(x).sum().backward()
    assert (count.get(), seen) == (2, ["raise", "raise"])


def test_ops_keep_no_context_of_the_program() -> None:
    held: ContextVar[Any] = ContextVar("held", default=None)
    thing = Counted()
    watched = ref(thing)
    token = held.set(thing)
    torch.ones(2) + 1
    held.reset(token)
    del thing, token
    assert watched() is None


class Counted:
    """Something that can be watched."""


def test_a_restored_session_has_its_limits() -> None:
    client = torch.connect()
    with client.session(memory_limit_bytes=10_000) as limited:
        data = limited.snapshot({"x": torch.ones(3)})
    with client.restore(data), pytest.raises(MemoryError):
        torch.ones(100_000).sum().item()


def test_info_counts_tensors_that_the_collector_froze(session: Any) -> None:
    x = torch.ones(2)
    gc.freeze()
    try:
        assert session.info()["tensors"] == 1
    finally:
        gc.unfreeze()
    assert x.tolist() == [1.0, 1.0]


def test_a_profile_goes_on_behind_a_transaction(session: Any) -> None:
    x = torch.ones(2)
    with session.profile() as found:
        with session.transaction():
            x.sin()
        for _ in range(5):
            x.cos()
    assert {row.name: row.count for row in found.rows} == {"sin": 1, "cos": 5}


def test_a_leafs_hook_runs_though_its_name_is_gone() -> None:
    seen = []
    x = torch.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
    y = x * 2
    del x
    y.sum().backward()
    assert seen == [[2.0, 2.0]]


def test_a_hook_that_closes_its_session_ends_the_walk() -> None:
    with torch.connect().session() as own:
        x = torch.ones(2, requires_grad=True)
        x.register_hook(lambda _: own.close())
        with pytest.raises(RuntimeError, match="was closed"):
            (x * 2).sum().backward()
    with pytest.raises(RuntimeError, match="was closed"):
        x.register_hook(lambda g: g)


def test_anomaly_mode_names_the_line_of_a_function() -> None:
    class Breaks(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * float("nan")

    with torch.autograd.set_detect_anomaly(True):
        y = Breaks.apply(torch.ones(2, requires_grad=True))
        with pytest.raises(RuntimeError, match="nan") as caught:
            y.sum().backward()
    assert any(__file__ in note for note in caught.value.__notes__)
