"""Steps of every kind, and what of a session they change."""

from __future__ import annotations

import pytest
from tests.service.conftest import Client, Running

X = {"tensor": "x", "value": [1.0, 2.0, 3.0], "requires_grad": True}
SQUARE = [
    X,
    {"op": "mul", "args": ["x", "x"], "out": "y"},
    {"op": "sum", "args": ["y"], "out": "z"},
]


def test_a_tensor_without_a_dtype(session: Client) -> None:
    values = session.steps(
        {"tensor": "i", "value": [1, 2]},
        {"tensor": "f", "value": [1, 2.5]},
        {"tensor": "b", "value": [True]},
        {"tensor": "g", "value": [1, 2], "requires_grad": True},
        {"tensor": "d", "value": [1, 2], "dtype": "float16"},
        {"tensor": "c", "value": {"complex": [1, -2]}},
        returns=("i", "f", "b", "g", "d", "c"),
    )
    assert {name: value["dtype"] for name, value in values.items()} == {
        "i": "int64", "f": "float32", "b": "bool", "g": "float32", "d": "float16",
        "c": "complex64",
    }  # fmt: skip
    assert values["c"]["data"] == [1.0, -2.0]


def test_the_default_dtype_of_a_session(server: Running) -> None:
    session = server.session(dtype="float64")
    values = session.steps(
        {"tensor": "g", "value": [1, 2], "requires_grad": True},
        {"op": "true_divide", "args": ["g", 3], "out": "t"},
        {"op": "zeros", "args": [[2]], "out": "o"},
        returns=("g", "t", "o"),
    )
    assert {value["dtype"] for value in values.values()} == {"float64"}
    assert server.session().steps(X, returns=("x",))["x"]["dtype"] == "float32"


def test_numbers_in_a_tensor_slot_are_weak(session: Client) -> None:
    values = session.steps(
        {"tensor": "h", "value": [1.0], "dtype": "float16"},
        {"op": "mul", "args": ["h", 2.5], "out": "a"},
        {"op": "mul", "args": ["h", [2.5]], "out": "b"},
        {"op": "mul", "args": ["h", {"complex": [0, 1]}], "out": "c"},
        {"op": "mul", "args": ["h", "Infinity"], "out": "d"},
        returns=("a", "b", "c", "d"),
    )
    assert [values[name]["dtype"] for name in "abcd"] == [
        "float16", "float32", "complex64", "float16",
    ]  # fmt: skip
    assert values["d"]["data"] == ["Infinity"]


def test_arguments_by_name_and_lists_of_tensors(session: Client) -> None:
    values = session.steps(
        {"tensor": "a", "value": [[1.0, 2.0]]},
        {"tensor": "b", "value": [[3.0, 4.0]]},
        {"op": "cat", "args": [["a", "b"]], "kwargs": {"dim": 1}, "out": "c"},
        {"op": "add", "args": ["a"], "kwargs": {"other": "b", "alpha": 2}, "out": "d"},
        {"op": "stack", "kwargs": {"tensors": ["a", [[5.0, 6.0]]]}, "out": "e"},
        returns=("c", "d", "e"),
    )
    assert values["c"]["data"] == [[1.0, 2.0, 3.0, 4.0]]
    assert values["d"]["data"] == [[7.0, 10.0]]
    assert values["e"]["shape"] == [2, 1, 2]


@pytest.mark.parametrize(
    ("index", "data"),
    [
        (0, [1.0, 2.0, 3.0]),
        (-1, [4.0, 5.0, 6.0]),
        ({"slice": [0, 1, None]}, [[1.0, 2.0, 3.0]]),
        ({"slice": [1]}, [[4.0, 5.0, 6.0]]),
        ({"index": ["...", 0]}, [1.0, 4.0]),
        ({"index": [0, {"slice": [None, None, 2]}]}, [1.0, 3.0]),
        ({"index": [None, 1, 2]}, [6.0]),
        ([1, 0], [[4.0, 5.0, 6.0], [1.0, 2.0, 3.0]]),
        ({"index": [[0, 1], [2, 0]]}, [3.0, 4.0]),
        ("k", [[4.0, 5.0, 6.0]]),
        ({"index": ["...", "k"]}, [[2.0], [5.0]]),
        ({"dtype": "int64", "data": [0, 0]}, [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]),
        ([True, False], [[1.0, 2.0, 3.0]]),
        ([], []),
    ],
)
def test_indices(session: Client, index: object, data: object) -> None:
    values = session.steps(
        {"tensor": "x", "value": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]},
        {"tensor": "k", "value": [1]},
        {"op": "__getitem__", "args": ["x", index], "out": "y"},
        returns=("y",),
    )
    assert values["y"]["data"] == data


