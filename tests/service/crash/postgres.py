"""A PostgreSQL of the tests' own: a fresh cluster in a scratch folder, on a free port."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text


def initdb() -> Path | None:
    """The initdb program, where one is installed with the server beside it."""
    found = shutil.which("initdb")
    places = [Path(found)] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    return next((path for path in places if path.with_name("pg_ctl").exists()), None)


NOT_TESTED = "PostgreSQL isn't installed: there is no initdb"


def need_postgres() -> None:
    """Skip the test where there is none; tests/conftest.py has that stand out."""
    if initdb() is None:
        pytest.skip(NOT_TESTED)


class Postgres:
    """A cluster that can be stopped and started."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs, self._data, self._folder = programs, folder / "data", folder
        self._count = count()
        self._user = _unprivileged()
        if self._user is not None:
            shutil.chown(folder, self._user)
        self._run("initdb", "--auth=trust", "--username=gradwire", "--encoding=UTF8",
                  "--data-checksums", "--no-sync", "-D", str(self._data))  # fmt: skip
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.url = f"postgresql+psycopg://gradwire@127.0.0.1:{self._port}/postgres"

    def database(self) -> str:
        """The URL of a database of its own."""
        name = f"gradwire_{next(self._count)}"
        engine = create_engine(self.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
        return self.url.removesuffix("postgres") + name

    def start(self) -> None:
        """Start it, and wait until it answers."""
        # processes are killed, machines never are: what the system was given is on the disk
        options = f"-p {self._port} -h 127.0.0.1 -k {self._folder} -c fsync=off"
        log = self._folder / "log"
        self._run("pg_ctl", "start", "-w", "-D", str(self._data), "-o", options, "-l", str(log))

    def stop(self, mode: str = "immediate") -> None:
        """End it; "immediate" as a crash would."""
        self._run("pg_ctl", "stop", "-w", "-m", mode, "-D", str(self._data))

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._programs / program), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            user=self._user,
            cwd=self._folder,
        )


def _unprivileged() -> str | None:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A running cluster while the block runs."""
    program = initdb()
    assert program is not None
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        cluster = Postgres(program.parent, Path(folder))
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()
