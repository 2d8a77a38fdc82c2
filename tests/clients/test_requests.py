"""What is sent, and when: recorded lazily, sent together, at once where torch could raise."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest
from tests.clients.conftest import Counted

import gradwire as torch
from gradwire import recorder as recording
from gradwire.new_names import NewNames
from gradwire.pending import Pending
from gradwire.session import Session
from gradwire.transport import Request


def test_nothing_is_sent_before_something_is_looked_at(counted: Counted) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 2).sin().sum()
    assert (y.shape, y.dtype, y.requires_grad, y.is_leaf) == ((), torch.float32, True, False)
    assert y.grad_fn.name() == "SumBackward0"
    assert counted.take() == []
    y.item()
    y.item()
    assert len(counted.take()) == 1


def test_small_leaves_are_known(counted: Counted) -> None:
    x = torch.tensor([1, 2])
    assert (x.tolist(), x[0].shape) == ([1, 2], ())
    assert counted.take() == []
    large = torch.tensor(np.zeros(100_000))
    assert large.numpy().sum() == 0
    assert len(counted.take()) == 1


def test_reading_again_costs_nothing_until_it_is_written(counted: Counted) -> None:
    x = torch.tensor([1.0, 2.0]) * 1
    counted.take()
    assert x.tolist() == [1.0, 2.0]
    assert x.numpy().sum() == 3.0
    assert len(counted.take()) == 1
    with torch.no_grad():
        x.add_(1)
    assert counted.take() == []
    assert x.tolist() == [2.0, 3.0]
    assert len(counted.take()) == 1


def test_a_view_is_read_anew_after_a_write_to_its_base(counted: Counted) -> None:
    x = torch.zeros(4)
    v = x[1:3]
    assert v.tolist() == [0.0, 0.0]
    with torch.no_grad():
        x.fill_(5.0)
    assert v.tolist() == [5.0, 5.0]


def test_a_training_step_is_one_request(counted: Counted, door: str | None) -> None:
    x = torch.tensor(np.ones((8, 3), np.float32))
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(4):
        optimizer.zero_grad()
        loss = ((model(x) - 1) ** 2).mean()
        loss.backward()
        first = door is None or step == 0  # a walk of its kind is sent at once
        assert len(counted.take()) == (1 if first else 0), "a server gets the whole step"
        optimizer.step()
        losses.append(loss.item())
        assert len(counted.take()) == (0 if first else 1), step
    assert losses == sorted(losses, reverse=True)


def test_steps_by_hand_wait_for_a_look(counted: Counted, door: str | None) -> None:
    x = torch.tensor(np.ones((8, 3), np.float32))
    w = torch.zeros(3, 2, requires_grad=True)
    b = torch.zeros(2, requires_grad=True)
    losses = []
    for step in range(4):
        loss = ((x @ w + b - 1) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for p in (w, b):
                p -= 0.1 * p.grad
                p.grad = None
        losses.append(loss)
        assert len(counted.take()) == (1 if door is None or step == 0 else 0), step
    found = [loss.item() for loss in losses]
    sent = counted.take()
    assert len(sent) == (0 if door is None else 1), "the values of losses come with any reply"
    assert found == sorted(found, reverse=True)


def test_a_step_with_classes_is_one_request(counted: Counted, door: str | None) -> None:
    x = torch.tensor(np.ones((8, 3), np.float32))
    w = torch.zeros(4, 3, requires_grad=True)
    for k in range(3):
        y = torch.tensor([k % 4] * 8)
        torch.nn.functional.cross_entropy(x @ w.T, y).backward()
        with torch.no_grad():
            w -= w.grad
            w.grad = None
        first = door is None or k == 0
        assert len(counted.take()) == (1 if first else 0), "known classes need no check"
    with pytest.raises(IndexError) as caught:
        torch.nn.functional.cross_entropy(x @ w.T, torch.tensor([9] * 8))
    assert any("test_requests.py" in note for note in caught.value.__notes__)


def test_classes_at_the_host_are_checked_once(counted: Counted) -> None:
    x, y = torch.ones(8, 4), torch.randint(0, 4, (8,))
    for k in range(3):
        torch.nn.functional.cross_entropy(x * k, y)
        assert len(counted.take()) == (0 if k else 1), k
    torch.nn.functional.cross_entropy(x[:, :3] * 1, y * 0)
    assert len(counted.take()) == 1, "other classes are checked again"
    with torch.no_grad():
        y.add_(4)
    with pytest.raises(IndexError):
        torch.nn.functional.cross_entropy(x, y)


def test_what_was_recorded_goes_up_in_order(counted: Counted) -> None:
    x = torch.tensor([1.0], requires_grad=True)
    y = x.exp()
    with torch.no_grad():
        x.mul_(2)
    assert y.tolist() == [pytest.approx(2.718282)]
    assert counted.take() == [["tensor", "exp", "mul_"]]


@pytest.mark.parametrize(
    "act",
    [
        lambda x: (x * 1).add_(1),
        lambda x: x[torch.tensor([0]) * 1],
        lambda x: (x * 1).__iadd__(1),
    ],
    ids=["in place", "index tensor", "augmented"],
)
def test_sent_at_once(counted: Counted, act) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    act(x)
    assert len(counted.take()) == 1


@pytest.mark.parametrize(
    "walk",
    [lambda x, y: y.backward(), lambda x, y: torch.autograd.grad(y, x)],
    ids=["backward", "grad"],
)
def test_a_walk_is_recorded_for_a_server(counted: Counted, door: str | None, walk) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for number in range(3):
        y = x.sum()
        walk(x, y)
        first = door is None or number == 0
        assert len(counted.take()) == (1 if first else 0)
        assert y.item() == 3.0
        assert len(counted.take()) == (0 if first else 1)


def test_a_walk_of_another_kind_raises_at_its_line(counted: Counted) -> None:
    """What only rules refuse, mirrors don't know: the first walk of a kind is sent at once."""
    a = torch.eye(2, requires_grad=True)
    for _ in range(2):
        a.sum().backward()
        with pytest.raises(RuntimeError, match="qr"):
            torch.linalg.qr(a, mode="r").R.sum().backward()
    gru, x = torch.nn.GRU(3, 4), torch.ones(2, 1, 3)
    for written in (False, False, True):
        y = gru(x)[0].sum()
        with torch.no_grad():
            if written:
                gru.weight_hh_l0.add_(1)
        if not written:
            y.backward()
        else:
            with pytest.raises(RuntimeError, match="modified"):
                y.backward()


