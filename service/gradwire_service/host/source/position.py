"""Where in a source text something stands, and the error that says so."""

from __future__ import annotations

import ast
import re

from gradwire_engine.errors import GradwireError, error

_SHOWN = 40
_WORDS = {
    ast.BoolOp: "'and' or 'or'",
    ast.UnaryOp: "'not'",
    ast.IfExp: "a conditional expression",
    ast.NamedExpr: "':='",
    ast.JoinedStr: "an f-string",
    ast.Dict: "a dict",
    ast.Set: "a set",
    ast.ListComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.Starred: "a starred expression",
    ast.FunctionDef: "a function definition",
    ast.ClassDef: "a class definition",
    ast.Import: "an import",
    ast.ImportFrom: "an import",
    ast.If: "an 'if'",
    ast.AsyncFunctionDef: "a function definition",
    ast.Lambda: "a function definition",
    ast.Slice: "a slice",
    ast.Await: "'await'",
    ast.Assert: "'assert'",
    ast.AnnAssign: "an annotation",
    ast.Expr: "an expression whose value goes nowhere",
}
_CHOICE = (
    "where(condition, a, b) chooses by element. Loops and branches are steps of their own: "
    '{"scan": …}, {"while_loop": …} and {"cond": …} in steps, or in the ops of a program; what '
    "they run is a program that was stored before"
)
_PROGRAM = (
    "a function is a program of its own, stored before; call, vmap, scan, while_loop and cond "
    "steps run it by its id, in steps, or in the ops of another program"
)
_INSTEAD = {
    **dict.fromkeys((ast.For, ast.While, ast.If, ast.IfExp), _CHOICE),
    **dict.fromkeys((ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp), _CHOICE),
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda), _PROGRAM),
}
"""What stands in place of what Python has, by kinds of nodes."""


class Text:
    """The source, asked for positions and excerpts. Lines and columns count from 1."""

    def __init__(self, text: str) -> None:
        self._lines = re.split(r"\r\n|\r|\n", text)

    def column(self, node: ast.AST) -> int:
        """The column of a node in characters; `ast` counts UTF-8 bytes."""
        line = self._lines[node.lineno - 1].encode("utf-8", "surrogatepass")  # type: ignore[attr-defined]
        before = line[: node.col_offset]  # type: ignore[attr-defined]
        return len(before.decode("utf-8", "replace")) + 1

    def excerpt(self, node: ast.AST) -> str:
        """The node's own text, or the beginning of it."""
        line = self._lines[node.lineno - 1].encode("utf-8", "surrogatepass")  # type: ignore[attr-defined]
        end = node.end_col_offset if node.end_lineno == node.lineno else None  # type: ignore[attr-defined]
        found = line[node.col_offset : end].decode("utf-8", "replace")  # type: ignore[attr-defined]
        return found if len(found) <= _SHOWN else found[:_SHOWN] + "…"

    def refuse(self, node: ast.AST, found: str | None, allowed: str) -> GradwireError:
        """The invalid_source for a node: position, what was found, what is allowed there.

        Without `found` it is the node itself, and a loop or function has a hint of its own.
        """
        line: int = node.lineno  # type: ignore[attr-defined]
        what = found or _describe(node)
        detail = f"found {what}: {self.excerpt(node)}"
        hint = allowed if found else _INSTEAD.get(type(node), allowed)
        return located(line, self.column(node), detail, hint)


def located(line: int, column: int, detail: str, hint: str) -> GradwireError:
    """An invalid_source at a position."""
    return error("invalid_source", f"source, line {line}, column {column}: {detail}", hint)


def name_line(problem: GradwireError, line: int) -> None:
    """Have the error of a step say which line of the text it was written on."""
    problem.detail = f"source, line {line}: {problem.detail}"
    hint = "" if problem.hint is None else f"\n  hint: {problem.hint}"
    problem.args = (problem.detail + hint,)


def _describe(node: ast.AST) -> str:
    kind = type(node)
    if isinstance(node, ast.Constant):
        return f"a constant of type {type(node.value).__name__}"
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__).lower()
    return _WORDS.get(kind) or f"a '{spaced}'"
