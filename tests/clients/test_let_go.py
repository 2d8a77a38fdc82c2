"""What a loop lets go of goes, in Python and on the host, without the help of Python's collector.

Each kind of loop is looked at after ten steps and after many more: nothing may have been added.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any

import pytest
import tests.clients.loops.exceptions
import tests.clients.loops.functions
import tests.clients.loops.gradients
import tests.clients.loops.training
import tests.clients.loops.values  # noqa: F401 (these enter the loops)
from tests.clients.conftest import Counted
from tests.clients.loops import LOOPS

import gradwire as torch
from gradwire import embedded, posted
from gradwire.current import Client
from gradwire.nn.parameter import Parameter
from gradwire.pending import Pending
from gradwire.session import Session
from gradwire.trace import Trace
from gradwire_engine.tape import AccumulateGrad, Node
from gradwire_engine.tensor import Storage
from gradwire_engine.tensor import Tensor as Meta
from gradwire_service.host.safetensors import Place

STEPS = {"embedded": 1000, "http": 200, "stream": 60}
_HOLD_ARRAYS = (
    torch.Tensor, Parameter, Meta, Storage, Node, AccumulateGrad, Trace, Pending, FrameType,
    TracebackType,
)  # fmt: skip


@pytest.fixture(params=STEPS)
def kind(request: pytest.FixtureRequest) -> str:
    """Where the session is, and by which transport one comes to it."""
    found: str = request.param
    return found


@pytest.fixture
def session(kind: str, request: pytest.FixtureRequest) -> Iterator[Session]:
    """A session of its own, in force for the test."""
    if kind == "embedded":
        client = torch.connect()
    else:
        client = torch.connect(request.getfixturevalue("server_url"), transport=kind)
    client.transport = Counted(client.transport)
    with client.session() as found:
        yield found
    torch.connect()
    torch.set_default_dtype(torch.float32)


@pytest.fixture(autouse=True)
def no_collector(young: None) -> Iterator[None]:
    """What only the cycle collector would free stays, and is seen; anomaly mode ends."""
    yield
    torch.autograd.set_detect_anomaly(False)


def held(session: Session) -> dict[str, int]:
    """What the session holds at the host and in Python; and how many objects of ours there are."""
    session.info()
    info = session.info()  # what the last step forgot went with the request before
    forgotten = session._forgotten
    young = gc.get_objects(0)
    assert any(found is session for found in young)  # with all that was made since
    types = Counter(map(type, young))
    del young
    del types[Place]  # of the files read last, which are remembered
    ours = (n for kind, n in types.items() if str(kind.__module__).startswith("gradwire"))
    return {
        "tensors": info["tensors"],
        "nodes": info["nodes"],
        "bytes": info["bytes"]["total"],
        "overhead": info["bytes"]["overhead"],
        "journal": len(session.journal.entries),
        "steps that wait": session.waiting,
        "names to be freed": len(forgotten._names),
        "names put aside": len(forgotten._aside) + len(forgotten._never),
        "lines": len(session._lines),
        **{kind.__qualname__ + f" of {kind.__module__}": types[kind] for kind in _HOLD_ARRAYS},
        "objects": sum(ours),
    }


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_holds_after_many_steps_what_it_held_after_ten(
    session: Session, kind: str, name: str
) -> None:
    step, count = LOOPS[name](), STEPS[kind]
    for i in range(10):
        step(i)
    before = held(session)
    for i in range(10, count):
        step(i)
    after = held(session)
    caches = (count - 10) // 2  # plans and the like are remembered, up to a bound
    assert after.pop("objects") < before.pop("objects") + caches
    grown = {key: (n, after[key]) for key, n in before.items() if after[key] > n}
    assert not grown


def test_restored_sessions_go_without_the_collector(session: Session) -> None:
    data = session.snapshot({"loss": (torch.ones(2, requires_grad=True) * 2).sum()})
    client = Client(session.transport)

    def step() -> None:
        with client.restore(data) as restored:
            restored.kept.pop("loss").backward()  # which leads to the session that keeps it

    step()
    before = held(session)
    for _ in range(10):
        step()
    after = held(session)
    assert [key for key in before if key != "objects" and after[key] > before[key]] == []


def _results(i: int, x: Any) -> Any:
    return x * 2


def _results_without_gradients(i: int, x: Any) -> Any:
    with torch.no_grad():
        return (x + i).exp().sum()


def _gradients_set_by_hand(i: int, x: Any) -> None:
    x.grad = x.detach() + i


@pytest.mark.parametrize("step", [_results, _results_without_gradients, _gradients_set_by_hand])
def test_large_results_do_not_pile_up_where_nothing_is_looked_at(
    session: Session, step: Callable[[int, Any], Any]
) -> None:
    x = torch.ones(1000, 1000)
    kept = None
    for i in range(100):
        kept = step(i, x)
    del kept
    assert session.info()["bytes"]["peak"] < 100e6
    assert session.info()["bytes"]["total"] <= 2 * x.nbytes


def test_arrays_sent_up_do_not_pile_up(session: Session) -> None:
    total = torch.zeros(1000, 1000)
    array = total.numpy()
    for _ in range(60):
        total = total + torch.from_numpy(array)
    assert session.info()["bytes"]["peak"] < 100e6


@pytest.mark.parametrize("optimizer_kind", [torch.optim.SGD, torch.optim.Adam])
def test_training_a_large_layer_takes_what_its_first_steps_take(
    session: Session, optimizer_kind: Any
) -> None:
    layer, x = torch.nn.Linear(2000, 2000), torch.ones(2, 2000)
    optimizer = optimizer_kind(layer.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        layer(x).square().mean().backward()
        optimizer.step()

    for _ in range(10):
        step()
    before = session.info()["bytes"]
    for _ in range(10):
        step()
    after = session.info()["bytes"]
    assert after["total"] <= before["total"]
    assert after["peak"] <= 1.1 * before["peak"]


_RESIDENT = """
import gradwire as torch

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

