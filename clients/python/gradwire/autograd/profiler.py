"""torch.autograd.profiler: what each op took at the host, measured there, without the way to it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from gradwire.current import session
from gradwire.transport import Took
from gradwire_engine.errors import error

_SORTED: dict[str, Any] = {
    "self_cpu_time_total": lambda row: -row.seconds,
    "cpu_time_total": lambda row: -row.seconds,
    "self_cpu_memory_usage": lambda row: -row.bytes,
    "cpu_memory_usage": lambda row: -row.bytes,
    "count": lambda row: -row.count,
}
"""What a table can be sorted by, in torch's words; times are of the rows themselves."""


@dataclass(frozen=True)
class Row:
    """All uses of one name. kind: an "op", a "node" of backward, any other "step".

    seconds, bytes: what they took and asked for, less what ran within them and has its own row.
    """

    kind: str
    name: str
    count: int
    seconds: float
    bytes: int


class Profile:
    """What the ops of a block took. seconds, bytes: of all requests; rows: by name."""

    def __init__(self) -> None:
        self.seconds, self.bytes = 0.0, 0
        self._rows: dict[tuple[str, str], Row] = {}

    @property
    def rows(self) -> list[Row]:
        """Those that took longest first."""
        return sorted(self._rows.values(), key=_SORTED["self_cpu_time_total"])

    def add(self, took: Iterable[Took]) -> None:
        """Add what requests took."""
        for one in took:
            self.seconds += one["seconds"]
            self.bytes += one["bytes"]
            for new in one["rows"]:
                key = new["kind"], new["name"]
                old = self._rows.get(key, Row(*key, 0, 0.0, 0))
                self._rows[key] = Row(
                    *key,
                    old.count + new["count"],
                    old.seconds + new["seconds"],
                    old.bytes + new["bytes"],
                )

    def table(self, sort_by: str = "self_cpu_time_total", row_limit: int = 100) -> str:
        """The rows as text; sort_by in torch's words."""
        if sort_by not in _SORTED:
            raise error(
                "invalid_argument",
                f"table: sort_by is {sort_by!r}",
                f"one of {', '.join(_SORTED)}",
                raised=ValueError,
            )
        lines = [f"{'name':<40} {'kind':<5} {'count':>8} {'seconds':>12} {'bytes':>14}"]
        lines += [
            f"{row.name:<40} {row.kind:<5} {row.count:>8} {row.seconds:>12.6f} {row.bytes:>14}"
            for row in sorted(self._rows.values(), key=_SORTED[sort_by])[:row_limit]
        ]
        lines.append(f"{'in all':<40} {'':<5} {'':>8} {self.seconds:>12.6f} {self.bytes:>14}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()


class profile:
    """Profile a block: `with profile() as p:` and then `p.key_averages().table()`.

    enabled: false measures nothing. The session in force is looked at, where it is: on a server,
    in the server.
    """

    def __init__(self, enabled: bool = True) -> None:
        self._enabled = enabled
        self._found = Profile()
        self._open = ExitStack()

    def __enter__(self) -> profile:
        if self._enabled:
            self._found = self._open.enter_context(session().profile())
        return self

    def __exit__(self, *exc: Any) -> None:
        self._open.__exit__(*exc)

    def key_averages(self) -> Profile:
        """The rows, by name."""
        return self._found

    def table(self, sort_by: str = "self_cpu_time_total", row_limit: int = 100) -> str:
        """The rows as text."""
        return self._found.table(sort_by, row_limit)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all requests, as torch counts them."""
        return self._found.seconds * 1e6

    def __str__(self) -> str:
        return self.table()


__all__ = ["Profile", "Row", "profile"]
