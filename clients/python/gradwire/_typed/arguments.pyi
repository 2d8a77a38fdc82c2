"""Types of arguments."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

import gradwire

Number: TypeAlias = int | float | complex | np.number | np.bool_
"""What may stand for an operand beside another one."""

Ints: TypeAlias = int | Sequence[int]
"""A size for each axis, or axes; one alone needs no list."""

Device: TypeAlias = str | gradwire.device
"""A device or its name."""
