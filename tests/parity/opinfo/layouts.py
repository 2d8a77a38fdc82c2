"""The same numbers lying otherwise in memory: with gaps, turned round, one place shown many times.

Each layout makes a view of a leaf of torch's; `to_ours` gives the SDK one that lies just so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _every_other(x: torch.Tensor) -> torch.Tensor:
    return _leaf(torch.stack((x.detach(), x.detach()), -1), x)[..., 1]


def _turned(x: torch.Tensor) -> torch.Tensor:
    """The last axis is the one whose elements lie furthest apart."""
    order = tuple(reversed(range(x.ndim)))
    return _leaf(x.detach().permute(order), x).permute(order)


def _beside_others(x: torch.Tensor) -> torch.Tensor:
    """Behind one more slice, and before another."""
    if not x.ndim or not len(x):
        return x
    return _leaf(torch.cat((x.detach()[-1:], x.detach(), x.detach()[:1])), x)[1 : 1 + len(x)]


def _first_everywhere(x: torch.Tensor) -> torch.Tensor:
    return _leaf(x.detach()[:1], x).expand(x.shape) if _numbers(x) else x


def _last_everywhere(x: torch.Tensor) -> torch.Tensor:
    return _leaf(x.detach()[..., -1:], x).expand(x.shape) if _numbers(x) else x


def _numbers(x: torch.Tensor) -> bool:
    """Whether it has numbers to repeat; places and lengths that are all one make no sense."""
    return bool(x.ndim and x.numel()) and (x.is_floating_point() or x.is_complex())


def _twice(x: torch.Tensor) -> torch.Tensor:
    """One more axis in front, which no element needs."""
    return _leaf(x.detach(), x).expand(2, *x.shape)


def _leaf(values: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return values.clone(memory_format=torch.contiguous_format).requires_grad_(like.requires_grad)


GAPS = (_every_other, _turned, _beside_others)
EXPANDED = (_first_everywhere, _last_everywhere, _twice)


def laid(sample: Any, layout: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """A sample each of whose tensors lies so."""

    def view(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        with torch.enable_grad():
            return layout(value)

    return sample.transform(view)
