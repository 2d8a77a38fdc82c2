"""Source text in a running session: values, gradients, leftovers, errors with their line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire_engine.errors import GradwireError
from gradwire_service.host.host import Host
from gradwire_service.host.protocol import read
from gradwire_service.host.protocol.requests import OpsRequest, SessionCreate, StepsRequest
from gradwire_service.host.protocol.transforms import ValueAndGradRequest
from gradwire_service.host.sessions import Session

X = np.array([[1.0, -2.0], [3.0, 4.0]], dtype=np.float32)


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture
def session(host: Host) -> Session:
    """A session with a leaf `x`, a mask `m`, and a tensor whose name has a dot."""
    session = host.create(read(SessionCreate, {"seed": 0}))
    steps = [
        {"tensor": "x", "value": X.tolist(), "requires_grad": True},
        {"tensor": "m", "value": [True, False]},
        {"tensor": "layer.w", "value": [[2.0, 0.0], [0.0, 2.0]]},
    ]
    host.handle(session.id, read(StepsRequest, {"steps": steps}))
    return session


def run(host: Host, session: Session, text: str, *names: str) -> Any:
    """The arrays of `names` after the text ran; one alone without a list."""
    request = read(OpsRequest, {"source": text, "return": list(names)})
    values = host.handle(session.id, request)["values"]
    arrays = [values[name].array for name in names]
    return arrays[0] if len(arrays) == 1 else arrays


CASES: list[tuple[str, Any]] = [
    ("y = x ** 2 - 1", X**2 - 1),
    ("y = 2 - x / 4", 2 - X / 4),
    ("y = -x + (1 / 2)", -X + 0.5),
    ("y = x @ t['layer.w']", X @ np.diag([2.0, 2.0])),
    ("y = x.T", X.T),
    ("y = x[0, 1:]", X[0, 1:]),
    ("y = x[m]", X[:1]),
    ("y = x[..., None, -1]", X[..., None, -1]),
    ("y = where(x > 0, x, -Infinity)", np.where(X > 0, X, -np.inf)),
    ("y = x + 2j", X + 2j),
    ("y = cat([x, x * 2], dim=1)", np.concatenate([X, X * 2], 1)),
    ("y = x.max(0)[0]", X.max(0)),
    ("y = x.max(1)[1]", X.argmax(1)),
    ("y = x.split(1)[-1]", X[1:]),
    ("y = cat(x.split(1))", X),
    ("y = stack(x.unbind(1))", X.T),
    ("values, where_ = x.max(0)\ny = values * where_", X.max(0) * X.argmax(0)),
    ("a, b = x\ny = a - b", X[0] - X[1]),
    ("a, b = x\na, b = b, a\ny = a - b", X[1] - X[0]),
    ("y = x.exp()\nz = y\nz.add_(1)", np.exp(X) + 1),
    ("y = x * 1\ny += x\ny *= 2", X * 4),
    ("y = torch.zeros(2, 3, dtype=torch.float64)", np.zeros((2, 3))),
    ("y = nn.functional.softmax(x * 0, dim=-1)", np.full((2, 2), 0.5)),
    ("t = x * 2\ny = t[0]", X[0] * 2),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_values(host: Host, session: Session, text: str, expected: Any) -> None:
    found = run(host, session, text, "y")
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_gradients_flow_through_source(host: Host, session: Session) -> None:
    run(host, session, "loss = (x.max(0)[0] ** 2).sum()")
    backward = {"steps": [{"backward": {"tensors": ["loss"]}}], "return": ["x.grad"]}
    grad = host.handle(session.id, read(StepsRequest, backward))["values"]["x.grad"]
    np.testing.assert_array_equal(grad.array, [[0, 0], [6, 8]])
    update = {"source": "x -= 0.5 * x.grad\nx.grad *= 0", "return": ["x", "x.grad"],
              "grad_mode": "no_grad"}  # fmt: skip
    values = host.handle(session.id, read(OpsRequest, update))["values"]
    np.testing.assert_array_equal(values["x"].array, [[1, -2], [0, 0]])
    np.testing.assert_array_equal(values["x.grad"].array, np.zeros((2, 2)))


def test_one_shot_programs_take_source(host: Host) -> None:
    program = {"inputs": ["x"], "source": "y = x ** 2\nz = y.split(1)[1].sum()", "outputs": ["z"]}
    request = read(ValueAndGradRequest, {"program": program, "inputs": {"x": [1, 2, 3]}})
    reply = host.transform(request)
    assert reply["outputs"]["z"].array == 4
    np.testing.assert_array_equal(reply["grads"]["x"].array, [0, 4, 0])


def test_temporaries_are_gone_afterwards(host: Host, session: Session) -> None:
    before = set(session.tensors)
    run(host, session, "y = (x * 2 + x.max(0)[0]).exp()")
    with pytest.raises(GradwireError):
        run(host, session, "z = (x * 2).exp() @ m")
    assert set(session.tensors) == before | {"y"}


@pytest.mark.parametrize(
    ("text", "code", "line", "step"),
    [
        ("y = x * 2\n\nz = y @ x.reshape(4, 1)", "shape_mismatch", 3, 2),
        ("y = no_such_op(x)", "op_not_found", 1, 0),
        ("y = x\nz = (y +\n     gone)", "tensor_not_found", 2, 1),
        ("y = x.exp()\nx += 1", "leaf_in_place", 2, 1),
        ("y = x.max(0)[2]", "invalid_argument", 1, 1),
        ("y = x.max(0)[0:1]", "invalid_argument", 1, 1),
    ],
)
def test_errors_name_the_line_and_change_nothing(
    host: Host, session: Session, text: str, code: str, line: int, step: int
) -> None:
    before = dict(session.tensors)
    with pytest.raises(GradwireError) as caught:
        run(host, session, text, "y")
    assert (caught.value.code, caught.value.step) == (code, step)
    assert caught.value.detail.startswith(f"source, line {line}: ")
    assert caught.value.detail in str(caught.value)
    assert session.tensors == before
