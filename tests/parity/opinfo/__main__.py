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
from tests.parity.opinfo.not_yet import NOT_YET
from tests.parity.opinfo.run import WAYS, entries, told

import gradwire

SHOWN = 4
"""Lines of an entry that are printed."""


def main() -> int:
    """Run all samples of all entries embedded and three of each over HTTP; 1 if they differ."""
    asked = _arguments()
    console = Console()
    found: dict[str, list[str]] = {}
    jobs = [
        (name, way) for way in asked.ways.split(",") for name in entries() if asked.name in name
    ]
    with (
        serving("--log", "none") as url,
        ProcessPoolExecutor(asked.workers, initializer=_single) as pool,
    ):
        keys = [f"{name} / {way}" for name, way in jobs]
        for key, lines in zip(
            keys, pool.map(_one, jobs, [url] * len(jobs), chunksize=4), strict=True
        ):
            if lines:
                found[key] = lines
                _show(console, key, lines)
    return _judged(console, keys, found)


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
        return told(name, "float64", 3)
    finally:
        gradwire.connect()


def _show(console: Console, key: str, lines: list[str]) -> None:
    console.print(f"{key}: {len(lines)}", markup=False, highlight=False)
    for line, count in list(Counter(lines).items())[:SHOWN]:
        console.print(f"    {count}x {line[:300]}", markup=False, highlight=False)


def _judged(console: Console, keys: list[str], found: dict[str, list[str]]) -> int:
    """Whether what differs is just what not_yet.py says."""
    listed = NOT_YET.keys() & set(keys)
    new, mended = sorted(found.keys() - listed), sorted(listed - found.keys())
    per_way = Counter(key.rpartition(" / ")[2] for key in keys)
    red = Counter(key.rpartition(" / ")[2] for key in found)
    for way, count in per_way.items():
        console.print(f"{way}: {count - red[way]} of {count} entries agree", highlight=False)
    for title, names in (("not listed in not_yet.py", new), ("listed there, but mended", mended)):
        for name in names:
            console.print(f"{title}: {name}", markup=False, highlight=False)
    return 1 if new or mended else 0


if __name__ == "__main__":
    sys.exit(main())
