"""torch.autograd.gradcheck, the module: where `GradcheckError` is imported from.

Its package has a function of the same name, whose place it takes when it is imported; so it can be
called too.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from gradwire.autograd.numerical import GradcheckError, gradcheck, gradgradcheck


class _Callable(ModuleType):
    """A module that is called as the function that has its name."""

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
