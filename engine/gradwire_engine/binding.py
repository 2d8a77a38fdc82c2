"""How a call's kernel is bound: attributes and casts before it, its results finished after it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire_engine.arrays import backend, copied, halfway, phantom_of
from gradwire_engine.errors import error
from gradwire_engine.kernels.direct import direct
from gradwire_engine.kernels.shared import LARGE, shared
from gradwire_engine.kernels.short_rows import with_long_rows
from gradwire_engine.laid import lay, relaid
from gradwire_engine.mode import local
from gradwire_engine.op import Inferred
from gradwire_engine.promote import Weak
from gradwire_engine.random import done_with, running
from gradwire_engine.spec import BOOL, INTEGER, DType, Spec, float32

if TYPE_CHECKING:
    from gradwire_engine.call import Call

BIND: dict[str, Callable[[Call, Callable[..., Any]], Callable[..., Any]]] = {}
"""What runs in a kernel's place on devices without elements, by device. It gets a function from the
operands' phantoms to the results'."""


def bind(call: Call, inferred: Inferred) -> None:
    """Give a call what it runs: `in_rows` on row-major operands, `run` on any."""
    op = call.op
    flat = all(len(spec.shape) < 2 for spec in call.outputs)
    call.promoted = _promoted(call, inferred)
    call.in_rows = call.run = bind_kernel(call, inferred)
    if op.lies is None or op.lies.anyway or flat:
        return
    device = BIND.get(call.device)
    if device is None:
        call.run = partial(lay, call, None)
    else:
        call.run = device(call, partial(lay, call, _phantoms(call)))


def _promoted(call: Call, inferred: Inferred) -> tuple[int, ...]:
    """Places of operands that are copied into the dtype that the op works in."""
    wanted = inferred.compute
    return tuple(
        place
        for span in call.spans
        for place in range(span.start, span.stop)
        if wanted is not None and span.name not in inferred.kept
        if isinstance(call.inputs[place], Spec) and call.inputs[place].dtype is not wanted
    )


def bind_kernel(call: Call, inferred: Inferred) -> Callable[..., Any]:
    """What runs on arrays: the op's kernel, with all that is the same every time."""
    op = call.op
    xp = backend(call.device).xp
    bind = BIND.get(call.device)
    if not op.view and bind is not None:
        return bind(call, _phantoms(call))
    if call.device == "meta" and not op.view:
        return _phantoms(call)
    leading = op.places == tuple(range(len(op.places))) and not any(s.many for s in call.spans)
    base: Callable[..., Any]
    kernel: Callable[..., Any] = partial(op.kernel, xp)
    if op.random:
        kernel = partial(_with_generator, op.kernel, xp, call.device)
    if leading:
        base = partial(kernel, **call.attributes)
    else:
        slots = [slice(s.start, s.stop) if s.many else s.start for s in call.spans]
        places = [*zip(op.places, slots, strict=True)]
        base = partial(_regroup, kernel, op.positional, op.keywords, list(call.arguments), places)
    if op.view:
        return base if bind is None else bind(call, base)
    given = [
        (call.inputs[i], None if s.name in inferred.kept else inferred.compute)
        for s in call.spans
        for i in range(s.start, s.stop)
    ]
    if leading and not op.random and op.family == "elementwise":
        handed = [_worked_in(*x, op.exact).numpy if isinstance(x[0], Spec) else None for x in given]
        found = direct(op.kernel, xp, handed, call.attributes)
        if type(found) is np.ufunc and call.outputs[0].size >= LARGE:
            found = shared(found)
        elif type(found) is np.ufunc:
            shapes = [spec.shape for spec in call.inputs if isinstance(spec, Spec)]
            found = with_long_rows(found, shapes, call.outputs[0].shape)
        base = found or base
    casts = [_cast(*x, op.exact) for x in given]
    if any(casts):
        base = partial(_run_cast, base, casts)
    return Finisher(call, base, xp)


def _with_generator(
    kernel: Callable[..., Any], xp: Any, where: str, /, *operands: Any, **attributes: Any
) -> Any:
    stream = running(where)
    try:
        return kernel(xp, stream, *operands, **attributes)
    finally:
        done_with(stream)


def _regroup(
    kernel: Callable[..., Any],
    positional: int,
    keywords: tuple[str, ...],
    arguments: list[Any],
    places: list[tuple[int, int | slice]],
    /,
    *flat: Any,
) -> Any:
    """Run a kernel with its operands at their places among the arguments."""
    operands, given = [*flat], arguments.copy()
    for place, slot in places:
        given[place] = operands[slot]
    if not keywords:
        return kernel(*given)
    named = dict(zip(keywords, given[positional:], strict=True))
    return kernel(*given[:positional], **named)


def _worked_in(spec: Spec, compute: DType | None, exact: bool) -> DType:
    wanted = spec.dtype if compute is None else compute
    return float32 if wanted.half and not exact else wanted


