"""docs/errors.md, from the engine's table of codes and the service's explanations."""

from __future__ import annotations

from collections.abc import Iterator

from gradwire_engine.errors import CODES
from gradwire_service.http.explanations import EXPLANATIONS

HEAD = """# The errors

Every error has a stable `code`. Over REST it is the member `code` of an
`application/problem+json` reply, whose `type` leads to a page of the server with the text below. In
the SDK and the engine it is the attribute `code` of an exception, which is of the class named here,
as in torch, unless torch raises another in that place. Made by `make docs`.

| status | code | SDK | cause |
|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(map(_row, CODES)) + "".join(map("".join, map(_section, CODES)))


def _row(name: str) -> str:
    code, said = CODES[name], EXPLANATIONS[name]
    return f"| {code.status} | [{name}](#{name}) | {code.raised.__name__} | {said.cause} |\n"


def _section(name: str) -> Iterator[str]:
    said = EXPLANATIONS[name]
    yield f"\n## {name}\n\n{said.cause}\n\n"
    yield f"- For example: {_code(said.example)}\n"
    yield f"- Way out: {said.way_out}\n"


def _code(example: str) -> str:
    """An example that is a request or a piece of one as code, a sentence as it is."""
    return f"`{example}`" if example.startswith(("{", "GET", "POST", "PUT")) else example
