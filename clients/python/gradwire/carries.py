"""What loops and branches give: a step the carries that it got, both branches the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gradwire.pytrees import shown
from gradwire.tensor import Tensor
from gradwire.trace import rebuilt
from gradwire_engine.errors import GradwireError, error

_STAYS = "carries keep their structure, shapes and dtypes from step to step; "


def need_sequence(asked: str, name: str, given: Any) -> tuple[Any, ...]:
    """The arguments of a function, which have to stand in a tuple or list."""
    if not isinstance(given, tuple | list):
        raise wrong(
            f"{asked}: {name} is {described(given)}, and no tuple",
            f"give a tuple with an item for each argument, as in ({described(given)},)",
        )
    return tuple(given)


def arranged(value: Any, like: Any) -> Any:
    """A nest with its dicts in the order of another's, so that their tensors are too."""
    if isinstance(value, dict) and isinstance(like, dict) and value.keys() == like.keys():
        return {key: arranged(value[key], item) for key, item in like.items()}
    sequences = isinstance(value, list | tuple) and isinstance(like, list | tuple)
    if sequences and len(value) == len(like):
        parts = [arranged(item, other) for item, other in zip(value, like, strict=True)]
        return rebuilt(value, parts)
    return value


def need_carries(asked: str, called: str, before: Any, after: Any) -> None:
    """Refuse carries that come out of a step as something else than went in."""
    went, came = list(_placed("carry", before)), list(_placed("carry", after))
    if [place for place, _ in went] != [place for place, _ in came]:
        raise wrong(
            f"{asked}: {called} gets the carries {described(before)} and gives {described(after)}",
            _STAYS + "give them in what they came in",
            "shape_mismatch",
        )
    for (place, old), (_, new) in zip(went, came, strict=True):
        if not _alike(old, new):
            said = f"{asked}: {called} gets {place} as {described(old)} and gives {described(new)}"
            raise wrong(said, _way_out(old, new), _code(old, new))


def need_same(asked: str, one: str, first: Any, other: str, second: Any) -> None:
    """Refuse two functions of which one would be called, and that don't give the same."""
    pairs = list(_placed("", first)), list(_placed("", second))
    said = f"{asked}: {one} gives {described(first)}, {other} gives {described(second)}"
    hint = "both have to give the same: structure, shapes and dtypes"
    if [place for place, _ in pairs[0]] != [place for place, _ in pairs[1]]:
        raise wrong(said, hint, "shape_mismatch")
    for (_, a), (_, b) in zip(*pairs, strict=True):
        if not _alike(a, b):
            numbers = not (isinstance(a, Tensor) and isinstance(b, Tensor))
            tensors = ", and what differs is a tensor: torch.tensor(1.0) makes one of a number"
            raise wrong(said, hint + tensors * numbers, _code(a, b))


def need_tensors(asked: str, called: str, found: Any, outputs: Sequence[Tensor]) -> None:
    """Refuse a function of whose results none is a tensor: there is nothing to run."""
    if not outputs:
        raise wrong(
            f"{asked}: {called} gives {described(found)}, which has no tensor",
            "numbers are made tensors by torch.tensor(1.0)",
        )


def need_condition(found: Any, outputs: Sequence[Tensor]) -> None:
    """Refuse a condition that gives anything but one tensor."""
    if len(outputs) != 1:
        raise wrong(
            f"while_loop: cond_fn gives {described(found)}, and no tensor of one bool",
            "compare what is carried, which are tensors, as in v < 10",
        )


def described(value: Any) -> str:
    """A nest with its tensors as dtype and shape."""
    return shown(value, _leaf)


def wrong(detail: str, hint: str, code: str = "invalid_argument") -> GradwireError:
    """The error of a loop or a branch."""
    return error(code, detail, hint)


def _leaf(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype.name}{list(value.shape)}"
    return repr(value)


def _placed(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Whatever is no nest, with the way to it; and nests that are empty."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _placed(f"{name}[{key!r}]", item)
    elif isinstance(value, list | tuple) and value:
        for place, item in enumerate(value):
            yield from _placed(f"{name}[{place}]", item)
    else:
        yield name, value


def _alike(one: Any, other: Any) -> bool:
    """Whether two leaves are tensors of one kind, or the same otherwise."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.shape == other.shape and one.dtype.name == other.dtype.name
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):  # both are empty
        return True
    same = type(one) is type(other) and isinstance(one, int | float | complex | str | dict)
    return one is other or (same and bool(one == other))


def _code(one: Any, other: Any) -> str:
    if not (isinstance(one, Tensor) and isinstance(other, Tensor)):
        return "invalid_argument"
    return "dtype_mismatch" if one.shape == other.shape else "shape_mismatch"


def _way_out(old: Any, new: Any) -> str:
    """How to mend a carry that does not stay what it is."""
    if isinstance(old, Tensor) and isinstance(new, Tensor):
        return _STAYS + f"begin with what it will be, {described(new)}"
    number, tensor, verb = (
        (new, old, "give") if isinstance(old, Tensor) else (old, new, "begin with")
    )
    if not isinstance(number, int | float | complex):
        return "what changes from step to step is a tensor"
    kind = tensor.dtype.name if type(number) is int and isinstance(tensor, Tensor) else "int64"
    said = repr(number) + (f", dtype=torch.{kind}" if kind != "int64" else "")
    return f"a number stays as it is, and what changes is a tensor: {verb} torch.tensor({said})"


__all__ = [
    "arranged",
    "described",
    "need_carries",
    "need_condition",
    "need_same",
    "need_sequence",
    "need_tensors",
    "wrong",
]
