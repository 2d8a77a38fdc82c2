"""What is looked at after each step: every tensor, as torch, our mirror and our host have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

RELATIVE = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float16": 0.05,
    "bfloat16": 0.2,
}
"""How far numbers may be apart after forty steps, relative to the largest of their tensor, by the
least exact dtype of the program.

Tight bounds are for the tests of single ops; a wrong gradient or a lost write is farther off.

The table is chosen, not derived: what forty steps make of an ulp depends on the program. A bound
measured for each program, by twins of it with noise, would let less slip through where little is
lost; here such twins only decide afterwards whether a difference beyond the table is rounding's
(rounding.py). An error below these bounds is not found here.
"""

ABSOLUTE = {1e-9: 1e-14, 1e-4: 1e-6, 0.05: 8e-3, 0.2: 0.06}
"""How far apart what is left may be where numbers near 1 cancel, by the relative bound: some
roundings of the dtype.
"""

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

    def against(self, other: Seen, where: str, relative: float) -> list[str]:
        """What differs in another sight of the same tensor."""
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
            and not self._close(other, relative)
        ):
            found.append(f"{where}: {self.values} became {other.values}")
        if (self.grad is None) != (other.grad is None):
            found.append(f"{where}.grad: {self.grad} became {other.grad}")
        elif self.grad is not None and other.grad is not None:
            found += self.grad.against(other.grad, f"{where}.grad", relative)
        return found

    def _close(self, other: Seen, relative: float) -> bool:
        return close(self.values, other.values, relative if self.dtype in RELATIVE else 0.0)


def close(expected: np.ndarray, actual: np.ndarray, relative: float) -> bool:
    if not relative or expected.shape != actual.shape:
        return np.array_equal(expected, actual)
    finite = np.isfinite(expected)
    odd = [np.where(np.isfinite(a), 0, a) for a in (expected, actual)]
    if not np.array_equal(*odd, equal_nan=True):
        return False
    e, a = (np.where(finite, v, 0).astype(complex) for v in (expected, actual))
    bound = relative * (np.abs(e) + np.abs(e).max(initial=0.0)) + ABSOLUTE[relative]
    return bool(np.all(np.abs(e - a) <= bound))


UNUSABLE = "a view that may not be used any more"
"""In the place of a tensor whose base was written to, which torch refuses to show."""

TORCHS_WORDS = ("INTERNAL ASSERT", "ZeroTensors are immutable")
"""What torch says where it is at fault: the latter where a walk left zeros in `.grad` in a form of
its own, which the next one can't add to.
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
        return _tensor(x)
    except RuntimeError as problem:
        return TORCHS_FAULT if fault(str(problem)) else UNUSABLE


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
    """A copy of the elements; bfloat16, which torch can't hand over, as float32."""
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
    return max((RELATIVE[d] for d in used if d in RELATIVE), default=0.0)


def changes(before: Mapping[str, Sight], after: Mapping[str, Sight]) -> list[str]:
    """What differs between two sights of a program's tensors."""
    found = []
    relative = exactness(before)
    for name, seen in before.items():
        other = after.get(name, "no tensor")
        if isinstance(seen, Seen) and isinstance(other, Seen):
            found += seen.against(other, name, relative)
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
