"""What gradcheck tolerates, and what it says of what it doesn't."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gradwire_engine.errors import GradwireError, error

Host = np.ndarray
Shape = tuple[int, ...]


class Tolerance(NamedTuple):
    """|found - wanted| <= atol + rtol |wanted| passes."""

    atol: float
    rtol: float

    def exceeded(self, found: Host, wanted: Host) -> Host:
        """By how much each element fails: not above 0 where it passes, infinite for a lone NaN."""
        beyond = np.abs(found - wanted) - (self.atol + self.rtol * np.abs(wanted))
        same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
        return np.where(same, -1.0, np.where(np.isnan(beyond), np.inf, beyond))


def failed(detail: str, hint: str) -> GradwireError:
    """A failed check."""
    return error("invalid_gradient", f"gradcheck: {detail}", hint)


def distance(a: Host, b: Host) -> Host:
    """How far elements are apart, in one row; NaN is like NaN, and infinitely far from the rest."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    off = np.abs(np.where(same, 0, a - b)).reshape(-1)
    return np.where(np.isnan(off), np.inf, off)


def where(shape: Shape, flat: int) -> list[int]:
    """The index of an element counted in row-major order."""
    return [int(i) for i in np.unravel_index(flat, shape)] if shape else []


def compare(
    mode: str,
    output: int,
    place: int,
    shapes: tuple[Shape, Shape],
    found: Host,
    wanted: Host,
    tolerance: Tolerance,
) -> None:
    """Raise for the entry of a Jacobian that is furthest off, if any is off at all.

    found, wanted: [output element, part, input element]; shapes: of output and input.
    """
    beyond = tolerance.exceeded(found, wanted)
    wrong = int((beyond > 0).sum())
    if not wrong:
        return
    worst = int((beyond >= 0.99 * beyond.max()).argmax())  # the first of those about equally bad
    row, part, column = (int(i) for i in np.unravel_index(worst, beyond.shape))
    which = "" if beyond.shape[1] == 1 else (" (real part)", " (imaginary part)")[part]
    at = (
        f"output element {where(shapes[0], row)}{which} by input element {where(shapes[1], column)}"
    )
    raise failed(
        f"{mode} is wrong for output {output} by input {place}, in {wrong} of {beyond.size} "
        f"entries; at {at} it gives {found[row, part, column]}, "
        f"differences give {wanted[row, part, column]}",
        "look at the rule of the op for that operand"
        + (
            f"; it is off by a factor of {_factor(found, wanted)}" if _factor(found, wanted) else ""
        ),
    )


def _factor(found: Host, wanted: Host) -> str:
    """The factor that makes one of the other, if there is one for all entries."""
    some = np.abs(wanted) > 1e-4 * np.abs(wanted).max(initial=0)
    if not some.any() or not np.isfinite(found).all():
        return ""
    ratios = found[some] / wanted[some]
    alike = np.allclose(ratios, ratios[0], rtol=1e-3) and abs(ratios[0] - 1) > 1e-3
    return f"{ratios[0]:.4g}" if alike and abs(ratios[0]) > 1e-3 else ""
