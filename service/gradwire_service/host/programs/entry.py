"""What a program fixes of its inputs, and whether a value has it."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradwire_engine.errors import error
from gradwire_engine.spec import DTYPES


class Entry(NamedTuple):
    """An input: its name; its dtype and shape where they are fixed, None leaving an axis open."""

    name: str
    dtype: str | None = None
    shape: tuple[int | None, ...] | None = None

    @property
    def open(self) -> bool:
        """Whether any value fits."""
        return self.dtype is None and self.shape is None

    def written(self) -> dict[str, Any]:
        """As a client would post it: what is fixed."""
        return {name: value for name, value in self._asdict().items() if value is not None}

    def check(self, value: Any) -> None:
        """Refuse a value of another dtype or shape."""
        if self.dtype is not None and value.dtype is not DTYPES[self.dtype]:
            raise error(
                "dtype_mismatch",
                f"inputs: {self.name} is {value.dtype.name}, the program fixes {self.dtype}",
                f'send {{"dtype": "{self.dtype}", "data": …}}, or convert it',
            )
        if self.shape is not None and not self._fits(tuple(value.shape)):
            raise error(
                "shape_mismatch",
                f"inputs: {self.name} has shape {list(value.shape)}, the program fixes "
                f"{['null' if n is None else n for n in self.shape]}".replace("'", ""),
                "null in the program's shape leaves an axis open",
            )

    def _fits(self, shape: tuple[int, ...]) -> bool:
        assert self.shape is not None
        return len(self.shape) == len(shape) and all(
            wanted in (None, given) for wanted, given in zip(self.shape, shape, strict=True)
        )
