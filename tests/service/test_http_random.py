"""Random state over REST: seeds, states that are set, generators of single steps."""

from __future__ import annotations

from tests.service.conftest import Client, Running

SEVEN = {"seed": 7}


def drawn(name: str, **fields: object) -> dict:
    return {"op": "rand", "args": [[3]], "out": name, **fields}


def test_a_state_that_is_read_can_be_set(session: Client) -> None:
    session.steps(SEVEN, drawn("a"), drawn("b"))
    state = session.get("").json()["random"]
    assert state == {"seed": 7, "draws": 2}
    values = session.steps(drawn("c"), state, drawn("d"), returns=("b", "c", "d"))
    assert values["c"]["data"] == values["d"]["data"] != values["b"]["data"]


def test_a_generator_leaves_the_session_alone(session: Client) -> None:
    values = session.steps(
        SEVEN, drawn("a"), drawn("b"), SEVEN, drawn("c"),
        drawn("own", generator=SEVEN), drawn("next", generator={"seed": 7, "draws": 1}),
        {"tensor": "w", "value": [0.0, 0.0, 0.0]},
        {"op": "uniform_", "args": ["w"], "generator": SEVEN},
        drawn("d"),
        returns=("a", "b", "c", "own", "next", "w", "d"),
    )  # fmt: skip
    found = {name: value["data"] for name, value in values.items()}
    assert found["a"] == found["c"] == found["own"] == found["w"]
    assert found["b"] == found["d"] == found["next"] != found["a"]
    assert session.get("").json()["random"] == {"seed": 7, "draws": 2}


def test_the_last_state_that_can_be_set_is_drawn_from_and_kept(
    server: Running, session: Client
) -> None:
    state = {"seed": 2**64 - 1, "draws": 2**62 - 1}
    session.steps(state, drawn("a"), drawn("b"))
    file = session.get("/snapshot")
    again = server.client.post(
        "/v1/sessions",
        content=file.content,
        headers={"content-type": file.headers["content-type"]},
    ).json()
    assert server.client.get(f"/v1/sessions/{again['id']}").json()["random"] == {
        "seed": 2**64 - 1,
        "draws": 2**62 + 1,
    }
