"""Twenty kills of each database; `make crash` has two hundred."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.service.crash.campaign import run
from tests.service.crash.postgres import Postgres

KILLS = 20


@pytest.mark.slow
def test_twenty_kills_lose_nothing_on_sqlite(tmp_path: Path) -> None:
    counts = run(str(tmp_path), KILLS, seed=20)
    assert counts["kills"] == KILLS
    assert counts["answered"] > KILLS
    assert counts["retried"]


@pytest.mark.slow
def test_twenty_kills_lose_nothing_on_postgresql(cluster: Postgres) -> None:
    assert run(cluster.database(), KILLS, seed=21)["kills"] == KILLS
