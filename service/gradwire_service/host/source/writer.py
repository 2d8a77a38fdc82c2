"""The steps being written: temporaries, bounds, and names that may or may not stand for tensors."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any

from gradwire_engine.errors import error
from gradwire_service.host.protocol.names import GRAD, RULE, may_be_read
from gradwire_service.host.source.position import Text

Step = dict[str, Any]
"""One step as a client would have posted it."""


class Writer:
    """Collects steps; `assigned` and `known` are names that surely are tensors."""

    def __init__(self, text: Text, max_steps: int, known: Collection[str]) -> None:
        self.text = text
        self.steps: list[Step] = []
        self.lines: list[int] = []
        self.assigned: set[str] = set()
        self.known = known
        self._max_steps = max_steps
        self._temporaries = 0

    def op(
        self,
        node: ast.AST,
        op: str,
        args: list[Any],
        kwargs: dict[str, Any] | None = None,
        out: str | list[str | None] | None = None,
    ) -> None:
        """Write an op; without `out` it works in place."""
        step: Step = {"op": op, "args": args}
        if kwargs:
            step["kwargs"] = kwargs
        if out is not None:
            step["out"] = out
        self._add(node, step)

    def bind(self, node: ast.AST, name: str, out: str) -> None:
        """Make `out` another name of the tensor `name`."""
        self._add(node, {"bind": name, "out": out})

    def temporary(self) -> str:
        """A fresh name that no client can write."""
        self._temporaries += 1
        return f"%{self._temporaries - 1}"

    def target(self, node: ast.AST, name: str) -> str:
        """A name to write to, checked against the pattern; `x.grad` isn't one."""
        if name == "_" or name.endswith(GRAD):
            hint = 't["a.b"] with a name that has neither'
            raise self.text.refuse(node, "the name of a gradient or of nothing", hint)
        return self.name(node, name)

    def name(self, node: ast.AST, name: str) -> str:
        """A tensor's name, checked against the pattern."""
        if not may_be_read(name):
            raise self.text.refuse(node, "a name that no tensor can have", RULE)
        return name

    def _add(self, node: ast.AST, step: Step) -> None:
        if len(self.steps) >= self._max_steps:
            raise error(
                "limit_exceeded",
                f"source: line {node.lineno} needs more than the "  # type: ignore[attr-defined]
                f"{self._max_steps} steps a request may have",
                "split the source over several requests",
            )
        self.steps.append(step)
        self.lines.append(node.lineno)  # type: ignore[attr-defined]
