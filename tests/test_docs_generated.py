"""The files that are made from the code say what the code says now."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs.generate.__main__ import DOCS, PAGES, WRITTEN

from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.errors import CODES
from gradwire_service.settings import Settings


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: str(path.relative_to(DOCS.parent)))
def test_a_file_is_current(path: Path) -> None:
    assert path.read_text() == WRITTEN[path](), "run make docs"


def test_nothing_is_left_out() -> None:
    text = {name: page() for name, page in PAGES.items()}
    assert all(f"`{name}(" in text["ops.md"] for name in CATALOGUE)
    assert all(f"\n## {code}\n" in text["errors.md"] for code in CODES)
    assert all(
        f"`GRADWIRE_{name.upper()}`" in text["settings.md"] for name in Settings.model_fields
    )
