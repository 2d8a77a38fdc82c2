"""The distribution, its locks and its verbs."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PIN = re.compile(r"^([\w.-]+)==([^\s;\\]+)", re.MULTILINE)


def pins(name: str) -> dict[str, str]:
    text = (ROOT / f"requirements/{name}.txt").read_text()
    return {canonicalize_name(package): version for package, version in PIN.findall(text)}


def asked(*extras: str) -> list[Requirement]:
    optional = PROJECT["optional-dependencies"]
    listed = [*PROJECT["dependencies"], *(entry for extra in extras for entry in optional[extra])]
    return [r for r in map(Requirement, listed) if r.name != "gradwire"]


@pytest.mark.parametrize("path", LOCKS, ids=lambda p: p.stem)
def test_a_lock_pins_everything_by_hash_and_names_no_host(path: Path) -> None:
    text = path.read_text()
    entries = [e for e in re.split(r"\n(?=\S)", text) if not e.startswith("#")]
    assert entries
    assert all(PIN.match(entry) and "--hash=sha256:" in entry for entry in entries)
    assert not re.search(r"https?://|index-url|find-links", text)


@pytest.mark.parametrize(
    ("lock", "extras"),
    [("dev", ["server", "dev"]), ("server", ["server"]), ("cuda", ["server", "cuda"])],
)
def test_a_lock_is_not_older_than_what_is_asked(lock: str, extras: list[str]) -> None:
    locked = pins(lock)
    for requirement in asked(*extras):
        version = locked[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement}: run `make lock`"


@pytest.mark.parametrize("lock", ["server", "cuda", "parity"])
def test_what_ships_is_what_is_tested(lock: str) -> None:
    tested = pins("dev")
    differ = {name: v for name, v in pins(lock).items() if tested.get(name, v) != v}
    assert differ == {}


def test_the_sdk_alone_asks_for_no_server() -> None:
    names = {requirement.name for requirement in asked()}
    light = {
        "numpy", "scipy", "ml-dtypes", "httptools", "httpx", "pydantic", "safetensors",
        "websockets",
    }  # fmt: skip
    assert names == light


def test_the_wheel_holds_the_three_packages_and_their_types(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("gradwire-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    packages = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert packages == {"gradwire_engine", "gradwire_service", "gradwire"}
    assert {f"{package}/py.typed" for package in packages} <= set(names)


def make(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run make as from a shell, though `make test` may have started these tests."""
    outer = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"}
    plain = {name: value for name, value in os.environ.items() if name not in outer}
    return subprocess.run(["make", *arguments], cwd=ROOT, env=plain, capture_output=True, text=True)


def test_help_lists_every_verb() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony
    verbs = set(phony[1].split()) - {"help", ".venv"}
    assert {line.split()[0] for line in make("help").stdout.splitlines()[1:]} == verbs


def test_a_missing_python_is_named(tmp_path: Path) -> None:
    done = make("test", f"VENV={tmp_path}/venv", "PYTHON=python3.999")
    assert done.returncode != 0
    assert "needs Python 3.11 or newer, and there is no python3.999" in done.stdout


def test_an_old_python_is_named(tmp_path: Path) -> None:
    old = tmp_path / "python3.9"
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && echo Python 3.9.2 || exit 1\n')
    old.chmod(0o755)
    done = make("test", f"VENV={tmp_path}/venv", f"PYTHON={old}")
    assert done.returncode != 0
    assert "needs Python 3.11 or newer" in done.stdout
    assert "Python 3.9.2" in done.stdout


def test_the_command_says_what_it_needs_where_only_the_sdk_is() -> None:
    absent = "import sys; sys.modules['typer'] = None"
    run = "from runpy import run_module; run_module('gradwire_service', run_name='__main__')"
    command = [sys.executable, "-c", f"{absent}; {run}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'gradwire[server]'" in done.stderr
    assert "Traceback" not in done.stderr
