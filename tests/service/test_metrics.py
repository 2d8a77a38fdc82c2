"""What the server counts, as Prometheus is shown it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.service.conftest import Running

from gradwire_service.host.once import plans


def sample(server: Running, name: str) -> float:
    """What /metrics says of a name with its labels."""
    text = server.client.get("/metrics").text
    return float(re.search(rf"^{re.escape(name)} (.*)$", text, re.MULTILINE)[1])


def test_metrics(serve: Callable[..., Running]) -> None:
    server = serve()
    session = server.session()
    session.get("/tensors/nope")
    text = server.client.get("/metrics").text
    sessions = 'gradwire_requests_total{method="POST",route="/v1/sessions",status="201"} 1.0'
    assert sessions in text
    path = "/v1/sessions/{id}/tensors/{name}"
    assert f'{{method="GET",route="{path}",status="404"}} 1.0' in text
    assert (
        'gradwire_request_seconds_bucket{le="+Inf",method="POST",route="/v1/sessions"} 1.0' in text
    )
    assert "gradwire_sessions 1.0" in text
    assert session.id not in text
    program = {"inputs": ["x"], "source": "y = (x * x).sum()", "outputs": ["y"]}
    for _ in range(5):
        server.client.post("/v1/value_and_grad", json={"program": program, "inputs": {"x": [1.0]}})
    text = server.client.get("/metrics").text
    assert "gradwire_plans_total 1.0" in text
    assert "gradwire_planned_total 3.0" in text
    assert "gradwire_unplanned_total 2.0" in text
    for name in ("gradwire_traces", "gradwire_plan_seconds"):
        assert float(re.search(rf"^{name}_total (.*)$", text, re.MULTILINE)[1]) > 0


def test_metrics_of_work(serve: Callable[..., Running]) -> None:
    """Ops and FLOPs: forward, backward, in plans; they stay when the session goes."""
    server = serve()
    assert sample(server, "gradwire_ops_total") == sample(server, "gradwire_flops_total") == 0
    session = server.session()
    made = {"op": "randn", "args": [[8, 16]], "out": "a"}
    session.steps(made, {"op": "randn", "args": [[16, 4]], "out": "b"})
    before = sample(server, "gradwire_flops_total"), sample(server, "gradwire_ops_total")
    session.steps({"op": "matmul", "args": ["a", "b"], "out": "c"})
    product = 2 * 8 * 16 * 4
    assert sample(server, "gradwire_flops_total") - before[0] == product
    assert sample(server, "gradwire_ops_total") - before[1] == 1
    session.steps(
        {"requires_grad": "a", "value": True},
        {"requires_grad": "b", "value": True},
        {"op": "matmul", "args": ["a", "b"], "out": "c"},
        {"op": "sum", "args": ["c"], "out": "z"},
    )
    session.post("/backward", {"tensors": ["z"]})
    done = sample(server, "gradwire_flops_total") - before[0]
    assert done == 4 * product + 8 * 4 * 2  # two products, two for their gradients, the sum twice
    assert sample(server, "gradwire_ops_total") - before[1] == 5
    assert server.client.delete(session.path).status_code == 204
    assert sample(server, "gradwire_flops_total") - before[0] == done


def test_metrics_of_planned_work(serve: Callable[..., Running]) -> None:
    """A program does as much by a plan as op by op."""
    server = serve()
    program = {"inputs": ["x"], "source": "y = (x * x).sum()", "outputs": ["y"]}
    each = []
    for _ in range(5):
        before = sample(server, "gradwire_flops_total")
        body = {"program": program, "inputs": {"x": [1.0] * 100}}
        assert server.client.post("/v1/evaluate", json=body).status_code == 200
        each.append(sample(server, "gradwire_flops_total") - before)
    assert sample(server, "gradwire_planned_total") == 3
    assert set(each) == {200.0}


def test_metrics_of_sessions_that_end(serve: Callable[..., Running]) -> None:
    server = serve()
    server.client.delete(server.session().path)
    server.session(ttl_seconds=0.01)
    time.sleep(0.05)
    name = "gradwire_sessions_ended_total"
    server.client.get("/v1/sessions")
    assert sample(server, f'{name}{{code="session_closed"}}') == 1
    assert sample(server, f'{name}{{code="session_expired"}}') == 1
    assert sample(server, "gradwire_sessions") == 0


def test_metrics_of_errors(serve: Callable[..., Running]) -> None:
    """By code, each from the start with 0."""
    server = serve()
    name = "gradwire_errors_total"
    assert sample(server, f'{name}{{code="not_scalar"}}') == 0
    session = server.session()
    session.refused(
        {"tensor": "x", "value": [1, 2], "requires_grad": True}, {"backward": {"tensors": ["x"]}}
    )
    server.client.get("/nowhere")
    assert sample(server, f'{name}{{code="not_scalar"}}') == 1
    assert sample(server, f'{name}{{code="not_found"}}') == 1


def test_metrics_of_plans_that_made_room(
    serve: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "_MOST", 1)
    server = serve()
    before = sample(server, "gradwire_plan_evictions_total")  # others' loops, in this process
    for source in ("y = x.sum()", "y = x.exp().sum()"):
        program = {"inputs": ["x"], "source": source, "outputs": ["y"]}
        for _ in range(3):
            server.client.post("/v1/evaluate", json={"program": program, "inputs": {"x": [1.0]}})
    assert sample(server, "gradwire_plans_total") == 2
    assert sample(server, "gradwire_plan_evictions_total") - before == 1


def test_metrics_of_the_queue(serve: Callable[..., Running]) -> None:
    """A session that is busy has the next request wait; it shows, and then no more."""
    server = serve()
    session = server.session()
    size = {"op": "randn", "args": [[600, 600]], "out": "a"}
    slow = [{"op": "linalg.svd", "args": ["a"], "out": ["u", "s", "v"]}] * 6
    stage = 'gradwire_queue{stage="session"}'
    with ThreadPoolExecutor(2) as pool:
        body = {"steps": [size, *slow]}
        sent = [pool.submit(server.other().post, f"{session.path}/steps", json=body) for _ in "ab"]
        seen = set()
        while not all(one.done() for one in sent):
            seen.add(sample(server, stage))
        assert {one.result().status_code for one in sent} == {200}
    assert seen >= {1.0}
    assert sample(server, stage) == sample(server, 'gradwire_queue{stage="thread"}') == 0


def test_metrics_of_planned_calls(serve: Callable[..., Running]) -> None:
    """A trace for each shape, a hit for each call after it, a plan once there were several."""
    server = serve()
    program = {"inputs": ["x"], "source": "y = (x * x).sum() - 0.5", "outputs": ["y"]}
    key = server.client.post("/v1/programs", json=program).json()["id"]
    session = server.session()

    def counted() -> dict[str, float]:
        text = server.client.get("/metrics").text
        found = re.findall(r"^gradwire_(\w+)_total (\S+)$", text, re.MULTILINE)
        return {name: float(value) for name, value in found}

    step = {"call": key, "args": ["x"], "planned": True, "out": ["y"]}
    for size in (3, 4):
        before = counted()
        session.steps({"tensor": "x", "value": [1.0] * size}, *[step] * 12)
        after = counted()
        more = {name: after[name] - before[name] for name in after}
        # What takes the event loop too long is undone and run again in a thread: some count twice.
        assert 1 <= more["traces"] <= 2
        assert 11 <= more["trace_hits"] <= 23
        assert more["body_plans"] == 1
        assert more["plan_seconds"] > 0
        assert session.data("y") == size - 0.5
