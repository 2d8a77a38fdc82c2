"""Every command and code block of README and docs does what the page shows; links lead somewhere.

The rules stand in pages/page.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.pages.markdown import PAGES, ROOT, anchors, blocks, links
from tests.pages.page import play

CURL = "curl is not installed; the pages' commands use it"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """`gradwire serve`, on a free port; its URL."""
    command = [sys.executable, "-m", "gradwire_service", "serve", "--port", "0", "--log", "none"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GRADWIRE_")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("gradwire listens on http://127.0.0.1:"), line
        yield line.split()[-1]
        process.terminate()
        assert process.wait(30) == 0


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_shows_what_happens(path: Path, server: str, tmp_path: Path) -> None:
    if shutil.which("curl") is None and "curl" in path.read_text():
        pytest.skip(CURL)
    play(path, server, tmp_path)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for link in links(path):
        if link.startswith(("http://", "https://")):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), link
        assert target.resolve().is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(target), link


def test_the_pages_have_blocks() -> None:
    assert sum(len(blocks(path)) for path in PAGES) > 20
