"""The families of ops: each decorator turns a kernel into a primitive with the family's spec rule.

elementwise: broadcasts and promotes. reduction: folds dims. view: shares memory, its kernel run on
a phantom is its spec rule. primitive: anything else, with a spec rule of its own. composite: a
function written in ops. All enter the catalogue under torch's name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gradwire_engine.arrays import backend, phantom_of
from gradwire_engine.catalogue import enter
from gradwire_engine.errors import error
from gradwire_engine.mode import local
from gradwire_engine.op import Composite, Inferred, Primitive
from gradwire_engine.promote import Weak, broadcast_shapes, result_type
from gradwire_engine.signature import Unnamed, axes, parameter_names
from gradwire_engine.spec import BOOL, COMPLEX, FLOAT, INTEGER, DType, Spec, bool_, dtype_of

Rules = dict[str, Callable[..., Any]] | None
Kernel = Callable[..., Any]


ANY = (BOOL, INTEGER, FLOAT, COMPLEX)
NUMERIC = (INTEGER, FLOAT, COMPLEX)
REAL = (BOOL, INTEGER, FLOAT)
REAL_NUMERIC = (INTEGER, FLOAT)
WHOLE = (BOOL, INTEGER)
FLOAT_ONLY = (FLOAT,)
INEXACT = (FLOAT, COMPLEX)
"""Categories of dtypes that an elementwise op takes."""

F = "nn.functional."
"""What names in torch.nn.functional begin with here; a `space`."""

_CATEGORY_NAMES = ("bool", "integer", "floating", "complex")


def floating(dtype: DType) -> DType:
    """The dtype itself where floating or complex, else the default dtype, as for sin of an int."""
    return dtype if dtype.category >= FLOAT else local.state.default_dtype


def to_bool(dtype: DType) -> DType:
    """The result dtype of comparisons."""
    return bool_


def _same(dtype: DType) -> DType:
    return dtype


def _name(kernel: Kernel, name: str | None, space: str) -> str:
    return name or space + kernel.__name__.rstrip("_")


def elementwise(
    rules: Rules = None,
    *,
    name: str | None = None,
    space: str = "",
    aliases: tuple[str, ...] = (),
    compute: Callable[[DType], DType] = _same,
    result: Callable[[DType], DType] = _same,
    unpromoted: tuple[str, ...] = (),
    inplace: bool = True,
    exact: bool = False,
    takes: tuple[int, ...] = ANY,
    refusal: type[Exception] = NotImplementedError,
    check: Callable[[dict[str, Any]], None] | None = None,
    numbers: tuple[str, ...] | None = None,
    alone: bool = False,
    as_given: tuple[str, ...] = (),
    public: bool = True,
    **facts: Any,
) -> Callable[[Kernel], Primitive]:
    """An op on each element: operands broadcast and are promoted to one dtype.

    compute: from the promoted dtype to the one the kernel works in (`floating` for sin).
    result: from that to the result's (`to_bool` for comparisons, `real_of` for abs).
    unpromoted: operands that broadcast but keep their dtype (the condition of where).
    takes: categories that the promoted dtype may have; refusal: the class that others raise.
    check: raises when arguments don't fit.
    numbers: operands that may be Python numbers; None: all. alone: even all of them at once.
    as_given: those of them that the kernel gets as they are, not wrapped around in ints' dtypes.
    domain: the real interval in which the op is smooth, for tests of its derivative.
    """

    def infer(op: str, operands: tuple[str, ...], named: dict[str, Any]) -> Inferred:
        specs = {n: named[n] for n in operands if named[n] is not None}
        if numbers is not None:
            _check_numbers(op, specs, numbers)
        shape = broadcast_shapes(op, *(s.shape for s in specs.values()))
        promoted = result_type(s for n, s in specs.items() if n not in unpromoted)
        _check_category(op, promoted, takes, refusal)
        if check is not None:
            check(named)
        dtype = compute(promoted)
        numbers_kept = tuple(n for n in as_given if isinstance(named[n], Weak))
        return Inferred(Spec(shape, result(dtype), ""), dtype, kept=(*unpromoted, *numbers_kept))

    def declare(kernel: Kernel) -> Primitive:
        called = _name(kernel, name, space)
        made = Primitive(
            called,
            kernel,
            lambda named: infer(called, operands, named),
            rules,
            family="elementwise",
            fuses=True,
            exact=exact,
            takes=takes,
            **facts,
        )
        operands = tuple(made.signature.parameters[i].name for i in made.places)
        made.alone = alone
        if public:
            enter(made, aliases, inplace=inplace)
        return made

    return declare


in_floats = partial(elementwise, compute=floating)
"""An elementwise op that gives floats for integers too."""

in_real_floats = partial(elementwise, compute=floating, takes=REAL)
"""The same, not defined for complex numbers."""


def _check_numbers(op: str, specs: dict[str, Any], numbers: tuple[str, ...]) -> None:
    for name, spec in specs.items():
        if isinstance(spec, Weak) and name not in numbers:
            raise error(
                "invalid_argument",
                f"{op}: {name!r} must be a tensor, got {spec}",
                "make a tensor of it",
                raised=TypeError,
            )


def _check_category(
    op: str, dtype: DType, takes: tuple[int, ...], refusal: type[Exception] = RuntimeError
) -> None:
    if dtype.category not in takes:
        raise error(
            "dtype_mismatch",
            f"{op}: not defined for {dtype.name}",
            f"it takes {', '.join(_CATEGORY_NAMES[c] for c in takes)} tensors; convert first",
            raised=refusal,
        )


def reduction(
    rules: Rules = None,
    *,
    name: str | None = None,
    space: str = "",
    aliases: tuple[str, ...] = (),
    compute: Callable[[DType], DType] = _same,
    result: Callable[[DType], DType] = _same,
    outputs: tuple[str, ...] = ("out",),
    results: tuple[Callable[[DType], DType], ...] | None = None,
    takes: tuple[int, ...] = ANY,
    nonempty: bool | Callable[[dict[str, Any]], bool] = False,
    whole: type[Exception] = RuntimeError,
    of_nothing: bool = False,
    named_axes: bool = False,
    refusal: type[Exception] = RuntimeError,
    first: Callable[[dict[str, Any]], None] | None = None,
    **facts: Any,
) -> Callable[[Kernel], Primitive]:
    """An op that folds the axes in its attribute `dim` (None: all), kept as 1 with `keepdim`.

    A `dtype` attribute, where there is one, is the dtype it computes in and gives.
    results: where there are several outputs, for each what `result` is for one.
    takes: categories of dtypes it is defined for. nonempty: nothing can be said of no elements,
    or whether of these attributes; whole: what is raised then where no axis was named, else it is
    an IndexError.
    of_nothing: where there are no elements any dtype will do, as torch's kernels don't get to run.
    named_axes: no axes are not all axes, unless all are kept or there is nothing to fold.
    refusal: the class that dtypes of other categories raise, before axes are looked at; what only
    lacks a kernel raises NotImplementedError, when axes and shapes have been looked at.
    first: raises for what else is refused before axes are looked at.
    """

    def declare(kernel: Kernel) -> Primitive:
        public = _name(kernel, name, space)

        def infer(named: dict[str, Any]) -> Inferred:
            spec, dims = next(iter(named.values())), named.get("dim")
            spec = Spec((), spec.dtype, "") if isinstance(spec, Weak) else spec
            dims = (dims,) if isinstance(dims, int) else dims
            shape = spec.shape
            if named_axes and isinstance(dims, Unnamed) and not named.get("keepdim"):
                _check_named(public, shape)
            if dims != ():  # of Ints nothing: of Dims this stands for all, and came as all
                shape = reduced_shape(public, shape, dims, named.get("keepdim", False))
            dtype = named.get("dtype") or compute(spec.dtype)
            known = of_nothing and 0 in spec.shape
            if nonempty is True or (nonempty and nonempty(named)):
                at_once = callable(nonempty) or dims is None or isinstance(dims, Unnamed)
                _check_nonempty(public, spec.shape, dims, whole if at_once else IndexError)
            if not known:
                _check_category(public, dtype, takes, refusal)
            if results is None:
                return Inferred(Spec(shape, result(dtype), ""), dtype)
            return Inferred(tuple(Spec(shape, to(dtype), "") for to in results), dtype)

        def dtype_first(named: dict[str, Any]) -> None:
            """What is refused by the operand's dtype before axes are looked at."""
            dtype = named.get("dtype") or compute(next(iter(named.values())).dtype)
            _check_category(public, dtype, takes, refusal)
            if first is not None:
                first(named)

        by_dtype = takes is not ANY and refusal is not NotImplementedError
        look = dtype_first if by_dtype else first
        made = Primitive(
            public, kernel, infer, rules, family="reduction", outputs=outputs, first=look, **facts
        )
        enter(made, aliases)
        return made

    return declare


