"""What an operand of a step stands for, in either library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.parity.differential.step import HOOKS, Dtype, Edge, Fresh, Given, Hook, Ref


def concrete(lib: Any, variables: Mapping[str, Any], value: Any) -> Any:
    """An operand as the library takes it; whatever is no placeholder is taken as it is."""
    if isinstance(value, Ref):
        return variables[value.name]
    if isinstance(value, Fresh):
        x = variables[value.name]
        return (x.detach() if value.detached else x).clone()
    if isinstance(value, Given):
        return lib.tensor(value.values, dtype=getattr(lib, value.dtype))
    if isinstance(value, Edge):
        return lib.autograd.graph.get_gradient_edge(variables[value.name])
    if isinstance(value, Dtype):
        return getattr(lib, value.name)
    return HOOKS[value.name][1] if isinstance(value, Hook) else value
