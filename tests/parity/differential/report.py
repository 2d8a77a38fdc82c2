"""A failing program as a script that anyone can run, on torch or on gradwire."""

from __future__ import annotations

from typing import Any

from tests.parity.differential.step import (
    HOOKS,
    Dtype,
    Edge,
    Fresh,
    Given,
    Hook,
    Program,
    Ref,
    Step,
)

_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "matmul": "@",
    "mod": "%", "floordiv": "//", "and_": "&", "or_": "|", "xor": "^",
    "iadd": "+=", "isub": "-=", "imul": "*=", "itruediv": "/=", "ipow": "**=",
    "imod": "%=", "ifloordiv": "//=", "iand": "&=", "ior": "|=", "ixor": "^=",
}  # fmt: skip


def script(program: Program) -> str:
    """The program as Python source, its modes as `with` blocks."""
    return "\n".join(["import torch  # or: import gradwire as torch", "", *map(_line, program)])


def _line(step: Step) -> str:
    modes = [f"torch.{m}({'False' if m == 'set_grad_enabled' else ''})" for m in step.modes]
    head = f"with {', '.join(modes)}: " if modes else ""
    several = len(step.out) > 1 or step.name in ("autograd.grad",)
    out = f"{', '.join(step.out)}{', *_' if several else ''} = " if step.out else ""
    return f"{head}{out}{_call(step)}"


def _call(step: Step) -> str:
    first, *rest = map(text, step.args)
    given = ", ".join([*rest, *(f"{name}={text(value)}" for name, value in step.kwargs)])
    if step.form == "operator":
        return f"{first} {_OPERATORS[step.name]} {rest[0]}"
    return {
        "method": f"{first}.{step.name}({given})",
        "function": f"torch.{step.name}({', '.join(filter(None, (first, given)))})",
        "get": f"{first}[{_index(step)}]",
        "set": f"{first}[{_index(step)}] = {rest[-1] if rest else ''}",
        "attribute": f"{first}.{step.name}",
        "assign": f"{first}.{step.name} = {rest[-1] if rest else ''}",
        "node": f"{first}.grad_fn.{step.name}({given})",
        "delete": f"del {first}",
    }[step.form]


def _index(step: Step) -> str:
    where = step.args[1] if len(step.args) > 1 else ()
    if isinstance(where, tuple) and where:
        return ", ".join(map(text, where)) + ("," if len(where) == 1 else "")
    return text(where)


def text(value: Any) -> str:  # noqa: C901 (a line for each type)
    """An operand as Python source."""
    if isinstance(value, Ref):
        return value.name
    if isinstance(value, Fresh):
        return f"{value.name}{'.detach()' if value.detached else ''}.clone()"
    if isinstance(value, Given):
        return f"torch.tensor({value.values!r}, dtype=torch.{value.dtype})"
    if isinstance(value, Edge):
        return f"torch.autograd.graph.get_gradient_edge({value.name})"
    if isinstance(value, Dtype):
        return f"torch.{value.name}"
    if isinstance(value, Hook):
        return HOOKS[value.name][0]
    if isinstance(value, slice):
        step = "" if value.step is None else f":{value.step}"
        ends = ["" if v is None else str(v) for v in (value.start, value.stop)]
        return f"{ends[0]}:{ends[1]}{step}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name!r}: {text(v)}' for name, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(text, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(text, value))}{',' if len(value) == 1 else ''})"
    return "..." if value is Ellipsis else repr(value)
