"""Torch's table at full size: python -m tests.parity.opinfo [--ways float64,errors]."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import torch
from rich.console import Console
from tests.clients.serving import serving
from tests.parity.opinfo.run import WAYS, entries, left_out, main_way, told

import gradwire

SHOWN = 4
"""Lines of an entry that are printed."""


def main() -> int:
    """Run all samples of all entries embedded and three of each over HTTP; 1 if any differs."""
    asked = _arguments()
    console = Console()
    red: Counter[str] = Counter()
    jobs = [
        (name, way) for way in asked.ways.split(",") for name in entries() if asked.name in name
    ]
    with (
        serving("--log", "none") as url,
        ProcessPoolExecutor(asked.workers, initializer=_single) as pool,
    ):
        told_of = pool.map(_one, jobs, [url] * len(jobs), chunksize=4)
        for (name, way), lines in zip(jobs, told_of, strict=True):
            if lines:
                red[way] += 1
                _show(console, f"{name} / {way}", lines)
    for way, count in Counter(way for _, way in jobs).items():
        console.print(f"{way}: {count - red[way]} of {count} entries agree", highlight=False)
    _tell_what_counts(console)
    return 1 if red else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ways", default=",".join((*WAYS, "http")), help="with commas between")
    parser.add_argument("--name", default="", help="entries whose names have this in them")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    return parser.parse_args()


def _single() -> None:
    torch.set_num_threads(1)


def _one(job: tuple[str, str], url: str) -> list[str]:
    name, way = job
    if way != "http":
        return told(name, way)
    gradwire.connect(url)
    try:
        return told(name, main_way(name), 3)
    finally:
        gradwire.connect()


def _show(console: Console, key: str, lines: list[str]) -> None:
    console.print(f"{key}: {len(lines)}", markup=False, highlight=False)
    for line, count in list(Counter(lines).items())[:SHOWN]:
        console.print(f"    {count}x {line[:300]}", markup=False, highlight=False)


def _tell_what_counts(console: Console) -> None:
    """How many of the entries have derivatives, real and complex, and what is left out."""
    smooth = [op for op in entries().values() if op.supports_autograd]
    for called, dtype in (("float64", torch.float64), ("complex128", torch.complex128)):
        count = sum(dtype in op.supported_backward_dtypes("cpu") for op in smooth)
        console.print(f"differentiated in {called}: {count} entries", highlight=False)
    for why, count in left_out().items():
        console.print(f"left out: {count} entries ({why})", highlight=False)


if __name__ == "__main__":
    sys.exit(main())
