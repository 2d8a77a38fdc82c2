"""torch.autograd: grad, backward, the grad modes; more is imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gradwire.anomaly import detect_anomaly as detect_anomaly
from gradwire.anomaly import set_detect_anomaly as set_detect_anomaly
from gradwire.autograd.walks import backward as backward
from gradwire.autograd.walks import grad as grad
from gradwire.modes import enable_grad as enable_grad
from gradwire.modes import inference_mode as inference_mode
from gradwire.modes import is_grad_enabled as is_grad_enabled
from gradwire.modes import is_inference_mode_enabled as is_inference_mode_enabled
from gradwire.modes import no_grad as no_grad
from gradwire.modes import set_grad_enabled as set_grad_enabled

if TYPE_CHECKING:
    from gradwire.autograd import function as function
    from gradwire.autograd import functional as functional
    from gradwire.autograd import graph as graph
    from gradwire.autograd import profiler as profiler
    from gradwire.autograd import variable as variable
    from gradwire.autograd.function import Function as Function
    from gradwire.autograd.numerical import gradcheck as gradcheck
    from gradwire.autograd.numerical import gradgradcheck as gradgradcheck
    from gradwire.autograd.variable import Variable as Variable

_MODULES = ("function", "functional", "graph", "profiler", "variable")
_FOUND_IN = {
    "Function": "function",
    "Variable": "variable",
    "gradcheck": "numerical",
    "gradgradcheck": "numerical",
}


def __getattr__(name: str) -> Any:
    if name in _FOUND_IN:
        found = getattr(import_module(f"{__name__}.{_FOUND_IN[name]}"), name)
        globals()[name] = found  # or the module of the same name would stand here
        return found
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