def test_places_in_a_list_written_to(session: Client) -> None:
    """A null keeps an axis whole, in place as elsewhere; a number in it is refused."""
    given = (
        {"tensor": "x", "value": [[1.0, 2.0], [3.0, 4.0]]},
        {"tensor": "i", "value": [1]},
        {"tensor": "v", "value": 5.0},
    )
    values = session.steps(
        *given,
        {"op": "index_put", "args": ["x", [None, "i"], "v"], "out": "y"},
        {"op": "index_put_", "args": ["x", [None, "i"], "v"]},
        returns=("x", "y"),
    )
    assert values["x"]["data"] == values["y"]["data"] == [[1.0, 5.0], [3.0, 5.0]]
    for step in ({"op": "index_put", "out": "y"}, {"op": "index_put_"}):
        asked = [*given, step | {"args": ["x", [1, "i"], "v"]}]
        reply = session.post("/steps", {"steps": asked})
        assert reply.status_code == 422, reply.json()
        assert "indices must be a tensor" in reply.json()["detail"]


def test_out_of_several_results(session: Client) -> None:
    values = session.steps(
        X,
        {"op": "split", "args": ["x", 1], "out": "p"},
        {"op": "split", "args": ["x", 1], "out": ["a", None, "c"]},
        {"op": "max", "args": ["x", 0], "out": ["m", "i"]},
        {"op": "max", "args": ["x", 0], "out": "q"},
        {"op": "sin", "args": ["x"]},
        returns=("p.0", "p.1", "p.2", "a", "c", "m", "i", "q.0", "q.1"),
    )
    assert [values[n]["data"] for n in ("p.0", "p.1", "p.2")] == [[1.0], [2.0], [3.0]]
    assert (values["a"]["data"], values["c"]["data"]) == ([1.0], [3.0])
    assert (values["m"]["data"], values["i"]["data"]) == (3.0, 2)
    assert (values["q.0"]["data"], values["q.1"]["data"]) == (3.0, 2)
    names = {item["name"] for item in session.get("/tensors").json()["items"]}
    assert names == {"x", "p.0", "p.1", "p.2", "a", "c", "m", "i", "q.0", "q.1"}


def test_a_name_is_a_variable(session: Client) -> None:
    values = session.steps(
        *SQUARE,
        {"tensor": "x", "value": [9.0]},
        {"tensor": "y", "value": [8.0]},
        {"grad": {"outputs": ["z"], "inputs": ["z"]}, "out": ["g"]},
        {"op": "mul", "args": ["z", 2], "out": "z"},
        {"backward": {"tensors": ["z"]}},
        returns=("x", "z", "x.grad", "g"),
    )
    assert values["x"]["data"] == [9.0]
    assert values["z"]["data"] == 28.0
    assert values["x.grad"] is None  # the leaf of that name got none: it has no part in z
    assert values["g"]["data"] == 1.0


def test_a_gradient_is_an_operand_and_written_in_place(session: Client) -> None:
    values = session.steps(
        *SQUARE,
        {"backward": {"tensors": ["z"]}},
        {"op": "mul", "args": ["x.grad", 2], "out": "g"},
        {"op": "mul_", "args": ["x.grad", 0.5]},
        {"op": "sub_", "args": ["x", "x.grad"], "grad_mode": "no_grad"},
        returns=("g", "x.grad", "x"),
    )
    assert values["g"]["data"] == [4.0, 8.0, 12.0]
    assert values["x.grad"]["data"] == [1.0, 2.0, 3.0]
    assert values["x.grad"]["version"] == 1
    assert values["x"]["data"] == [0.0, 0.0, 0.0]
    assert values["x"]["requires_grad"]


