"""Settings for every test: examples are drawn, not timed, and the same ones each time in CI."""

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("gradwire", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("gradwire")

YOUNG = 20_000
"""Objects more than there were, from which on the cycle collector looks for cycles among them."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without the cycle collector: a million objects that stay, walked ever again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.set_threshold(YOUNG, *gc.get_threshold()[1:])


@pytest.fixture
def young() -> Iterator[None]:
    """All that is there grows old and no collector runs: the young generation is what a test makes.

    A full collection walks all tests, which takes a second.
    """
    gc.collect(1)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


LEFT_OUT = "PostgreSQL isn't installed"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What a machine lacks stands out: a green run that left it out is no proof of it."""
    skipped = terminalreporter.stats.get("skipped", [])
    count = sum(LEFT_OUT in str(report.longrepr) for report in skipped)
    if count:
        terminalreporter.section("NOT TESTED", red=True, bold=True)
        terminalreporter.write_line(f"{count} tests with PostgreSQL: initdb isn't installed")
