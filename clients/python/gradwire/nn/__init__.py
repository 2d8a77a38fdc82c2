"""torch.nn: modules are imported when the first is asked for; most autograd code asks for none."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gradwire.nn import functional as functional

if TYPE_CHECKING:
    from gradwire.nn import init as init
    from gradwire.nn import utils as utils
    from gradwire.nn.modules import *  # noqa: F403

_PARTS = ("init", "parameter", "utils")


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"gradwire.nn.{name}")
    if name[0].isupper():  # else a module of this package, which may be wanted before all of them
        found = vars(import_module("gradwire.nn.modules")).get(name)
        if found is not None:
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    public = [n for n in vars(import_module("gradwire.nn.modules")) if n[0].isupper()]
    return sorted({*public, *_PARTS, "functional"})
