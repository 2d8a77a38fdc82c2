"""Hooks, custom functions, checkpoints and anomaly mode over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from tests.service.conftest import Running
from tests.service.snapshots import FILE


def program(server: Running, text: str, inputs: str = "g", outputs: str = "out") -> str:
    body = {"inputs": inputs.split(), "source": text, "outputs": outputs.split()}
    reply = server.client.post("/v1/programs", json=body)
    assert reply.status_code in (200, 201), reply.text
    return str(reply.json()["id"])


class Talk:
    """One session and what is posted to it."""

    def __init__(self, server: Running, **asked: Any) -> None:
        self.client = server.client
        self.id = self.client.post("/v1/sessions", json=asked).json()["id"]

    def post(self, *steps: dict[str, Any], returns: str = "", **rest: Any) -> Any:
        body = {"steps": list(steps), "return": returns.split(), **rest}
        return self.client.post(f"/v1/sessions/{self.id}/steps", json=body)

    def values(self, *steps: dict[str, Any], returns: str, **rest: Any) -> list[Any]:
        reply = self.post(*steps, returns=returns, **rest)
        assert reply.status_code == 200, reply.text
        return [v and v["data"] for v in reply.json()["values"].values()]

    def refused(self, code: str, *steps: dict[str, Any], **rest: Any) -> str:
        reply = self.post(*steps, **rest).json()
        assert reply.get("code") == code, reply
        return str(reply["detail"])


LEAF = {"tensor": "x", "value": [1, 2], "requires_grad": True}
DOUBLE = {"op": "mul", "args": ["x", 2], "out": "h"}
TOTAL = [{"op": "mul", "args": ["h", 3], "out": "y"}, {"op": "sum", "args": ["y"], "out": "z"}]
BACK = {"backward": {"tensors": ["z"], "retain_graph": True}}


# hooks


def test_a_program_replaces_the_gradient_until_it_is_unhooked(server: Running) -> None:
    talk, ten = Talk(server), program(server, "out = g * 10")
    hooked = {"hook": "h", "program": ten, "id": "ten"}
    steps = [LEAF, DOUBLE, {"retain_grad": "h"}, hooked, *TOTAL, BACK]
    assert talk.values(*steps, returns="x.grad h.grad") == [[60, 60], [30, 30]]
    zero = {"zero_grad": "all"}
    assert talk.values({"unhook": "ten"}, zero, BACK, returns="x.grad") == [[6, 6]]


def test_a_name_for_what_arrives(server: Running) -> None:
    talk, ten = Talk(server), program(server, "out = g * 10")
    steps = [
        LEAF,
        DOUBLE,
        {"hook": "h", "out": "before"},
        {"hook": "h", "program": ten},
        {"hook": "h", "program": ten, "observes": True, "out": "after"},
        *TOTAL,
        BACK,
    ]
    assert talk.values(*steps, returns="before after x.grad") == [[3, 3], [30, 30], [60, 60]]


def test_a_hook_takes_what_another_one_saw(server: Running) -> None:
    talk, both = Talk(server), program(server, "out = g + seen * 10", inputs="g seen")
    steps = [LEAF, DOUBLE, TOTAL[0], {"hook": "y", "out": "seen"}, TOTAL[1]]
    later = {"hook": "h", "program": both, "args": ["seen"], "id": "later"}
    assert talk.values(*steps, later, BACK, returns="x.grad seen") == [[26, 26], [1, 1]]
    saved = talk.client.get(f"/v1/sessions/{talk.id}/snapshot")
    copy = talk.client.post("/v1/sessions", content=saved.content, headers=FILE)
    assert copy.status_code == 201, copy.text
    talk.id = copy.json()["id"]
    free = {"free": ["seen"]}
    assert talk.values({"zero_grad": "all"}, free, BACK, returns="x.grad") == [[26, 26]]
    assert "'nobody'" in talk.refused("tensor_not_found", {**later, "args": ["nobody"], "id": "x"})


def test_what_arrives_in_a_batched_walk_has_no_name(server: Running) -> None:
    talk = Talk(server)
    talk.values(LEAF, DOUBLE, {"hook": "h", "out": "seen"}, *TOTAL, returns="z")
    rows = {"tensor": "rows", "value": [[1, 0], [0, 1]]}
    walk = {
        "grad": {"outputs": ["y"], "inputs": ["x"], "grad_outputs": ["rows"]}
        | {"is_grads_batched": True, "retain_graph": True},
        "out": ["g"],
    }
    assert "'seen'" in talk.refused("untraceable", rows, walk)
    assert talk.values(BACK, returns="x.grad seen") == [[6, 6], [3, 3]]


def test_names_for_what_a_hook_makes_on_the_way(server: Running) -> None:
    talk, twice = Talk(server), program(server, "half = g * 0.5\nout = half * 4")
    keep = {"g": "came", "half": "halved"}
    steps = [LEAF, DOUBLE, {"hook": "h", "program": twice, "keep": keep}, *TOTAL, BACK]
    assert talk.values(*steps, returns="came halved x.grad") == [[3, 3], [1.5, 1.5], [12, 12]]


def test_a_result_may_be_an_absent_gradient(server: Running) -> None:
    talk = Talk(server)
    ten = program(server, "first = a * 10", "a b g", "first b")
    steps = [LEAF, DOUBLE, {"hook": "h", "program": ten, "kind": "node"}, *TOTAL, BACK]
    assert talk.values(*steps, returns="x.grad") == [[60, 60]]


def test_a_post_accumulate_program_takes_a_step(server: Running) -> None:
    talk = Talk(server)
    step = program(server, "w -= g * 0.5\nout = w", "w g")
    steps = [
        LEAF,
        {"hook": "x", "kind": "post_accumulate", "program": step, "out": "seen"},
        DOUBLE,
        *TOTAL,
        BACK,
    ]
    assert talk.values(*steps, returns="x seen x.grad") == [[-2, -1], [6, 6], [6, 6]]


def test_tensors_that_a_program_uses_beside_the_gradient(server: Running) -> None:
    talk = Talk(server)
    scaled = program(server, "out = g * k", "g k")
    step = program(server, "w -= g * rate\nout = w", "w g rate")
    steps = [
        LEAF,
        {"tensor": "k", "value": [10.0, 100.0]},
        DOUBLE,
        {"hook": "h", "program": scaled, "args": ["k"]},
        {"hook": "x", "kind": "post_accumulate", "program": step, "args": [0.5]},
        {"free": ["k"]},
        *TOTAL,
        BACK,
    ]
    assert talk.values(*steps, returns="x.grad x") == [[60, 600], [-29, -298]]
    held = talk.client.get(f"/v1/sessions/{talk.id}").json()["bytes"]["values"]
    assert held >= 8 * 4 + 4  # x, h, y, k of two float32 each, z
    assert "takes 2" in talk.refused("invalid_argument", {"hook": "h", "program": scaled})


def test_hooks_of_nodes(server: Running) -> None:
    talk = Talk(server)
    after = program(server, "out = a + g\nb2 = g * 1", "a b g", "out b2")
    before = program(server, "out = g * 100")
    other = {"tensor": "k", "value": [5, 5], "requires_grad": True}
    steps = [
        LEAF,
        other,
        {"op": "mul", "args": ["x", "k"], "out": "h"},
        {"hook": "h", "kind": "node", "program": after, "out": "g_h"},
        {"hook": "h", "kind": "node_before", "program": before},
        *TOTAL,
        BACK,
    ]
    found = talk.values(*steps, returns="x.grad k.grad g_h")
    assert found == [[1800, 1800], [300, 300], [300, 300]]


def test_a_failed_request_undoes_hooks(server: Running) -> None:
    talk, ten = Talk(server), program(server, "out = g * 10")
    talk.values(LEAF, DOUBLE, *TOTAL, returns="x")
    talk.refused(
        "tensor_not_found",
        {"hook": "h", "program": ten, "id": "ten"},
        {"op": "exp", "args": ["nothing"], "out": "e"},
    )
    assert talk.values(BACK, returns="x.grad") == [[6, 6]]
    talk.values({"hook": "h", "program": ten, "id": "ten"}, returns="x")


def test_a_failing_hook_leaves_everything_as_it_was(server: Running) -> None:
    talk, wrong = Talk(server), program(server, "out = g.sum()")
    talk.values(LEAF, DOUBLE, {"hook": "h", "program": wrong}, *TOTAL, returns="x")
    assert "changed the size" in talk.refused("shape_mismatch", BACK)
    failing = program(server, "out = g @ g @ g")
    talk = Talk(server)
    talk.values(LEAF, DOUBLE, {"hook": "h", "program": failing}, *TOTAL, returns="x")
    reply = talk.post(BACK).json()
    assert (reply["step"], f"program {failing}, step 1" in reply["detail"]) == (0, True)


def test_a_fork_has_the_hooks_of_its_own(server: Running) -> None:
    talk, ten = Talk(server), program(server, "out = g * 10")
    hooked = {"hook": "h", "program": ten, "id": "ten", "out": "seen"}
    talk.values(LEAF, DOUBLE, hooked, *TOTAL, returns="x")
    other = Talk(server)
    other.id = talk.client.post(f"/v1/sessions/{talk.id}/fork").json()["id"]
    talk.values({"unhook": "ten"}, returns="x")
    assert other.values(BACK, returns="x.grad seen") == [[60, 60], [3, 3]]
    assert talk.values(BACK, returns="x.grad") == [[6, 6]]
    assert "seen" in talk.refused("tensor_not_found", returns="seen")


def test_refusals_of_hooks(server: Running) -> None:
    talk, ten = Talk(server), program(server, "out = g * 10")
    talk.values(LEAF, DOUBLE, returns="x")
    assert "needs a program" in talk.refused("invalid_request", {"hook": "h"})
    talk.refused("program_not_found", {"hook": "h", "program": "p_0"})
    talk.refused("tensor_not_found", {"hook": "nothing", "program": ten})
    talk.refused("not_found", {"unhook": "nothing"})
    twice = {"hook": "h", "program": ten, "id": "a"}
    assert "already" in talk.refused("invalid_argument", twice, twice)
    late = {"hook": "h", "kind": "post_accumulate", "program": ten}
    assert "2 inputs" in talk.refused("invalid_argument", late)
    assert "non-leaf" in talk.refused(
        "invalid_argument", {"hook": "h", "kind": "post_accumulate", "out": "o"}
    )
    constant = {"tensor": "c", "value": [1.0]}
    talk.refused("requires_no_grad", constant, {"hook": "c", "program": ten})
    talk.refused("requires_no_grad", constant, {"hook": "c", "kind": "node", "program": ten})


# edges


def test_an_edge_outlives_an_in_place_op(server: Running) -> None:
    talk = Talk(server)
    steps = [
        LEAF,
        DOUBLE,
        {"edge": "h", "out": "e"},
        {"op": "mul_", "args": ["h", 5]},
        {"op": "sum", "args": ["h"], "out": "z"},
        {"edge": "z", "out": "ez"},
        {"grad": {"outputs": ["ez"], "inputs": ["e", "h", "x"]}, "out": ["a", "b", "c"]},
    ]
    assert talk.values(*steps, returns="a b c") == [[5, 5], [1, 1], [10, 10]]
    talk.refused("requires_no_grad", {"tensor": "k", "value": 1.0}, {"edge": "k", "out": "ek"})


def test_an_edge_of_a_leaf_stands_for_the_leaf(server: Running) -> None:
    talk = Talk(server)
    back = {"backward": {"tensors": ["z"], "inputs": ["e"]}}
    steps = [LEAF, {"edge": "x", "out": "e"}, DOUBLE, *TOTAL, back]
    assert talk.values(*steps, returns="x.grad e.grad") == [[6, 6], None]


# anomaly


FAULTY = [
    {"tensor": "x", "value": [0, 1], "requires_grad": True},
    {"op": "sqrt", "args": ["x"], "out": "root"},
    {"op": "mul", "args": ["root", 0], "out": "y"},
    {"op": "sum", "args": ["y"], "out": "z"},
]


def test_anomaly_of_a_request(server: Running) -> None:
    talk = Talk(server)
    detail = talk.refused("nan_gradient", *FAULTY, BACK, anomaly=True)
    assert "'SqrtBackward0' returned nan values in its 0th output" in detail
    assert "step 1, tensor root" in detail
    assert talk.values(*FAULTY, BACK, returns="x.grad") == [["NaN", 0]]
    assert talk.post(BACK, anomaly={"check_nan": False}).status_code == 200
    talk.refused("invalid_request", BACK, anomaly={"check_inf": True})


def test_anomaly_of_a_session(server: Running) -> None:
    talk = Talk(server, detect_anomaly=True)
    talk.refused("nan_gradient", *FAULTY, BACK)
    assert talk.post(*FAULTY, BACK, anomaly=False).status_code == 200
    where = f"/v1/sessions/{talk.id}"
    assert talk.client.get(where).json()["detect_anomaly"] is True
    fork = talk.client.post(f"{where}/fork").json()
    assert fork["detect_anomaly"] is True
    patched = talk.client.patch(where, json={"detect_anomaly": False})
    assert patched.json()["detect_anomaly"] is False
    assert talk.post(BACK).status_code == 200
    other = talk.client.post(f"/v1/sessions/{fork['id']}/backward", json={"tensors": ["z"]})
    assert other.json()["code"] == "nan_gradient"


# custom functions


def square(server: Running, **more: Any) -> dict[str, Any]:
    forward = program(server, "y = x * x", "x", "y")
    back = program(server, "out = 10 * x * g", "x g")
    return {"call": forward, "args": ["x"], "backward": back, "save": ["x"], "out": "y", **more}


Z = {"op": "sum", "args": ["y"], "out": "z"}


def test_the_backward_program_decides(server: Running) -> None:
    talk = Talk(server)
    reply = talk.post(LEAF, square(server, name="Square"), Z, BACK, returns="x.grad y").json()
    assert reply["values"]["x.grad"]["data"] == [10, 20]
    assert reply["values"]["y"]["grad_fn"] == "SquareBackward"


def test_double_backward_through_it(server: Running) -> None:
    talk = Talk(server)
    steps = [
        LEAF,
        square(server),
        Z,
        {"grad": {"outputs": ["z"], "inputs": ["x"], "create_graph": True}, "out": ["first"]},
        {"op": "sum", "args": ["first"], "out": "s"},
        {"grad": {"outputs": ["s"], "inputs": ["x"]}, "out": ["second"]},
    ]
    assert talk.values(*steps, returns="first second") == [[10, 20], [10, 10]]
    once = [s | {"once_differentiable": True} if "call" in s else s for s in steps]
    talk.refused("requires_no_grad", *once)


def test_what_is_saved_may_be_made_in_the_forward(server: Running) -> None:
    talk = Talk(server)
    forward = program(server, "e = x.exp()\ny = e * 2", "x", "y")
    back = program(server, "out = e * 0 + y", "e y g")
    step = {"call": forward, "args": ["x"], "backward": back, "save": ["e", "y"], "out": "y"}
    found = talk.values(LEAF, step, Z, BACK, returns="x.grad y")
    assert found[0] == found[1]


def test_null_dirty_and_several_outputs(server: Running) -> None:
    talk = Talk(server)
    forward = program(server, "x *= 3\nb = k * 1", "x k", "x b")
    back = program(server, "out = g + h", "g h")
    step = {
        "call": forward, "args": ["h", 2.0], "backward": back, "null": ["k"], "dirty": ["x"],
        "non_differentiable": ["b"], "out": ["y", "b"],
    }  # fmt: skip
    reply = talk.post(LEAF, DOUBLE, step, Z, BACK, returns="x.grad h b").json()["values"]
    assert (reply["x.grad"]["data"], reply["h"]["data"]) == ([2, 2], [6, 12])
    assert (reply["h"]["version"], reply["h"]["grad_fn"]) == (2, "CustomBackward")
    assert reply["b"]["requires_grad"] is False


def test_refusals_of_custom_functions(server: Running) -> None:
    talk = Talk(server)
    good = square(server)
    talk.values(LEAF, returns="x")
    assert "goes with backward" in talk.refused(
        "invalid_request", {"call": good["call"], "args": ["x"], "save": ["x"]}
    )
    assert "checkpoint" in talk.refused("invalid_request", good | {"checkpoint": True})
    talk.refused("program_not_found", good | {"backward": "p_0"})
    assert "takes 2 inputs, and gets 1" in talk.refused("invalid_argument", good | {"save": []})
    talk.refused("tensor_not_found", good | {"save": ["nothing"]})
    assert "none of the program's outputs" in talk.refused(
        "invalid_argument", good | {"non_differentiable": ["q"]}
    )
    two = program(server, "out = x * g\nmore = g * 1", "x g", "out more")
    talk.refused("invalid_gradient", good | {"backward": two})
    short = program(server, "out = x.sum() * g.sum()", "x g")
    assert "shape compatible" in talk.refused(
        "invalid_gradient", good | {"backward": short}, Z, BACK
    )
    assert "no output" in talk.refused("invalid_argument", good | {"dirty": ["x"]})


# checkpoints


NET = "".join(f"h{i} = tanh(h{i - 1} @ w)\n" for i in range(1, 9)).replace("h0", "x", 1)


@pytest.mark.parametrize("create_graph", [False, True])
def test_checkpoints_hold_less_and_give_the_same(server: Running, create_graph: bool) -> None:
    net = program(server, NET, "x w", "h8")
    found = []
    for checkpoint in (False, True):
        talk = Talk(server, seed=1)
        steps = [
            {"op": "randn", "args": [64, 32], "out": "x"},
            {"op": "randn", "args": [32, 32], "out": "w"},
            {"requires_grad": "w", "value": True},
            {"call": net, "args": ["x", "w"], "checkpoint": checkpoint, "out": "y"},
            Z,
        ]
        assert talk.post(*steps).status_code == 200
        before = talk.client.get(f"/v1/sessions/{talk.id}").json()["bytes"]["saved"]
        back = {"backward": {"tensors": ["z"], "create_graph": create_graph}}
        found.append((before, talk.values(back, returns="w.grad z")))
        if not create_graph:
            assert talk.client.get(f"/v1/sessions/{talk.id}").json()["bytes"]["saved"] == 0
    (plain, a), (packed, b) = found
    assert a == b
    assert packed == 0 < plain  # x and w are counted as values


def test_a_checkpointed_argument_that_changes_is_found(server: Running) -> None:
    talk, net = Talk(server), program(server, "y = x.exp()", "x", "y")
    step = {"call": net, "args": ["h"], "checkpoint": True, "out": "y"}
    talk.values(LEAF, DOUBLE, step, Z, {"op": "mul_", "args": ["h", 2]}, returns="z")
    assert "argument 0" in talk.refused("modified_in_place", BACK)


def test_a_graph_with_a_checkpoint_is_drawn(server: Running) -> None:
    talk, net = Talk(server), program(server, NET, "x w", "h8")
    w = {"tensor": "w", "value": [[1, 2], [3, 4]], "requires_grad": True}
    x = {"tensor": "x", "value": [[1.0, 2.0]]}
    talk.values(
        x, w, {"call": net, "args": ["x", "w"], "checkpoint": True, "out": "y"}, returns="y"
    )
    talk.values(LEAF | {"tensor": "v"}, returns="v")
    talk.values(square(server) | {"args": ["v"], "out": "s"}, returns="s")
    for kind in ("json", "dot", "svg"):
        where = f"/v1/sessions/{talk.id}/graph?format={kind}"
        assert talk.client.get(where).status_code == 200
    nodes = talk.client.get(f"/v1/sessions/{talk.id}/graph").json()["nodes"]
    assert {"CustomBackward", "TanhBackward0"} <= {node["grad_fn"] for node in nodes}
