"""What editors and type checkers know of the SDK: every op is there, with the types it has."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any

import jedi
import numpy as np
import pytest
from docs.generate.stubs.files import SDK
from tests.engine.samples import samples_of

import gradwire as torch
from gradwire.functions import function
from gradwire_engine.catalogue import CATALOGUE

FUNCTIONS = {
    "": SDK / "_typed/functions.pyi",
    "fft": SDK / "fft.pyi",
    "linalg": SDK / "linalg.pyi",
    "special": SDK / "special.pyi",
    "nn.functional": SDK / "nn/functional.pyi",
}
"""The stub for ops below each prefix."""


def defined(path: Path) -> dict[str, list[ast.FunctionDef]]:
    """The functions of a stub, with all their overloads."""
    found: dict[str, list[ast.FunctionDef]] = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(node)
    return found


STUBS = {prefix: defined(path) for prefix, path in FUNCTIONS.items()}
METHODS = defined(SDK / "_typed/methods.pyi")
FIELDS = {
    f"results.{node.name}": tuple(ast.unparse(field.target) for field in node.body)
    for node in ast.parse((SDK / "_typed/results.pyi").read_text()).body
    if isinstance(node, ast.ClassDef)
}


def stub_of(name: str) -> list[ast.FunctionDef]:
    """The overloads that the stubs have of an op; methods for what is a method alone."""
    prefix, _, last = name.rpartition(".")
    return METHODS[last] if last.startswith("__") else STUBS[prefix][last]


def shown() -> list[str]:
    """The ops that are functions or methods of the SDK; dtypes, as torch.float, hide some."""
    return [name for name in sorted(CATALOGUE) if is_shown(name)]


def is_shown(name: str) -> bool:
    prefix, _, last = name.rpartition(".")
    if last.startswith("__"):
        return last != "__setitem__"
    return getattr(import_module(f"gradwire.{prefix}".rstrip(".")), last) is function(name)


@pytest.mark.parametrize("name", shown())
def test_an_op_has_a_stub_with_its_sentence(name: str) -> None:
    overloads = stub_of(name)
    assert (ast.get_docstring(overloads[0]) or "").split() == CATALOGUE[name].doc.split()
    for overload in overloads:
        assert overload.returns is not None
        every = [*overload.args.args, *overload.args.kwonlyargs]
        assert all(a.annotation or a.arg == "self" for a in every)


def is_so(value: Any, said: str) -> bool:
    """Whether a value is of the type that a stub names."""
    if said in FIELDS:
        same = getattr(value, "_fields", None) == FIELDS[said]
        return same and all(isinstance(v, torch.Tensor) for v in value)
    if " | " in said and not said.startswith(("tuple", "list")):
        return any(is_so(value, part) for part in said.split(" | ", 1))
    if said in ("Tensor", "Self"):
        return isinstance(value, torch.Tensor)
    if said in ("bool", "None"):
        return type(value).__name__.removesuffix("Type") == said
    kind, _, inner = said.removesuffix("]").partition("[")
    if type(value).__name__ not in (kind, "windows_max") and not isinstance(value, tuple):
        return False
    parts = inner.split(", ")
    parts = parts[:1] * len(value) if parts[-1] in ("...", parts[0]) else parts
    return len(parts) == len(value) and all(map(is_so, value, parts))


def tensors(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return torch.tensor(value)
    if type(value) in (list, tuple):
        return type(value)(map(tensors, value))
    return value


def takes(overload: ast.FunctionDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call can be written so, by number and names of its arguments."""
    given = overload.args
    positional = [a.arg for a in given.args]
    required = positional[: len(positional) - len(given.defaults)]
    needed = [a.arg for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is None]
    named = {*positional[len(args) :], *(a.arg for a in given.kwonlyargs)}
    enough = set(required[len(args) :]) | set(needed) <= kwargs.keys()
    return (
        enough and kwargs.keys() <= named and (len(args) <= len(positional) or bool(given.vararg))
    )


@pytest.mark.parametrize("name", [n for n in shown() if samples_of(n) and not n.startswith("__")])
def test_calls_and_results_are_of_the_types_that_are_said(name: str) -> None:
    call = function(name)
    assert call is not None
    with torch.connect().session(), np.errstate(all="ignore"):
        for args, kwargs in samples_of(name):
            fitting = [o for o in stub_of(name) if takes(o, args, kwargs)]
            assert fitting, (args, kwargs)
            found = call(*tensors(args), **{k: tensors(v) for k, v in kwargs.items()})
            said = [ast.unparse(o.returns) for o in fitting if o.returns]
            assert any(is_so(found, text) for text in said), (type(found), said)


