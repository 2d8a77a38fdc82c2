"""A short run of each decoder's fuzzer; `make fuzz` has a million inputs."""

from __future__ import annotations

import base64
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.fuzz.decoders.campaign import NAMES, Broken, fuzz
from tests.fuzz.decoders.checks import CHECKS, PLANTED, check

INPUTS = 4000
fuzzer = pytest.mark.skipif(find_spec("atheris") is None, reason="atheris has no wheel for here")
FOUND = (
    ("request", b'{"ops": [], "source": ""}'),  # a refusal without a hint
    ("json", b"\x80"),
    ("message", b'0{"id": "\x80", "steps": []}'),
    (
        "encoding",  # which libzstd takes in pieces, and not at once
        base64.b64decode(
            "ASi1L/0gSwAAAAAAAAAAAAAAAAAAAAQAAAAAAB0CACIEDhSAVx3kwff+HrRTQuSpA+PRiTQBQbH8Jh0TyzW0bp"
            "b4ay7dLAIQNC8elrn5OeaOVRqSjplCjQ0DAgBFRU2vmQc="
        ),
    ),
)
"""Inputs that broke a decoder once, and some like them."""


@fuzzer
@pytest.mark.parametrize("name", NAMES)
def test_nothing_breaks_a_decoder(name: str, tmp_path: Path) -> None:
    found = fuzz(name, INPUTS, 6, tmp_path)
    assert found.inputs >= INPUTS
    assert found.edges > 20


@fuzzer
def test_a_fault_that_chance_would_not_meet_is_found_with_its_input(tmp_path: Path) -> None:
    with pytest.raises(Broken) as raised:
        fuzz(PLANTED, 400_000, 1, tmp_path)
    text = str(raised.value).rpartition("base64 ")[2]
    assert base64.b64decode(text)[:4] == b"gw\xfe!"


@pytest.mark.parametrize(("name", "body"), FOUND)
def test_what_was_found_stays_mended(name: str, body: bytes) -> None:
    check(name, body)


def test_every_decoder_has_seeds_and_words() -> None:
    from tests.fuzz.decoders.seeds import WORDS, seeds

    assert WORDS.keys() == CHECKS.keys() | {PLANTED}
    for name in CHECKS:
        bodies = list(seeds(name))
        assert len(bodies) > 1
        for body in bodies:
            check(name, body)
