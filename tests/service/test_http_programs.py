"""Programs as resources, and as steps of a session."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx
import numpy as np
import pytest
from tests.service.conftest import Client, Running
from tests.service.state import dump

from gradwire_service.host import safetensors
from gradwire_service.host.limits import Limits

SQUARE = {"inputs": ["x"], "source": "y = x ** 2\nz = y.sum()", "outputs": ["z"]}
SQUARE_OPS = {
    "inputs": ["x"],
    "ops": [{"op": "pow", "args": ["x", 2], "out": "y"}, {"op": "sum", "args": ["y"], "out": "z"}],
    "outputs": ["z"],
}


def post(server: Running, program: dict) -> httpx.Response:
    return server.client.post("/v1/programs", json=program)


def stored(server: Running, **program: object) -> str:
    """The id of a program that has to be good."""
    reply = post(server, program)
    assert reply.status_code in (200, 201), reply.text
    return str(reply.json()["id"])


def source(server: Running, text: str, inputs: str = "x", outputs: str = "z") -> str:
    return stored(server, inputs=inputs.split(), source=text, outputs=outputs.split())


def test_the_id_is_the_hash_of_the_normal_form(serve: Callable[..., Running]) -> None:
    server = serve()
    first = post(server, SQUARE)
    assert first.status_code == 201
    assert first.headers["location"] == f"/v1/programs/{first.json()['id']}"
    again = post(server, SQUARE_OPS)
    assert (again.status_code, again.json()) == (200, first.json())
    other = post(server, SQUARE | {"source": "y = x ** 3\nz = y.sum()"})
    assert other.status_code == 201
    assert other.json()["id"] != first.json()["id"]


def test_a_program_reads_as_it_was_posted(server: Running) -> None:
    program = {
        "inputs": [{"name": "a", "dtype": "float64", "shape": [None, 2]}, "b"],
        "ops": [{"op": "add", "args": ["a", "b"], "kwargs": {"alpha": 2}, "out": "c"}],
        "outputs": ["c"],
    }
    key = stored(server, **program)
    found = server.client.get(f"/v1/programs/{key}").json()
    assert found["ops"] == program["ops"]
    assert found["source"] is None
    assert found["inputs"] == [program["inputs"][0], {"name": "b", "dtype": None, "shape": None}]
    assert (found["outputs"], found["steps"], found["size"], found["calls"]) == (["c"], 1, 1, [])


def test_pages_of_programs(serve: Callable[..., Running]) -> None:
    server = serve()
    keys = [source(server, f"z = x * {k}") for k in range(5)]
    first = server.client.get("/v1/programs?limit=3").json()
    rest = server.client.get(f"/v1/programs?limit=3&cursor={first['next']}").json()
    assert [item["id"] for item in first["items"] + rest["items"]] == keys
    assert rest["next"] is None


def test_a_deleted_program_is_gone_but_for_those_that_call_it(server: Running) -> None:
    inner = source(server, "z = x * 7")
    ops = [{"call": inner, "args": ["x"], "out": "y"}, {"op": "sum", "args": ["y"], "out": "z"}]
    outer = stored(server, inputs=["x"], ops=ops, outputs=["z"])
    assert server.client.delete(f"/v1/programs/{inner}").status_code == 204
    assert server.client.get(f"/v1/programs/{inner}").json()["code"] == "program_not_found"
    session = server.session()
    session.steps({"tensor": "x", "value": [1.0, 2.0]})
    assert session.refused({"call": inner, "args": ["x"]})["code"] == "program_not_found"
    session.steps({"call": outer, "args": ["x"], "out": "z"})
    assert session.data("z") == 21.0


def test_a_call_is_part_of_the_graph(server: Running, session: Client) -> None:
    key = source(server, "y = x ** 2\nz = y.sum()")
    values = session.steps(
        {"tensor": "x", "value": [1.0, 2.0, 3.0], "requires_grad": True},
        {"call": key, "args": ["x"], "out": "loss"},
        {"grad": {"outputs": ["loss"], "inputs": ["x"], "create_graph": True}, "out": ["g"]},
        {"op": "sum", "args": ["g"], "out": "s"},
        {"backward": {"tensors": ["s"]}},
        returns=("loss", "g", "x.grad"),
    )
    assert values["loss"]["grad_fn"] == "SumBackward0"
    assert values["g"]["data"] == [2.0, 4.0, 6.0]
    assert values["x.grad"]["data"] == [2.0, 2.0, 2.0]
    names = {item["name"] for item in session.get("/tensors").json()["items"]}
    assert names == {"x", "loss", "g", "s"}


def test_results_by_one_name_or_several(server: Running, session: Client) -> None:
    key = source(server, "a = x + 1\nb = x * 2", outputs="a b")
    session.steps(
        {"tensor": "x", "value": 3.0},
        {"call": key, "args": ["x"], "out": "p"},
        {"call": key, "args": [4.0], "out": [None, "q"]},
    )
    assert [session.data(n) for n in ("p.0", "p.1", "q")] == [4.0, 6.0, 8.0]
    assert session.refused({"call": key, "args": ["x"], "out": ["a"]})["code"] == "invalid_argument"


def test_arguments_are_names_or_literals(server: Running, session: Client) -> None:
    key = source(server, "z = (x * w).sum()", "x w")
    session.steps({"tensor": "x", "value": [1.0, 2.0]})
    session.steps({"call": key, "args": ["x", [10, 100]], "out": "z"})
    assert session.data("z") == 210.0


def test_an_in_place_op_writes_the_argument(server: Running, session: Client) -> None:
    key = source(server, "x += 1\nz = x * x")
    session.steps({"tensor": "x", "value": [1.0]}, {"call": key, "args": ["x"], "out": "z"})
    assert (session.data("x"), session.data("z")) == ([2.0], [4.0])


def test_random_numbers_are_the_sessions(server: Running, session: Client) -> None:
    key = source(server, "z = rand(3) + x")
    session.steps({"seed": 5}, {"op": "rand", "args": [[3]], "out": "a"})
    session.steps({"seed": 5}, {"call": key, "args": [0.0], "out": "b"})
    assert session.data("a") == session.data("b")


def test_programs_call_programs(server: Running, session: Client) -> None:
    key = source(server, "z = x * 2")
    for _ in range(4):
        ops = [
            {"call": key, "args": ["x"], "out": "h"},
            {"call": key, "args": ["h"], "out": "z"},
        ]
        key = stored(server, inputs=["x"], ops=ops, outputs=["z"])
    session.steps(
        {"tensor": "x", "value": 1.0, "requires_grad": True},
        {"call": key, "args": ["x"], "out": "z"},
        {"backward": {"tensors": ["z"]}},
    )
    assert (session.data("z"), session.data("x.grad")) == (2.0**16, 2.0**16)
    assert server.client.get(f"/v1/programs/{key}").json()["size"] == 46


def test_a_grad_step_differentiates_by_inputs_that_require_none(
    server: Running, session: Client
) -> None:
    ops = [
        {"op": "pow", "args": ["x", 3], "out": "y"},
        {"op": "sum", "args": ["y"], "out": "s"},
        {"grad": {"outputs": ["s"], "inputs": ["x"], "create_graph": True}, "out": ["g"]},
    ]
    key = stored(server, inputs=["x"], ops=ops, outputs=["s", "g"])
    values = session.steps(
        {"tensor": "x", "value": [1.0, 2.0]},
        {"call": key, "args": ["x"], "out": ["s", "g"]},
        {"requires_grad": "x", "value": True},
        {"call": key, "args": ["x"], "out": ["s2", "g2"]},
        {"op": "sum", "args": ["g2"], "out": "t"},
        {"backward": {"tensors": ["t"]}},
        returns=("g", "g2", "x.grad"),
    )
    assert values["g"]["data"] == [3.0, 12.0]
    assert not values["g"]["requires_grad"]
    assert values["g2"]["requires_grad"]
    assert values["x.grad"]["data"] == [6.0, 12.0]


def test_arrays_of_the_body_stay_with_the_program(server: Running, session: Client) -> None:
    weights = np.arange(3, dtype=np.float64)
    ops = [{"op": "mul", "args": ["x", {"binary": "w"}], "out": "z"}]
    request = json.dumps({"inputs": ["x"], "ops": ops, "outputs": ["z"]})
    body = b"".join(safetensors.write({"w": weights}, {"request": request}))
    headers = {"content-type": "application/x-safetensors"}
    reply = server.client.post("/v1/programs", content=body, headers=headers)
    assert reply.status_code == 201
    session.steps({"call": reply.json()["id"], "args": [10.0], "out": "z"})
    assert session.data("z") == [0.0, 10.0, 20.0]


def test_a_failure_inside_names_program_and_step_and_changes_nothing(
    server: Running, session: Client
) -> None:
    key = source(server, "x += 1\nr = rand(2)\nz = x @ w", "x w")
    session.steps(
        {"tensor": "x", "value": [1.0, 2.0]},
        {"tensor": "w", "value": [[1.0, 2.0, 3.0]]},
        {"seed": 1},
    )
    before = dump(server.service.host, session.id)
    problem = session.refused({"tensor": "q", "value": 1}, {"call": key, "args": ["x", "w"]})
    assert (problem["code"], problem["step"]) == ("shape_mismatch", 1)
    assert f"program {key}, step 2: source, line 3: matmul" in problem["detail"]
    assert dump(server.service.host, session.id) == before


def test_a_fork_calls_programs_too(server: Running, session: Client) -> None:
    key = source(server, "z = x * 5")
    session.steps({"tensor": "x", "value": 2.0})
    fork = Client(server.client, session.post("/fork", {}).json()["id"])
    fork.steps({"call": key, "args": ["x"], "out": "z"})
    assert fork.data("z") == 10.0


def test_count_and_bytes_are_bounded(serve: Callable[..., Running]) -> None:
    server = serve(Limits(programs=2, program_bytes=800, program_depth=2, program_size=10))
    held = server.service.host.ledger.held
    first = source(server, "z = x * 1")
    assert server.service.host.ledger.held > held
    ops = [{"call": first, "args": ["x"], "out": "z"}]
    second = stored(server, inputs=["x"], ops=ops, outputs=["z"])
    refused = post(server, SQUARE)
    assert (refused.status_code, refused.json()["code"]) == (413, "limit_exceeded")
    assert post(server, {"inputs": ["x"], "ops": ops, "outputs": ["z"]}).status_code == 200
    server.client.delete(f"/v1/programs/{first}")
    assert post(server, SQUARE).status_code == 201
    for program in (
        {"inputs": ["x"], "ops": [{"call": second, "args": ["x"], "out": "z"}], "outputs": ["z"]},
        SQUARE | {"source": "z = x + 1\n" * 11},
        {
            "inputs": ["x"],
            "ops": [{"op": "add", "args": ["x", [1.5] * 200], "out": "z"}],
            "outputs": ["z"],
        },
    ):
        refused = post(server, program)
        assert (refused.status_code, refused.json()["code"]) == (413, "limit_exceeded")
    assert len(server.client.get("/v1/programs").json()["items"]) == 2
    for item in server.client.get("/v1/programs").json()["items"]:
        server.client.delete(f"/v1/programs/{item['id']}")
    assert server.service.host.ledger.held == held


def test_what_a_request_grows_to_is_bounded(serve: Callable[..., Running]) -> None:
    server = serve(Limits(request_size=100))
    key = source(server, "z = x + 1\n" * 30)
    session = server.session()
    session.steps({"tensor": "x", "value": 1.0})
    call = {"call": key, "args": ["x"], "out": "x"}
    session.steps(call, call, call)
    problem = session.refused(call, call, call, call)
    assert (problem["code"], problem["step"]) == ("limit_exceeded", 3)
    assert session.data("x") == 1.0 + 3


def test_a_run_is_metered(server: Running) -> None:
    key = source(server, "z = x.expand(1000, 1000) + 1\nz = z.sum()")
    session = server.session(memory_limit_bytes=1_000_000)
    session.steps({"tensor": "x", "value": 1.0})
    assert session.refused({"call": key, "args": ["x"], "out": "z"})["code"] == "memory_limit"
    assert {item["name"] for item in session.get("/tensors").json()["items"]} == {"x"}


def test_what_a_running_program_holds_counts(server: Running) -> None:
    made = "\n".join(f"y{k} = x.expand(100, 1000) + {k}" for k in range(20))
    key = source(server, f"{made}\nz = stack([{', '.join(f'y{k}' for k in range(20))}]).sum()")
    session = server.session(memory_limit_bytes=4_000_000)
    session.steps({"tensor": "x", "value": 1.0})
    problem = session.refused({"call": key, "args": ["x"], "out": "z"})
    assert (problem["code"], problem["step"]) == ("memory_limit", 0)


def test_what_a_running_program_no_longer_needs_is_given_back(server: Running) -> None:
    """Twenty results of 400 kB each, of which two are needed at a time."""
    lines = ["y = x.expand(100, 1000) + 0"] + ["a, b = split(y, 50)", "y = cat([b, a]) + 1"] * 20
    key = source(server, "\n".join(lines) + "\nz = y.sum()")
    session = server.session(memory_limit_bytes=4_000_000)
    session.steps({"tensor": "x", "value": 1.0}, {"call": key, "args": ["x"], "out": "z"})
    assert session.data("z") == 2_100_000.0


def test_several_results_live_until_the_last_is_used(server: Running, session: Client) -> None:
    ops = [
        {"op": "split", "args": ["x", 1], "out": "p"},
        {"op": "mul", "args": ["p.0", 2], "out": "a"},
        {"op": "mul", "args": ["p.1", 3], "out": "b"},
        {"op": "cat", "args": [["a", "p.2", "b"]], "out": "c"},
    ]
    key = stored(server, inputs=["x"], ops=ops, outputs=["c", "p.0"])
    nested = source(server, "z = cat(x.split(1))[0] + x.max(0)[0] + x.max(0)[1]")
    session.steps({"tensor": "x", "value": [1.0, 2.0, 4.0]})
    session.steps({"call": key, "args": ["x"], "out": ["c", "p"]})
    session.steps({"call": nested, "args": ["x"], "out": "z"})
    assert (session.data("c"), session.data("p")) == ([2.0, 4.0, 6.0], [1.0])
    assert session.data("z") == 1.0 + 4.0 + 2.0


@pytest.mark.parametrize("seconds", ["0.05"])
def test_a_run_ends_at_its_time(server: Running, session: Client, seconds: str) -> None:
    key = source(server, "z = x * 2\n" * 4000)
    ops = [{"call": key, "args": ["x"], "out": "z"}] * 15
    session.steps({"tensor": "x", "value": [1.0] * 1000})
    long = stored(server, inputs=["x"], ops=ops, outputs=["z"])
    reply = session.post(
        "/steps",
        {"steps": [{"call": long, "args": ["x"], "out": "z"}]},
        headers={"gradwire-timeout": seconds},
    )
    assert reply.json()["code"] == "deadline_exceeded"


def test_what_was_checked_once_is_no_pass_for_what_cannot_be(server: Running) -> None:
    """A program that is known is not read again; what stands beside it is."""
    program = {"inputs": ["x"], "source": "known = x.exp().sum()", "outputs": ["known"]}
    body = {"program": program, "inputs": {"x": [0.0, 0.0]}, "cotangents": None}
    assert server.client.post("/v1/vjp", json=body).status_code == 200
    for wrong in ({"inputs": None}, {"inputs": [1]}, {"cotangents": [1]}, {"wrt": 1}):
        reply = server.client.post("/v1/vjp", json=body | wrong)
        assert (reply.status_code, reply.json()["code"]) == (422, "invalid_request"), wrong
    assert server.client.post("/v1/vjp", json=body).status_code == 200
