"""Compiling: text of LLVM's language in, a function out. Only here is llvmlite needed."""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from typing import Any

from gradwire_engine.kernels.code_pages import let_go_of_code
from gradwire_engine.kernels.heap import give_back
from gradwire_engine.locks import lock

NAME = "region"
"""Of the function in each text."""
MOST = 256
"""Functions that are kept for a region with the same text; one of a few hundred instructions takes
a tenth of a MiB. Also how many are linked by one linker, which keeps some kB of each that is gone.
"""
_SPEED = 2


class Unsupported(Exception):
    """What isn't compiled; it runs with NumPy's functions."""


class Compiled:
    """A function, and what keeps its code in memory."""

    def __init__(self, library: Any, linker: Any) -> None:
        self._library, self._linker = library, linker  # in this order they are let go
        self.call: Callable[..., None] = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library[NAME])


class _Compiler:
    """A compiler for this processor, and what it made last."""

    def __init__(self, binding: Any) -> None:
        self._binding = binding
        self._lock, self._compiling, self._count = lock(), lock(), 0
        self._known: OrderedDict[str, Compiled] = OrderedDict()
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        self._machine = self._target_machine()
        options = binding.create_pipeline_tuning_options()
        self._builder = binding.create_pass_builder(self._machine, options)
        self._linker: Any = None
        self._worked = False

    def _target_machine(self) -> Any:
        binding = self._binding
        return binding.Target.from_default_triple().create_target_machine(
            cpu=binding.get_host_cpu_name(),
            features=binding.get_host_cpu_features().flatten(),
            opt=_SPEED,
            jit=True,
        )

    def function(self, text: str) -> Compiled:
        """That of a text. Who asks for a known one waits for no other's compilation."""
        found = self._kept(text)
        if found is None:
            with self._compiling:
                found = self._kept(text) or self._made(text)
                with self._lock:
                    self._known[text] = found
                    if len(self._known) > MOST:
                        self._known.popitem(last=False)
        return found

    def _kept(self, text: str) -> Compiled | None:
        with self._lock:
            if text in self._known:
                self._known.move_to_end(text)
            return self._known.get(text)

    def _made(self, text: str) -> Compiled:
        binding = self._binding
        if self._count % MOST == 0:
            self._linker = binding.create_lljit_compiler(self._machine)
        self._count += 1
        module = binding.parse_assembly(text)
        passes = binding.create_new_function_pass_manager()
        passes.add_sroa_pass()  # slots become registers; the rest is written as it should be
        passes.run(module.get_function(NAME), self._builder)
        library = binding.JITLibraryBuilder().add_object_img(self._machine.emit_object(module))
        try:
            linked = library.export_symbol(NAME).link(self._linker, f"{NAME} {self._count}")
        except RuntimeError as problem:  # as where memory may not be executed
            raise Unsupported(str(problem)) from problem
        self._worked = True
        return Compiled(linked, self._linker)

    def rest(self) -> None:
        """Give back what it worked in, which is as much as a model's arrays, and its own code."""
        if self._worked:
            self._worked = False
            give_back()
            let_go_of_code("libllvmlite")


@cache
def _compiler() -> _Compiler | None:
    try:
        from llvmlite import binding
    except (ImportError, OSError):  # it is there, and its library can't be loaded
        return None
    return _Compiler(binding)


class Missed:
    """Whether something that was written down to be compiled found no compiler."""

    compiler = False


def available() -> bool:
    """Whether llvmlite is installed."""
    return _compiler() is not None


def rest() -> None:
    """Nothing more is compiled for now: memory that was needed for it is given back, if any was."""
    compiler = _compiler() if _compiler.cache_info().currsize else None
    if compiler is not None:
        compiler.rest()


def compiled(text: str) -> Compiled:
    """The function `region` of a text, for this processor; the same text is compiled once.

    Raises Unsupported where llvmlite isn't installed, or the system doesn't let it be linked.
    """
    compiler = _compiler()
    if compiler is None:
        Missed.compiler = True
        raise Unsupported("llvmlite is not installed")
    return compiler.function(text)
