"""`python -m deploy.supply`: licences of what gradwire depends on, and known weaknesses of it.

Licences are read from what is installed. Weaknesses of the locked releases are asked of PyPI's
advisories by pip-audit; where these can't be reached that is said in so many words, and only that
part is left out: a check that didn't take place is no check that passed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCKED = ROOT / "requirements" / "server.txt"
_PATIENCE = 120.0
ALLOWED = (
    "apache", "bsd", "mit", "isc", "psf", "python software foundation", "mpl", "mozilla",
    "zlib", "0bsd", "cc0", "unlicense",
)  # fmt: skip
"""Words of licences that let anybody use, change and pass on the whole."""
_REFUSED = re.compile(r"\b(a|l)?gpl|general public|affero", re.IGNORECASE)
_EXCEPTION = "GCC-exception"
"""What lets GPL'd runtime libraries be a part of anything: NumPy's and SciPy's wheels have them."""


def depended(name: str, extras: Iterable[str]) -> set[str]:
    """The distributions that one needs on this machine, and those that they need."""
    found: set[str] = set()
    pending = [(name, frozenset(extras))]
    while pending:
        owner, wanted = pending.pop()
        for text in requires(owner) or ():
            need = Requirement(text)
            marker = need.marker
            taken = [e for e in ("", *wanted) if not marker or marker.evaluate({"extra": e})]
            key = canonicalize_name(need.name)
            if taken and key not in found and key != name:
                found.add(key)
                pending.append((key, frozenset(need.extras)))
    return found


def licence(name: str) -> str:
    """What a distribution says its licence is."""
    found = metadata(name)
    classified = [
        text.rpartition(" :: ")[2]
        for text in found.get_all("Classifier") or ()
        if text.startswith("License ::")
    ]
    said = found.get("License-Expression") or " / ".join(classified) or found.get("License") or ""
    return said.strip().partition("\n")[0][:120]


def fits(said: str) -> bool:
    """Whether a licence is one of those allowed, all parts of it."""
    parts = [part for part in re.split(r"\s+AND\s+", said) if _EXCEPTION not in part]
    return bool(said) and all(
        any(word in part.lower() for word in ALLOWED) and not _REFUSED.search(part)
        for part in parts
    )


def licences() -> Iterator[str]:
    """What is wrong with the licences, a line each."""
    for name in sorted(depended("gradwire", ("server",))):
        try:
            said = licence(name)
        except PackageNotFoundError:
            yield f"{name}: not installed"
            continue
        if not fits(said):
            yield f"{name}: its licence is {said or 'not said'}"


def audit() -> tuple[list[str], list[str]]:
    """Known weaknesses of the locked releases, and what couldn't be asked, a line each."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes",
               "--progress-spinner", "off", "--format", "json", "-r", str(LOCKED)]  # fmt: skip
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
        found = json.loads(done.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        return [], [f"all: no answer within {_PATIENCE:g} seconds"]
    except ValueError:
        said = done.stderr.strip().rpartition("\n")[2]
        return [], [f"all: pip-audit ended with status {done.returncode}: {said[:300]}"]
    weak = [
        f"{one['name']} {one['version']}: {flaw['id']}, mended in {flaw['fix_versions'] or 'none'}"
        for one in found
        for flaw in one.get("vulns", ())
    ]
    return weak, [f"{one['name']}: {one['skip_reason']}" for one in found if "skip_reason" in one]


def main() -> int:
    """Say what is wrong; 1 if anything is."""
    wrong = list(licences())
    weak, unasked = audit()
    for line in (*wrong, *weak):
        print(line)
    if unasked:
        print(f"WARNING: not audited ({len(unasked)} of the locked releases, or all of them):")
        print(*(f"  {line}" for line in unasked[:3]), sep="\n")
        print("  the advisories can't be reached from here; run `make check` where they can")
    else:
        print("every locked release audited")
    return 1 if wrong or weak else 0


if __name__ == "__main__":
    sys.exit(main())