def test_grad_names_its_results(session: Client) -> None:
    values = session.steps(
        *SQUARE,
        {"tensor": "w", "value": 1.0, "requires_grad": True},
        {
            "grad": {
                "outputs": ["z"], "inputs": ["x", "w", "y"], "allow_unused": True,
                "create_graph": True,
            },
            "out": ["gx", "gw", None],
        },
        {"op": "sum", "args": ["gx"], "out": "s"},
        {"backward": {"tensors": ["s"]}},
        returns=("gx", "gw", "x.grad"),
    )  # fmt: skip
    assert values["gx"]["data"] == [2.0, 4.0, 6.0]
    assert values["gx"]["requires_grad"]
    assert values["gw"] is None
    assert values["x.grad"]["data"] == [2.0, 2.0, 2.0]


def test_cotangents_of_every_kind(session: Client) -> None:
    session.steps(*SQUARE, {"tensor": "v", "value": [1.0, 0.0, 2.0]})
    for cotangent, expected in (
        ("v", [2.0, 0.0, 12.0]),
        ([1, 1, 1], [2.0, 4.0, 6.0]),
        ({"dtype": "float32", "shape": [3], "data": [0, 1, 0]}, [0.0, 4.0, 0.0]),
    ):
        reply = session.post(
            "/grad",
            {"outputs": ["y"], "inputs": ["x"], "grad_outputs": [cotangent], "retain_graph": True},
        )
        assert reply.json()["grads"][0]["data"] == expected
    reply = session.post(
        "/grad",
        {"outputs": ["z", "y"], "inputs": ["x"], "grad_outputs": [None, "v"], "out": ["g"]},
    )
    assert reply.json()["grads"][0]["data"] == [4.0, 4.0, 18.0]
    assert session.data("g") == [4.0, 4.0, 18.0]


def test_backward_sums_and_zero_grad_clears(session: Client) -> None:
    twice = {"backward": {"tensors": ["z"], "retain_graph": True}}
    session.steps(*SQUARE, twice, twice)
    assert session.data("x.grad") == [4.0, 8.0, 12.0]
    session.steps({"zero_grad": ["x"], "set_to_none": False})
    assert session.data("x.grad") == [0.0, 0.0, 0.0]
    session.steps(twice)
    assert session.data("x.grad") == [2.0, 4.0, 6.0]
    session.steps({"zero_grad": "all"})
    assert session.data("x.grad") is None
    session.post("/backward", {"tensors": ["z"], "inputs": ["x"]})
    assert session.data("x.grad") == [2.0, 4.0, 6.0]


def test_set_grad(session: Client) -> None:
    session.steps(X, {"tensor": "g", "value": [1.0, 1.0, 1.0]})
    session.steps({"set_grad": "x", "value": "g"})
    assert session.data("x.grad") == [1.0, 1.0, 1.0]
    session.steps({"set_grad": "x", "value": [4, 5, 6]})
    assert session.data("x.grad") == [4.0, 5.0, 6.0]
    session.steps({"set_grad": "x", "value": None})
    assert session.data("x.grad") is None


def test_retain_grad_and_requires_grad(session: Client) -> None:
    values = session.steps(
        *SQUARE,
        {"retain_grad": "y"},
        {"backward": {"tensors": ["z"]}},
        {"requires_grad": "x", "value": False},
        {"op": "mul", "args": ["x", 2], "out": "w"},
        returns=("y.grad", "x", "w"),
    )
    assert values["y.grad"]["data"] == [1.0, 1.0, 1.0]
    assert not values["x"]["requires_grad"]
    assert not values["w"]["requires_grad"]


