"""The session that is made on first use, in a process of its own."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import threading
import gradwire as torch

ready, made = threading.Barrier(8), []

def work():
    ready.wait()
    made.append(torch.ones(2))

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(made).tolist())
"""


def test_threads_that_begin_at_once_share_one_session() -> None:
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=20, check=False
    )
    assert found.stdout.strip() == "[8.0, 8.0]", found.stderr
