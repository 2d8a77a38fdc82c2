"""Run pytest; what fails among all others runs once more, by itself.

`make test` and `make parity` use it. Real servers, clients and processes share two cores with
thousands of other tests, and a machine that is slow for a moment must not stop a change that has
nothing to do with it. Such a test is a fault nevertheless, in it or in what it tests: it is shown
as it failed, and named at the end. What fails by itself as well fails the run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FAILED = Path(".pytest_cache", "v", "cache", "lastfailed")
_ALONE = (
    "--numprocesses", "0", "--dist", "no", "--last-failed", "--last-failed-no-failures", "none",
)  # fmt: skip
_SOME_FAILED = 1


def main(arguments: list[str]) -> int:
    """The exit status; more than one is pytest's word for a run that didn't come to its end."""
    FAILED.unlink(missing_ok=True)  # of other runs
    status = _pytest(*arguments)
    if status != _SOME_FAILED:
        return status
    failed = sorted(json.loads(FAILED.read_text()))
    _say(f"\n{len(failed)} failed; once more, by themselves:")
    status = _pytest(*arguments, *_ALONE)
    if status == 0:
        _say("\nNOT RELIABLE, failed among the others and passed by themselves; to be mended:")
        _say("\n".join(failed))
    return status


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _pytest(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
