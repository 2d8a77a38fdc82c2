"""Chains of rules against a server of its own, as many as are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.fuzz.sessions.calls import Calls, Unlike
from tests.fuzz.sessions.machine import Sessions
from tests.fuzz.watched import watched

STEPS = 40
"""Rules of a chain, at most."""
__all__ = ["Found", "Unlike", "fuzz"]


class Found(NamedTuple):
    """Calls that were made, and the refusals among them by code."""

    calls: int
    codes: Counter[str]


def fuzz(
    number: int, chains: int, tick: Callable[[int], None] = lambda _: None, shrink: bool = False
) -> Found:
    """Run so many chains. Unlike where the server isn't as the model; shrink: by a short chain."""
    with watched() as server:

        class Counted(Sessions):
            calls = Calls(server.url)

            def teardown(self) -> None:
                super().teardown()
                tick(1)

        asked = settings(
            max_examples=chains, stateful_step_count=STEPS, deadline=None, database=None,
            suppress_health_check=list(HealthCheck), print_blob=False,
            phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        )  # fmt: skip
        try:
            run_state_machine_as_test(seed(number)(Counted), settings=asked)
        finally:
            Counted.calls.http.close()
        return Found(Counted.calls.count, Counted.calls.codes)
