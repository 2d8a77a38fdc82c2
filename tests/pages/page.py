"""What a page's blocks have to be, kind by kind, and that they are.

python    run in order in one namespace; prints what the `text` block after it shows, else nothing
console   each `$ command` run by one bash, in a scratch folder; prints what stands under it.
          `gradwire serve` is the server that the tests have started: localhost:8000 leads to it
http      a request, then a block with its reply
source    parsed as source text: gives the `steps` or the `error` of the block after it
ebnf      a grammar that uses no rule it doesn't define
examples  of ops, from the catalogue; a test of the service runs each (test_op_examples.py)
json      a request body, of the model that its mark names: `<!-- body: OpsRequest -->`

Marks, in an HTML comment before the block: `file: name` writes the block to that file of the
scratch folder, for a later one to read; `run by: …` see elsewhere.py; `fails: why` a command that
must end with a status other than 0. A block that no rule covers is an error.
"""

from __future__ import annotations

import json
import re
import sys
from collections import deque
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from tests.pages import elsewhere, requests
from tests.pages.console import Shell, commands
from tests.pages.markdown import ROOT, Block, blocks
from tests.pages.program import Program
from tests.pages.shown import matches

from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.errors import GradwireError
from gradwire_engine.examples import example
from gradwire_service.host.protocol import read
from gradwire_service.host.protocol import requests as bodies
from gradwire_service.host.source import parse

STAND_IN = "localhost:8000"
LISTENS = "gradwire listens on http://127.0.0.1:8000"
SERVING = {"gradwire serve": LISTENS, "make serve": f"{elsewhere.echoed('serve')}\n{LISTENS}"}
PYTHONS_TOKENS = {"identifier", "string", "integer", "float", "imaginary", "dtype"}


def play(path: Path, server: str, folder: Path) -> None:
    """Play a page against a server, in an empty folder. AssertionError names page and line."""
    with ExitStack() as stack:
        Page(path, server, folder, stack).play()


class Page:
    """A page being played: its scratch folder, its shell, its program, its server."""

    def __init__(self, path: Path, server: str, folder: Path, stack: ExitStack) -> None:
        self.blocks = deque(blocks(path))
        self.server = server.removeprefix("http://")
        self.folder = folder
        self.stack = stack
        (folder / ".venv").symlink_to(sys.prefix)
        (folder / "Makefile").symlink_to(ROOT / "Makefile")

    @cached_property
    def shell(self) -> Shell:
        """The bash of the page."""
        made = Shell(self.folder)
        self.stack.callback(made.close)
        return made

    @cached_property
    def program(self) -> Program:
        """The Python of the page."""
        made = Program(self.folder)
        self.stack.callback(made.close)
        return made

    @cached_property
    def http(self) -> requests.Http:
        """The client of the page."""
        made = requests.Http(f"http://{self.server}")
        self.stack.callback(made.close)
        return made

    def play(self) -> None:
        """Do all that the page says, in order."""
        while self.blocks:
            block = self.blocks.popleft()
            try:
                self._do(block)
            except (AssertionError, ValueError, GradwireError) as problem:
                raise AssertionError(f"{block.place}: {problem}") from problem

    def _do(self, block: Block) -> None:
        if "file" in block.marks:
            self._file(block)
        elif "run by" in block.marks:
            self._elsewhere(block)
        else:
            rule = getattr(self, f"_kind_{block.kind}", None)
            assert rule is not None, f"no rule covers a block of {block.kind!r}"
            rule(block)

    def _follows(self, *kinds: str) -> Block | None:
        """The next block, if it is the result of this one."""
        if self.blocks and self.blocks[0].kind in kinds and not self.blocks[0].marks:
            return self.blocks.popleft()
        return None

    def _here(self, text: str) -> str:
        return text.replace(STAND_IN, self.server)

    def _there(self, text: str) -> str:
        return text.replace(self.server, STAND_IN)

    def _file(self, block: Block) -> None:
        name = block.marks["file"]
        (self.folder / name).write_text(self._here(block.text))
        assert any(name in later.text for later in self.blocks), f"nothing reads {name}"

    def _elsewhere(self, block: Block) -> None:
        assert block.kind == "console", "only commands are run elsewhere"
        for command in commands(block.text):
            elsewhere.check(command.text, block.marks["run by"])

    def _kind_python(self, block: Block) -> None:
        printed, raised = self.program.run(self._here(block.text), block.place)
        result = self._follows("text")
        assert result or not raised, printed
        compare(result.text if result else "", self._there(printed))

    def _kind_console(self, block: Block) -> None:
        for command in commands(block.text):
            if command.text in SERVING:
                compare(command.shown, SERVING[command.text])
                continue
            printed, status = self.shell.run(self._here(command.text))
            expected = bool(status) == ("fails" in block.marks)
            assert expected, f"{command.text}: status {status}\n{printed}"
            compare(command.shown, self._there(printed))

    def _kind_http(self, block: Block) -> None:
        assert requests.is_request(block.text), "a reply without a request"
        reply = self.http.send(block.text)
        shown = self._follows("http")
        assert shown, "a request without its reply"
        got = f"{reply.status_code}\n{reply.text}"
        assert requests.is_reply(shown.text, reply), f"shows\n{shown.text}\nbut it is {got}"

    def _kind_source(self, block: Block) -> None:
        result = self._follows("steps", "error")
        assert result, "source without its steps or its error"
        if result.kind == "steps":
            wanted = [json.loads(line) for line in result.text.splitlines()]
            assert parse(block.text) == wanted, f"gives {parse(block.text)}"
            return
        try:
            parse(block.text)
        except GradwireError as problem:
            compare(result.text, problem.detail)
        else:
            raise AssertionError("it is not refused")

    def _kind_ebnf(self, block: Block) -> None:
        text = re.sub(r"\(\*.*?\*\)|\"[^\"]*\"|'[^']*'", " ", block.text, flags=re.DOTALL)
        defined = set(re.findall(r"^(\w+) *=", text, re.MULTILINE))
        used = set(re.findall(r"\b[a-z]+\b", text))
        assert used <= defined | PYTHONS_TOKENS, f"rules that aren't there: {used - defined}"

    def _kind_examples(self, block: Block) -> None:
        known = set(map(example, CATALOGUE))
        assert block.text.strip(), "no example stands here"
        for line in block.text.splitlines():
            assert line in known, f"not the catalogue's: {line}"

    def _kind_json(self, block: Block) -> None:
        model = getattr(bodies, block.marks.get("body", ""), None)
        assert model is not None, "JSON that nothing sends and no model reads"
        read(model, json.loads(block.text))


def compare(shown: str, got: str) -> None:
    """Raise AssertionError unless that is what the page shows."""
    assert matches(shown, got), f"shows\n{shown}\nbut it is\n{got}"


__all__ = ["ROOT", "play"]