def _check_named(op: str, shape: tuple[int, ...]) -> None:
    if shape and 0 not in shape:
        raise error(
            "shape_mismatch",
            f"{op}: dim names no axis of {list(shape)}, and keepdim is False",
            "name the axes to reduce",
        )


def _check_nonempty(
    op: str, shape: tuple[int, ...], dims: tuple[int, ...] | None, raised: type[Exception]
) -> None:
    gone = range(len(shape)) if dims is None else dims
    if any(shape[dim] == 0 for dim in gone if shape):
        raise error(
            "invalid_argument",
            f"{op}: there is no element to reduce in a tensor of shape {list(shape)}",
            "reduce over axes that have elements",
            raised=raised,
        )


def reduced_shape(
    asked: str, shape: tuple[int, ...], dims: tuple[int, ...] | None, keepdim: bool
) -> tuple[int, ...]:
    """The shape that is left when these dims (None or (): all) are folded."""
    gone = axes(asked, dims, len(shape))
    if keepdim:
        return tuple(1 if i in gone else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in gone)


def view(
    rules: Rules = None,
    *,
    name: str | None = None,
    space: str = "",
    aliases: tuple[str, ...] = (),
    many: bool = False,
    public: bool = True,
    **facts: Any,
) -> Callable[[Kernel], Primitive]:
    """An op whose result shares the input's memory. The kernel must never read elements.

    many: the kernel gives a list of views, of which none may be written in place alone.
    """

    def declare(kernel: Kernel) -> Primitive:
        called = _name(kernel, name, space)

        def infer(named: dict[str, Any]) -> Inferred:
            source = phantom_of(named["input"])
            others = {k: v for k, v in named.items() if k != "input"}
            found = kernel(backend("cpu").xp, source, **others)
            if many:
                return Inferred(tuple(Spec(a.shape, dtype_of(a.dtype), "") for a in found))
            return Inferred(Spec(found.shape, dtype_of(found.dtype), ""))

        made = Primitive(
            called, kernel, infer, rules, family="view", view=True, exact=True, many=many, **facts
        )
        if public:
            enter(made, aliases)
        return made

    return declare


