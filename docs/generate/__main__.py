"""`python -m docs.generate`: write the pages again; with `--pictures` train the demo for its two.

Run it from the root of the repository.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from docs.generate import errors, examples, ops, pictures, plan, settings
from docs.generate.stubs.files import FILES

from gradwire_engine.examples import FILE as EXAMPLES

DOCS = Path(__file__).parents[1]
PAGES = {"ops.md": ops.page, "errors.md": errors.page, "settings.md": settings.page}
WRITTEN = (
    {DOCS / name: page for name, page in PAGES.items()}
    | {DOCS / "pictures/plan.svg": plan.picture, EXAMPLES: examples.text}
    | FILES
)
"""Every generated file, and what writes it."""


def main() -> None:
    """Write what differs, and say so."""
    parser = argparse.ArgumentParser(prog="python -m docs.generate")
    parser.add_argument("--pictures", action="store_true", help="train the demo, keep its pictures")
    asked = parser.parse_args()
    for path, text_of in WRITTEN.items():
        text = text_of()
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(f"wrote {path.relative_to(DOCS.parent)}")
    if asked.pictures:
        pictures.write(DOCS / "pictures")
        print("wrote docs/pictures")


if __name__ == "__main__":
    main()
