"""Statements to steps: assignments, augmented and item assignments, in-place calls."""

from __future__ import annotations

import ast

from gradwire_service.host.source.expression import Expressions
from gradwire_service.host.source.operators import IN_PLACE
from gradwire_service.host.source.writer import Writer

_STATEMENT = (
    "a statement is y = …, or a, b = …, or x += …, or x[0] = …, or x[0] += …, or a call of an op "
    "that works in place, such as x.add_(1)"
)
_TARGET = 'a name, t["a.b"], or an item such as x[0] on its own'


class Statements:
    """Writes the steps of statements to a Writer."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.text = writer.text
        self.expressions = Expressions(writer)

    def write(self, module: ast.Module) -> None:
        """Write a whole text."""
        for statement in module.body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple() | ast.List() as names], value=value):
                self._unpack(names, value)
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value)
            case ast.Assign(targets=targets, value=value):
                self._assign_all(targets, value)
            case ast.AugAssign(target=ast.Subscript() as target) if not self._is_name(target):
                self._augment_item(node, target)
            case ast.AugAssign():
                self._augment(node)
            case ast.Expr(value=ast.Call() as call):
                self._call(node, call)
            case _:
                raise self.text.refuse(node, None, _STATEMENT)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Subscript) and not self._is_name(target):
            self._set_item(target, self.expressions.operand(value))
        else:
            self._to_name(target, value)

    def _assign_all(self, targets: list[ast.expr], value: ast.expr) -> None:
        """`a = b = value`, from left to right."""
        first = self._to_name(targets[0], value)
        for target in targets[1:]:
            name = self._name(target)
            self.writer.assigned.add(name)
            self.writer.bind(target, first, name)

    def _to_name(self, target: ast.expr, value: ast.expr) -> str:
        """Name the value of an expression: by the op that makes it, or as a second name."""
        name = self._name(target)
        holds = self.expressions.tensor(value, name)
        self.writer.assigned.add(name)
        if holds != name:
            self.writer.bind(target, holds, name)
        return name

    def _unpack(self, target: ast.Tuple | ast.List, value: ast.expr) -> None:
        names = [self._name_or_none(item) for item in target.elts]
        if isinstance(value, ast.Tuple | ast.List):
            self._unpack_items(target, names, value)
        elif isinstance(value, ast.Call) and not self.expressions.is_in_place(value):
            self.expressions.call_into(value, names)
        else:  # a tensor gives its rows, as when Python iterates over it
            self.writer.op(value, "unbind", [self.expressions.tensor(value)], out=names)
        self.writer.assigned.update(name for name in names if name is not None)

    def _unpack_items(
        self, target: ast.Tuple | ast.List, names: list[str | None], value: ast.Tuple | ast.List
    ) -> None:
        """`a, b = b, a`: all of the right side is there before the first name is written."""
        if len(names) != len(value.elts):
            found = f"{len(names)} names for {len(value.elts)} values"
            raise self.text.refuse(target, found, "as many on the left as on the right")
        held = [self._held(item) for item in value.elts]
        for name, temporary in zip(names, held, strict=True):
            if name is not None:
                self.writer.bind(target, temporary, name)

    def _held(self, value: ast.expr) -> str:
        """The value under a temporary name, which no later step rebinds."""
        temporary = self.writer.temporary()
        holds = self.expressions.tensor(value, temporary)
        if holds != temporary:
            self.writer.bind(value, holds, temporary)
        return temporary

    def _set_item(self, target: ast.Subscript, item: object) -> None:
        tensor = self.expressions.tensor(target.value)
        index = self.expressions.index(target.slice)
        self.writer.op(target, "__setitem__", [tensor, index, item])

    def _augment(self, node: ast.AugAssign) -> None:
        match node.target:
            case ast.Name() | ast.Subscript() | ast.Attribute(attr="grad"):
                written = self.expressions.tensor(node.target)
            case _:
                raise self.text.refuse(node.target, None, 'a name, x.grad, x[0] or t["a.b"]')
        value = self.expressions.operand(node.value)
        self.writer.op(node, self._operator(node), [written, value])

    def _augment_item(self, node: ast.AugAssign, target: ast.Subscript) -> None:
        """As in Python: the item is read, changed in place and written back."""
        tensor = self.expressions.tensor(target.value)
        index = self.expressions.index(target.slice)
        item = self.writer.temporary()
        self.writer.op(target, "__getitem__", [tensor, index], out=item)
        value = self.expressions.operand(node.value)
        self.writer.op(node, self._operator(node), [item, value])
        self.writer.op(node, "__setitem__", [tensor, index, item])

    def _operator(self, node: ast.AugAssign) -> str:
        if (op := IN_PLACE.get(type(node.op))) is None:
            raise self.text.refuse(node, "@=, which has no form in place", "x = x @ y")
        return op

    def _call(self, node: ast.Expr, call: ast.Call) -> None:
        if not self.expressions.is_in_place(call):
            hint = f"{_STATEMENT}; backward, grad and the like are steps of their own"
            raise self.text.refuse(node, "a call whose result goes nowhere", hint)
        self.expressions.call(call)

    def _name_or_none(self, node: ast.expr) -> str | None:
        return None if isinstance(node, ast.Name) and node.id == "_" else self._name(node)

    def _name(self, node: ast.expr) -> str:
        """The name that a target spells, checked."""
        match node:
            case ast.Name(id=name):
                return self.writer.target(node, name)
            case ast.Subscript(slice=ast.Constant(value=str(name))) if self._is_name(node):
                return self.writer.target(node, name)
            case ast.Attribute(attr="grad"):
                hint = "write into it (x.grad += 1, x.grad.zero_()), or post a set_grad step"
                raise self.text.refuse(node, "an assignment to a gradient", hint)
        raise self.text.refuse(node, None, _TARGET)

    @staticmethod
    def _is_name(node: ast.expr) -> bool:
        """Whether it is `t["a.b"]`."""
        match node:
            case ast.Subscript(value=ast.Name(id="t"), slice=ast.Constant(value=str())):
                return True
        return False
