"""What tensors, nodes and views take beside elements counts: no graph grows past the limit."""

from __future__ import annotations

from tests.service.conftest import Client, Running

from gradwire_service.host.memory import NODE_BYTES, TENSOR_BYTES

LIMIT = 2**20
NUMBER = {"tensor": "y", "value": 1.0, "requires_grad": True}
ADD = {"op": "add", "args": ["y", 1], "out": "y"}
VIEW = {"op": "view", "args": ["y", [1]], "out": "y"}


def grown(session: Client, step: dict, most: int) -> int:
    """How often the step goes well before the session is full."""
    for count in range(0, most, 1000):
        reply = session.post("/steps", {"steps": [step] * 1000})
        if reply.status_code != 200:
            assert reply.json()["code"] == "memory_limit"
            assert session.get().json()["nodes"] == count + 1  # as before the request
            return count
    raise AssertionError("the graph has no bound")


def test_nodes_of_tiny_tensors_fill_a_session(server: Running) -> None:
    session = server.session(memory_limit_bytes=LIMIT)
    session.steps(NUMBER, ADD)
    count = grown(session, ADD, 100_000)
    assert LIMIT / NODE_BYTES - 2000 <= count <= LIMIT / NODE_BYTES


def test_a_long_chain_of_views_fills_a_session(server: Running) -> None:
    """Each view has a list of all the calls that lead to it."""
    session = server.session(memory_limit_bytes=16 * LIMIT)
    session.steps(NUMBER, ADD)
    assert 0 < grown(session, VIEW, 200_000) <= 5000


def test_what_a_request_may_have_to_give_back_counts(server: Running) -> None:
    """A name that is written to again and again: what it stood for is kept until the end."""
    session = server.session(memory_limit_bytes=LIMIT)
    zeros = {"op": "zeros", "args": [[LIMIT // 16]], "out": "z"}
    assert session.refused(*[zeros] * 10)["code"] == "memory_limit"
    session.steps(*[zeros] * 3)


def test_overhead_is_said(session: Client) -> None:
    session.steps(NUMBER, ADD, ADD)
    held = session.get().json()["bytes"]
    assert 2 * NODE_BYTES < held["overhead"] <= 2 * NODE_BYTES + 3 * TENSOR_BYTES
    session.steps({"free": ["y"]})
    assert session.get().json()["bytes"]["overhead"] == 0


def test_names_fill_a_session(server: Running) -> None:
    session = server.session(memory_limit_bytes=LIMIT)
    made = 0
    while made < 100_000:
        steps = [{"tensor": f"n{made + i}", "value": 1.0} for i in range(1000)]
        reply = session.post("/steps", {"steps": steps})
        if reply.status_code != 200:
            assert reply.json()["code"] == "memory_limit"
            break
        made += 1000
    assert made <= LIMIT / TENSOR_BYTES