layer, x = torch.nn.Linear(1000, 1000), torch.ones(4, 1000)
optimizer = torch.optim.SGD(layer.parameters(), lr=1e-3)
for i in range(300):
    optimizer.zero_grad()
    layer(x).square().mean().backward()
    optimizer.step()
    if i == 20:
        before = resident()
print(resident() - before)
"""


def test_a_process_grows_by_no_more_than_a_few_gradients() -> None:
    found = subprocess.run(
        [sys.executable, "-c", _RESIDENT], capture_output=True, text=True, check=True
    )
    assert int(found.stdout) < 4 * 4_004_000


def test_programs_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posted, "KEPT", 20)
    with torch.connect().session():
        x = torch.ones(2)
        for i in range(100):
            torch.func.grad(lambda x, i=i: (x * (i + 0.5)).sum())(x)
    assert len(embedded._host().programs.all()) <= 20


def test_clearing_gradients_is_one_step_and_names_none(session: Session, counted: Counted) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.ones(1, 2)
    model(x).sum().backward()
    session.flush()
    counted.take()
    optimizer.zero_grad()
    model.zero_grad()
    model(x).sum().backward()
    session.flush()
    assert sum(request.count("zero_grad") for request in counted.take()) == 1
    model.zero_grad(set_to_none=False)
    model(x).sum().backward()
    session.flush()
    assert sum(request.count("zero_grad") for request in counted.take()) == 1


def test_a_gradient_filled_with_zeros_is_the_same_one(session: Session) -> None:
    x = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.1)
    (x**2).sum().backward(create_graph=True)
    recorded = x.grad
    assert recorded.requires_grad
    optimizer.zero_grad(set_to_none=False)
    assert recorded.requires_grad and not x.grad.requires_grad
    kept = x.grad
    kept.add_(1)
    optimizer.zero_grad(set_to_none=False)
    assert x.grad is kept
    assert kept.tolist() == recorded.tolist() == [0.0, 0.0]


def test_a_gradient_that_is_kept_outlives_its_removal(session: Session) -> None:
    x = torch.ones(2, requires_grad=True)
    (x**2).sum().backward()
    kept = x.grad
    torch.optim.SGD([x], lr=0.1).zero_grad()
    assert x.grad is None
    assert kept.tolist() == [2.0, 2.0]


def test_clearing_gradients_is_undone_with_its_transaction(session: Session) -> None:
    x = torch.ones(2, requires_grad=True)
    (x**2).sum().backward()
    kept = x.grad
    with pytest.raises(ValueError, match="mine"), session.transaction():
        torch.optim.SGD([x], lr=0.1).zero_grad()
        assert x.grad is None
        raise ValueError("mine")
    assert x.grad is kept
    assert x.grad.tolist() == [2.0, 2.0]
