"""`gradwire top`: what a server does, and the sessions on it, looked at again and again."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import httpx
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gradwire_service.commands.doors import answered, client_of
from gradwire_service.quantities import size, span

_PAGE = 1000
_AROUND = 6
"""Lines of the terminal that aren't sessions."""
_LEAST = 5


class Look(NamedTuple):
    """What was seen at a moment (of time.monotonic): sums of metrics, and sessions."""

    at: float
    counted: Mapping[str, float]
    sessions: list[dict[str, Any]]


def top(url: str, key: str | None, every: float, once: bool) -> None:
    """Look and show it, every so many seconds until Ctrl-C, or once."""
    console = Console()
    with client_of(url, key, timeout=30) as client:
        before, now = None, look(client)
        if once:
            console.print(shown(before, now, len(now.sessions)))
            return
        try:
            with Live(console=console, screen=console.is_terminal, auto_refresh=False) as live:
                while True:
                    rows = max(_LEAST, console.height - _AROUND)
                    live.update(shown(before, now, rows), refresh=True)
                    time.sleep(every)
                    before, now = now, look(client)
        except KeyboardInterrupt:
            return


def look(client: httpx.Client) -> Look:
    """Ask the server for its metrics and its sessions."""
    counted: defaultdict[str, float] = defaultdict(float)
    for family in text_string_to_metric_families(answered(client, "GET", "/metrics").text):
        for sample in family.samples:
            counted[sample.name] += sample.value
            if sample.name == "gradwire_requests_total" and sample.labels["status"][0] in "45":
                counted["refused"] += sample.value
    return Look(time.monotonic(), counted, list(_sessions(client)))


def _sessions(client: httpx.Client) -> Iterator[dict[str, Any]]:
    """All that the key may see, a page after the other."""
    cursor: str | None = ""
    while cursor is not None:
        asked = {"limit": str(_PAGE)} | ({"cursor": cursor} if cursor else {})
        page = answered(client, "GET", "/v1/sessions", params=asked).json()
        yield from page["items"]
        cursor = page["next"]


def shown(before: Look | None, now: Look, rows: int) -> Group:
    """The server in a line, then the sessions that were used last."""
    table = Table("session", "label", "device", "tensors", "idle", "expires in", "", box=None)
    recent = sorted(now.sessions, key=lambda one: str(one["last_use"]), reverse=True)
    for one in recent[:rows]:
        kept = "parked" if one["parked"] else "durable" if one["durable"] else ""
        table.add_row(
            one["id"], Text(one["label"] or ""), one["device"], str(one["tensors"]),
            span(-_from_now(one["last_use"])), span(_from_now(one["expires"])), kept,
        )  # fmt: skip
    hidden = len(recent) - rows
    more = Text(f"and {hidden} more, used before these" if hidden > 0 else "")
    return Group(Text(_line(before, now)), Text(""), table, more)


def _line(before: Look | None, now: Look) -> str:
    count = now.counted
    parts = [
        f"{count['gradwire_sessions']:.0f} sessions", f"{size(count['gradwire_bytes'])} held",
        f"{count['gradwire_requests_waiting']:.0f} requests run or wait",
    ]  # fmt: skip
    if before is None:
        return ", ".join([*parts, f"{count['gradwire_requests_total']:.0f} answered so far"])
    seconds = now.at - before.at
    for name, what in (("gradwire_requests_total", "answers"), ("refused", "refusals")):
        parts.append(f"{(count[name] - before.counted[name]) / seconds:.1f} {what} a second")
    return ", ".join(parts)


def _from_now(text: str) -> float:
    return (datetime.fromisoformat(text) - datetime.now(UTC)).total_seconds()
