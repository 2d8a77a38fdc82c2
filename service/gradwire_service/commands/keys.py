"""`gradwire keys`: make keys, list them, take them back."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from gradwire_service.host.sessions import timestamp
from gradwire_service.keys import KeyFile


def create(file: Path, tenant: str, note: str) -> None:
    """Make a key, keep its hash, and show it this once."""
    key, row = KeyFile(file).create(tenant, note)
    Console(stderr=True).print(
        f"key {row.id} of tenant {row.tenant}, kept by its hash in {file}: it is shown only now",
        markup=False, highlight=False, soft_wrap=True,
    )  # fmt: skip
    print(key)  # noqa: T201  (alone on standard output: for a script)


def show(file: Path) -> None:
    """List the keys; what a key itself is, nobody knows any more."""
    table = Table("id", "tenant", "created", "note", box=None, pad_edge=False)
    for row in KeyFile(file).rows():
        table.add_row(row.id, row.tenant, timestamp(row.created), row.note)
    Console().print(table)


def revoke(file: Path, key_id: str) -> None:
    """Take a key back: servers that run refuse it from their next request on."""
    row = KeyFile(file).revoke(key_id)
    Console().print(f"revoked key {row.id} of tenant {row.tenant}", markup=False, highlight=False)
