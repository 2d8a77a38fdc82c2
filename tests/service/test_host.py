"""The host on plain objects, without HTTP: what the embedded SDK stands on."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from tests.service.state import dump
from tests.strict import backend

from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import current
from gradwire_service.host import safetensors
from gradwire_service.host.arguments import complex_number
from gradwire_service.host.host import Host
from gradwire_service.host.limits import Limits
from gradwire_service.host.memory import TooMuchHere
from gradwire_service.host.protocol import read
from gradwire_service.host.protocol.requests import OpsRequest, SessionCreate, StepsRequest
from gradwire_service.host.protocol.transforms import ValueAndGradRequest
from gradwire_service.host.sessions import Session

STEPS = {
    "steps": [
        {"tensor": "x", "value": {"binary": "a"}, "requires_grad": True},
        {"op": "mul", "args": ["x", "x"], "out": "y"},
        {"op": "sum", "args": ["y"], "out": "z"},
        {"backward": {"tensors": ["z"]}},
    ],
    "return": ["z", "x.grad", "y.grad"],
}
ARRAYS = {"a": np.array([1, 2, 3], np.float32)}


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture
def session(host: Host) -> Session:
    return host.create(SessionCreate())


def test_handle(host: Host, session: Session) -> None:
    values = host.handle(session.id, read(StepsRequest, STEPS), ARRAYS)["values"]
    assert values["z"].array == 14.0
    assert values["z"].grad_fn == "SumBackward0"
    assert values["x.grad"].array.tolist() == [2.0, 4.0, 6.0]
    assert values["y.grad"] is None


def test_what_a_reply_holds_is_not_written(host: Host, session: Session) -> None:
    request = read(StepsRequest, STEPS | {"return": ["x"]})
    array = host.handle(session.id, request, ARRAYS)["values"]["x"].array
    change = {"steps": [{"op": "mul_", "args": ["x", 5], "grad_mode": "no_grad"}]}
    host.handle(session.id, read(StepsRequest, change))
    assert array.tolist() == [1.0, 2.0, 3.0]
    assert ARRAYS["a"].tolist() == [1.0, 2.0, 3.0]


def test_the_threads_own_modes_come_back(host: Host, session: Session) -> None:
    def modes() -> dict[str, Any]:
        names = set(type(current()).__slots__) - {"moves"}  # how often they changed
        return {name: getattr(current(), name) for name in names}

    before = modes()
    request = read(StepsRequest, STEPS | {"grad_mode": "inference_mode"})
    with pytest.raises(GradwireError):
        host.handle(session.id, request, ARRAYS)
    host.handle(session.id, read(StepsRequest, STEPS), ARRAYS)
    assert modes() == before


def test_too_much_for_the_event_loop_leaves_nothing(host: Host, session: Session) -> None:
    host.handle(session.id, read(StepsRequest, STEPS), ARRAYS)
    before = dump(host, session.id)
    steps = [
        {"tensor": "x", "value": 1.0},
        {"seed": 3},
        {"op": "rand", "args": [[5000]], "out": "r"},
    ]
    for atomic in (True, False):
        request = read(StepsRequest, {"steps": steps, "atomic": atomic})
        with pytest.raises(TooMuchHere):
            host.run(session, request, allowance=1000)
        assert dump(host, session.id) == before
    host.run(session, request, allowance=30_000)
    assert dump(host, session.id) != before


def test_threads_take_turns_in_one_session(host: Host, session: Session) -> None:
    host.handle(session.id, read(StepsRequest, {"steps": [{"tensor": "n", "value": 0}]}))
    add = read(OpsRequest, {"source": "m = n + 1\nn = m * 1"})
    threads = [
        threading.Thread(target=lambda: [host.handle(session.id, add) for _ in range(50)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reply = host.handle(session.id, read(StepsRequest, {"steps": [], "return": ["n"]}))
    assert reply["values"]["n"].array == 200


def test_sessions_run_in_threads_at_once_with_their_own_modes(host: Host) -> None:
    made = [host.create(SessionCreate(dtype=d)) for d in ("float32", "float64", "float16")]
    found: list[set[str]] = [set() for _ in made]
    request = read(
        StepsRequest, {"steps": [{"op": "ones", "args": [[2]], "out": "x"}], "return": ["x"]}
    )

    def work(index: int) -> None:
        for _ in range(100):
            reply = host.handle(made[index].id, request)
            found[index].add(reply["values"]["x"].dtype.name)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [{"float32"}, {"float64"}, {"float16"}]


def test_a_transform_reads_sessions(host: Host, session: Session) -> None:
    host.handle(session.id, read(StepsRequest, STEPS), ARRAYS)
    asked = {
        "program": {"inputs": ["a"], "source": "b = (a * a).sum()", "outputs": ["b"]},
        "inputs": {"a": {"session": session.id, "tensor": "x"}},
    }
    reply = host.transform(read(ValueAndGradRequest, asked))
    assert reply["outputs"]["b"].array == 14.0
    assert reply["grads"]["a"].array.tolist() == [2.0, 4.0, 6.0]


def test_the_ledger_is_empty_when_all_is_gone() -> None:
    host = Host(Limits(sessions=3))
    for _ in range(3):
        host.handle(host.create(SessionCreate()).id, read(StepsRequest, STEPS), ARRAYS)
    overhead = sum(s.describe()["bytes"]["overhead"] for s in host.sessions())
    assert host.ledger.held == 3 * (12 + 12 + 4 + 12) + overhead  # x, y, z and x.grad
    for session in host.sessions():
        host.delete(session)
    assert host.ledger.held == 0


def test_a_session_that_finds_no_seat_gives_back_what_it_held() -> None:
    host = Host(Limits(sessions=1))
    session = host.create(SessionCreate())
    host.handle(session.id, read(StepsRequest, STEPS), ARRAYS)
    metadata, arrays = safetensors.read(b"".join(host.snapshot(session)))
    held = host.ledger.held
    for more in (lambda: host.fork(session), lambda: host.restore(metadata, arrays)):
        with pytest.raises(GradwireError, match="limit is 1 sessions"):
            more()
        assert host.ledger.held == held


def test_on_a_device_whose_arrays_are_not_numpys(host: Host) -> None:
    """Which refuse what CUDA's would."""
    strict = backend.make().name
    session = host.create(SessionCreate(device=strict))
    reply = host.handle(session.id, read(StepsRequest, STEPS), ARRAYS)
    assert reply["values"]["x.grad"].array.tolist() == [2.0, 4.0, 6.0]
    steps = [
        {"op": "zeros", "args": [[2]], "out": "o"},
        {"op": "rand", "args": [[2]], "out": "r"},
        {"set_grad": "x", "value": [1, 1, 1]},
        {"zero_grad": ["x"], "set_to_none": False},
        {"op": "sub_", "args": ["x", "x.grad"], "grad_mode": "no_grad"},
        {"op": "__getitem__", "args": ["x", [0, 2]], "out": "v"},
        {"grad": {"outputs": ["v"], "inputs": ["x"], "grad_outputs": [[1, 2]]}, "out": ["g"]},
    ]
    names = ["o", "r", "x.grad", "v", "g"]
    reply = host.handle(session.id, read(StepsRequest, {"steps": steps, "return": names}))
    assert {value.device for value in reply["values"].values()} == {strict}
    assert reply["values"]["g"].array.tolist() == [1.0, 0.0, 2.0]
    assert session.describe()["bytes"]["total"] > 0
    assert host.fork(session).tensors.keys() == session.tensors.keys()


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ({"complex": [1, 2]}, 1 + 2j),
        ({"complex": [0.5, "-Infinity"]}, complex(0.5, float("-inf"))),
        ({"complex": [1]}, None),
        ({"complex": [1, True]}, None),
        ({"complex": [1, 2], "dtype": "complex128"}, None),
        ({"complex": 1}, None),
        (1, None),
    ],
)
def test_complex_numbers(value: object, number: complex | None) -> None:
    assert complex_number(value) == number
