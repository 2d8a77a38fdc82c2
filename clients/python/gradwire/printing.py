"""How tensors look: torch's text, to the letter."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradwire import defaults
from gradwire_engine.spec import bool_, complex_of, int64

if TYPE_CHECKING:
    from gradwire.elements import Elements

_PREFIX = "tensor("


class Look(NamedTuple):
    """What set_printoptions sets. sci_mode: None lets the numbers decide."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": Look(),
    "short": Look(precision=2, edgeitems=2),
    "full": Look(threshold=float("inf")),
}
_look = [Look()]


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors are printed.

    precision: digits after the point. threshold: elements beyond which only the edges are shown,
    edgeitems of each. linewidth: characters. profile: "default", "short" or "full", on which the
    rest comes. sci_mode: scientific notation; None lets the numbers decide.
    """
    found = _look[0] if profile is None else _PROFILES[profile]
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    known = {name: value for name, value in given.items() if value is not None}
    _look[0] = found._replace(**known, sci_mode=sci_mode)  # type: ignore[arg-type]


def shown(tensor: Elements) -> str:
    """A tensor as text: elements, then what is not as usual about it."""
    text, notes = _elements(tensor), _notes(tensor)
    width = _look[0].linewidth
    used = len(text) - text.rfind("\n") + 1
    for note in notes:
        if used + len(note) + 2 > width:
            text += ",\n" + " " * len(_PREFIX) + note
            used = len(_PREFIX) + len(note)
        else:
            text += ", " + note
            used += len(note) + 2
    return text + ")"


def _notes(tensor: Elements) -> list[str]:
    default, dtype = defaults.dtype(), tensor.dtype
    usual = (default,) if not tensor.numel() else (default, complex_of(default), int64, bool_)
    notes = []
    if tensor.device.type != "cpu":
        notes.append(f"device='{tensor.device}'")
    if not tensor.numel() and tensor.ndim != 1:
        notes.append(f"size={tuple(tensor.shape)}")
    if dtype not in usual:
        notes.append(f"dtype={dtype!r}")
    if tensor.grad_fn is not None:
        notes.append(f"grad_fn=<{tensor.grad_fn.node.name()}>")
    elif tensor.requires_grad:
        notes.append("requires_grad=True")
    return notes


def _elements(tensor: Elements) -> str:
    if not tensor.numel():
        return f"{_PREFIX}[]"
    array = tensor._read()
    if tensor.dtype.is_floating_point:
        array = array.astype(np.float64)
    summarised = tensor.numel() > _look[0].threshold
    seen = _edges(array) if summarised else array
    form = _complex_form(seen) if tensor.is_complex() else _form(seen)
    return _PREFIX + _nested(array, len(_PREFIX), summarised, form)


class Form(NamedTuple):
    """How one element is written, and how wide that is."""

    write: Callable[..., str]
    width: int


def _edges(array: np.ndarray) -> np.ndarray:
    """The elements that a summary shows, with any shape."""
    edge = _look[0].edgeitems
    for axis, size in enumerate(array.shape):
        if size > 2 * edge:
            array = np.take(array, [*range(edge), *range(size - edge, size)], axis=axis)
    return array


def _form(array: np.ndarray) -> Form:
    if array.dtype.kind != "f":
        return _padded(str, array.ravel().tolist())
    values: list[float] = array.ravel().tolist()
    counted = [v for v in values if isfinite(v) and v]
    precision = _look[0].precision
    whole = all(v.is_integer() for v in counted)
    far = _scientific([abs(v) for v in counted], whole)
    asked = _look[0].sci_mode
    if counted and (far if asked is None else asked):
        return _padded(lambda v: f"{v:.{precision}e}", counted)
    if whole:
        return _padded(lambda v: f"{v:.0f}." if isfinite(v) else f"{v:.0f}", counted)
    return _padded(lambda v: f"{v:.{precision}f}", counted)


def _scientific(sizes: list[float], whole: bool) -> bool:
    """Whether the numbers are too far apart, too large or too small for a plain form."""
    if not sizes:
        return False
    low, high = min(sizes), max(sizes)
    return high / low > 1000.0 or high > 1e8 or (not whole and low < 1e-4)


def _padded(write: Callable[..., str], values: list[float]) -> Form:
    """Every element as wide as the widest of these values."""
    width = max((len(write(v)) for v in values), default=1)
    return Form(lambda v: write(v).rjust(width), width)


def _complex_form(array: np.ndarray) -> Form:
    real, imag = (_form(part.astype(np.float64)) for part in (array.real, array.imag))

    def write(value: complex) -> str:
        text = imag.write(value.imag).lstrip()
        sign = "" if text[0] in "+-" else "+"
        return f"{real.write(value.real)}{sign}{text}j"

    return Form(write, real.width + imag.width + 1)


def _nested(array: np.ndarray, indent: int, summarised: bool, form: Form) -> str:
    if not array.ndim:
        return form.write(array.item())
    if array.ndim == 1:
        return _row(array.tolist(), indent, summarised, form)
    edge = _look[0].edgeitems
    cut = summarised and len(array) > 2 * edge
    rows = [*array[:edge], *array[-edge:]] if cut else list(array)
    parts = [_nested(row, indent + 1, summarised, form) for row in rows]
    if cut:
        parts.insert(edge, "...")
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _row(values: list[float], indent: int, summarised: bool, form: Form) -> str:
    edge = _look[0].edgeitems
    if summarised and len(values) > 2 * edge:
        shown = [*map(form.write, values[:edge]), " ...", *map(form.write, values[-edge:])]
    else:
        shown = [*map(form.write, values)]
    each = max(1, (_look[0].linewidth - indent) // (form.width + 2))
    lines = [", ".join(shown[i : i + each]) for i in range(0, len(shown), each)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


__all__ = ["Look", "set_printoptions", "shown"]
