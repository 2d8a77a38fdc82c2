"""Text to Python's syntax tree, with the bounds that keep hostile text cheap."""

from __future__ import annotations

import ast
import re

from gradwire_engine.errors import error
from gradwire_service.host.source.position import Text, located

MAX_LENGTH = 65_536
MAX_STEPS = 4_096
MAX_DEPTH = 100
MAX_BRACKETS = 40
MAX_TOKENS = 512
MAX_DIGITS = 400

_REFUSED = (("\\", "a backslash"), ("\0", "a null character"), ("'''", "'''"), ('"""', '"""'))
_LONG_NUMBER = re.compile(rf"[0-9_]{{{MAX_DIGITS + 1},}}")
_HIDES = re.compile(r"lambda$|[a-zA-Z]*[fFtT][a-zA-Z]*[\"']")
_TOKEN = re.compile(r"""#[^\r\n]*|\w*"[^"\r\n]*"|\w*'[^'\r\n]*'|\w+|[\r\n]|[^\s\w]""")


def tree(text: str, max_length: int) -> ast.Module:
    """Parse a text that is short, plainly written and not too deep; anything else is an error."""
    if len(text) > max_length:
        raise error(
            "limit_exceeded",
            f"source: {len(text)} characters, and the limit is {max_length}",
            "split the source over several requests",
        )
    _check_characters(text)
    _check_nesting(text)
    module = _parse(text)
    _check_depth(module, text)
    return module


def _parse(text: str) -> ast.Module:
    try:
        return ast.parse(text, mode="exec")
    except SyntaxError as problem:
        line, column = problem.lineno or 1, max(problem.offset or 1, 1)
        raise located(line, column, problem.msg, "docs/source.md has the grammar") from None
    except (RecursionError, MemoryError):
        raise located(1, 1, "nested too deeply to be read", "name the parts") from None
    except ValueError as problem:  # what UTF-8 can't carry
        raise located(1, 1, f"{problem}", "send UTF-8 text") from None


def _check_characters(text: str) -> None:
    """Escapes would give Python's warnings a say, and strings here need none."""
    for characters, name in _REFUSED:
        if (at := text.find(characters)) >= 0:
            hint = "strings are short and have no escapes; a line goes on inside parentheses"
            raise located(*_line_and_column(text, at), f"found {name}", hint)
    if (long := _LONG_NUMBER.search(text)) is not None:
        place = _line_and_column(text, long.start())
        raise located(*place, f"a number of {len(long[0])} digits", f"at most {MAX_DIGITS}")


def _check_nesting(text: str) -> None:
    """Bound what Python's parser, which recurses in C, can be made to nest.

    Nothing nests deeper than there are tokens since the last comma or line, here and around each
    open bracket; in a text too short to reach the bounds there is nothing to count.
    """
    if len(text) <= MAX_TOKENS and sum(map(text.count, "([{")) <= MAX_BRACKETS:
        return
    counts = [0]
    for match in _TOKEN.finditer(text):
        _count(match[0], counts)
        if len(counts) > MAX_BRACKETS or sum(counts) > MAX_TOKENS:
            hint = f"at most {MAX_BRACKETS} open brackets, {MAX_TOKENS} tokens without a comma"
            raise located(*_line_and_column(text, match.start()), "nested too deeply", hint)


def _count(token: str, counts: list[int]) -> None:
    """Take note of one token: tokens since the last comma, for each open bracket."""
    if token in "([{":
        counts.append(0)
    elif token in ")]}" and len(counts) > 1:
        counts.pop()
        counts[-1] += 1
    elif token == "," or (token in "\r\n;" and len(counts) == 1):
        counts[-1] = 0
    elif token[0] != "#":
        # A lambda nests across commas, an f-string hides what it nests: neither is in the grammar.
        counts[-1] += MAX_TOKENS + 1 if _HIDES.match(token) else 1


def _check_depth(module: ast.Module, text: str) -> None:
    level: list[ast.AST] = [module]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    deep = next((node for node in level if hasattr(node, "lineno")), None)
    if deep is not None:
        hint = f"at most {MAX_DEPTH} levels; give parts of the expression a name"
        raise Text(text).refuse(deep, "an expression nested too deeply", hint)


def _line_and_column(text: str, at: int) -> tuple[int, int]:
    before = text[:at]
    return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1