def primitive(
    rules: Rules = None,
    *,
    spec: Callable[..., Any] | None = None,
    name: str | None = None,
    space: str = "",
    aliases: tuple[str, ...] = (),
    family: str = "primitive",
    inplace: bool = False,
    public: bool = True,
    **facts: Any,
) -> Callable[[Kernel], Primitive]:
    """An op with a spec rule of its own.

    spec takes, by name, whichever of the operands (as Specs) and attributes it wants, and gives the
    output's Spec, a tuple of them, or an Inferred where operands are to be cast; without one the
    output is as the first operand.
    """
    wanted = () if spec is None else parameter_names(spec)

    def infer(named: dict[str, Any]) -> Inferred:
        if spec is None:
            return Inferred(next(iter(named.values())))
        found = spec(*[named[n] for n in wanted])
        return found if isinstance(found, Inferred) else Inferred(found)

    def declare(kernel: Kernel) -> Primitive:
        made = Primitive(_name(kernel, name, space), kernel, infer, rules, family=family, **facts)
        if public:
            enter(made, aliases, inplace=inplace)
        return made

    return declare


internal = partial(primitive, public=False)
"""One that rules and other ops are written in; the catalogue doesn't have it."""


def composite(
    name: str | None = None,
    *,
    space: str = "",
    aliases: tuple[str, ...] = (),
    grad_name: str | None = None,
    inplace: bool = False,
    numbers: tuple[str, ...] | None = None,
    alone: bool = False,
    data_dependent: bool = False,
    random: bool = False,
    real_gradients: bool = False,
    settled: tuple[str, ...] = (),
    by_place: bool = False,
) -> Callable[[Kernel], Composite]:
    """An op written in other ops; random if one of those is. numbers, alone: see elementwise.

    real_gradients, settled: see unrecorded.py. by_place: what it does depends on where its operand
    lies in memory, of which specs say nothing.
    """

    def declare(function: Kernel) -> Composite:
        made = Composite(_name(function, name, space), function, grad_name=grad_name)
        if numbers is not None:
            made.signature.refuse_numbers(numbers)
        made.data_dependent, made.random, made.alone = data_dependent, random, alone
        made.real_gradients, made.settled, made.by_place = real_gradients, settled, by_place
        enter(made, aliases, inplace=inplace)
        return made

    return declare
