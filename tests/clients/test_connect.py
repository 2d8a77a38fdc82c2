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
