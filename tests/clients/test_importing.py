"""What `import gradwire` leaves behind, each time in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest


def printed(code: str) -> str:
    """What a fresh interpreter prints for these lines."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_collector_runs_again_and_has_little_to_look_at() -> None:
    young = "len(gc.get_objects(0)) + len(gc.get_objects(1))"
    on, looked_at = printed(f"import gradwire, gc; print(gc.isenabled(), {young})").split()
    assert on == "True"
    assert int(looked_at) < 5000, "of about 60,000 that an import leaves"


def test_nothing_stays_frozen() -> None:
    assert printed("import gradwire, gc; print(gc.get_freeze_count())") == "0"


def test_what_the_program_froze_stays_frozen() -> None:
    code = "import gc; gc.freeze(); import gradwire; print(gc.get_freeze_count() > 0)"
    assert printed(code) == "True"


def test_a_collector_that_was_off_stays_off() -> None:
    assert printed("import gc; gc.disable(); import gradwire; print(gc.isenabled())") == "False"


def test_an_import_that_fails_leaves_the_collector_on() -> None:
    code = """
import gc, sys
sys.modules["ml_dtypes"] = None
try:
    import gradwire
except ImportError:
    print(gc.isenabled())
"""
    assert printed(code) == "True"


UNNEEDED = {
    # what the parts of an embedded host, a connection to a server, or a rare call need
    "anyio", "asyncio", "concurrent.futures", "dataclasses", "difflib", "email", "fastapi",
    "hashlib", "httpcore", "httpx", "importlib.metadata", "inspect", "json", "pathlib", "pydantic",
    "safetensors", "scipy", "socket", "sqlalchemy", "ssl", "structlog", "tempfile", "typer",
    "urllib.parse", "uuid", "uvicorn", "websockets",
    "gradwire.http", "gradwire.stream",
    "gradwire_service",
    "gradwire_engine.checkpoint", "gradwire_engine.dual", "gradwire_engine.examples",
    "gradwire_engine.forward",
    "gradwire_engine.func",
    "gradwire_engine.function", "gradwire_engine.functional", "gradwire_engine.gradcheck",
    "gradwire_engine.optim", "gradwire_engine.plan", "gradwire_engine.profile",
    "gradwire_engine.snapshot", "gradwire_engine.vmap",
    "gradwire.autograd.function", "gradwire.autograd.functional", "gradwire.autograd.numerical",
    "gradwire.cuda", "gradwire.embedded", "gradwire.func", "gradwire.nn.modules",
    "gradwire.optim", "gradwire.printing", "gradwire.ranges", "gradwire.scripts",
    "gradwire.testing", "gradwire.utils",
}  # fmt: skip


def test_only_what_every_program_needs_is_loaded() -> None:
    loaded = printed("import sys, gradwire; print(*sys.modules)").split()
    before = printed("import sys, numpy; print(*sys.modules)").split()
    assert UNNEEDED & ({*loaded} - {*before}) == set()
    assert "gradwire_engine.ops" in loaded


LATER = {
    "autograd.functional.jacobian": "jacobian",
    "autograd.Function": "Function",
    "autograd.gradcheck": "gradcheck",
    "autograd.graph": "gradwire.autograd.graph",
    "cuda.is_available": "is_available",
    "func.vmap": "vmap",
    "linalg.inv": "inv",
    "nn.Linear": "Linear",
    "nn.functional.gelu": "gelu",
    "optim.SGD": "SGD",
    "sin": "sin",
    "testing.assert_close": "assert_close",
    "trace": "trace",
    "utils.checkpoint.checkpoint": "checkpoint",
}


def test_the_rest_is_there_when_it_is_asked_for() -> None:
    shown = ", ".join(f"torch.{path}.__name__" for path in LATER)
    assert printed(f"import gradwire as torch; print({shown})").split() == [*LATER.values()]


def test_what_is_not_there_is_not_found_later_either() -> None:
    code = "import gradwire as t; print(hasattr(t, 'nothing'), hasattr(t.autograd, 'nothing'))"
    assert printed(code) == "False False"


def test_dir_names_what_comes_later() -> None:
    code = "import gradwire as torch; print(*dir(torch))"
    assert {"cuda", "func", "nn", "optim", "sin", "testing", "utils"} <= {*printed(code).split()}


@pytest.mark.parametrize(
    "statement",
    [
        "from gradwire import cuda, func, optim, testing, utils",
        "from gradwire.autograd import Function, functional, gradcheck, gradgradcheck, graph",
        "from gradwire.nn import Linear, init, parameter",
        "import gradwire.testing, gradwire.cuda, gradwire.optim.lr_scheduler",
        "from gradwire.utils.checkpoint import checkpoint",
        "from gradwire.autograd.gradcheck import GradcheckError, gradcheck",
    ],
)
def test_statements_that_import_the_rest(statement: str) -> None:
    assert printed(f"{statement}; print('done')") == "done"


def test_all_of_it_is_what_torch_gives() -> None:
    code = "from gradwire import *; print(*[n for n in globals() if not n.startswith('__')])"
    found = {*printed(code).split()}
    assert {"sin", "sum", "tensor", "Tensor", "finfo", "float32", "no_grad", "compile"} <= found
    assert not found & {"Any", "annotations", "import_module", "math", "nn", "optim", "slice"}


def test_a_function_that_has_its_modules_name_is_called_after_both_imports() -> None:
    code = """
import gradwire as torch
from gradwire.autograd.gradcheck import GradcheckError
print(torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=torch.float64, requires_grad=True)))
"""
    assert printed(code) == "True"
