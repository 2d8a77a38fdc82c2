"""The stub files: the modules that show ops, the tensor's methods, and the classes of results."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from inspect import getdoc
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import ModuleType

from docs.generate.stubs.calls import definition, ways
from docs.generate.stubs.methods import methods
from docs.generate.stubs.python import written_in_python
from docs.generate.stubs.results import Named, alternatives

import gradwire
from gradwire import fft, linalg, special
from gradwire.functions import function
from gradwire.nn import catalogue, functional
from gradwire_engine.catalogue import ALIASES, CATALOGUE, find, inplace_twin

SDK = Path(gradwire.__file__).parent
_WORDS = {
    "Callable": "collections.abc",
    "Sequence": "collections.abc",
    "Any": "typing",
    "Literal": "typing",
    "NamedTuple": "typing",
    "Self": "typing",
    "overload": "typing",
    "results": "gradwire._typed",
    "Device": "gradwire._typed.arguments",
    "Ints": "gradwire._typed.arguments",
    "Number": "gradwire._typed.arguments",
    "RemovableHandle": "gradwire.autograd.hooks",
    "Generator": "gradwire.random",
    "Tensor": "gradwire.tensor",
    "DType": "gradwire_engine.spec",
}
"""The modules of the words that stubs use."""


def page(says: str, body: str, words: Mapping[str, str] = _WORDS) -> str:
    """A stub file: its docstring, the imports that its body needs, the body."""
    code = re.sub(r'""".*?"""', "", body, flags=re.DOTALL)
    used = set(re.findall(r"\w+", code))
    lines = ["import builtins"] if "builtins" in used else []
    for source, own in groupby(words, words.__getitem__):
        found = sorted(used.intersection(own))
        lines += [f"from {source} import {', '.join(found)}"] if found else []
    imports = "\n".join(lines)
    return f'"""{says}\n\nMade from the catalogue by `make docs`.\n"""\n\n{imports}\n\n{body}\n'


def module(source: ModuleType) -> str:
    """A module that shows ops under a prefix."""
    parts = [_function(source, name) for name in _public(source)]
    return page((source.__doc__ or "").strip().splitlines()[0], "\n\n".join(parts))


def _public(source: ModuleType) -> Sequence[str]:
    """What dir() says, and the forms in place of ops with one operand: relu_."""
    names = [n for n in dir(source) if _of_catalogue(source, n)]
    twins = [f"{n}_" for n in names if _alone(source, n)]
    return sorted({*names, *twins})


def _full(source: ModuleType, name: str) -> str:
    prefix = source.__name__.removeprefix("gradwire").removeprefix(".")
    return f"{prefix}.{name}" if prefix else name


def _of_catalogue(source: ModuleType, name: str) -> bool:
    full = _full(source, name)
    known = full in CATALOGUE or full in ALIASES
    return known and vars(source).get(name, function(full)) is function(full)


def _alone(source: ModuleType, name: str) -> bool:
    op = None if name.endswith("_") else find(_full(source, name))
    return op is not None and op.inplace and len(op.signatures[0].operand_places) == 1


def _function(source: ModuleType, name: str) -> str:
    """The stub of one function: an op's, or one that is written in Python."""
    full, found = _full(source, name), getattr(source, name)
    op = inplace_twin(full) or find(full)
    if op is None or found is not function(full):
        return written_in_python(name, found)
    return definition(name, ways(op, full), op.doc)


def results() -> str:
    """The named tuples of all ops that give one."""
    found = {
        kind.name: kind
        for op in CATALOGUE.values()
        for overload in op.overloads
        for kind in alternatives(op, overload)
        if isinstance(kind, Named)
    }
    return page(
        "What ops with several results give.",
        "\n\n".join(_class(kind) for _, kind in sorted(found.items())),
    )


def _class(kind: Named) -> str:
    fields = "\n".join(f"    {field}: Tensor" for field in kind.fields)
    return f"class {kind.name}(NamedTuple):\n{fields}"


def modules() -> str:
    """The classes of gradwire.nn that a table declares."""
    made = [getattr(catalogue, name) for name in sorted(catalogue.__all__)]
    words = {m.__base__.__name__: m.__base__.__module__ for m in made}
    body = [f'class {m.__name__}({m.__base__.__name__}):\n    """{getdoc(m)}"""' for m in made]
    says = "Modules that differ from their kind by an op or by settings alone."
    return page(says, "\n\n".join(body), dict(sorted(words.items(), key=itemgetter(1))))


FILES: dict[Path, Callable[[], str]] = {
    SDK / "_typed/functions.pyi": lambda: module(gradwire),
    SDK / "_typed/methods.pyi": lambda: page("The methods of a tensor that are ops.", methods()),
    SDK / "_typed/results.pyi": results,
    SDK / "fft.pyi": lambda: module(fft),
    SDK / "linalg.pyi": lambda: module(linalg),
    SDK / "special.pyi": lambda: module(special),
    SDK / "nn/catalogue.pyi": modules,
    SDK / "nn/functional.pyi": lambda: module(functional),
}
"""Every generated stub, and what writes it."""