def _cast(
    spec: Spec | Weak | None, compute: DType | None, exact: bool
) -> Callable[[Any], Any] | None:
    """How an operand is brought to the dtype that the kernel works in; None: as it is."""
    if spec is None:
        return None
    if isinstance(spec, Weak):
        if compute is not None and compute.category in (BOOL, INTEGER):
            return partial(_wrapped_int, dtype=compute.numpy)
        return None
    wanted = _worked_in(spec, compute, exact)
    return None if wanted is spec.dtype else partial(copied, dtype=wanted.numpy)


def _wrapped_int(value: Any, dtype: np.dtype) -> Any:
    """A Python int in an integer dtype, wrapping around as torch does."""
    if dtype.kind == "b":
        return bool(value)
    bits = dtype.itemsize * 8
    value = int(value) & ((1 << bits) - 1)
    if dtype.kind == "i" and value >> (bits - 1):
        value -= 1 << bits
    return dtype.type(value)


def _run_cast(base: Callable[..., Any], casts: list[Any], *arrays: Any) -> Any:
    return base(*[a if cast is None else cast(a) for a, cast in zip(arrays, casts, strict=True)])


def _phantoms(call: Call) -> Callable[..., Any]:
    if call.op.data_dependent:
        raise error(
            "data_dependent_shape",
            f"{call.op.name}: the result's shape depends on data, which is not known here",
        )
    found = tuple(map(phantom_of, call.outputs))
    fallible = call.op.fallible
    if callable(fallible):
        fallible = fallible(call.inputs)
    given = found[0] if call.single else found
    anyway = call.op.lies is not None and call.op.lies.anyway

    if not (fallible or anyway):
        return lambda *arrays: given

    def give(*arrays: Any) -> Any:
        if fallible:
            local.state.fallible = True
        return relaid(call, arrays, given) if anyway else given

    return give


def _as_array(function: Any) -> Callable[..., Any] | None:
    """A function of NumPy's that gives an array where there are no axes, too; None if it can't."""
    if type(function) is not np.ufunc or not _TAKES_ELLIPSIS:
        return None
    return partial(function, out=...)


_TAKES_ELLIPSIS = np.lib.NumpyVersion(np.__version__) >= "2.3.0"


class Finisher:
    """Runs a kernel and brings its results to the specs inferred: arrays, dtype, order.

    A kernel whose first result needed nothing is called directly from then on: for the same specs
    the array library gives the same dtype again.
    """

    __slots__ = ("anyway", "base", "call", "dtypes", "rows", "xp")

    def __init__(self, call: Call, base: Callable[..., Any], xp: Any) -> None:
        self.call, self.base, self.xp = call, base, xp
        self.dtypes = [spec.dtype.numpy for spec in call.outputs]
        self.anyway = call.op.lies is not None and call.op.lies.anyway
        self.rows = call.op.family != "elementwise" and not self.anyway

    def __call__(self, *arrays: Any) -> Any:
        result = self.base(*arrays)
        call = self.call
        if call.single:
            finished = self._finish(result, self.dtypes[0])
        else:
            finished = tuple(map(self._finish, result, self.dtypes))
        if self.anyway:
            return relaid(call, arrays, finished)
        if call.single and not call.outputs[0].shape:
            if getattr(result, "dtype", None) == self.dtypes[0]:
                self._replace(_as_array(self.base) or self._of_no_axes)
        elif call.single and finished is result:
            self._replace(self._checked if self.rows else self.base)
        elif not call.single and self.rows and all(map(is_, finished, result)):
            self._replace(self._checked_each)
        return finished

    def _replace(self, faster: Callable[..., Any]) -> None:
        call = self.call
        call.run = faster if call.run is call.in_rows else call.run
        call.in_rows = faster

    def _of_no_axes(self, *arrays: Any) -> Any:
        """Run a kernel whose result has no axes, and make an array of the number it may give."""
        return self.xp.asarray(self.base(*arrays))

    def _checked_each(self, *arrays: Any) -> Any:
        """Run a kernel of several results, and lay those out anew that are not row-major."""
        results = self.base(*arrays)
        for result in results:
            if not result.flags.c_contiguous:
                return tuple(map(self._finish, results, self.dtypes))
        return results

    def _checked(self, *arrays: Any) -> Any:
        """The same once a result was well: only its order in memory may still differ."""
        result = self.base(*arrays)
        return result if result.flags.c_contiguous else self._finish(result, self.dtypes[0])

    def _finish(self, result: Any, dtype: np.dtype) -> Any:
        if getattr(result, "dtype", None) != dtype or not hasattr(result, "flags"):
            result = halfway(self.xp.asarray(result), dtype).astype(dtype)
        if not result.shape:
            return self.xp.asarray(result)
        if self.rows and not result.flags.c_contiguous:
            return self.xp.ascontiguousarray(result)
        return result
