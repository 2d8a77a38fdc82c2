"""Which entries of torch's table the catalogue does not promise, by rule."""

from __future__ import annotations

import re
from typing import Any

import torch

from gradwire_engine.catalogue import find

RULES: dict[str, str] = {
    r"sparse\..*|to_sparse": "sparse layouts",
    r"masked\..*": "masked tensors",
    r"(?!index_).*_copy": "copies of views: clone() says the same",
    r"(.*\.)?_[^_].*": "private names",
    r"jiterator_.*": "kernels for devices",
    r"(native|unsafe)_.*|.*_backward(_.*)?|grid_sampler_.*": "kernels under public functions",
    r"resize_|resize_as_|new_empty_strided|empty_(strided|permuted)": "memory by size and stride",
    r"chalf": "complex32, a dtype that there isn't",
    r"resolve_neg": "a bit of torch's representation",
    r"signal\.windows\..*|histogram(dd)?|nonzero_static|hash_tensor|geqrf|igammac?|isin|argwhere"
    r"|unravel_index|nn\.functional\.linear_cross_entropy"
    r"|broadcast_shapes|item": "names that the catalogue does not list",
}
"""What a name matches whole, and why it is left out."""

RANDOM = re.compile(
    r"(svd|pca)_lowrank|nn\.functional\.fractional_max_pool.d"
    r"|cauchy|exponential|geometric|log_normal|uniform"
)
"""Random ops that torch doesn't mark under their public names."""


def reason(op: Any) -> str | None:
    """Why an entry is left out; None if it is held against torch."""
    for pattern, why in RULES.items():
        if re.fullmatch(pattern, op.name):
            return why
    if not op.dtypes:
        return "kernels for devices"
    if type(op.op).__name__ in ("OpOverload", "OpOverloadPacket"):
        return "names below torch's own"
    if draws(op) and find(op.name) is None:
        return "random numbers of other distributions than the catalogue has"
    if op.name.startswith("special.") and not op.supports_autograd and find(op.name) is None:
        return "special functions without a derivative"
    return None


def draws(op: Any) -> bool:
    """Whether an op draws random numbers, by torch's mark or by the catalogue's."""
    ours = find(op.name)
    if ours is not None and any(overload.random for overload in ours.overloads):
        return True
    packet = getattr(torch.ops.aten, op.name, None)
    marked = torch.Tag.nondeterministic_seeded
    found = packet is not None and any(
        marked in getattr(packet, name).tags for name in packet.overloads()
    )
    return found or RANDOM.fullmatch(op.name) is not None
