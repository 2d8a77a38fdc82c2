"""What decides the last digit of a number, besides the request: versions, processor, threads."""

from __future__ import annotations

import json
import platform
from functools import cache
from hashlib import blake2b
from typing import Any

from gradwire_service.version import VERSION


@cache
def facts() -> dict[str, Any]:
    """The facts of this process. loops: a hash of which loops NumPy took for this processor."""
    import numpy as np
    import scipy
    import threadpoolctl
    from numpy.lib.introspect import opt_func_info

    loops = {
        name: {types: found["current"] for types, found in by_types.items()}
        for name, by_types in opt_func_info().items()
    }
    blas = {
        (found["internal_api"], found.get("architecture"), found["num_threads"])
        for found in threadpoolctl.threadpool_info()
        if found["user_api"] == "blas"
    }
    return {
        "gradwire": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "system": [platform.machine(), *platform.libc_ver()],
        "blas": sorted(map(list, blas)),
        "loops": name_of(loops),
    }


def name_of(found: dict[str, Any]) -> str:
    """A short name of such facts, equal where they are."""
    return blake2b(json.dumps(found, sort_keys=True).encode(), digest_size=8).hexdigest()


def described(found: dict[str, Any] | None) -> str:
    """The facts for whoever wonders why numbers differ."""
    if found is None:
        return "an unknown machine"
    blas = ", ".join(f"{api} for {kind} with {count} threads" for api, kind, count in found["blas"])
    return (
        f"gradwire {found['gradwire']}, NumPy {found['numpy']}, SciPy {found['scipy']}, "
        f"{blas or 'no BLAS'}, loops {found['loops']}"
    )
