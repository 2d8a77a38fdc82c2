"""docs/pictures/plan.svg: the plan of a two-layer net, forward and back."""

from __future__ import annotations

from typing import Any

from gradwire_service.host.host import Host
from gradwire_service.host.picture.plan import plan_graph
from gradwire_service.host.picture.svg import to_svg
from gradwire_service.host.protocol import read
from gradwire_service.host.protocol.transforms import PlanRequest

_PROGRAM = {
    "inputs": ["x", "y", "w1", "b1", "w2", "b2"],
    "source": "hidden = torch.tanh(nn.functional.linear(x, w1, b1))\n"
    "loss = nn.functional.cross_entropy(nn.functional.linear(hidden, w2, b2), y)",
    "outputs": ["loss"],
}
_INPUTS: dict[str, dict[str, Any]] = {
    "x": {"dtype": "float32", "shape": [1024, 64]},
    "y": {"dtype": "int64", "shape": [1024]},
    "w1": {"dtype": "float32", "shape": [128, 64]},
    "b1": {"dtype": "float32", "shape": [128]},
    "w2": {"dtype": "float32", "shape": [10, 128]},
    "b2": {"dtype": "float32", "shape": [10]},
}
_WRT = ["w1", "b1", "w2", "b2"]


def picture() -> str:
    """The plan as `?format=svg` draws it."""
    asked = {"program": _PROGRAM, "inputs": _INPUTS, "transform": "value_and_grad", "wrt": _WRT}
    request = read(PlanRequest, asked)
    reply: Any = Host().once.apply("plan", request.program, request)
    return to_svg(plan_graph(reply, _INPUTS))
