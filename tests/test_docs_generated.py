"""The pages that are made from the code say what the code says now."""

from __future__ import annotations

import pytest
from docs.generate.__main__ import DOCS, PAGES

from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.errors import CODES
from gradwire_service.settings import Settings


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_current(name: str) -> None:
    assert (DOCS / name).read_text() == PAGES[name](), "run make docs"


def test_nothing_is_left_out() -> None:
    text = {name: page() for name, page in PAGES.items()}
    assert all(f"`{name}(" in text["ops.md"] for name in CATALOGUE)
    assert all(f"\n## {code}\n" in text["errors.md"] for code in CODES)
    assert all(
        f"`GRADWIRE_{name.upper()}`" in text["settings.md"] for name in Settings.model_fields
    )
