"""torch.finfo and torch.iinfo: what the numbers of a dtype can be."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from gradwire import defaults
from gradwire_engine.spec import DType, real_of


class finfo:
    """The range and precision of a floating dtype; of the parts of a complex one."""

    def __init__(self, type: DType | None = None) -> None:
        wanted = real_of(type or defaults.dtype())
        if not wanted.is_floating_point:
            raise TypeError(f"torch.finfo() requires a floating point input type, not {wanted!r}")
        read: Any = ml_dtypes.finfo
        found = read(wanted.numpy)
        self.dtype = wanted.name
        self.bits = int(found.bits)
        self.eps, self.max, self.min = float(found.eps), float(found.max), float(found.min)
        self.tiny = self.smallest_normal = float(found.tiny)
        self.resolution = float(found.resolution)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.tiny:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo:
    """The range of an integer dtype."""

    def __init__(self, type: DType) -> None:
        if type.numpy.kind not in "iu":
            raise TypeError(f"torch.iinfo() requires an integer input type, not {type!r}")
        found = np.iinfo(type.numpy)
        self.dtype, self.bits = type.name, int(found.bits)
        self.min, self.max = int(found.min), int(found.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


__all__ = ["finfo", "iinfo"]
