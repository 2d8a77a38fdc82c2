"""Autograd with torch's names, embedded in this process or against a gradwire server.

import gradwire as torch                    # works embedded
gradwire.connect("http://host:8000")        # from here on there; or set GRADWIRE_URL
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gradwire_engine.collector import importing

with importing():
    from gradwire import autograd as autograd
    from gradwire import fft as fft
    from gradwire import functions, methods
    from gradwire import linalg as linalg
    from gradwire import nn as nn
    from gradwire import random as random
    from gradwire import special as special
    from gradwire.anomaly import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
    from gradwire.anomaly import is_anomaly_enabled as is_anomaly_enabled
    from gradwire.autograd import enable_grad as enable_grad
    from gradwire.autograd import inference_mode as inference_mode
    from gradwire.autograd import is_grad_enabled as is_grad_enabled
    from gradwire.autograd import is_inference_mode_enabled as is_inference_mode_enabled
    from gradwire.autograd import no_grad as no_grad
    from gradwire.autograd import set_grad_enabled as set_grad_enabled
    from gradwire.creation import as_tensor as as_tensor
    from gradwire.creation import from_numpy as from_numpy
    from gradwire.creation import tensor as tensor
    from gradwire.current import connect as connect
    from gradwire.defaults import get_default_dtype as get_default_dtype
    from gradwire.defaults import set_default_dtype as set_default_dtype
    from gradwire.dtypes import *  # noqa: F403
    from gradwire.layouts import channels_last as channels_last
    from gradwire.layouts import channels_last_3d as channels_last_3d
    from gradwire.layouts import contiguous_format as contiguous_format
    from gradwire.layouts import layout as layout
    from gradwire.layouts import memory_format as memory_format
    from gradwire.layouts import preserve_format as preserve_format
    from gradwire.layouts import strided as strided
    from gradwire.more import can_cast as can_cast
    from gradwire.more import get_device as get_device
    from gradwire.more import is_complex as is_complex
    from gradwire.more import is_conj as is_conj
    from gradwire.more import is_floating_point as is_floating_point
    from gradwire.more import is_inference as is_inference
    from gradwire.more import is_neg as is_neg
    from gradwire.more import is_nonzero as is_nonzero
    from gradwire.more import is_same_size as is_same_size
    from gradwire.more import is_signed as is_signed
    from gradwire.more import is_tensor as is_tensor
    from gradwire.more import numel as numel
    from gradwire.more import promote_types as promote_types
    from gradwire.more import resolve_neg as resolve_neg
    from gradwire.more import result_type as result_type
    from gradwire.more import scalar_tensor as scalar_tensor
    from gradwire.more import typename as typename
    from gradwire.random import Generator as Generator
    from gradwire.random import default_generator as default_generator
    from gradwire.random import get_rng_state as get_rng_state
    from gradwire.random import initial_seed as initial_seed
    from gradwire.random import manual_seed as manual_seed
    from gradwire.random import seed as seed
    from gradwire.random import set_rng_state as set_rng_state
    from gradwire.session import Session as Session
    from gradwire.size import Size as Size
    from gradwire.size import device as device
    from gradwire.tensor import Tensor as Tensor
    from gradwire_engine.errors import GradwireError as GradwireError

    methods.install()

if TYPE_CHECKING:  # what __getattr__ finds
    from gradwire import backends as backends
    from gradwire import cuda as cuda
    from gradwire import distributions as distributions
    from gradwire import func as func
    from gradwire import optim as optim
    from gradwire import testing as testing
    from gradwire import utils as utils
    from gradwire._typed.functions import *  # noqa: F403
    from gradwire.compiled import compile as compile
    from gradwire.composed import bartlett_window as bartlett_window
    from gradwire.composed import blackman_window as blackman_window
    from gradwire.composed import hamming_window as hamming_window
    from gradwire.composed import hann_window as hann_window
    from gradwire.composed import isin as isin
    from gradwire.composed import kaiser_window as kaiser_window
    from gradwire.composed import unravel_index as unravel_index
    from gradwire.composed import vander as vander
    from gradwire.control import cond as cond
    from gradwire.control import scan as scan
    from gradwire.control import while_loop as while_loop
    from gradwire.precision import *  # noqa: F403
    from gradwire.printing import set_printoptions as set_printoptions
    from gradwire.ranges import finfo as finfo
    from gradwire.ranges import iinfo as iinfo
    from gradwire.saving import load as load
    from gradwire.saving import save as save
    from gradwire.scripts import asarray as asarray
    from gradwire.scripts import broadcast_shapes as broadcast_shapes
    from gradwire.scripts import set_anomaly_enabled as set_anomaly_enabled
    from gradwire.typed_tensors import TypedTensors
    from gradwire.typed_tensors import set_default_tensor_type as set_default_tensor_type
    from gradwire.vmapped import vmap as vmap

    BFloat16Tensor: TypedTensors
    BoolTensor: TypedTensors
    ByteTensor: TypedTensors
    CharTensor: TypedTensors
    DoubleTensor: TypedTensors
    FloatTensor: TypedTensors
    HalfTensor: TypedTensors
    IntTensor: TypedTensors
    LongTensor: TypedTensors
    ShortTensor: TypedTensors
    __version__: str
else:
    del globals()["trace"]  # a module: the name is an op's, which __getattr__ finds

inf, nan, pi, e, newaxis = math.inf, math.nan, math.pi, math.e, None

_LATER = ("backends", "cuda", "distributions", "func", "optim", "testing", "utils")
"""Modules that are imported when they are first asked for."""
_FURTHER = {
    "compiled": ("compile",),
    "composed": (
        "bartlett_window", "blackman_window", "hamming_window", "hann_window", "isin",
        "kaiser_window", "unravel_index", "vander",
    ),
    "control": ("cond", "scan", "while_loop"),
    "precision": (
        "are_deterministic_algorithms_enabled", "get_float32_matmul_precision",
        "is_deterministic_algorithms_warn_only_enabled", "set_float32_matmul_precision",
        "use_deterministic_algorithms",
    ),
    "printing": ("set_printoptions",),
    "ranges": ("finfo", "iinfo"),
    "saving": ("load", "save"),
    "scripts": ("asarray", "broadcast_shapes", "set_anomaly_enabled"),
    "typed_tensors": (
        "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor",
        "HalfTensor", "IntTensor", "LongTensor", "ShortTensor", "set_default_tensor_type",
    ),
    "vmapped": ("vmap",),
}  # fmt: skip
"""Names by the modules that have them, which are imported when one is first asked for."""
_HOME = {name: module for module, names in _FURTHER.items() for name in names}
_TOP = (
    "batch_norm", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "ctc_loss",
    "embedding", "group_norm", "hinge_embedding_loss", "instance_norm", "kl_div", "layer_norm",
    "margin_ranking_loss", "poisson_nll_loss", "triplet_margin_loss",
)  # fmt: skip
"""Functions of nn.functional that torch calls otherwise at the top level."""

_function, _names = functions.serving("gradwire", "")


def _found(name: str) -> Any:
    """An op of the catalogue; or what most programs never ask for: the version, more modules."""
    if name in _LATER:
        return import_module(f"gradwire.{name}")
    if name in _HOME:
        found = getattr(import_module(f"gradwire.{_HOME[name]}"), name)
        globals()[name] = found
        return found
    if name in _TOP:
        return import_module("gradwire.toplevel").FUNCTIONS[name]
    if name == "__all__":  # asked for by `from gradwire import *`
        return sorted({*_names(), *_HOME, *filter(_is_ours, globals())} - {"slice"})  # Python's
    if name == "__version__":
        from importlib.metadata import version

        return version("gradwire")
    return _function(name)


if not TYPE_CHECKING:  # so that a name that is not there is an error
    __getattr__ = _found


def _is_ours(name: str) -> Any:  # a bool, which is a dtype's name here
    """Whether `from gradwire import *` gives this global: no module, and no private name."""
    imported = ("annotations", "import_module", "importing", "Any", "TYPE_CHECKING")
    module = isinstance(globals()[name], type(math))
    return not (module or name.startswith("_") or name in imported)


def __dir__() -> list[str]:
    return sorted({*globals(), *_names(), *_LATER, *_HOME})
