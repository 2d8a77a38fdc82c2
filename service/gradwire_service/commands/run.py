"""`gradwire run` and `gradwire graph`: a file of steps, its values as a table, its graph drawn."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from gradwire_engine.errors import error
from gradwire_service.commands.doors import Door, Here, There
from gradwire_service.commands.files import Asked, read
from gradwire_service.commands.named import explained, with_ids

FORMATS = {".svg": "svg", ".dot": "dot", ".mmd": "mermaid", ".md": "mermaid", ".json": "json"}
_LONGEST = 200


@contextmanager
def opened(url: str | None, key: str | None) -> Iterator[Door]:
    """A host: a server's, which is sent the key, or one of our own."""
    if url is None:
        yield Here()
        return
    server = There(url, key)
    try:
        yield server
    finally:
        server.close()


def run(path: Path, url: str | None, key: str | None) -> None:
    """Run a file and print what it returns."""
    asked = read(path)
    with opened(url, key) as door, explained():
        asked = with_ids(asked, door.program)
        reply = door.run(asked.call, asked.body)
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(_table(_rows(reply)))


def draw(path: Path, out: Path | None, url: str | None, key: str | None) -> None:
    """Run a file and write the graph that it leaves; the suffix of `out` says in which format."""
    form = "svg" if out is None else FORMATS.get(out.suffix.lower())
    if form is None:
        raise error("invalid_argument", f"{out}: the suffix is one of {', '.join(FORMATS)}")
    with opened(url, key) as door, explained():
        for asked in _in_session(with_ids(read(path), door.program)):
            door.run(asked.call, asked.body)
        text = door.graph(form)
    if out is None:
        print(text)  # noqa: T201
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise error(
            "invalid_argument", f"{out}: it cannot be written: {problem.strerror}"
        ) from None


def _in_session(asked: Asked) -> Iterator[Asked]:
    """The same in a session, where the graph stays: a program's inputs become leaves."""
    if asked.call != "value_and_grad":
        yield asked
        return
    program, inputs = asked.body.get("program"), asked.body.get("inputs", {})
    if not isinstance(program, dict) or not isinstance(inputs, dict):
        raise error("invalid_request", "program and inputs have to be objects")
    wrt = asked.body.get("wrt") or list(inputs)
    leaves = [
        {"tensor": name, "value": value, "requires_grad": name in wrt}
        for name, value in inputs.items()
    ]
    yield Asked("steps", {"steps": leaves})
    steps = program.get("ops")
    yield Asked("steps", {"steps": steps}) if steps else Asked("ops", {"source": program["source"]})


def _rows(reply: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Names and tensors of a reply; gradients of a program's inputs as `x.grad`."""
    for part in ("values", "outputs"):
        yield from reply.get(part, {}).items()
    for name, tensor in reply.get("grads", {}).items():
        yield f"{name}.grad", tensor


def _table(rows: Iterator[tuple[str, dict[str, Any] | None]]) -> Table:
    table = Table("name", "dtype", "shape", "grad_fn", "value", box=None, pad_edge=False)
    for name, tensor in rows:
        if tensor is None:
            table.add_row(name, "", "", "", "none")
            continue
        value = orjson.dumps(tensor["data"]).decode().replace(",", ", ")
        value = value if len(value) <= _LONGEST else value[:_LONGEST] + "…"
        shape = str(tensor["shape"])
        value = value.replace("[", r"\[")  # or rich takes it for markup
        table.add_row(name, tensor["dtype"], shape, tensor["grad_fn"] or "", value)
    return table
