"""The catalogue: every public op by torch's name, its aliases and its in-place twin."""

from __future__ import annotations

from gradwire_engine.errors import error
from gradwire_engine.op import Composite, Op, Primitive

CATALOGUE: dict[str, Op] = {}
"""Every op by its name: "sin", "linalg.det", "nn.functional.gelu"."""

ALIASES: dict[str, str] = {}
"""From another name of an op to its name."""

ATTRIBUTES = ("T", "mT", "H", "mH", "real", "imag")
"""Ops that torch has as attributes of a tensor, without brackets."""

NO_OPS: dict[str, str] = {}
"""What is no op though one may take it for one, and what it is: for errors."""

_BY_LAST_PART: dict[str, list[str]] = {}


def enter(
    overload: Primitive | Composite, aliases: tuple[str, ...] = (), *, inplace: bool = False
) -> None:
    """Put an overload under its name; an op's overloads are tried in the order they came."""
    op = CATALOGUE.get(overload.name)
    if op is None:
        op = CATALOGUE[overload.name] = Op(overload.name)
        _BY_LAST_PART.setdefault(overload.name.rpartition(".")[2], []).append(overload.name)
    op.overloads.append(overload)
    op.inplace = op.inplace or inplace
    for alias in aliases:
        if alias in CATALOGUE or ALIASES.get(alias, op.name) != op.name:
            raise TypeError(f"op {op.name}: the alias {alias} is taken")
        if alias not in op.aliases:
            ALIASES[alias] = op.name
            op.aliases.append(alias)


def find(name: str) -> Op | None:
    """The op of a name, an alias, or a last part that only one op has; None if there is none."""
    found = CATALOGUE.get(name) or CATALOGUE.get(ALIASES.get(name, ""))
    if found is None:
        same = _BY_LAST_PART.get(name, [])
        found = CATALOGUE[same[0]] if len(same) == 1 else None
    return found


def resolve(name: str) -> Op:
    """The op of a name, with close ones named if there is none."""
    found = find(name)
    if found is None:
        from difflib import get_close_matches  # for a misspelt name only

        bare = name.removeprefix("gradwire.").removeprefix("torch.")
        bare = bare.removeprefix("nn.functional.").removeprefix("F.")
        near = get_close_matches(bare, {*CATALOGUE, *ALIASES, *_BY_LAST_PART}, n=3)
        same = next((b for b in (bare, bare.lower()) if find(b) is not None), None)
        near = near if same is None else [same]
        hint = f"did you mean {' or '.join(near)}?" if near else "GET /v1/ops lists them all"
        if same is None:
            hint = NO_OPS.get(bare.rpartition(".")[2], hint)
        raise error("op_not_found", f"there is no op called {name[:100]!r}", hint)
    return found


def inplace_twin(name: str) -> Op | None:
    """The op whose in-place form has this name (`add_` -> add); None if it has none.

    An op that exists in place only is in the catalogue by that name (`copy_`, `__setitem__`).
    """
    if not name.endswith("_"):
        return None
    found = CATALOGUE.get(name)
    if found is None and not name.endswith("__"):
        found = find(name[:-1])
    return found if found is not None and found.inplace else None


def catalogue_hash() -> str:
    """Sixteen hex digits that change when a name or a signature does."""
    from hashlib import sha256  # which costs as much as ten of the engine's modules to import

    lines = (
        f"{name}{list(map(str, op.signatures))}{op.inplace}"
        for name, op in sorted(CATALOGUE.items())
    )
    return sha256("\n".join(lines).encode()).hexdigest()[:16]
