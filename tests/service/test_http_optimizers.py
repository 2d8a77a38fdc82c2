"""Optimisers over HTTP: made, changed, stepped, undone, forked, read, refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.service.conftest import Client, Running, running
from tests.service.state import dump

from gradwire_service.host.limits import Limits

W = {"tensor": "w", "value": [1.0, 2.0], "requires_grad": True}
G = {"set_grad": "w", "value": [1.0, 10.0]}
SGD = {"optimizer": "opt", "kind": "sgd", "params": ["w"], "lr": 0.5, "momentum": 0.5}


def _state(server: Running, session: Client) -> Any:
    return dump(server.service.host, session.id), session.get("/optimizers").json()


def values(session: Client, *steps: dict[str, Any], read: str = "w") -> Any:
    return session.steps(*steps, returns=(read,))[read]["data"]


def test_two_steps_with_momentum(session: Client) -> None:
    assert values(session, W, G, SGD, {"step": "opt"}) == [0.5, -3.0]
    # The buffer is 0.5 (1, 10) + (1, 10), and half of it is taken.
    assert values(session, {"step": "opt"}) == [-0.25, -10.5]
    assert session.steps(returns=("w",))["w"]["version"] == 2


def test_settings_change_and_state_stays(session: Client) -> None:
    session.steps(W, G, SGD, {"step": "opt"})
    changed = {"optimizer": "opt", "lr": 0.0}
    assert values(session, changed, {"step": "opt"}) == [0.5, -3.0]
    item = session.get("/optimizers").json()["items"][0]
    assert item["kind"] == "sgd"
    assert item["groups"][0] == {
        "params": ["w"], "lr": 0.0, "momentum": 0.5, "dampening": 0.0, "weight_decay": 0.0,
        "nesterov": False, "maximize": False,
    }  # fmt: skip
    assert item["state"][0]["momentum_buffer"]["data"] == [1.5, 15.0]


def test_groups_have_settings_of_their_own(session: Client) -> None:
    groups = [{"params": ["w"], "lr": 1.0}, {"params": ["b"]}]
    session.steps(
        W, G, {"tensor": "b", "value": [0.0], "requires_grad": True},
        {"set_grad": "b", "value": [1]},
        {"optimizer": "opt", "kind": "sgd", "groups": groups, "lr": 2.0}, {"step": "opt"},
    )  # fmt: skip
    assert values(session) == [0.0, -8.0]
    assert values(session, read="b") == [-2.0]


def test_a_failed_request_undoes_its_step(session: Client, server: Running) -> None:
    session.steps(W, G, SGD, {"step": "opt"})
    before = _state(server, session)
    session.refused({"step": "opt"}, {"optimizer": "opt", "lr": 3.0}, {"op": "sin", "args": ["no"]})
    assert _state(server, session) == before
    assert values(session, {"step": "opt"}) == [-0.25, -10.5]


def test_a_fork_has_its_own_moments(session: Client, server: Running) -> None:
    session.steps(W, G, SGD, {"step": "opt"})
    made = server.client.post(f"{session.path}/fork").json()["id"]
    fork = Client(server.client, made)
    assert values(fork, {"step": "opt"}) == [-0.25, -10.5]
    assert values(session, G, {"step": "opt"}) == [-0.25, -10.5]


def test_lbfgs_finds_the_minimum_with_a_program(session: Client, server: Running) -> None:
    source = "loss = ((w - target) ** 2 * t['scale']).sum()"
    program = {"inputs": ["w", "target", "scale"], "source": source, "outputs": ["loss"]}
    key = server.client.post("/v1/programs", json=program).json()["id"]
    found = session.steps(
        W, {"tensor": "target", "value": [3.0, -1.0]}, {"tensor": "scale", "value": [1.0, 9.0]},
        {"optimizer": "opt", "kind": "lbfgs", "params": ["w"], "line_search_fn": "strong_wolfe"},
        {"step": "opt", "closure": key, "out": "before"},
        returns=("w", "before"),
    )  # fmt: skip
    assert found["w"]["data"] == pytest.approx([3.0, -1.0], abs=1e-4)
    assert found["before"]["data"] == 85.0


def test_lbfgs_begins_anew_with_other_parameters(session: Client, server: Running) -> None:
    program = {"inputs": ["w"], "source": "loss = (w ** 4).sum()", "outputs": ["loss"]}
    key = server.client.post("/v1/programs", json=program).json()["id"]
    opt, step = {"optimizer": "opt", "kind": "lbfgs"}, {"step": "opt", "closure": key}
    session.steps(W, opt | {"params": ["w"]}, step)
    session.steps({"tensor": "b", "value": [1.0, 2.0, 3.0], "requires_grad": True})
    session.steps(opt | {"params": ["w", "b"]}, step)
    counted = session.get("/optimizers").json()["items"][0]["state"][0]["n_iter"]
    session.steps(opt | {"params": ["w", "b"], "lr": 0.5}, step)
    assert session.get("/optimizers").json()["items"][0]["state"][0]["n_iter"] > counted


def test_gradients_are_clipped_together(session: Client) -> None:
    clip = {"clip_grad_norm": ["w"], "max_norm": 1.0, "out": "norm"}
    session.steps(W, {"set_grad": "w", "value": [3.0, 4.0]}, clip)
    assert values(session, read="norm") == 5.0
    assert values(session, read="w.grad") == pytest.approx([0.6, 0.8], abs=1e-5)


def test_moments_are_counted_as_held(session: Client) -> None:
    session.steps({"op": "zeros", "args": [[1000]], "kwargs": {}, "out": "w"})
    session.steps(
        {"requires_grad": "w", "value": True}, {"op": "ones", "args": [[1000]], "out": "g"}
    )
    session.steps({"set_grad": "w", "value": "g"})
    before = session.get().json()["bytes"]["total"]
    session.steps({"optimizer": "opt", "kind": "adam", "params": ["w"]}, {"step": "opt"})
    assert session.get().json()["bytes"]["total"] - before == 8000


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ({"step": "none"}, "not_found"),
        ({"optimizer": "o", "params": ["w"]}, "invalid_request"),
        ({"optimizer": "o", "kind": "sgd"}, "invalid_request"),
        ({"optimizer": "o", "kind": "sgd", "params": []}, "invalid_argument"),
        ({"optimizer": "o", "kind": "best", "params": ["w"]}, "invalid_argument"),
        ({"optimizer": "o", "kind": "sgd", "params": ["w"], "lr": -1}, "invalid_argument"),
        ({"optimizer": "o", "kind": "sgd", "params": ["w"], "lr": "big"}, "invalid_argument"),
        ({"optimizer": "o", "kind": "sgd", "params": ["w"], "speed": 1}, "invalid_argument"),
        ({"optimizer": "o", "kind": "sgd", "params": ["w", "w"]}, "invalid_argument"),
        ({"optimizer": "o", "kind": "sgd", "params": ["y"]}, "invalid_argument"),
        ({"optimizer": "o", "kind": "sgd", "params": ["q"]}, "tensor_not_found"),
        ({"optimizer": "o", "kind": "sgd", "groups": [{}]}, "invalid_request"),
        ({"optimizer": "o", "kind": "adam", "params": ["w"], "betas": [1, 0]}, "invalid_argument"),
        ({"optimizer": "o", "kind": "adam", "params": ["w"], "betas": 3}, "invalid_argument"),
        ({"optimizer": "opt", "momentum": -1.0}, "invalid_argument"),
        ({"step": "l"}, "invalid_argument"),
        ({"step": "l", "closure": "p_none"}, "program_not_found"),
        ({"step": "opt", "out": "loss"}, "invalid_request"),
        ({"clip_grad_norm": ["q"], "max_norm": 1}, "tensor_not_found"),
        ({"clip_grad_norm": ["w"]}, "invalid_request"),
    ],
)
def test_what_is_refused_changes_nothing(
    session: Client, server: Running, step: dict[str, Any], code: str
) -> None:
    lbfgs = {"optimizer": "l", "kind": "lbfgs", "params": ["w"]}
    session.steps(W, G, SGD, lbfgs, {"op": "mul", "args": ["w", 2], "out": "y"})
    before = _state(server, session)
    assert session.refused(step)["code"] == code
    assert _state(server, session) == before


def test_the_parameters_of_all_optimisers_are_bounded() -> None:
    with running(Limits(names=5)) as server:
        session = server.session()
        params = [{"tensor": name, "value": 1.0, "requires_grad": True} for name in "wb"]
        opt = {"optimizer": "one", "kind": "sgd", "params": ["w", "b"]}
        session.steps(*params, opt, {**opt, "optimizer": "two"})
        assert session.refused({**opt, "optimizer": "three"})["code"] == "limit_exceeded"
        session.steps({**opt, "kind": "adam"}, {"free": ["two"]}, {**opt, "optimizer": "three"})
        names = [item["name"] for item in session.get("/optimizers").json()["items"]]
        assert names == ["one", "three"]


@pytest.mark.parametrize("kind", ["adam", "rmsprop", "adagrad"])
def test_state_that_lacks_something_is_refused_where_it_is_needed(
    session: Client, kind: str
) -> None:
    made = {"optimizer": "o", "kind": kind, "params": ["w"]}
    session.steps(W, G, made, {"optimizer": "o", "state": [{"step": 3}]})
    refused = session.refused({"step": "o"})
    assert refused["code"] == "invalid_argument"
    assert "the state that was loaded has no '" in refused["detail"]
