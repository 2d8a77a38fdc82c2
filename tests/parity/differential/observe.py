"""What is looked at after each step: every tensor, as torch, our mirror and our host have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

_EPS = {
    "float64": 2.0**-52,
    "complex128": 2.0**-52,
    "float32": 2.0**-23,
    "complex64": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
}
"""The distance from 1 to the next number."""

ULPS = 8
"""How many of those numbers may be apart, by the least exact dtype of the program: relative to the
largest of their tensor, and to 1 where less than that is left of numbers that cancel.

Both libraries round every op to an ulp or two, and 99 of 100 programs of forty steps need no more
than this. What is farther apart is measured: twins of the program, run on torch alone with noise of
that size, have to differ as much in the same place (rounding.py). Else it is a difference.
"""

Sizes = Mapping[str, np.ndarray]
"""How far apart numbers may be in addition, by where they stand: "t3", "t3.grad"."""

_FACTS = ("dtype", "shape", "requires_grad", "is_leaf")


@dataclass
class Seen:
    """A tensor after a step.

    version: None of an inference tensor that has none; writes counted since it got its name of
    one that shares a gradient's storage, see versions.py.
    """

    dtype: str
    shape: tuple[int, ...]
    requires_grad: bool
    is_leaf: bool
    version: int | None
    values: np.ndarray
    grad: Seen | None = None
    grad_fn: str | None = None

    def against(self, other: Seen, where: str, relative: float, more: Sizes) -> list[str]:
        """What differs in another sight of the same tensor, by more than is allowed there."""
        facts = _FACTS if ".grad" in where else (*_FACTS, "grad_fn")
        found = [
            f"{where}.{name}: {getattr(self, name)} became {getattr(other, name)}"
            for name in facts
            if getattr(self, name) != getattr(other, name)
        ]
        if self.version != other.version and ".grad" not in where:
            found.append(f"{where}.version: {self.version} became {other.version}")
        if (
            self.shape == other.shape
            and self.dtype == other.dtype
            and not self._close(other, relative, more.get(where, 0.0))
        ):
            found.append(f"{where}: {self.values} became {other.values}")
        if (self.grad is None) != (other.grad is None):
            found.append(f"{where}.grad: {self.grad} became {other.grad}")
        elif self.grad is not None and other.grad is not None:
            found += self.grad.against(other.grad, f"{where}.grad", relative, more)
        return found

    def _close(self, other: Seen, relative: float, more: Any) -> bool:
        return close(self.values, other.values, relative if self.dtype in _EPS else 0.0, more)


def close(expected: np.ndarray, actual: np.ndarray, relative: float, more: Any = 0.0) -> bool:
    """Whether numbers are equal but for rounding.

    more: how far apart they may be besides, each or all; infinite where NaN may be a number.
    """
    if expected.shape != actual.shape:
        return False
    if np.array_equal(expected, actual):
        return True
    size = np.abs(np.where(np.isfinite(expected), expected, 0).astype(complex))
    bound = more + (relative * (size + size.max(initial=0.0) + 1) if relative else 0.0)
    return bool(np.all(apart(expected, actual) <= bound))


def apart(expected: np.ndarray, actual: np.ndarray) -> np.ndarray:
    """How far apart numbers are: 0 where both are the same infinity or NaN, else infinitely."""
    finite = np.isfinite(expected) & np.isfinite(actual)
    odd = [np.where(finite, 0, a) for a in (expected, actual)]
    same = [(o == p) | ((o != o) & (p != p)) for o, p in zip(*map(_parts, odd), strict=True)]
    e, a = (np.where(finite, v, 0).astype(complex) for v in (expected, actual))
    return np.where(np.logical_and.reduce(same), np.abs(e - a), np.inf)


def _parts(numbers: np.ndarray) -> tuple[np.ndarray, ...]:
    """The real and imaginary parts of complex numbers, each infinite or NaN by itself."""
    return (numbers.real, numbers.imag) if numbers.dtype.kind == "c" else (numbers,)


UNUSABLE = "a view that may not be used any more"
"""In the place of a tensor whose base was written to, which torch refuses to show."""

TORCHS_WORDS = (
    "INTERNAL ASSERT",
    "ZeroTensors are immutable",
    "isFloatingType(grad",
    "Expected gradient function to be set",
    "Batching rule not implemented for aten::detach",
)
"""What torch says where it is at fault.

The second where a walk gave zeros in a form of torch's own, which holds no elements: it is handed
out as any gradient is, but can't be written, not even by the next walk. The fourth where a rule
gave a real operand a complex gradient, see docs/adr/wrong-gradients-of-torch.md. The last of what a
batched walk left at a tensor that retains its gradient: torch's wrapper, of which nothing is shown.
"""
TORCHS_FAULT = "a tensor on which torch itself fails, and asks to report it"

Sight = Seen | str


def fault(text: str) -> bool:
    """Whether torch says that it is at fault itself."""
    return any(words in text for words in TORCHS_WORDS)


def observed(variables: Mapping[str, Any]) -> dict[str, Sight]:
    """All tensors of a program that runs on torch."""
    return {name: _shown(x) for name, x in variables.items() if is_tensor(x)}


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor of either library, usable or not."""
    return hasattr(type(value), "is_leaf")


def _shown(x: Any) -> Sight:
    try:
        return TORCHS_FAULT if _whole_with_history(x) else _tensor(x)
    except RuntimeError as problem:
        return TORCHS_FAULT if fault(str(problem)) else UNUSABLE


