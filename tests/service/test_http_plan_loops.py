"""plan of programs with loops and branches: a loop is one region, with those of a step inside."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from tests.service.conftest import Running
from tests.service.test_http_plan import body, plan
from tests.service.test_http_programs import source, stored

DECAY = "d = h @ w\ne = tanh(d)"
STEPS, ROWS, SIDE = 50, 4, 64
SHAPES = {"h": [ROWS, SIDE], "w": [SIDE, SIDE]}
PRODUCT, ELEMENTS = 2 * ROWS * SIDE * SIDE, ROWS * SIDE


def scanning(server: Running, *outputs: str, **more: Any) -> str:
    """A program that takes many steps, and adds up what comes of each."""
    step = source(server, DECAY, "h w", "e d")
    scan = {"scan": step, "init": ["h"], "args": ["w"], "length": STEPS, "out": ["last", "all"]}
    ops = [scan | more, {"op": "sum", "args": ["all"], "out": "z"}]
    return stored(server, inputs=["h", "w"], ops=ops, outputs=["z", *outputs])


def loops(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [region for region in found["regions"] if region["how"] == "loop"]


def test_a_scan_is_one_region(server: Running) -> None:
    found = plan(server, scanning(server, "last"), **SHAPES)
    assert found["outputs"] == {
        "z": {"dtype": "float32", "shape": []}, "last": {"dtype": "float32", "shape": SHAPES["h"]},
    }  # fmt: skip
    loop, total = found["regions"]
    assert (loop["ops"], loop["how"], loop["times"]) == (["scan"], "loop", STEPS)
    assert loop["reads"] == ["h", "w"]
    assert loop["gives"] == {"last": 0}
    assert loop["outputs"][1] == {"dtype": "float32", "shape": [STEPS, ROWS, SIDE]}
    assert (total["ops"], total["reads"], total["gives"]) == (["sum"], [[0, 1]], {"z": 0})
    (inside,) = loop["inside"]
    assert [region["ops"] for region in inside] == [["matmul"], ["tanh"]]
    assert inside[0]["reads"] == ["carry.0", "args.0"]
    assert [region["gives"] for region in inside] == [{"ys.0": 0}, {"carry.0": 0}]
    assert loop["flops"] == STEPS * sum(r["flops"] for r in inside) == STEPS * (PRODUCT + ELEMENTS)
    assert loop["bytes_moved"] == STEPS * sum(region["bytes_moved"] for region in inside)
    assert found["flops"] == loop["flops"] + STEPS * ELEMENTS
    collected = 4 * STEPS * ELEMENTS
    assert collected < found["peak_bytes"] < 2 * collected


@pytest.mark.parametrize("more", [{}, {"reverse": True}, {"checkpoint": True}])
def test_its_way_back_is_another(server: Running, more: dict[str, Any]) -> None:
    found = plan(server, scanning(server, **more), "value_and_grad", **SHAPES)
    assert found["grads"] == {n: {"dtype": "float32", "shape": s} for n, s in SHAPES.items()}
    there, back = loops(found)[0], loops(found)[-1]
    assert there is not back
    again = 2 if more.get("checkpoint") else 1  # segments run once more, op by op
    products = 1 + again + 2  # there; made again on the way back; two gradients of each
    assert found["flops"] >= products * STEPS * PRODUCT
    assert found["flops"] <= (products + 1) * STEPS * PRODUCT
    assert {name for region in found["regions"] for name in region["gives"]} >= {"grads.w"}


def test_while_loops_count_by_their_bound(server: Running) -> None:
    goes_on = source(server, "c = (h * h).sum() > 1", "h", "c")
    step = source(server, "g = h * 0.5", "h", "g")
    loop = {"while_loop": goes_on, "body_fn": step, "init": ["h"], "out": ["last"]}
    for bound, times in ((None, 1), (7, 7)):
        ops = [loop | ({} if bound is None else {"bound": bound})]
        key = stored(server, inputs=["h"], ops=ops, outputs=["last"])
        (region,) = plan(server, key, h=[10])["regions"]
        assert (region["ops"], region["times"]) == (["while_loop"], times)
        condition, inside = region["inside"]
        assert [r["ops"] for r in condition] == [["mul"], ["sum"], ["gt"]]
        assert [r["ops"] for r in inside] == [["mul"]]
        assert region["flops"] == times * 30


def test_of_a_branch_the_larger_counts(server: Running) -> None:
    small, large = source(server, "y = x * 2", "x", "y"), source(server, "y = x @ x", "x", "y")
    for one, other in ((small, large), (large, small)):
        ops = [
            {"op": "sum", "args": ["x"], "out": "s"}, {"op": "gt", "args": ["s", 0], "out": "p"},
            {"cond": "p", "true_fn": one, "false_fn": other, "args": ["x"], "out": ["y"]},
        ]  # fmt: skip
        key = stored(server, inputs=["x"], ops=ops, outputs=["y"])
        found = plan(server, key, x=[8, 8])
        assert found["regions"][-1]["ops"] == ["matmul"]
        assert found["flops"] == 2 * 8**3  # what it is chosen by isn't among it


def test_loops_in_loops_and_random_numbers_in_them(server: Running) -> None:
    inner = source(server, "k = h * rand(3)", "h", "k")
    scan = {"scan": inner, "init": ["h"], "length": 5, "out": ["k"]}
    step = stored(server, inputs=["h"], ops=[scan], outputs=["k"])
    outer = {"scan": step, "init": ["h"], "length": 7, "out": ["last"]}
    key = stored(server, inputs=["h"], ops=[outer], outputs=["last"])
    (region,) = plan(server, key, h=[3])["regions"]
    ((within,),) = region["inside"]
    assert (region["times"], within["times"]) == (7, 5)
    assert [r["ops"] for r in within["inside"][0]] == [["rand"], ["mul"]]
    assert region["flops"] == 7 * within["flops"] == 7 * 5 * 3


def test_a_loop_in_a_picture(server: Running) -> None:
    path = f"/v1/programs/{scanning(server)}/plan"
    reply = server.client.post(path, params={"format": "svg"}, json=body(None, SHAPES))
    drawn = ElementTree.fromstring(reply.text).iter("{http://www.w3.org/2000/svg}text")
    assert f"scan × {STEPS}" in [text.text for text in drawn]


def test_what_is_wrong_with_a_step_is_told(server: Running) -> None:
    step = source(server, "g = torch.cat([h, h])", "h", "g")
    doubling = {"scan": step, "init": ["h"], "length": 100, "out": ["last"]}
    key = stored(server, inputs=["h"], ops=[doubling], outputs=["last"])
    reply = server.client.post(f"/v1/programs/{key}/plan", json=body(None, {"h": [3]}))
    assert reply.json()["code"] == "shape_mismatch"
    looking = source(server, "i = h.nonzero()\ng = h * 1", "h", "g")
    ops = [{"scan": looking, "init": ["h"], "length": 100, "out": ["last"]}]
    key = stored(server, inputs=["h"], ops=ops, outputs=["last"])
    reply = server.client.post(f"/v1/programs/{key}/plan", json=body(None, {"h": [3]}))
    assert reply.json()["code"] == "data_dependent_shape"


def test_thousands_of_loops_are_told_and_not_shown(server: Running) -> None:
    """Each level has two loops of the level below it."""
    key = source(server, "g = h * 0.5 + sin(h)", "h", "g")
    for _ in range(13):
        ops = [
            {"scan": key, "init": [one], "length": 3, "out": [other]} for one, other in ("ha", "ab")
        ]
        key = stored(server, inputs=["h"], ops=ops, outputs=["b"])
    reply = server.client.post(f"/v1/programs/{key}/plan", json=body("jacobian", {"h": [5]}))
    assert reply.status_code == 200
    assert len(reply.content) < 2**22
    assert b'"inside":null' in reply.content
    assert plan(server, key, h=[5])["flops"] == 6**13 * 15


def test_a_branch_without_a_gradient_doesnt_hide_the_others(server: Running) -> None:
    fixed, moves = (
        source(server, text, "x", "y") for text in ("y = (x @ x).detach()", "y = x * 2")
    )
    for one, other in ((fixed, moves), (moves, fixed)):
        ops = [
            {"op": "sum", "args": ["x"], "out": "s"}, {"op": "gt", "args": ["s", 0], "out": "p"},
            {"cond": "p", "true_fn": one, "false_fn": other, "args": ["x"], "out": ["y"]},
            {"op": "sum", "args": ["y"], "out": "z"},
        ]  # fmt: skip
        key = stored(server, inputs=["x"], ops=ops, outputs=["z"])
        found = plan(server, key, "value_and_grad", x=[8, 8])
        assert found["grads"] == {"x": {"dtype": "float32", "shape": [8, 8]}}
