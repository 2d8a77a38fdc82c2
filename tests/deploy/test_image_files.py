"""What can be said of the Dockerfile without building it; `make image-test` builds it."""

import json
import re
from pathlib import Path, PurePosixPath

import pytest
from deploy.image_test.__main__ import missing

ROOT = Path(__file__).parents[2]
LINES = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text()).splitlines()


def instructions(word: str) -> list[str]:
    return [line.removeprefix(word).strip() for line in LINES if line.startswith(word + " ")]


def test_the_last_stage_runs_as_nobody_special_and_takes_signals() -> None:
    assert instructions("USER") == ["gradwire"]
    assert json.loads(instructions("ENTRYPOINT")[0]) == ["gradwire"]
    assert json.loads(instructions("CMD")[0])[0] == "serve"
    assert instructions("STOPSIGNAL") == ["SIGTERM"]


def test_both_stages_stand_on_one_base_that_can_be_changed() -> None:
    assert instructions("ARG")[0].startswith("BASE=")
    assert instructions("FROM") == ["${BASE} AS build", "${BASE}"]


@pytest.mark.parametrize("variant", ["server", "cuda"])
def test_each_variant_has_its_lock(variant: str) -> None:
    assert (ROOT / f"requirements/{variant}.txt").exists()


def test_what_is_copied_is_let_through_to_the_builder() -> None:
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    let_through = [PurePosixPath(line[1:]) for line in ignore if line.startswith("!")]
    copied = [entry for line in instructions("COPY") for entry in line.split()[:-1]]
    for entry in [PurePosixPath(c) for c in copied if not c.startswith(("--", "/"))]:
        assert any(entry.is_relative_to(path) for path in let_through), entry
        assert "$" in str(entry) or (ROOT / entry).exists()


def test_the_image_test_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = " ".join(missing())
    assert "apt-get install buildah" in said
    assert "apt-get install debootstrap" in said
