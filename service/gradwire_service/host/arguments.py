"""Arguments from JSON: what a value means follows from the kind of the parameter it is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.op import Op, Overload, lifted
from gradwire_engine.signature import SPELLINGS, Mismatch, Parameter, respelled
from gradwire_engine.spec import DType
from gradwire_engine.tensor import Tensor
from gradwire_service.host import literals
from gradwire_service.host.elements import WORDS, Array
from gradwire_service.host.protocol.names import GRAD
from gradwire_service.host.scope import Scope

_NUMBERS = (bool, int, float)
_PLAIN = (*_NUMBERS, complex)

_ELSEWHERE = ("tensor_not_found", "invalid_request")
"""What one overload finds wrong with an argument that another may well take."""
_MOST_SHORTCUTS = 10_000


class Shortcut(NamedTuple):
    """How to bind arguments of certain types.

    names: which of the positional ones are names. rest: what follows them; keywords: where in that
    the arguments given by keyword stand.
    """

    overload: Any
    names: tuple[bool, ...]
    rest: tuple[Any, ...]
    keywords: tuple[tuple[str, int], ...]


_SHORTCUTS: dict[tuple[Any, ...], Shortcut] = {}


class Prepared(NamedTuple):
    """A call whose overload is known: its arguments in order, but for tensors.

    tensors: where those go, and by which names.
    """

    overload: Any
    values: tuple[Any, ...]
    tensors: tuple[tuple[int, str], ...]


def prepared(op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Prepared | None:
    """The call, if one like it was bound before; names in it are those of tensors, or x.grad."""
    kwargs = respelled(op.signatures, kwargs) if SPELLINGS.keys() & kwargs else kwargs
    shortcut = _SHORTCUTS.get(_known(op, args, kwargs))
    if shortcut is None:
        return None
    pairs = tuple(zip(args, shortcut.names, strict=True))
    rest = list(shortcut.rest)
    for name, place in shortcut.keywords:
        rest[place] = kwargs[name]
    values = (*[None if named else arg for arg, named in pairs], *rest)
    tensors = tuple([(place, arg) for place, (arg, named) in enumerate(pairs) if named])
    return Prepared(shortcut.overload, values, tensors)


def _known(op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """What shortcuts go by: the op and the types of its arguments."""
    known = (op, *map(type, args))
    return (*known, *kwargs, *map(type, kwargs.values())) if kwargs else known


def _learn(
    known: tuple[Any, ...],
    overload: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    values: tuple[Any, ...],
) -> None:
    """Keep a shortcut where the types alone decided: names of tensors, and numbers as they are.

    Only the first overload's, since nothing was tried before it.
    """
    signature = overload.signature
    names = tuple(type(arg) is str for arg in args)
    if len(args) > len(signature.parameters) or len(_SHORTCUTS) >= _MOST_SHORTCUTS:
        return
    for arg, name, value, parameter in zip(args, names, values, signature.parameters, strict=False):
        if name and (parameter.kind != "tensor" or type(value) is not Tensor):
            return
        if not name and (type(arg) not in _NUMBERS or value is not arg):
            return
    keywords = tuple((name, signature.by_name[name]) for name in kwargs)
    if any(
        type(kwargs[name]) not in _NUMBERS or values[i] is not kwargs[name] for name, i in keywords
    ):
        return
    given = len(args)
    places = tuple((name, place - given) for name, place in keywords)
    _SHORTCUTS[known] = Shortcut(overload, names, values[given:], places)


class Reader:
    """Reads arguments: finds names in a scope, makes literals into tensors on its device."""

    __slots__ = ("_arrays", "_default", "_device", "_find", "_meter", "_tensors")

    def __init__(self, scope: Scope, arrays: Mapping[str, Array]) -> None:
        self._find = scope.find
        self._tensors = scope.tensors
        self._arrays = arrays
        self._default = scope.dtype
        self._device = scope.device
        self._meter = scope.meter

    def literal(
        self,
        value: object,
        *,
        dtype: DType | None = None,
        default: DType | None = None,
        prefer_default: bool = False,
        requires_grad: bool = False,
    ) -> Tensor:
        """A tensor of a literal, on the session's device."""
        array = literals.decode(
            value,
            dtype=dtype,
            default=default or self._default,
            prefer_default=prefer_default,
            binaries=self._arrays,
            limits=self._meter,
        )
        return Tensor.of(self._released(array), requires_grad, self._device)

    def _released(self, array: Array) -> Array:
        """A copy of what is only a small part of the body, which it would keep in memory."""
        if self._arrays and 2 * array.nbytes < sum(a.nbytes for a in self._arrays.values()):
            return array.copy()
        return array

    def operand(self, value: object) -> Any:
        """What stands for a tensor: a name, or a literal."""
        named = type(value) is str and value not in WORDS
        return self._find(value) if named else self.literal(value)  # type: ignore[arg-type]

    def cotangent(self, value: object, output: Tensor) -> Tensor | None:
        """A gradient that the request brings: a name, a literal like the output, or null."""
        if value is None:
            return None
        if type(value) is str and value not in WORDS:
            found: Tensor = self._find(value)
            return found
        dtype = output.dtype
        return self.literal(
            value, default=dtype if dtype.is_floating_point else None, prefer_default=True
        )

    def bind(
        self, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, tuple[Any, ...]]:
        """The first overload that these arguments fit, and its arguments in order.

        Raises tensor_not_found where only a missing name stands in the way, invalid_request where
        only a literal does, else invalid_argument.
        """
        kwargs = respelled(op.signatures, kwargs) if SPELLINGS.keys() & kwargs else kwargs
        known = _known(op, args, kwargs)
        shortcut = _SHORTCUTS.get(known)
        if shortcut is not None:
            values = self._at_once(shortcut, args, kwargs)
            if values is not None:
                return shortcut.overload, values
        missing: GradwireError | None = None
        reasons: list[str] = []
        for overload in op.overloads:
            try:
                values = self._bind(overload, args, kwargs)
                if shortcut is None and overload is op.overloads[0]:
                    _learn(known, overload, args, kwargs, values)
                return overload, values
            except Mismatch as mismatch:
                reasons.append(str(mismatch))
            except GradwireError as problem:
                if problem.code not in _ELSEWHERE:
                    raise
                missing = missing or problem
        if missing is not None:
            try:
                raise missing
            finally:
                missing = None  # which leads to this frame
        wanted = " or ".join(f"{op.name}{o.signature}" for o in op.overloads)
        raise error(
            "invalid_argument",
            f"{op.name}: {'; '.join(dict.fromkeys(reasons))}",
            f"the signature is {wanted}",
            raised=TypeError,
        )

    def _at_once(
        self, shortcut: Shortcut, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, ...] | None:
        """The arguments of a call whose like was bound before; None if a name is no plain one."""
        found = []
        for arg, named in zip(args, shortcut.names, strict=True):
            value = arg
            if named:
                value = self._tensors.get(arg)
                if value is None and arg[-len(GRAD) :] == GRAD:
                    value = self._gradient(arg)
                if value is None:
                    return None
            found.append(value)
        if not kwargs:
            return (*found, *shortcut.rest)
        rest = list(shortcut.rest)
        for name, place in shortcut.keywords:
            rest[place] = kwargs[name]
        return (*found, *rest)

    def _gradient(self, name: str) -> Tensor | None:
        """What x.grad stands for; None where it can't be had, which is told elsewhere."""
        try:
            found: Tensor = self._find(name)
            return found
        except GradwireError:
            return None

    def _bind(
        self, overload: Overload, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        signature = overload.signature
        parameters = signature.parameters
        last = signature.positional - 1
        row = last >= 0 and parameters[last].kind == "tensors"  # which several tensors may fill
        given = [
            self._placed(parameters[min(i, last) if row else i], arg)
            if row or i < len(parameters)
            else arg
            for i, arg in enumerate(args)
        ]
        named = {}
        for name, value in kwargs.items():
            place = signature.by_name.get(name)
            named[name] = value if place is None else self._placed(parameters[place], value)
        values = signature.bind(given, named)
        if _numbers_alone(parameters, values):
            if not overload.alone:
                raise Mismatch("there is no tensor among the operands")
            return lifted(overload, values)
        return values

    def value(self, parameter: Parameter, value: Any) -> Any:
        """One argument; what can't be meant stays as it is, for the signature to refuse."""
        kind = parameter.kind
        if kind == "tensor":
            return self._tensor(value)
        read = _READ.get(kind)
        return value if read is None or value is None else read(self, value)

    def _placed(self, parameter: Parameter, value: Any) -> Any:
        """The same, with errors of literals that name the parameter."""
        try:
            return self.value(parameter, value)
        except GradwireError as problem:
            raise literals.placed(problem, parameter.name) from problem.__cause__

    def _tensor(self, value: Any) -> Any:
        """A tensor slot: a name, a weak number, or a literal."""
        kind = type(value)
        if kind is str:
            return WORDS[value] if value in WORDS else self._find(value)
        if kind in _NUMBERS or value is None:
            return value
        number = complex_number(value)
        return self.literal(value) if number is None else number

    def _several(self, value: Any) -> Any:
        if type(value) is str:
            return self._tensor(value)
        return [self._tensor(item) for item in value] if type(value) is list else value

    def _index(self, value: Any) -> Any:
        """What stands between brackets: one item, or {"index": [...]} for several axes."""
        if type(value) is dict and value.keys() == {"index"} and type(value["index"]) is list:
            return tuple([self._axis(item) for item in value["index"]])
        return self._axis(value)

    def _axis(self, value: Any) -> Any:
        if value is None or type(value) in (bool, int):
            return value
        if value == "...":
            return Ellipsis
        if type(value) is dict and value.keys() == {"slice"}:
            return slice(*self._bounds(value["slice"]))
        if type(value) is list:
            if any(type(item) is str for item in value):
                return [self._axis(item) for item in value]
            return self.literal(value or {"dtype": "int64", "data": []})  # places are integers
        if type(value) in (str, dict):
            return self._tensor(value)
        raise Mismatch(
            'an index is an int, a tensor, a list, null, "...", a slice or an object with index'
        )

    def _bounds(self, value: Any) -> list[int | None]:
        """Start, stop and step, what is left out being null."""
        if type(value) is not list or len(value) > 3:
            raise Mismatch("a slice is a list [start, stop, step] of ints and nulls")
        if not all(item is None or type(item) is int for item in value):
            raise Mismatch("the bounds of a slice are ints or null")
        return [*value, None, None, None][:3]

    def _data(self, value: Any) -> Any:
        """A number, or nested lists of them."""
        return list(map(self._data, value)) if type(value) is list else self._number(value)

    def _number(self, value: Any) -> Any:
        if type(value) is str:
            return WORDS.get(value, value)
        number = complex_number(value)
        return value if number is None else number


def _numbers_alone(parameters: Sequence[Parameter], values: Sequence[Any]) -> bool:
    """Whether an op of tensors got none: the engine would give a number, which is no result."""
    pairs = zip(parameters, values, strict=True)
    operands = [value for parameter, value in pairs if parameter.kind == "tensor"]
    if not operands or not all(value is None or type(value) in _PLAIN for value in operands):
        return False
    return not any(parameter.kind == "tensors" for parameter in parameters)


def complex_number(value: Any) -> complex | None:
    """The number that {"complex": [re, im]} stands for; None for anything else."""
    if type(value) is not dict or value.keys() != {"complex"}:
        return None
    parts = value["complex"]
    if type(parts) is not list or len(parts) != 2:
        return None
    found = [WORDS.get(p, p) if type(p) is str else p for p in parts]
    if not all(type(p) in (int, float) for p in found):
        return None
    return complex(*found)


_READ: dict[str, Callable[[Reader, Any], Any]] = {
    "tensors": Reader._several,
    "index": Reader._index,
    "float": Reader._number,
    "number": Reader._number,
    "data": Reader._data,
}
"""How the value of a parameter is read, by its kind; of the other kinds it is as JSON has it."""
