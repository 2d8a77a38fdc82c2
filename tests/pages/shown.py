"""Whether something is what a page shows. `…` stands for anything.

In text it stands for any characters; in JSON for any value, or, where it stands alone among the
members of an object or at the end of a list, for any further ones.
"""

from __future__ import annotations

import json
import re
from typing import Any

ANYTHING = "…"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]|\s+')


def matches(shown: str, got: str) -> bool:
    """Compare as JSON where the page shows an object or a list, else as text."""
    shown, got = shown.strip("\n"), got.strip("\n")
    if shown[:1] in ("{", "["):
        try:
            wanted = json.loads(_quoted(shown))
        except ValueError:
            return same_text(shown, got)
        try:
            return same_json(wanted, json.loads(got))
        except ValueError:
            return False
    return same_text(shown, got)


def same_text(shown: str, got: str) -> bool:
    """Compare character by character, but for blanks at the ends of lines."""
    parts = [re.escape(part) for part in _trimmed(shown).split(ANYTHING)]
    return re.fullmatch(".*".join(parts), _trimmed(got), re.DOTALL) is not None


def same_json(wanted: Any, got: Any) -> bool:
    """Compare by structure; 1 and 1.0 are different, as they are on the wire."""
    if isinstance(wanted, str) and ANYTHING in wanted:
        return wanted == ANYTHING or (isinstance(got, str) and same_text(wanted, got))
    if type(wanted) is not type(got):
        return False
    if isinstance(wanted, dict):
        open_ended = ANYTHING in wanted
        named = {key: value for key, value in wanted.items() if key != ANYTHING}
        fits = named.keys() <= got.keys() if open_ended else named.keys() == got.keys()
        return fits and all(same_json(value, got[key]) for key, value in named.items())
    if isinstance(wanted, list):
        if wanted and wanted[-1] == ANYTHING:
            wanted = wanted[:-1]
            got = got[: len(wanted)]
        return len(wanted) == len(got) and all(map(same_json, wanted, got))
    return bool(wanted == got)


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


def _quoted(shown: str) -> str:
    """A page's JSON as JSON: a bare … becomes a string, and in an object a member."""
    written: list[str] = []
    open_: list[str] = []
    last = ""
    for token in _TOKEN.findall(shown):
        if token == ANYTHING:
            member = open_[-1:] == ["{"] and last != ":"
            written.append(f'"{ANYTHING}": "{ANYTHING}"' if member else f'"{ANYTHING}"')
        else:
            written.append(token)
        if token in "{[":
            open_.append(token)
        elif token in "}]":
            open_.pop()
        last = last if token.isspace() else token
    return "".join(written)
