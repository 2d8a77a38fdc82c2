"""gradwire.save and gradwire.load: files that others read, and files that nobody should believe."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

import gradwire as torch
from gradwire.session import Session
from gradwire_service.host import safetensors

pytestmark = pytest.mark.usefixtures("session")


def _file(structure: object, rows: object, arrays: dict[str, np.ndarray] | None = None) -> BytesIO:
    said = {"gradwire_file": "1", "structure": json.dumps(structure), "tensors": json.dumps(rows)}
    return BytesIO(b"".join(safetensors.write(arrays or {}, said)))


def _row(**fields: object) -> dict[str, object]:
    row = {"array": "a", "dtype": "float64", "kind": "", "requires_grad": False, "seen": None}
    return row | fields


ONE = {"a": np.ones(3)}


def test_a_path_of_every_kind(tmp_path: Path) -> None:
    x = torch.tensor([1.0, 2.0])
    for place in (tmp_path / "x", str(tmp_path / "y")):
        torch.save(x, place)
        assert torch.load(place).tolist() == [1.0, 2.0]


def test_names_are_the_paths_to_the_tensors(tmp_path: Path) -> None:
    net, place = torch.nn.Linear(3, 2), tmp_path / "net"
    torch.save({"net": net.state_dict(), "net.bias": torch.ones(1)}, place)
    _, arrays = safetensors.read(place.read_bytes())
    assert sorted(arrays) == ["net.bias", "net.bias.1", "net.weight"]
    assert np.array_equal(arrays["net.weight"], net.weight.detach().numpy())


def test_what_is_shared_is_written_once() -> None:
    x = torch.arange(1000.0)
    file = BytesIO()
    torch.save([x, x[1:], x.view(10, 100)], file)
    assert len(file.getvalue()) < 5000


def test_a_file_of_another_program() -> None:
    file = BytesIO(b"".join(safetensors.write({"w": np.arange(3), "b": np.ones(2, "f4")}, {})))
    found = torch.load(file)
    assert found["w"].tolist() == [0, 1, 2]
    assert found["b"].dtype is torch.float32


@pytest.mark.recorded
def test_elements_come_with_one_request(session: Session) -> None:
    values = [torch.randn(20000) for _ in range(5)]
    session.flush()
    session.transport.take()
    file = BytesIO()
    torch.save(values, file)
    assert len(session.transport.take()) == 1
    file.seek(0)
    assert all(torch.equal(a, b) for a, b in zip(values, torch.load(file), strict=True))


def test_another_session() -> None:
    file = BytesIO()
    torch.save(torch.ones(2), file)
    file.seek(0)
    with torch.connect().session() as other:
        assert torch.load(file).session is other


@pytest.mark.parametrize(
    "value",
    [lambda: 1, np.ones(2), object(), {"deep": [{1, "a", print}]}],
    ids=["function", "array", "object", "deep"],
)
def test_what_is_not_saved_leaves_no_file(tmp_path: Path, value: object) -> None:
    place = tmp_path / "x"
    with pytest.raises(TypeError, match="is not saved"):
        torch.save({"before": torch.ones(1), "value": value}, place)
    assert not place.exists()


def test_a_module_is_told_of_its_state_dict() -> None:
    with pytest.raises(TypeError, match="state_dict"):
        torch.save(torch.nn.Linear(1, 1), BytesIO())


def test_what_contains_itself() -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(ValueError, match="contains itself"):
        torch.save(value, BytesIO())


@pytest.mark.parametrize(
    "file",
    [
        BytesIO(b""),
        BytesIO(b"garbage and more"),
        BytesIO(b"PK\x03\x04 and so on"),
        _file({"tensor": 0}, []),
        _file({"tensor": -1}, [_row()], ONE),
        _file({"tensor": True}, [_row()], ONE),
        _file({"tensor": 0}, [_row(array="b")], ONE),
        _file({"tensor": 0}, [_row(dtype="float128")], ONE),
        _file({"tensor": 0}, [_row(dtype="float32")], ONE),
        _file({"tensor": 0}, [_row(extra=1)], ONE),
        _file({"tensor": 0}, [_row(seen=[[4], [1], 0])], ONE),
        _file({"tensor": 0}, [_row(seen=[[2], [1], 2])], ONE),
        _file({"tensor": 0}, [_row(seen=["a", None, {}])], ONE),
        _file({"tensor": 0}, 3, ONE),
        _file({"unknown": 0}, []),
        _file({"list": 3}, []),
        _file({"dict": [[{"list": []}, 1]]}, []),
        _file({"dict": [[1]]}, []),
        _file({"dtype": "os.system"}, []),
        _file({"complex": ["1"]}, []),
        _file({"bytes": "%"}, []),
        _file({"list": [], "tuple": []}, []),
    ],
)
def test_a_file_that_does_not_hold_together(file: BytesIO) -> None:
    file.seek(0)
    with pytest.raises(torch.GradwireError) as caught:
        torch.load(file)
    assert isinstance(caught.value, RuntimeError | TypeError | ValueError | IndexError)
    assert torch.ones(2).sum().item() == 2, "the session goes on"


def test_a_version_to_come() -> None:
    said = {"gradwire_file": "2", "structure": "1", "tensors": "[]"}
    with pytest.raises(RuntimeError, match="version '2'"):
        torch.load(BytesIO(b"".join(safetensors.write({}, said))))


def test_a_device_that_is_not_the_sessions() -> None:
    file = BytesIO()
    torch.save(torch.ones(1), file)
    file.seek(0)
    assert torch.load(file, map_location="cpu", weights_only=True).item() == 1
    file.seek(0)
    with pytest.raises(torch.GradwireError, match="cuda"):
        torch.load(file, map_location="cuda")