def _whole_with_history(x: Any) -> bool:
    """Whether bools or whole numbers require grad.

    They do in torch where fill_, masked_fill_, index_fill_, comparisons in place and an assignment
    by a mask put into them what comes of a tensor that requires grad. Every walk from there ends at
    an assertion of torch's own: "isDifferentiableType(grad.scalar_type()) INTERNAL ASSERT FAILED".
    """
    return bool(x.requires_grad) and not (x.is_floating_point() or x.is_complex())


def _tensor(x: Any, with_grad: bool = True) -> Seen:
    grad = x.grad if with_grad else None
    return Seen(
        str(x.dtype).rpartition(".")[2],
        tuple(x.shape),
        x.requires_grad,
        x.is_leaf,
        _version(x),
        _elements(x.detach()),
        None if grad is None else _tensor(grad, with_grad=False),
        _node(x),
    )


def _version(x: Any) -> int | None:
    """How often it was written; None of an inference tensor that does not count its writes."""
    try:
        return int(x._version)
    except RuntimeError:
        if not x.is_inference():
            raise
        return None


def _node(x: Any) -> str | None:
    """The name of the node that made a tensor, without torch's namespace before some."""
    return None if x.grad_fn is None else str(x.grad_fn.name()).rpartition(":")[2]


def _elements(x: Any) -> np.ndarray:
    """A copy of the elements; bfloat16, which torch can't hand over, as float32.

    Zeros that a walk left without memory are cloned first: a part of them crashes torch.
    """
    if getattr(x, "_is_zerotensor", bool)():
        x = x.clone()
    wide = x.float() if str(x.dtype).endswith("bfloat16") else x
    return np.array(wide.numpy(force=True))


def told(variables: Mapping[str, Any], session: Any) -> dict[str, Sight]:
    """All tensors of a program that runs on gradwire: the host's word, and the mirror's."""
    tensors = {name: x for name, x in variables.items() if is_tensor(x)}
    replies = _replies(session, [x._name for x in tensors.values()])
    return {name: _agreed(x, replies) for name, x in tensors.items()}


def _replies(session: Any, names: list[str]) -> dict[str, Any]:
    """What the host says of tensors and their gradients; nothing of those it refuses to show."""
    try:
        found: dict[str, Any] = session.flush([*names, *(f"{name}.grad" for name in names)])
    except RuntimeError:
        if len(names) == 1:
            return {}
        middle = len(names) // 2
        found = _replies(session, names[:middle]) | _replies(session, names[middle:])
    return found


def _agreed(x: Any, replies: dict[str, Any]) -> Sight:
    """The host's word on a tensor; where the client's own differs, that stands there too."""
    if x._name not in replies:
        return UNUSABLE
    try:
        mirrored = _mirrored(x)
    except RuntimeError:
        return UNUSABLE
    grad = replies[f"{x._name}.grad"]
    host = _received(replies[x._name], None if grad is None else _received(grad))
    if mirrored["version"] is None:
        host.version = None
    for fact, value in mirrored.items():
        if value != getattr(host, fact):
            setattr(host, fact, f"{getattr(host, fact)} at the host, {value} at the client")
    if (x._meta.grad is None) != (host.grad is None):
        host.dtype += " (one of client and host has a gradient)"
    return host


def _received(reply: Any, grad: Seen | None = None) -> Seen:
    half = reply.dtype.name == "bfloat16"
    return Seen(
        reply.dtype.name,
        tuple(reply.shape),
        reply.requires_grad,
        reply.is_leaf,
        reply.version,
        np.array(reply.array.astype(np.float32) if half else reply.array),
        grad,
        reply.grad_fn,
    )


def _mirrored(x: Any) -> dict[str, Any]:
    if x._meta.grad is not None:
        x._meta.grad.is_leaf  # noqa: B018 (a gradient may be a view that may not be used)
    return {
        "dtype": x.dtype.name,
        "shape": tuple(x.shape),
        "requires_grad": x.requires_grad,
        "is_leaf": x.is_leaf,
        "version": _version(x),
        "grad_fn": _node(x),
    }


def exactness(sights: Mapping[str, Sight]) -> float:
    """How far numbers may be apart in a program with these tensors."""
    used = [s.dtype for s in sights.values() if isinstance(s, Seen)]
    return ULPS * max((_EPS[d] for d in used if d in _EPS), default=0.0)


def changes(
    before: Mapping[str, Sight], after: Mapping[str, Sight], more: Sizes | None = None
) -> list[str]:
    """What differs between two sights of a program's tensors, by more than is allowed."""
    found = []
    relative = exactness(before)
    for name, seen in before.items():
        other = after.get(name, "no tensor")
        if isinstance(seen, Seen) and isinstance(other, Seen):
            found += seen.against(other, name, relative, more or {})
        elif seen != other:
            found.append(f"{name}: {_short(seen)} became {_short(other)}")
    return found


def complex_infinities(sights: Mapping[str, Sight]) -> bool:
    """Whether complex numbers are among them that aren't finite: what comes of those differs."""
    seen = [s for s in sights.values() if isinstance(s, Seen)]
    arrays = [g.values for s in seen for g in (s, s.grad) if g is not None]
    return any(a.dtype.kind == "c" and not np.isfinite(a).all() for a in arrays)


def _short(sight: Sight) -> str:
    return sight if isinstance(sight, str) else f"a {sight.dtype} tensor of {sight.shape}"
