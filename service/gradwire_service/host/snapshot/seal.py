"""What says that a snapshot's file is the one that was written: a digest of all that is in it.

It is of what the file says, not of how it is laid out, so a library that writes the file anew keeps
it. Whoever forges a file can forge its digest: what a file says is looked over all the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256

from gradwire_engine.snapshot.fields import incompatible
from gradwire_engine.spec import dtype_of
from gradwire_service.host.elements import Array
from gradwire_service.host.safetensors import raw

DIGEST = "digest"
"""What the digest is called in a file's metadata."""


def sealed(
    metadata: Mapping[str, str], arrays: Mapping[str, Array], name: str = DIGEST
) -> dict[str, str]:
    """Metadata with the digest of all of it and of all arrays, as `name`."""
    return {**metadata, name: _digest(metadata, arrays)}


def check(metadata: Mapping[str, str], arrays: Mapping[str, Array], name: str = DIGEST) -> None:
    """Raise snapshot_incompatible where the digest is missing or of something else."""
    said = metadata.get(name)
    if said is None:
        raise incompatible(f"its metadata lacks {name}, the digest of what it holds")
    found = _digest({key: text for key, text in metadata.items() if key != name}, arrays)
    if said != found:
        raise incompatible(
            f"it was changed after it was written: {name} is {said[:80]!r}, of what it holds it "
            f"is {found!r}"
        )


def _digest(metadata: Mapping[str, str], arrays: Mapping[str, Array]) -> str:
    """Names, sizes and forms first, then the texts and the elements, in the order of names."""
    texts = [metadata[key].encode(errors="surrogatepass") for key in sorted(metadata)]
    lying = [arrays[key] for key in sorted(arrays)]
    head = [
        [[key, len(text)] for key, text in zip(sorted(metadata), texts, strict=True)],
        [
            [key, dtype_of(array.dtype).name, array.shape]
            for key, array in zip(sorted(arrays), lying, strict=True)
        ],
    ]
    found = sha256(json.dumps(head, separators=(",", ":")).encode())
    for text in texts:
        found.update(text)
    for array in lying:
        found.update(raw(array))
    return f"sha256:{found.hexdigest()}"
