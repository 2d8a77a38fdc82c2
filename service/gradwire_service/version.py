"""The version of the distribution that is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("gradwire")
except PackageNotFoundError:  # run from a source tree
    VERSION = "0+unknown"
