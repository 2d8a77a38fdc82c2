"""Imports go one way: engine <- service <- SDK, and layer by layer inside the engine."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "gradwire_engine": ROOT / "engine/gradwire_engine",
    "gradwire_service": ROOT / "service/gradwire_service",
    "gradwire": ROOT / "clients/python/gradwire",
}

# The engine from the ground up: what stands on a line reaches its own line and those above, never
# those below, through however many modules between that the table doesn't name.
LAYERS = (
    ("errors", "spec"),
    ("arrays",),
    ("op",),
    ("ops", "tensor", "tape"),
    ("backward", "hooks"),
    ("forward", "vmap", "func", "functional", "function", "checkpoint", "gradcheck", "optim"),
    ("plan",),
    ("control",),
)

Imports = dict[str, set[str]]


def base_dependencies() -> set[str]:
    """Import names of what `pip install gradwire` brings, without an extra."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.split(r"[^\w-]", entry)[0].replace("-", "_") for entry in listed}
    return names | {"pydantic_core"}  # pydantic's own other half


# What each package (or part of one: the longest prefix decides) may import besides itself.
ENGINE_LIBRARIES = {"numpy", "scipy", "ml_dtypes", "cupy"}
ALLOWED = {
    "gradwire_engine": ENGINE_LIBRARIES,
    "gradwire_engine.plan.compiled.llvm": {"gradwire_engine", "llvmlite"},
    "gradwire_service.host": {"gradwire_engine", "gradwire_service.version"} | base_dependencies(),
    "gradwire_service.host.durable": {
        "gradwire_engine",
        "gradwire_service.host",
        "gradwire_service.store",
        "gradwire_service.version",
        "orjson",
        "sqlalchemy",
        "threadpoolctl",
    }
    | base_dependencies(),
    "gradwire": {"gradwire_engine", "gradwire_service.host"} | base_dependencies(),
}
REFUSED = {"gradwire_service": {"gradwire"}}


def imported(tree: ast.AST, module: str, is_package: bool) -> Iterator[str]:
    """Yield the dotted names that `module` imports, at its top or inside a function.

    What stands under `if TYPE_CHECKING:` is left out: it never runs.
    """
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = module.split(".")
            kept = len(parts) + is_package - node.level if node.level else 0
            source = ".".join([*parts[:kept], *([node.module] if node.module else [])])
            yield from (f"{source}.{alias.name}" for alias in node.names)
        pending.extend(ast.iter_child_nodes(node))


def read(package: str, folder: Path) -> Imports:
    """Map each module of the package to the modules it imports, the package's own ones resolved."""
    found: Imports = {}
    for path in sorted(folder.rglob("*.py")):
        parts = [package, *path.relative_to(folder).with_suffix("").parts]
        is_package = parts[-1] == "__init__"
        module = ".".join(parts[:-1] if is_package else parts)
        found[module] = set(imported(ast.parse(path.read_text()), module, is_package))
    return {
        module: {_known(name, found) for name in names if _known(name, found) != module}
        for module, names in found.items()
    }


def _known(name: str, modules: Imports) -> str:
    """`name` as a module: `from a.b import c` may mean module a.b.c or a name inside a.b."""
    parent = name.rpartition(".")[0]
    return parent if name not in modules and parent in modules else name


def within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def outside(imports: Imports) -> list[str]:
    """Imports that ALLOWED or REFUSED forbid."""
    wrong = []
    for module, names in imports.items():
        rule = max((p for p in ALLOWED if within(module, p)), key=len, default=None)
        refused = REFUSED.get(module.partition(".")[0], set())
        for name in sorted(names):
            stdlib = name.partition(".")[0] in sys.stdlib_module_names
            fits = rule is None or stdlib or any(within(name, p) for p in {rule} | ALLOWED[rule])
            if not fits or any(within(name, p) for p in refused):
                wrong.append(f"{module} imports {name}")
    return wrong


def upward(imports: Imports) -> list[str]:
    """Engine modules that reach a layer on top of their own."""
    rank = {name: level for level, names in enumerate(LAYERS) for name in names}

    def level(module: str) -> int | None:
        return rank.get(".".join(module.split(".")[1:2]))

    wrong = []
    for module in imports:
        own = level(module)
        for name in sorted(reached(module, imports)):
            other = level(name)
            if own is not None and other is not None and other > own:
                wrong.append(f"{module} reaches {name}, which stands on top of it")
    return wrong


def reached(module: str, imports: Imports) -> set[str]:
    """Every module that importing `module` brings in."""
    seen: set[str] = set()
    pending = [module]
    while pending:
        new = (imports.get(pending.pop(), set()) & imports.keys()) - seen
        seen |= new
        pending.extend(new)
    return seen


def circle(imports: Imports) -> list[str]:
    own = {module: {n for n in names if n in imports} for module, names in imports.items()}
    try:
        TopologicalSorter(own).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_one_way(package: str) -> None:
    imports = read(package, PACKAGES[package])
    assert imports
    assert outside(imports) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_import_circles(package: str) -> None:
    assert circle(read(package, PACKAGES[package])) == []


def test_engine_layers() -> None:
    assert upward(read("gradwire_engine", PACKAGES["gradwire_engine"])) == []


WITHOUT_SERVER = """
import sys
for name in {absent!r}:
    sys.modules[name] = None  # importing it now fails, as where it isn't installed
import gradwire as torch
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(x ** 2).sum().backward()
print(x.grad.tolist())
"""


def test_the_sdk_works_where_no_server_is_installed() -> None:
    absent = [
        "fastapi",
        "starlette",
        "uvicorn",
        "typer",
        "rich",
        "structlog",
        "orjson",
        "sqlalchemy",
        "threadpoolctl",
    ]
    code = WITHOUT_SERVER.format(absent=[*absent, "pydantic_settings", "prometheus_client"])
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed == "[2.0, 4.0, 6.0]\n"


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize(
    ("package", "files", "found"),
    [
        ("gradwire_engine", {"op.py": "import fastapi"}, "gradwire_engine.op imports fastapi"),
        (
            "gradwire_engine",
            {"op.py": "def f():\n    from gradwire_service.host import steps"},
            "gradwire_engine.op imports gradwire_service.host.steps",
        ),
        (
            "gradwire_service",
            {"host/steps.py": "from ..http import app", "http/app.py": ""},
            "gradwire_service.host.steps imports gradwire_service.http.app",
        ),
        (
            "gradwire_service",
            {"http/app.py": "import gradwire"},
            "gradwire_service.http.app imports gradwire",
        ),
        ("gradwire", {"tensor.py": "import rich"}, "gradwire.tensor imports rich"),
    ],
)
def test_a_wrong_import_is_found(
    tmp_path: Path, package: str, files: dict[str, str], found: str
) -> None:
    assert outside(read(package, write(tmp_path, files))) == [found]


def test_layers_and_circles_are_found(tmp_path: Path) -> None:
    files = {
        "spec.py": "",
        "errors.py": "from gradwire_engine.between import helper",
        "between.py": "from gradwire_engine.tensor import Tensor",
        "tensor.py": "from . import op\nfrom .errors import error",
        "op.py": "if TYPE_CHECKING:\n    from .tensor import Tensor",
    }
    imports = read("gradwire_engine", write(tmp_path, files))
    assert upward(imports) == [
        "gradwire_engine.errors reaches gradwire_engine.op, which stands on top of it",
        "gradwire_engine.errors reaches gradwire_engine.tensor, which stands on top of it",
    ]
    names = {"errors", "between", "tensor"}
    assert set(circle(imports)) == {f"gradwire_engine.{name}" for name in names}
