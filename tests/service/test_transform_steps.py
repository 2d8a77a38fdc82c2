"""Transforms as steps that come again: by a plan, and what they were at first all the same."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import orjson
import pytest
from tests.service.conftest import running
from tests.service.streams import streaming
from tests.service.test_posted import Place, new, posted

from gradwire_service.host.protocol import read
from gradwire_service.host.protocol.requests import Program, SessionCreate

SOURCES = {
    "squares": "y = (x * x).sum()",
    "a chain": "h = torch.tanh(x) * torch.exp(-x)\ny = (h * h).mean()",
    "rows": "y = torch.log_softmax(x.reshape(1, -1), 1).sum()",
    "a constant of the session's dtype": "y = (x * torch.ones(3)).sum()",
}
ASKED: dict[str, dict[str, Any]] = {
    "value and grad": {"transform": "value_and_grad", "out": ["g"], "values": ["y"]},
    "by name": {"transform": "value_and_grad", "wrt": ["x"], "out": ["g"]},
    "vjp": {"transform": "vjp", "out": "g", "values": ["y"]},
    "hessian": {"transform": "hessian", "out": "g", "values": ["y"]},
}
ODD = {
    "a view of its argument": "y = x.reshape(3, 1)",
    "its argument": "y = x.view(3)",
    "a constant": "y = torch.ones(3) + 0 * x.detach() + x",
    "writes to its argument": "x.mul_(2)\ny = x * x",
    "draws": "y = x * torch.rand(3)",
    "one thing twice": "y = x * 2\nz = y.view(3)",
}


def place(way: Any, source: str, *outputs: str, **session: Any) -> tuple[Place, str]:
    """A session, and a program that is stored beside it."""
    made = Place(way)
    made.session = made.host.create(SessionCreate(seed=5, **session))
    model = {"inputs": ["x"], "source": source, "outputs": list(outputs) or ["y"]}
    return made, made.host.programs.put(read(Program, model), {})[0].program.id


def message(step: dict[str, Any], value: Any, returns: list[str], named: bool = True) -> bytes:
    """The step at these numbers, which are a tensor first or stand in it."""
    first = [{"tensor": "x", "value": value, "requires_grad": True}] if named else []
    here = {"transform": "", "call": "", "args": ["x" if named else value]}
    return orjson.dumps({"steps": [*first, here | step], "return": returns})


def told(reply: object) -> tuple[Any, list[Any]]:
    """A reply without elements, and these."""
    assert isinstance(reply, bytes), reply
    values = orjson.loads(reply)["values"]
    return values, [np.array(v.pop("data"), float) for v in values.values()]


def alike(known: Place, fresh: Place, sent: bytes) -> None:
    """Both answer the same, numbers to rounding."""
    (said, found), (wanted, values) = told(known.post(sent)), told(fresh.post(sent))
    assert said == wanted
    for one, other in zip(found, values, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


def both(source: str, *outputs: str, **session: Any) -> tuple[Place, Place, str]:
    """A place that knows what was posted, and one that never does."""
    known, key = place(posted, source, *outputs, **session)
    return known, place(new, source, *outputs, **session)[0], key


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("source", SOURCES)
def test_a_plan_answers_what_was_answered_at_first(source: str, asked: str, named: bool) -> None:
    random = Random(0)
    known, fresh, key = both(SOURCES[source])
    step = ASKED[asked] | {"call": key}
    returns = ["g", "y"] if "values" in step else ["g"]
    for _ in range(8):
        value = [random.uniform(-2, 2) for _ in range(3)]
        alike(known, fresh, message(step, value, returns, named))
    if asked != "hessian":  # some are views of what was made row by row
        assert known.host.once.plans.made == 1
        assert known.host.once.plans.answered >= 4
    assert fresh.host.once.plans.answered == 0


def test_other_forms_have_plans_of_their_own_and_mistakes_are_told_as_ever() -> None:
    known, fresh, key = both("y = (x * x).sum()")
    step = ASKED["value and grad"] | {"call": key}
    forms: list[Any] = [[1.5, 2], [[1.0], [3]], 2.5, {"dtype": "float64", "data": [1, 2]}, [0.5, 1]]
    for value in forms * 5:
        alike(known, fresh, message(step, value, ["g", "y"]))
    assert known.host.once.plans.answered > 8
    whole, pairs = {"dtype": "int64", "data": [1]}, {"dtype": "complex64", "data": [[1, 2]]}
    for value in (whole, ["NaN"], [], pairs):
        sent = message(step, value, ["g"])
        sent = sent.replace(b',"requires_grad":true', b"")
        assert known.post(sent) == fresh.post(sent)
    gone = message(step, [1.0, 2.0], ["g"]).replace(b'"x"]', b'"nothing"]')
    assert known.post(gone) == fresh.post(gone)
    assert isinstance(known.post(gone), tuple)


def test_the_sessions_dtype_is_the_plans() -> None:
    known, fresh, key = both(SOURCES["a constant of the session's dtype"], dtype="float64")
    step = ASKED["value and grad"] | {"call": key}
    for number in range(6):
        value = [number + 2**-40, 1.0, 2.0]  # not in float32; all sums are exact in float64
        sent = message(step, value, ["g", "y"])
        assert known.post(sent) == fresh.post(sent)
        assert told(known.post(sent))[0]["y"]["dtype"] == "float64"
    assert known.host.once.plans.answered


@pytest.mark.parametrize("source", ODD)
def test_results_that_are_more_than_their_elements_go_the_long_way(source: str) -> None:
    """A write to a result is seen by what it is a view of, each time; so are draws."""
    known, fresh, key = both(ODD[source], *(["y", "z"] if "z" in ODD[source] else []))
    cotangents = {"cotangents": {"y": [[1], [1], [1]] if "3, 1" in ODD[source] else [1, 1, 1]}}
    names = ["y", "z"] if "z" in ODD[source] else ["y"]
    for step in (
        {"transform": "jacobian", "wrt": ["x"], "out": "j", "values": names},
        {"transform": "vjp", "out": "j", "values": names} | cotangents,
    ):
        for number in range(6):
            sent = message(step | {"call": key}, [number, 1.5, 2.5], ["x", *names])
            write = {"op": "add_", "args": ["y", 1]}
            body = orjson.loads(sent)
            body["steps"][0].pop("requires_grad")
            body["steps"].append(write)
            text = orjson.dumps(body)
            assert known.post(text) == fresh.post(text)


def test_what_follows_is_as_it_was() -> None:
    """Results take part in what comes: written to, differentiated, freed, undone."""
    known, fresh, key = both("y = (x ** 2).sum()")
    more = [
        {"op": "add_", "args": ["g", 1]}, {"requires_grad": "g", "value": True},
        {"op": "mul", "args": ["g", "g"], "out": "h"}, {"op": "sum", "args": ["h"], "out": "s"},
        {"backward": {"tensors": ["s"]}},
    ]  # fmt: skip
    for number in range(8):
        step = ASKED["value and grad"] | {"call": key}
        body = orjson.loads(message(step, [number, 0.5, 1.5], ["x", "g", "g.grad", "y"]))
        body["steps"] += [*more, {"free": ["nothing"]}] if number % 3 == 2 else more
        text = orjson.dumps(body)
        assert known.post(text) == fresh.post(text)
        assert known.state()[0] == fresh.state()[0]  # but for the meter: a plan has ops of its own
    assert known.host.once.plans.answered


def test_a_plans_results_are_nobody_elses() -> None:
    known, _, key = both("y = (x * 0 + 3).sum()")
    step = ASKED["value and grad"] | {"call": key}
    for _ in range(5):
        _, (g, y) = told(known.post(message(step, [1.0, 2.0], ["g", "y"])))
        assert (g.tolist(), y.tolist()) == ([0.0, 0.0], 6.0)
        written = {"steps": [{"op": "fill_", "args": ["g", 7.0]}, {"op": "zero_", "args": ["y"]}]}
        known.post(orjson.dumps(written))
    assert known.host.once.plans.answered


def test_a_program_that_walks_has_no_plan() -> None:
    """Looked at without a graph it fails, where it went well."""
    known, fresh = Place(posted), Place(new)
    ops = [
        {"op": "mul", "args": ["x", "x"], "out": "h"}, {"op": "sum", "args": ["h"], "out": "s"},
        {"grad": {"outputs": ["s"], "inputs": ["x"], "create_graph": True}, "out": ["d"]},
        {"op": "sum", "args": ["d"], "out": "y"},
    ]  # fmt: skip
    for made in (known, fresh):
        made.session = made.host.create(SessionCreate(seed=5))
        model = read(Program, {"inputs": ["x"], "ops": ops, "outputs": ["y"]})
        key = made.host.programs.put(model, {})[0].program.id
    for number in range(5):
        sent = message(ASKED["value and grad"] | {"call": key}, [number, 1.0], ["g", "y"])
        assert told(known.post(sent))[1][1] == 2 * number + 2
        assert known.post(sent) == fresh.post(sent)


def test_a_large_program_is_not_held() -> None:
    known, fresh, key = both("\n".join(["y = x * x"] * 1800 + ["y = y.sum()"]))
    for number in range(5):
        alike(known, fresh, message(ASKED["vjp"] | {"call": key}, [number], ["g", "y"]))
    assert not known.host.once.plans.slow


@pytest.mark.parametrize(
    "more",
    [
        {"create_graph": True}, {"cotangents": {"y": 2.0}}, {"grad_mode": "no_grad"},
        {"grad_mode": "inference_mode"},
    ],
)  # fmt: skip
def test_rarer_steps_go_the_long_way(more: dict[str, Any]) -> None:
    known, fresh, key = both("y = (x * x).sum()")
    step = {"transform": "vjp", "out": "g", "values": ["y"], "call": key} | more
    for number in range(6):
        sent = message(step, [number, 1.0], ["g", "y"])
        assert known.post(sent) == fresh.post(sent)
    assert known.state() == fresh.state()
    assert known.host.once.plans.answered == 0


def test_over_a_stream_and_not_where_the_log_is_run_again(tmp_path: Path) -> None:
    for data in (None, str(tmp_path)):
        with running(data=data) as server:
            body = {"inputs": ["x"], "source": "y = (x * x).sum()", "outputs": ["y"]}
            key = server.client.post("/v1/programs", json=body).json()["id"]
            step = ASKED["value and grad"] | {"call": key, "args": [[0, 1, 2]]}
            with streaming(server, server.session(durable=data is not None)) as stream:
                for number in range(10):
                    step["args"] = [[number, 1.0, 2.0]]
                    found = stream.values(step, returns=("g", "y"))
                    assert found == {"g": [2.0 * number, 2.0, 4.0], "y": number**2 + 5.0}
            assert bool(server.service.host.once.plans.answered) == (data is None)
