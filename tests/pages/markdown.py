"""The fenced blocks of a Markdown page, with the HTML comment that stands right before each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
)
_COMMENT = re.compile(r"<!--\s*(?P<key>[a-z ]+):\s*(?P<value>.*?)\s*-->", re.DOTALL)


class Block(NamedTuple):
    """A fenced block. marks: what the comment before it says, `<!-- key: value -->`."""

    kind: str
    text: str
    page: str
    line: int
    marks: dict[str, str]

    @property
    def place(self) -> str:
        """Where it stands, as page:line."""
        return f"{self.page}:{self.line}"


def blocks(path: Path) -> list[Block]:
    """The blocks of a page, in order."""
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name
    return list(_read(path.read_text(), str(name)))


def _read(text: str, page: str) -> Iterator[Block]:
    marks: dict[str, str] = {}
    for token in MarkdownIt("commonmark").parse(text):
        if token.type == "html_block":
            marks |= {m["key"]: m["value"] for m in _COMMENT.finditer(token.content)}
        elif token.type in ("fence", "code_block"):
            line = token.map[0] + 1 if token.map else 0
            yield Block(token.info.strip(), token.content, page, line, marks)
            marks = {}
        elif token.content:
            marks = {}


def links(path: Path) -> Iterator[str]:
    """Where the links and pictures of a page lead."""
    for token in MarkdownIt("commonmark").enable("table").parse(path.read_text()):
        if token.type == "html_block":
            yield from re.findall(r'(?:href|src)="([^"]*)"', token.content)
        for child in token.children or ():
            found = child.attrGet("href") or child.attrGet("src")
            if isinstance(found, str):
                yield found


def anchors(path: Path) -> set[str]:
    """The anchors that the headings of a page have, as code hosts make them."""
    tokens = MarkdownIt("commonmark").parse(path.read_text())
    titles = [
        following.content for token, following in pairwise(tokens) if token.type == "heading_open"
    ]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
