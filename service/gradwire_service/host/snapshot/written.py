"""A session to a file: arrays as tensors of it, everything else as JSON in its metadata."""

from __future__ import annotations

import json
from typing import Any

from gradwire_engine.errors import error
from gradwire_engine.snapshot import Writer, write_optimizer
from gradwire_service.host import safetensors
from gradwire_service.host.safetensors import Buffer
from gradwire_service.host.sessions import Session
from gradwire_service.host.snapshot.programs import Written
from gradwire_service.host.snapshot.seal import sealed

VERSION = "3"
"""What `gradwire_snapshot` says; another number for every change that old readers can't bear."""
LONGEST = 90_000_000
"""Characters of the JSON; the header that it stands in has a bound, quotes are two there."""


def written(session: Session) -> list[Buffer]:
    """A session that the caller holds, as buffers to be sent in turn; it stays as it is.

    The buffers are the tensors' own memory. Raises untraceable where the graph holds what is no
    program, payload_too_large where it is too large for one file.
    """
    text, arrays = described(session)
    said = sealed({"gradwire_snapshot": VERSION, "session": text}, arrays)
    return safetensors.write(arrays, said)


def described(session: Session) -> tuple[str, dict[str, Any]]:
    """What a snapshot says of a session beside its arrays, as JSON, and these; nothing is copied.

    Raises as `written` does.
    """
    session.meter.count()  # forgets the origins of nodes that are gone
    programs = Written()
    writer = Writer(programs)
    data: dict[str, Any] = {
        "session": session.settings
        | {"seed": session.generator.seed, "draws": session.generator.draws},
        "tensors": {name: writer.cell(tensor) for name, tensor in session.tensors.items()},
        "optimizers": {
            name: write_optimizer(writer, found) for name, found in session.optimizers.items()
        },
        "hooks": [[key, writer.handle(handle)] for key, handle in session.hooks.items()],
        "marks": [],
    }
    for seq, step, name in session.origins.marks:
        row: list[Any] = []
        writer.moment(row, seq)
        row += [step, name]
        data["marks"].append(row)
    data["graph"], arrays = writer.finish()
    data["programs"] = programs.rows
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    if len(text) + text.count('"') > LONGEST:
        raise error(
            "payload_too_large",
            f"snapshot: what it says beside its arrays has {len(text)} characters, and the format "
            f"has no room for more than {LONGEST}",
            "free names, so that less of the graph is held",
        )
    return text, arrays
