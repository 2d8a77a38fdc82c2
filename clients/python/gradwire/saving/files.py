"""gradwire.save and gradwire.load: a safetensors file, with the values around its tensors as JSON.

Any safetensors library reads the arrays, and such a library's file is loaded as a dict of tensors.
"""

from __future__ import annotations

import json
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any

from gradwire import current
from gradwire.options import Options
from gradwire.saving.structure import damaged, read, written
from gradwire.saving.tensors import Loaded, Taken
from gradwire_engine.errors import GradwireError
from gradwire_engine.spec import dtype_of

VERSION = "1"
"""What `gradwire_file` says; another number for every change that old readers can't bear."""
File = str | PathLike[str] | IO[bytes]
_ZIP = b"PK\x03\x04"


def save(obj: Any, f: File) -> None:
    """Write tensors, or lists, dicts, numbers and strings with tensors among them, to a file.

    f: a path, or what has `write`. Nothing is written if something in `obj` can't be saved.
    """
    from gradwire_service.host import safetensors

    if not isinstance(f, str | PathLike) and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
    taken = Taken()
    try:
        structure = written(obj, taken)
    except RecursionError:
        raise ValueError("save: the value contains itself, or nests too deeply") from None
    rows, arrays = taken.written()
    said = {"gradwire_file": VERSION, "structure": _text(structure), "tensors": _text(rows)}
    buffers = safetensors.write(arrays, said)
    if isinstance(f, str | PathLike):
        with Path(fspath(f)).open("wb") as file:
            file.writelines(buffers)
    else:
        for buffer in buffers:
            f.write(buffer)


def load(
    f: File,
    map_location: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
) -> Any:
    """What `save` wrote, its tensors new in the session in force.

    f: a path, or what has `read`. map_location: a device, which has to be the session's. The other
    words are torch's: a file never holds code, and is read as a whole.
    """
    session = current.session()
    if map_location is not None:
        Options(device=map_location).check(session.device)
    body = f.read() if hasattr(f, "read") else Path(fspath(f)).read_bytes()
    metadata, arrays = _opened(body)
    if "gradwire_file" not in metadata:
        plain = {"kind": "", "requires_grad": False, "seen": None}
        rows = [
            {"array": name, "dtype": dtype_of(array.dtype).name, **plain}
            for name, array in arrays.items()
        ]
        give = Loaded(session, rows, arrays)
        return {name: give("tensor", place) for place, name in enumerate(arrays)}
    if metadata["gradwire_file"] != VERSION:
        raise damaged(f"it is of version {metadata['gradwire_file'][:20]!r}, read is {VERSION!r}")
    give = Loaded(session, _data(metadata, "tensors"), arrays)
    try:
        return read(_data(metadata, "structure"), give)
    except RecursionError:
        raise damaged("it nests too deeply") from None


def _opened(body: Any) -> tuple[dict[str, str], dict[str, Any]]:
    from gradwire_service.host import safetensors

    if bytes(body[:4]) == _ZIP:
        raise damaged("this is a file of torch.save, which holds pickled Python")
    try:
        return safetensors.read(body)
    except GradwireError as problem:
        raise damaged(problem.detail) from problem


def _text(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _data(metadata: dict[str, str], part: str) -> Any:
    try:
        return json.loads(metadata[part])
    except (KeyError, ValueError, RecursionError) as problem:
        raise damaged(f"its {part} can't be read") from problem


__all__ = ["load", "save"]
