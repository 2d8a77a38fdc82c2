"""Settings for every test: examples are drawn, not timed, and the same ones each time in CI."""

import os

from hypothesis import settings

settings.register_profile("gradwire", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("gradwire")
