"""Expressions to steps: each writes what it needs and answers with the name of its value."""

from __future__ import annotations

import ast
from typing import Any

from gradwire_engine.catalogue import ATTRIBUTES, NO_OPS, find
from gradwire_engine.spec import DTYPES
from gradwire_service.host.protocol.names import NAME
from gradwire_service.host.source import literal
from gradwire_service.host.source.operators import BINARY, COMPARE, UNARY
from gradwire_service.host.source.writer import Writer

NAMESPACES = frozenset({"torch", "nn", "linalg", "fft", "special"})
_LIBRARIES = frozenset({"F", "gradwire", "gw", "jnp", "math", "np", "numpy", "scipy", "tf"})

_TENSOR = (
    'a tensor may stand here: a name, t["a.b"], x.grad, an operation (+ - * / // % ** @ & | ^ << '
    ">> ~, one comparison), a call of an op such as softmax(x, dim=1) or x.sum(0), x.T, x[0, 1:]"
)
_MAKE = "a tensor; tensor(2.0) makes one of a number"
_ARGUMENT = _TENSOR + "; or a number, string, True, False, None, tuple or list"


class Expressions:
    """Writes the steps of expressions to a Writer."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.text = writer.text

    def tensor(self, node: ast.expr, out: str | None = None) -> str:
        """Write an expression whose value is a tensor; `out` names the value if it is a new one.

        The answer is where the value is: `out`, a temporary, or the name it had already.
        """
        if literal.number(node, self.text) is not None:
            raise self.text.refuse(node, "a number where a tensor belongs", _MAKE)
        return self._tensor(node, out)

    def _tensor(self, node: ast.expr, out: str | None, allowed: str = _TENSOR) -> str:
        match node:
            case ast.Name():
                return self.writer.name(node, self._readable(node))
            case ast.Subscript(value=ast.Name(id="t"), slice=ast.Constant(value=str(name))):
                return self.writer.name(node, name)
            case ast.Subscript(value=value, slice=index):
                return self._op(node, "__getitem__", [self.tensor(value), self.index(index)], out)
            case ast.Attribute():
                return self._attribute(node, out)
            case ast.BinOp(left=left, op=op, right=right):
                operands = [self.operand(left), self.operand(right)]
                return self._op(node, BINARY[type(op)], operands, out)
            case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
                return self._op(node, UNARY[type(op)], [self.operand(operand)], out)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARE:
                operands = [self.operand(left), self.operand(right)]
                return self._op(node, COMPARE[type(op)], operands, out)
            case ast.Compare():
                hint = "one of == != < <= > >= between two operands; join several with &"
                raise self.text.refuse(node, "a chained comparison, 'is' or 'in'", hint)
            case ast.Call():
                return self.call(node, out)
        raise self.text.refuse(node, None, allowed)

    def call(self, node: ast.Call, out: str | None = None) -> str:
        """Write a call; an in-place op answers with the tensor it wrote to, and takes no `out`."""
        name, args, kwargs = self._parts(node)
        if name.endswith("_"):
            return self._in_place(node, name, args, kwargs)
        place = self.writer.temporary() if out is None else out
        self.writer.op(node, name, args, kwargs, place)
        return place

    def call_into(self, node: ast.Call, names: list[str | None]) -> None:
        """Write a call of an op with several results."""
        name, args, kwargs = self._parts(node)
        self.writer.op(node, name, args, kwargs, names)

    def is_in_place(self, node: ast.Call) -> bool:
        """Whether a call writes to its first tensor."""
        return self._callee(node.func)[0].endswith("_")

    def operand(self, node: ast.expr, allowed: str = _TENSOR + "; or a number") -> Any:
        """A tensor, or a number in its place."""
        value = literal.number(node, self.text)
        if value is not None:
            return literal.encoded(value)
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return node.value
        return self._tensor(node, None, allowed)

    def argument(self, node: ast.expr) -> Any:
        """Anything that may stand between the parentheses of a call."""
        match node:
            case ast.Constant(value=str(value)):
                return literal.string(value, node, self.text)
            case ast.Constant(value=None):
                return None
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return [self.argument(item) for item in items]
            case ast.Attribute(value=ast.Name(id="torch"), attr=name) if name in DTYPES:
                return name
        return self.operand(node, _ARGUMENT)

    def index(self, node: ast.expr) -> Any:
        """What stands between brackets, in the JSON form of the wire contract."""
        if isinstance(node, ast.Tuple):
            return {"index": [self._axis(item) for item in node.elts]}
        return self._axis(node)

    def _axis(self, node: ast.expr) -> Any:
        match node:
            case ast.Slice(lower=lower, upper=upper, step=step):
                return {"slice": [self._bound(part) for part in (lower, upper, step)]}
            case ast.Constant(value=value) if value is ...:
                return "..."
            case ast.Constant(value=None | bool() as value):
                return value
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self._axis(item) for item in items]
        value = literal.number(node, self.text)
        if isinstance(value, float | complex):
            raise self.text.refuse(node, "a number that isn't whole", "an index")
        return self.tensor(node) if value is None else value

    def _bound(self, node: ast.expr | None) -> int | None:
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return None
        value = literal.number(node, self.text)
        if isinstance(value, int):
            return value
        raise self.text.refuse(node, "a bound that isn't a whole number", "x[1:4], x[:-1], x[::2]")

    def _attribute(self, node: ast.Attribute, out: str | None) -> str:
        if node.attr == "grad" and (owner := self._name_of(node.value)) is not None:
            return owner + ".grad"
        if node.attr in ATTRIBUTES:
            return self._op(node, node.attr, [self.tensor(node.value)], out)
        hint = (
            "a named tensor has .grad, every tensor .T .mT .H .mH .real .imag; several results get "
            'names by a, b = …; a tensor whose name has a dot is t["a.b"]'
        )
        raise self.text.refuse(node, f"an attribute .{node.attr}", hint)

    def _name_of(self, node: ast.expr) -> str | None:
        """The name of a tensor that has one."""
        match node:
            case (
                ast.Name() | ast.Subscript(value=ast.Name(id="t"), slice=ast.Constant(value=str()))
            ):
                return self.tensor(node)
        return None

    def _parts(self, node: ast.Call) -> tuple[str, list[Any], dict[str, Any]]:
        """The op's name, its positional arguments (a method's receiver first), those by name."""
        self._refuse_step(node)
        name, receiver = self._callee(node.func)
        args = [self.tensor(receiver)] if receiver is not None else []
        args += [self.argument(value) for value in node.args]
        return name, args, self._keywords(node)

    def _callee(self, node: ast.expr) -> tuple[str, ast.expr | None]:
        """The op's name, and the receiver where it is called as a method."""
        match node:
            case ast.Name(id=name):
                return self._op_name(node, name), None
            case ast.Attribute(value=value, attr=name):
                self._refuse_library(node, value, name)
                if (space := self._namespace(value)) is None:
                    return self._op_name(node, name), value
                return self._op_name(node, ".".join([*space, name])), None
        raise self.text.refuse(node, "a call of what isn't an op", "softmax(x, dim=1) or x.sum(0)")

    def _refuse_step(self, call: ast.Call) -> None:
        """Loops, vmap and the like are steps: what they run can't be written in a text."""
        node = call.func
        while isinstance(node, ast.Call):  # vmap(f)(x)
            node = node.func
        if isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name in NO_OPS and not _takes(name, len(call.args)):
                raise self.text.refuse(node, f"{name}, which is no op", NO_OPS[name])

    def _refuse_library(self, node: ast.expr, value: ast.expr, op: str) -> None:
        """Libraries under the names that scripts import them by are no tensors."""
        if isinstance(value, ast.Name) and value.id in _LIBRARIES and not self._stands(value.id):
            found = f"{value.id}, which is no tensor here, and no library"
            raise self.text.refuse(node, found, f"{op}(…): an op is called by its own name")

    def _stands(self, name: str) -> bool:
        return name in self.writer.assigned or name in self.writer.known

    def _namespace(self, node: ast.expr) -> list[str] | None:
        """`nn.functional` as parts, where it isn't a tensor; `torch` itself is left out."""
        match node:
            case ast.Name(id=name) if name in NAMESPACES:
                if self._stands(name):
                    return None
                return [] if name == "torch" else [name]
            case ast.Attribute(value=value, attr=name):
                space = self._namespace(value)
                return None if space is None else [*space, name]
        return None

    def _op_name(self, node: ast.expr, name: str) -> str:
        if "__" in name or not NAME.fullmatch(name):
            raise self.text.refuse(node, "a name that no op has", "x[0] or x + y, not x.__add__(y)")
        return name

    def _keywords(self, node: ast.Call) -> dict[str, Any]:
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in kwargs:
                found = "a starred argument" if keyword.arg is None else "an argument given twice"
                raise self.text.refuse(keyword, found, "each argument once, as name=value")
            self.writer.name(keyword, keyword.arg)
            kwargs[keyword.arg] = self.argument(keyword.value)
        return kwargs

    def _in_place(self, node: ast.Call, name: str, args: list[Any], kwargs: dict[str, Any]) -> str:
        method = len(args) > len(node.args)
        named = bool(args) and isinstance(args[0], str)  # a name, and no string
        if not method and (not named or isinstance(node.args[0], ast.Constant)):
            hint = f"the tensor it writes to comes first: x.{name}(…) or {name}(x, …)"
            raise self.text.refuse(node, f"{name} without a tensor to write to", hint)
        self.writer.op(node, name, args, kwargs)
        written: str = args[0]
        return written

    def _op(self, node: ast.expr, op: str, args: list[Any], out: str | None) -> str:
        place = self.writer.temporary() if out is None else out
        self.writer.op(node, op, args, out=place)
        return place

    def _readable(self, node: ast.Name) -> str:
        if node.id == "_":
            raise self.text.refuse(node, "_, which discards a result", 'a name; t["_"] reads "_"')
        return node.id


def _takes(name: str, count: int) -> bool:
    """Whether there is an op of a name; one in a namespace (linalg.cond) that takes so many."""
    op = find(name)
    if op is None or op.name == name:
        return op is not None
    return any(count <= signature.positional for signature in op.signatures)