def test_detach_shares_the_storage(session: Client) -> None:
    values = session.steps(
        *SQUARE,
        {"detach": "y", "out": "d"},
        {"op": "mul_", "args": ["d", 10]},
        returns=("y", "d"),
    )
    assert values["y"]["data"] == values["d"]["data"] == [10.0, 40.0, 90.0]
    assert values["y"]["version"] == values["d"]["version"] == 1
    assert not values["d"]["requires_grad"]


def test_a_seed_repeats_random_numbers(server: Running) -> None:
    draw = {"op": "rand", "args": [[4]], "out": "r"}
    first = server.session(seed=3).steps(draw, returns=("r",))["r"]["data"]
    session = server.session()
    assert session.steps(draw, returns=("r",))["r"]["data"] != first
    assert session.steps({"seed": 3}, draw, returns=("r",))["r"]["data"] == first
    assert session.steps(draw, returns=("r",))["r"]["data"] != first


def test_free_forgets_names_and_the_graph_keeps_what_it_needs(session: Client) -> None:
    session.steps(*SQUARE, {"free": ["y"]}, {"backward": {"tensors": ["z"]}})
    assert session.data("x.grad") == [2.0, 4.0, 6.0]
    assert session.get("/tensors/y").json()["code"] == "tensor_not_found"


def test_grad_modes(session: Client) -> None:
    double = {"op": "mul", "args": ["x", 2]}
    values = session.steps(
        X,
        double | {"out": "a"},
        double | {"out": "b", "grad_mode": "no_grad"},
        double | {"out": "c", "grad_mode": "inference_mode"},
        double | {"out": "d"},
        returns=("a", "b", "c", "d"),
    )
    assert [values[name]["requires_grad"] for name in "abcd"] == [True, False, False, True]
    values = session.steps(
        double | {"out": "a"},
        double | {"out": "b", "grad_mode": "enable_grad"},
        returns=("a", "b"),
        grad_mode="no_grad",
    )
    assert [values[name]["requires_grad"] for name in "ab"] == [False, True]


def test_source_in_place_of_ops(session: Client) -> None:
    session.steps(X)
    reply = session.post(
        "/ops",
        {
            "source": "y = x ** 2 + 1\na, b = y.split([1, 2])\nz = (a * b.sum()).sum()\n"
            "n = y.clone()\nn += 1",
            "return": ["z", "n"],
        },
    )  # fmt: skip
    assert reply.json()["values"]["z"]["data"] == 30.0
    assert reply.json()["values"]["n"]["data"] == [3.0, 6.0, 11.0]
    names = {item["name"] for item in session.get("/tensors").json()["items"]}
    assert names == {"x", "y", "a", "b", "z", "n"}


def test_data_none_and_base64(session: Client) -> None:
    body = {"steps": [X], "return": ["x", "x.grad"]}
    assert "data" not in session.post("/steps?data=none", body).json()["values"]["x"]
    value = session.post("/steps?data=base64", body).json()["values"]
    assert value["x"]["base64"] == "AACAPwAAAEAAAEBA"
    assert value["x.grad"] is None


def test_differences_of_differences_end_where_nothing_is_left(server: Running) -> None:
    """However many are asked for."""
    step = {"op": "diff", "args": [[1.0, 4.0, 9.0]], "kwargs": {"n": 2**62}, "out": "d"}
    assert server.session().steps(step, returns=("d",))["d"]["shape"] == [0]


def test_numpys_words_for_parameters_are_taken_as_torch_takes_them(session: Client) -> None:
    step = {"op": "sum", "args": ["x"], "kwargs": {"axis": 0, "keepdims": True}, "out": "y"}
    found = session.steps({"tensor": "x", "value": [[1.0, 2.0], [3.0, 4.0]]}, step, returns=("y",))
    assert found["y"]["data"] == [[4.0, 6.0]]


def test_hooks_at_one_tensor_are_bounded(server: Running) -> None:
    """Each is kept with all before it until the request ends."""
    session = server.session()
    leaf = {"tensor": "x", "value": 1.0, "requires_grad": True}
    hook = {"hook": "x", "out": "g"}
    assert session.refused(leaf, *[hook] * 1001)["code"] == "limit_exceeded"
    session.steps(leaf, *[hook] * 1000)
