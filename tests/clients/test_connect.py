"""connect: what is no URL of a server is refused at once."""

from __future__ import annotations

import pytest

import gradwire
from gradwire_engine.errors import GradwireError


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://localhost", "8000", "unix:/tmp/x"])
def test_what_is_no_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(GradwireError) as problem:
        gradwire.connect(url)
    assert problem.value.code == "invalid_argument"
    assert "http://" in str(problem.value.hint)


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan"), float("inf"), "x", None])
def test_time_limits_are_numbers_above_0(timeout: object) -> None:
    with pytest.raises(ValueError, match="connect: timeout is"):
        gradwire.connect("http://127.0.0.1:9", timeout=timeout)
