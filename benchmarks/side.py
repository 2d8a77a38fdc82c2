"""A side of a comparison: a fresh process that measures one case, told when by the harness."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

PATIENCE = 30.0  # seconds for a side to end
ROOT = Path(__file__).resolve().parent.parent
OTHER_KERNELS = (
    "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES",
    "MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE", "MKL_CBWR", "ONEDNN_MAX_CPU_ISA",
    "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY",
)  # fmt: skip
"""By these an environment has libraries compute as for another processor, as one does that wants
the same bits from different ones. Such a setting holds for one library and not for the one that it
is compared with, so no side has any: each takes the kernels that it would by itself."""


@dataclass(frozen=True)
class Side:
    """What to measure and where: `target` is "module:function", called with `arguments` there.

    python: which interpreter runs it. first: a module to import before those of the case, as a
    program would that uses it.
    """

    target: str
    arguments: dict[str, Any] = field(default_factory=dict)
    cores: tuple[int, ...] = ()
    threads: int = 1
    python: str = sys.executable
    first: str = ""


def environment(threads: int) -> dict[str, str]:
    """This environment with every thread pool limited to the same number, and no library kept to
    kernels of another processor.

    Python may write bytecode: what pip installs has it too, a checkout would be compiled each time.
    """
    pools = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    found = os.environ | dict.fromkeys(pools, str(threads)) | {"PYTHONUNBUFFERED": "1"}
    for name in ("PYTHONDONTWRITEBYTECODE", *OTHER_KERNELS):
        found.pop(name, None)
    return found


def all_cores() -> tuple[int, ...]:
    """The cores that this process may use."""
    return tuple(sorted(os.sched_getaffinity(0)))


class SideFailedError(Exception):
    """The process of a side ended; what it said is on stderr."""


class Worker:
    """The running process of a side; a context manager that ends it."""

    def __init__(self, side: Side) -> None:
        self._target = side.target
        self._process = subprocess.Popen(
            [side.python, "-m", "benchmarks.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(side.threads),
            cwd=ROOT,
            text=True,
        )
        order = {"target": side.target, "arguments": side.arguments, "first": side.first}
        try:
            self._ask(order | {"cores": side.cores or all_cores()})
        except BaseException:
            self.close()
            raise

    def measure(self, seconds: float) -> dict[str, Any]:
        """Measure for about `seconds`; what the case reports."""
        return self._ask({"seconds": seconds})

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(message) + "\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            status = self._process.wait()
            raise SideFailedError(f"{self._target} ended with exit status {status}: see above")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process, which reads its orders until the pipe is closed."""
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(timeout=PATIENCE)
