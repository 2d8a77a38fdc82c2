"""Snapshots that don't hold together are refused, whatever was changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.engine.calls import leaf, op, plain
from tests.engine.snapshots import refused


def _rows(data: dict[str, Any], kind: str) -> list[list[Any]]:
    return [row for row in data["cells"] if row[0] == kind]


def _set(kind: str, place: int, value: Any, row: int = 0) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        _rows(data, kind)[row][place] = value

    return change


def _swap_moments(data: dict[str, Any]) -> None:
    rows = _rows(data, "node")
    rows[0][2], rows[1][2] = rows[1][2], rows[0][2]


def _number(data: dict[str, Any], kind: str, row: int = 0) -> int:
    return [i for i, cell in enumerate(data["cells"]) if cell[0] == kind][row]


def _loop(data: dict[str, Any]) -> None:
    _rows(data, "node")[0][3] = [_number(data, "node")]


def _another_form(data: dict[str, Any]) -> None:
    data["specs"].append(["float32", "cpu", [2]])
    data["arrays"][0][0] = len(data["specs"]) - 1


def _phantoms(data: dict[str, Any]) -> None:
    for row in data["arrays"]:
        data["specs"].append(["float64", "meta", [2]])
        row[0] = len(data["specs"]) - 1


def _missing_array(data: dict[str, Any]) -> None:
    data["arrays"] += [data["arrays"][0]] * 9
    _rows(data, "storage")[0][1] = len(data["arrays"]) - 1


def _array_of_another(data: dict[str, Any]) -> None:
    rows = _rows(data, "storage")
    rows[-1][1] = rows[0][1]
    data["arrays"].pop()


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "an unknown op": (lambda d: d["ops"].append(["exq", "(input: tensor)"]), "has no op exq"),
    "another signature": (lambda d: d["ops"][0].__setitem__(1, "(x: tensor)"), "has no op"),
    "an unknown kind of cell": (lambda d: d["cells"].append(["cell"]), "no kind of cell 'cell'"),
    "a cell of another kind": (_set("tensor", 2, 0), "is no storage"),
    "a number beyond the table": (_set("tensor", 2, 999), "not a whole number from 0"),
    "a negative number": (_set("tensor", 2, -1), "not a whole number from 0"),
    "a bool for a number": (_set("tensor", 3, True), "not a whole number"),
    "a node that isn't older": (_swap_moments, "isn't older than itself"),
    "a circle": (_loop, "isn't older than itself"),
    "a node without its edge": (_set("node", 3, [None]), "other edges than it needs"),
    "nothing saved": (_set("node", 4, []), "saves another number"),
    "a number saved for a tensor": (_set("node", 4, [1.0]), "saved something else"),
    "a freed node that has something": (_set("node", 5, None), "was freed, and has something"),
    "a spec that isn't the array's": (lambda d: d["specs"][0].__setitem__(2, [7]), "array"),
    "an array of another dtype": (_another_form, "ought to be"),
    "a missing array": (_missing_array, "is missing"),
    "a row that nothing uses": (lambda d: d["arrays"].append([0, None]), "nothing uses one"),
    "elements that nothing uses": (_array_of_another, "nothing uses the array"),
    "an axis twice": (lambda d: d["arrays"][0].__setitem__(1, [0, 0]), "of an array's axes"),
    "an unknown device": (lambda d: d["specs"][0].__setitem__(1, "tpu"), "not to be had here"),
    "phantoms in place of elements": (_phantoms, "device"),
    "a shape beyond all": (lambda d: d["specs"][0].__setitem__(2, [2**40] * 3), "more elements"),
    "too many moments": (lambda d: d.update(moments=10**9), "moments is"),
    "a version below 0": (_set("storage", 2, -1), "a version is -1"),
    "a missing table": (lambda d: d.pop("calls"), "not an object with"),
    "arguments of another kind": (
        lambda d: d["calls"][0].__setitem__(2, [{"spec": 0}, "two"]), "arguments of"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_contradicts_itself_is_refused(name: str) -> None:
    change, said = CHANGES[name]
    x = leaf([1.0, 2.0])
    y = op("exp", op("exp", op("mul", x, plain([2.0, 3.0]))))
    assert said in refused(change, x, y)


def test_a_view_that_contradicts_itself_is_refused() -> None:
    x = leaf([1.0, 2.0, 3.0, 4.0])
    y = op("mul", x, 2)
    view = op("view", y, (2, 2))
    for change, said in (
        (_set("view", 1, []), "begins at another array"),
        (_set("view", 1, [0]), "has no output"),
        (_set("view", 3, 9), "the depth of a view"),
        (_set("view", 5, 6), "how a view was made"),
        (lambda d: _rows(d, "view")[0].__setitem__(2, d["cells"].index(_rows(d, "tensor")[0])), ""),
    ):
        assert said in refused(change, x, y, view)
