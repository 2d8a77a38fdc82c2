"""The processes in which a process has long calls run."""

from __future__ import annotations

import os
import subprocess

MODULE = "gradwire_service.host.long_calls.child"


def children(parent: int | None = None) -> list[int]:
    """Return their numbers, sorted; of this process if none is given. Those that ended are none."""
    parent = os.getpid() if parent is None else parent
    return sorted(pid for pid, of, args in _listed() if of == parent and MODULE in args)


def alive(pid: int) -> bool:
    """Whether there is a process of this number that runs long calls, whoever its parent is."""
    return any(one == pid and MODULE in args for one, _, args in _listed())


def _listed() -> list[tuple[int, int, str]]:
    text = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,stat=,args="],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    rows = [line.split(None, 3) for line in text.splitlines()]
    return [(int(r[0]), int(r[1]), r[3]) for r in rows if len(r) == 4 and "Z" not in r[2]]