def test_a_walk_that_looks_for_nan_is_sent_at_once(counted: Counted) -> None:
    x = torch.tensor([0.0], requires_grad=True)
    with (
        pytest.warns(UserWarning, match="Anomaly"),
        torch.autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match="nan"),
    ):
        (x.sqrt() * 0).sum().backward()
    assert x.grad is None


def test_a_walk_that_elements_may_refuse_raises_at_its_line(counted: Counted) -> None:
    for factor in (0.0, 0.0, 1.0):
        a = torch.tensor([[1.0 + 1j, 2.0], [3.0, 4.0 - 2j]], requires_grad=True)
        loss = torch.linalg.svd(a)[0].real.sum() * factor
        if factor:
            with pytest.raises(RuntimeError, match="phi"):
                loss.backward()
        else:
            loss.backward()


def test_a_handlers_exception_comes_through_a_walk(session: Session) -> None:
    x = y = torch.ones(2, requires_grad=True)
    for _ in range(30):
        y = y.sin()
    total = y.sum()
    loud = [True]

    def raises(*event: Any) -> Any:
        if loud and event[0].f_globals.get("__name__") == "gradwire_engine.walk":
            loud.clear()
            raise TimeoutError("mine")
        return None

    before = sys.gettrace()
    sys.settrace(raises)
    try:
        with pytest.raises(TimeoutError, match="mine"):
            total.backward()
    finally:
        sys.settrace(before)
    total.backward()
    assert x.grad.shape == (2,)


def test_what_another_client_freed_is_not_read_along(counted: Counted, door: str | None) -> None:
    if door is None:
        return
    a, b = (torch.tensor([3.0, 4.0], requires_grad=True) for _ in range(2))
    (a * b).sum().backward()
    counted._inner.steps(a.session.id, Request([{"free": [b._name]}]))
    assert a.grad.tolist() == [3.0, 4.0]


def test_an_optimizer_whose_first_group_is_empty(session: Session) -> None:
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([{"params": []}, {"params": [w]}], lr=1.0)
    w.sum().backward()
    optimizer.step()
    assert w.tolist() == [0.0, 0.0]


def test_names_are_kept_up_to_a_bound() -> None:
    names = NewNames("t", 1)
    given = [names.new() for _ in range(40_000)]
    names.freed(given)
    assert names.new() == "t1"
    assert len(names._free) == len(names._given) - 1 < 20_000
    names.freed(["t1"], again=False)
    assert names.new() != "t1"
    names.taken(["t3"])
    assert names.new() not in ("t1", "t3")