PROGRAM = """
    import gradwire as torch
    import gradwire.nn.functional as F

    x = torch.randn(3, 4, requires_grad=True)
    reveal_type(2.0 / x[0] + x.permute(1, 0).relu_())
    reveal_type(torch.linalg.eigh(x @ x.mT))
    reveal_type(torch.max(x))
    reveal_type(torch.max(x, 1).indices)
    reveal_type(F.max_pool2d(x, 2, return_indices=True))
    reveal_type(x.grad)
    reveal_type(torch.allclose(x, torch.zeros(3, 4)))
    reveal_type(torch.float64)
    torch.linalg.deter(x)
    torch.linalg.det()
    x.sinn()
    torch.softmax(x, dimension=1)
    torch.fft.rfft("x")

    class Louder(torch.nn.ReLU):
        def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = super().forward(*inputs)
            return 2 * found

    reveal_type(Louder())
    layer: torch.nn.Module = torch.nn.Conv2d(1, 2, 3, colour=2)
"""
TENSOR = "gradwire.tensor.Tensor"
EIGH = "gradwire._typed.results.linalg_eigh"
CHECKED = f"""
    6: note: Revealed type is "{TENSOR}"
    7: note: Revealed type is "tuple[{TENSOR}, {TENSOR}, fallback={EIGH}]"
    8: note: Revealed type is "{TENSOR}"
    9: note: Revealed type is "{TENSOR}"
    10: note: Revealed type is "tuple[{TENSOR}, {TENSOR}]"
    11: note: Revealed type is "{TENSOR} | None"
    12: note: Revealed type is "bool"
    13: note: Revealed type is "gradwire_engine.spec.DType"
    14: error: Module has no attribute "deter"  [attr-defined]
    15: error: Missing positional argument "A" in call to "det"  [call-arg]
    16: error: "Tensor" has no attribute "sinn"  [attr-defined]
    17: error: Unexpected keyword argument "dimension" for "softmax"  [call-arg]
    18: error: Argument 1 to "rfft" has incompatible type "str"; expected "Tensor"  [arg-type]
    25: note: Revealed type is "program.Louder"
    26: error: Unexpected keyword argument "colour" for "Conv2d"  [call-arg]
"""


def test_a_type_checker_knows_a_users_program(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(dedent(PROGRAM))
    command = [sys.executable, "-m", "mypy", "--config-file=", "--strict", "--cache-dir=cache"]
    done = subprocess.run([*command, program.name], cwd=tmp_path, capture_output=True, text=True)
    said = [line.removeprefix("program.py:") for line in done.stdout.splitlines()[:-1]]
    told = [line for line in said if "defined in" not in line]
    assert told == dedent(CHECKED).strip().splitlines(), done.stdout


def editor(code: str) -> Any:
    """What an editor that uses jedi knows of a text."""
    return jedi.Script(code, environment=jedi.InterpreterEnvironment())


def completed(code: str) -> dict[str, Any]:
    """What an editor offers at the end of a text."""
    return {found.name: found for found in editor(code).complete()}


@pytest.mark.parametrize("module", [prefix for prefix in FUNCTIONS if prefix])
def test_an_editor_completes_a_module(module: str) -> None:
    found = completed(f"import gradwire\nimport gradwire.{module}\ngradwire.{module}.")
    assert {n.rpartition(".")[2] for n in shown() if n.rpartition(".")[0] == module} <= set(found)


def test_an_editor_shows_types_and_the_sentence() -> None:
    (eigh,) = (c for n, c in completed("import gradwire\ngradwire.linalg.").items() if n == "eigh")
    assert eigh.docstring() == (
        "eigh(A: Tensor, UPLO: str='L') -> results.linalg_eigh\n\n" + CATALOGUE["linalg.eigh"].doc
    )


def test_an_editor_completes_tensors_and_results() -> None:
    before = "import gradwire as torch\nx = torch.tensor([1.0])\n"
    assert {"softmax", "softplus"} <= completed(f"{before}(x * 2 + 1).so").keys()
    assert {"sort", "softmax", "special"} <= completed(f"{before}torch.s").keys()
    assert completed(f"{before}torch.linalg.svd(x).").keys() >= {"U", "S", "Vh"}
