"""The ops, family by family; importing this package fills the catalogue."""

from gradwire_engine.ops import (
    advanced,
    axes,
    creation,
    grids,
    index,
    join,
    sequences,
    split,
    views,
)

__all__ = [
    "advanced",
    "axes",
    "creation",
    "grids",
    "index",
    "join",
    "sequences",
    "split",
    "views",
]