@pytest.mark.parametrize("few", [2, 30])
def test_the_lowest_name_is_given_first_however_names_come_back(few: int) -> None:
    names = NewNames("t", 1)
    given = [names.new() for _ in range(120)]
    names.freed(reversed(given))
    taken = [names.new() for _ in range(100)]
    assert taken == given[:100]
    some = taken[5 : 5 + few]
    names.freed(some[::2])
    names.freed(some[1::2])
    assert [names.new() for _ in range(few)] == some
    assert [names.new() for _ in range(21)] == [*given[100:], "t121"]


def interrupted(code: CodeType, line: int, call: Callable[[], None]) -> bool:
    """Interrupt a call before a given line that `code` runs in it; return whether it got so far."""
    left = [None] * line

    def raises(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is code and event == "line":
            if not left:
                raise KeyboardInterrupt
            left.pop()
        return raises

    before = sys.gettrace()
    sys.settrace(raises)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_steps_that_were_kept_aside_are_all_added_or_none() -> None:
    for line in count():
        later, pending = Pending(), Pending()
        for number in range(4):
            later.add({"free": [f"t{number}"]})
        cut = interrupted(Pending.extend.__code__, line, partial(pending.extend, later, 0))
        assert len(pending) in ((0, 4) if cut else (4,))
        if not cut:
            break
    assert line > 1


def test_small_gradients_come_with_the_first_that_is_looked_at(counted: Counted) -> None:
    a, b, large = (torch.ones(n, requires_grad=True) for n in (2, 3, 10_000))
    for factor in (1.0, 2.0):
        (a.sum() * b.sum() * factor + large.sum()).backward()
        counted.take()
        assert a.grad.tolist() == [3.0 * factor] * 2
        assert len(counted.take()) == 1
        assert b.grad.tolist() == [2.0 * factor] * 3
        assert counted.take() == []
        with torch.no_grad():
            b.grad.mul_(2)
        assert b.grad.tolist() == [4.0 * factor] * 3, "not what came before the write"
        a.grad = b.grad = large.grad = None


def test_names_are_given_again_so_that_a_loop_repeats(counted: Counted) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    sent = []
    transport, steps = counted, counted.steps

    def keep(session_id: str, request: Any) -> Any:
        sent.append(request.steps)
        return steps(session_id, request)

    transport.steps = keep
    for _ in range(12):
        x.grad = None
        (x.sin() * 2).sum().backward()
        x.grad.tolist()
    names = {name for part in sent for step in part for name in [step.get("out")] if name}
    assert any(sent[-1] == sent[-1 - period] for period in range(1, 5))
    assert len(names) < 12


def test_in_place_without_grad_is_recorded(counted: Counted) -> None:
    x = torch.zeros(3)
    with torch.no_grad():
        x += 1
        x.mul_(3)
    assert counted.take() == []
    assert x.tolist() == [3.0] * 3


def test_long_recordings_are_sent_by_themselves(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MAX_STEPS", 50)
    x = torch.zeros(2)
    for _ in range(120):
        x = x + 1
    assert len(counted.take()) == 2
    assert x.tolist() == [120.0, 120.0]


def test_large_recordings_are_sent_by_themselves(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MAX_BYTES", 4000)
    kept = [torch.tensor(np.zeros(300, np.float32)) for _ in range(4)]
    assert len(counted.take()) == 1
    assert len(kept) == 4


def test_what_python_forgets_is_freed(young: None, session: Session) -> None:
    kept = torch.ones(3)
    for _ in range(10):
        kept = kept * 2
    gc.collect(0)
    assert session.info()["tensors"] == 1
    assert kept.tolist() == [1024.0] * 3
    del kept
    gc.collect(0)
    assert session.info()["tensors"] == 0


def test_long_loops_hold_little(door: str | None) -> None:
    with torch.connect(door).session(memory_limit_bytes=150 * 4000):
        x = torch.zeros(1000)
        for _ in range(500):
            x = x + 1
        assert x[0].item() == 500.0


def test_the_graph_outlives_names(young: None, session: Session) -> None:
    x = torch.tensor([2.0], requires_grad=True)

    def loss() -> torch.Tensor:
        hidden = x * x
        return (hidden * x).sum()

    found = loss()
    gc.collect(0)
    session.flush()
    found.backward()
    assert x.grad.tolist() == [12.0]


def test_grad_mode_goes_with_each_call(counted: Counted) -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        a = x * 2
        with torch.enable_grad():
            b = x * 3
    with torch.inference_mode():
        c = x * 4
    d = x * 5
    assert [t.requires_grad for t in (a, b, c, d)] == [False, True, False, True]
    (b.sum() + d.sum()).backward()
    assert x.grad.tolist() == [8.0, 8.0]
    assert len(counted.take()) == 2
