"""Names at the host: the step that renames, labels in the place of ids, a session described."""

from __future__ import annotations

import pytest
from tests.service.conftest import Client, Running
from tests.service.crash.process import served
from tests.service.test_durable import do, made


@pytest.fixture
def named(session: Client) -> Client:
    """A session with three tensors, one of which has a history."""
    session.steps(
        {"tensor": "a", "value": [1.0], "requires_grad": True},
        {"op": "exp", "args": ["a"], "out": "b"},
        {"tensor": "c", "value": [3.0]},
        {"optimizer": "o", "kind": "sgd", "params": ["a"], "lr": 0.5},
    )
    return session


def names(session: Client) -> list[str]:
    return [one["name"] for one in session.get("/tensors").json()["items"]]


def test_names_change_and_tensors_stay(named: Client) -> None:
    named.steps({"rename": {"a": "encoder.weight", "b": "out"}})
    assert names(named) == ["c", "encoder.weight", "out"]
    named.steps({"op": "sum", "args": ["out"], "out": "z"}, {"backward": {"tensors": ["z"]}})
    assert named.data("encoder.weight.grad") == named.data("out")
    before = named.data("encoder.weight")
    named.steps({"step": "o"})
    assert named.data("encoder.weight") != before
    assert "encoder.weight" in named.get("/graph", params={"format": "dot"}).text


def test_names_change_places(named: Client) -> None:
    a, c = named.data("a"), named.data("c")
    named.steps({"rename": {"a": "c", "c": "a"}})
    assert (named.data("a"), named.data("c")) == (c, a)
    named.steps({"rename": {"a": "a"}}, {"rename": {}})
    assert names(named) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("rename", "code", "told"),
    [
        ({"a": "b"}, "invalid_argument", "as another tensor is"),
        ({"a": "x", "b": "x"}, "invalid_argument", "'b' would be called 'x'"),
        ({"nobody": "x"}, "tensor_not_found", "'nobody'"),
        ({"a": "x", "nobody": "y"}, "tensor_not_found", "'nobody'"),
        ({"a.grad": "x"}, "invalid_request", ""),
        ({"a": "1x"}, "invalid_request", ""),
        ({"a": "x.grad"}, "invalid_request", ""),
        ({"a": "x" * 129}, "invalid_request", ""),
        ({"a": ""}, "invalid_request", ""),
        ({"a": "NaN"}, "invalid_request", ""),
        ({"a": None}, "invalid_request", ""),
        ({"a": ["x"]}, "invalid_request", ""),
        (["a", "x"], "invalid_request", ""),
        ("a", "invalid_request", ""),
        (None, "invalid_request", ""),
    ],
)
def test_refusals_change_nothing(named: Client, rename: object, code: str, told: str) -> None:
    before = names(named)
    problem = named.refused({"rename": {"c": "d"}}, {"rename": rename})
    assert problem["code"] == code
    assert told in problem["detail"]
    assert names(named) == before


def test_programs_rename_nothing(named: Client) -> None:
    body = {"inputs": ["x"], "ops": [{"rename": {"x": "y"}}], "outputs": ["y"]}
    reply = named.http.post("/v1/programs", json=body)
    assert reply.status_code == 422


def test_a_label_stands_for_an_id(server: Running) -> None:
    first = server.session(label="one of a kind/äöü")
    label = "/v1/sessions/one of a kind%2Fäöü"
    simple = server.session(label="a label of this test, 0.1")
    simple.steps({"tensor": "x", "value": [1.0]})
    path = "/v1/sessions/a label of this test, 0.1"
    assert server.client.get(path).json()["id"] == simple.id
    body = {"steps": [{"op": "exp", "args": ["x"], "out": "y"}], "return": ["y"]}
    assert server.client.post(f"{path}/steps", json=body).status_code == 200
    for part in ("/tensors", "/graph", "/optimizers", "/snapshot"):
        accept = {"accept": "*/*"}
        assert server.client.get(path + part, headers=accept).status_code == 200, part
    assert server.client.get(label).json()["code"] == "not_found"  # a slash ends a part of a path
    listed = server.client.get("/v1/sessions", params={"label": "a label of this test, 0.1"}).json()
    assert [one["id"] for one in listed["items"]] == [simple.id]
    assert server.client.get("/v1/sessions", params={"label": "none"}).json()["items"] == []
    second = server.session(label="a label of this test, 0.1")
    problem = server.client.get(path).json()
    assert problem["code"] == "invalid_argument"
    assert {simple.id, second.id} <= set(problem["detail"].replace(",", " ").split())
    assert server.client.delete(f"/v1/sessions/{second.id}").status_code == 204
    assert server.client.delete(path).status_code == 204
    assert server.client.get(path).json()["code"] == "session_not_found"
    assert first.get().status_code == 200


def test_no_label_hides_an_id(server: Running) -> None:
    first = server.session()
    server.session(label=first.id)
    assert server.client.get(f"/v1/sessions/{first.id}").json()["id"] == first.id
    gone = "s_" + "0" * 24
    server.session(label=gone)
    assert server.client.get(f"/v1/sessions/{gone}").json()["code"] == "session_not_found"


def test_a_session_described(named: Client) -> None:
    reply = named.get("/snapshot", params={"data": "none"})
    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/json")
    found = reply.json()
    assert set(found["tensors"]) == {"a", "b", "c"}
    assert set(found["optimizers"]) == {"o"}
    assert found["session"]["draws"] == 0
    named.steps({"tensor": "large", "value": [0.5] * 100_000})
    assert len(named.get("/snapshot?data=none").content) < 20_000
    assert named.get("/snapshot?data=some").json()["code"] == "invalid_request"


def test_names_outlive_the_server(tmp_path: object) -> None:
    with served(str(tmp_path)) as server:
        session = made(server.client, label="kept")
        for step in (
            {"tensor": "t1", "value": [1.0], "requires_grad": True},
            {"rename": {"t1": "body.weight"}},
            {"op": "exp", "args": ["body.weight"], "out": "y"},
        ):
            assert do(server.client, session, step).status_code == 200
        server.kill()
    with served(str(tmp_path)) as server:
        found = server.client.get("/v1/sessions/kept/tensors").json()["items"]
        assert [one["name"] for one in found] == ["body.weight", "y"]
        made_of = server.client.get("/v1/sessions/kept/snapshot", headers={"accept": "*/*"})
        other = server.client.post(
            "/v1/sessions",
            content=made_of.content,
            headers={"content-type": "application/x-safetensors"},
        ).json()
        forked = server.client.post(f"/v1/sessions/{session}/fork").json()
        for key in (other["id"], forked["id"]):
            found = server.client.get(f"/v1/sessions/{key}/tensors").json()["items"]
            assert [one["name"] for one in found] == ["body.weight", "y"]
