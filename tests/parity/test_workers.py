"""Work in processes of its own: a seed that ends its process is told, and the others go on."""

from __future__ import annotations

import os
import signal
from collections import deque

from tests.parity.workers import Lost, Saying, each


def _doubled(seed: int, at: Saying) -> int:
    at("torch", f"step {seed}")
    if seed == 2:
        os.kill(os.getpid(), signal.SIGSEGV)
    if seed == 3:
        raise KeyError("lost")
    return 2 * seed


def test_what_ends_a_process_loses_its_seed_alone() -> None:
    seeds = deque(range(6))
    made: list[int] = []
    lost: list[Lost] = []
    for result in each(_doubled, seeds, 2):
        if isinstance(result, Lost):
            lost.append(result)
            seeds.append(10 + result.seed)  # others in their place
        else:
            made.append(result)
    assert sorted(made) == [0, 2, 8, 10, 24, 26]
    died, raised = sorted(lost, key=lambda each: each.seed)
    assert died == Lost(2, True, "its process was ended by SIGSEGV", "torch", "step 2")
    assert (raised.died, raised.what) == (False, "step 3")
    assert "KeyError: 'lost'" in raised.how
