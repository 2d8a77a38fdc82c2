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

_QUOTED_OR_COMMENT = re.compile(r'"[^"\n]*"|\'[^\'\n]*\'|#[^\n]*|[()\[\]{}]|\n')


def tree(text: str, max_length: int) -> ast.Module:
    """Parse a text that is short, plainly written and not too deep; anything else is an error."""
    if len(text) > max_length:
        raise error(
            "limit_exceeded",
            f"source: {len(text)} characters, and the limit is {max_length}",
            "split the source over several requests",
        )
    _check_characters(text)
    _check_brackets(text)
    module = _parse(text)
    _check_depth(module, text)
    return module


def _parse(text: str) -> ast.Module:
    try:
        return ast.parse(text, mode="exec")
    except SyntaxError as problem:
        line, column = problem.lineno or 1, max(problem.offset or 1, 1)
        raise located(line, column, problem.msg, "see the grammar in the docs") from None
    except (RecursionError, MemoryError):
        raise located(1, 1, "nested too deeply to be read", "name the parts") from None
    except ValueError as problem:  # what UTF-8 can't carry
        raise located(1, 1, f"{problem}", "send UTF-8 text") from None


def _check_characters(text: str) -> None:
    """Escapes would give Python's warnings a say, and strings here need none."""
    for character, name in (("\\", "a backslash"), ("\0", "a null character")):
        if (at := text.find(character)) >= 0:
            line, column = _line_and_column(text, at)
            hint = "strings have no escapes, and a line goes on inside parentheses"
            raise located(line, column, f"found {name}", hint)


def _check_brackets(text: str) -> None:
    """Python's parser takes time that can double with each open bracket of broken text."""
    depth = 0
    for match in _QUOTED_OR_COMMENT.finditer(text):
        depth += (match[0] in "([{") - (match[0] in ")]}")
        if depth > MAX_BRACKETS:
            line, column = _line_and_column(text, match.start())
            hint = f"at most {MAX_BRACKETS} brackets may be open; name the parts"
            raise located(line, column, "nested too deeply", hint)


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
