"""Blocks that a page marks `<!-- run by: … -->`: they need minutes, root or an engine.

The mark names a file or a make verb; the commands have to stand there, word for word, or be make
verbs whose recipe does. Docker's own commands are held against Dockerfile and docker-compose.yml.
"""

from __future__ import annotations

import re
import shlex
from functools import cache
from itertools import pairwise

import yaml
from tests.pages.markdown import ROOT

from gradwire_service.settings import Settings


def check(command: str, runner: str) -> None:
    """Raise AssertionError unless `runner` runs this command."""
    where = _text(runner)
    words = shlex.split(command, comments=True)
    if words[0] == "docker":
        _docker(words[1:])
        return
    wanted = [" ".join(words)]
    if words[0] == "make":
        verb = next(w for w in words[1:] if "=" not in w)
        assert verb in verbs(), f"there is no verb {verb}"
        wanted += verbs()[verb]
    assert any(w in where for w in wanted), f"{runner} doesn't run {' or '.join(wanted)!r}"


def _text(runner: str) -> str:
    """What the named runner does, as text."""
    if runner.startswith("make "):
        return "\n".join([runner, *verbs()[runner.removeprefix("make ")]])
    path = ROOT / runner
    assert path.is_file(), f"there is no {runner}"
    return path.read_text()


def verbs() -> dict[str, list[str]]:
    """The verbs of the Makefile with their commands, without the place of the environment."""
    return {
        verb: [re.sub(r"^\.venv/bin/(python )?", "", line) for line in lines]
        for verb, lines in _recipes().items()
    }


def echoed(verb: str) -> str:
    """What make prints before a verb's own output."""
    return "\n".join(_recipes()[verb])


@cache
def _recipes() -> dict[str, list[str]]:
    text = (ROOT / "Makefile").read_text()
    found = re.findall(r"^([a-z-]+|\.venv):.*?##.*\n((?:\t.*\n)*)", text, re.MULTILINE)
    return {
        verb: [_plain(line) for line in recipe.replace("\\\n", " ").splitlines()]
        for verb, recipe in found
    }


def _plain(line: str) -> str:
    line = line.strip().lstrip("@").replace("$(BIN)", ".venv/bin")
    return " ".join(re.sub(r"\$\(\w+\)", "", line).split())


def _docker(words: list[str]) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    if words[0] == "compose":
        _compose(words[1:])
        return
    verb, *rest = words
    for option, value in pairwise(rest):
        name = value.partition("=")[0]
        if option == "--build-arg":
            assert re.search(rf"^ARG {name}\b", dockerfile, re.MULTILINE), name
        if option in ("-e", "--env"):
            assert name.removeprefix("GRADWIRE_").lower() in Settings.model_fields, name
        if option in ("-p", "--publish"):
            assert f"EXPOSE {value.rpartition(':')[2]}" in dockerfile, value
    assert verb in ("build", "run"), verb
    assert words[-1] == ("." if verb == "build" else words[-1])


def _compose(words: list[str]) -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    services = compose["services"]
    profiles = {p for s in services.values() for p in s.get("profiles", [])}
    for option, value in pairwise(words):
        assert option != "--profile" or value in profiles, value
    verb = next(i for i, w in enumerate(words) if w in ("up", "down", "build", "logs"))
    named = [w for w in words[verb + 1 :] if not w.startswith("-")]
    assert set(named) <= set(services), named
