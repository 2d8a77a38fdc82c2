"""Steps that compute element by element: math of one, two and three operands, comparisons."""

from __future__ import annotations

from typing import Any

from tests.parity.differential.kinds.registry import kind, words
from tests.parity.differential.step import Dtype, Ref, Step
from tests.parity.differential.world import World, function, method

UNARY = words(
    "sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh exp exp2 expm1 log log2 log10 "
    "log1p sqrt rsqrt square reciprocal abs neg sign sgn floor ceil round trunc frac sigmoid logit "
    "erf erfc erfinv lgamma i0 sinc relu deg2rad rad2deg positive angle clone contiguous "
    "conj_physical bitwise_not sin cos tanh exp neg square sigmoid abs"
)
FUNCTIONAL = words(
    "softplus silu gelu mish elu selu celu relu6 hardtanh hardswish leaky_relu "
    "softsign hardshrink softshrink logsigmoid"
)
SPECIAL = words("entr erfcx i0e i1 i1e log_ndtr ndtr ndtri")
BINARY = words(
    "add sub mul div maximum minimum pow atan2 hypot fmod remainder logaddexp logaddexp2 fmax fmin "
    "copysign xlogy float_power floor_divide heaviside true_divide rsub gcd bitwise_and "
    "bitwise_or bitwise_xor special.xlog1py add sub mul div mul"
)
OPERATORS = words("add sub mul truediv pow add sub mul truediv mod floordiv and_ or_ xor")
COMPARE = words(
    "lt le gt ge eq ne logical_and logical_or logical_xor isnan isfinite isinf isposinf isneginf "
    "signbit isreal logical_not"
)
ALONE = words("isnan isfinite isinf isposinf isneginf signbit isreal logical_not")


@kind("math", 9)
def math(w: World) -> Step | None:
    x = w.any()
    if x is None:
        return None
    if w.chance(0.25):
        y = w.strictly(lambda t: not t.dtype.is_complex)
        if y is None:
            return None
        if w.chance(0.25) and str(w.get(y).dtype).rpartition(".")[2] in _OF_WHOLE_WIDTH:
            return function("math", f"special.{w.one(SPECIAL)}", y, out=w.name())
        return _activation(w, y)
    if w.chance(0.1):
        name = w.one(list(_WITH_OPTIONS))
        return method("math", name, x, out=w.name(), **_WITH_OPTIONS[name](w))
    return method("math", w.one(UNARY), x, out=w.name())


_WITH_OPTIONS: dict[str, Any] = {
    "round": lambda w: {"decimals": w.whole(-1, 2)},
    "logit": lambda w: {"eps": 0.1},
    "nan_to_num": lambda w: {"nan": 0.5, "posinf": 2.0} if w.chance(0.5) else {},
}
"""Ops of one operand with what they are asked besides.

Not among all of these are digamma, polygamma, hardsigmoid and tanhshrink: torch computes the
derivatives of digamma to nine digits, and that of hardsigmoid in every dtype with the sixth of
float32; x - tanh(x) cancels within one op, which no noise on results of steps can measure.
"""
_OF_WHOLE_WIDTH = ("float64", "float32")
"""Dtypes that torch's kernels of all special functions know."""

_SETTINGS: dict[str, Any] = {
    "softplus": {"beta": 2.0, "threshold": 1.0},
    "gelu": {"approximate": "tanh"},
    "elu": {"alpha": 0.5},
    "celu": {"alpha": 2.0},
    "leaky_relu": {"negative_slope": 0.2},
    "hardtanh": {"min_val": -0.5, "max_val": 1.5},
    "hardshrink": {"lambd": 1.0},
    "softshrink": {"lambd": 0.25},
}


def _activation(w: World, x: Ref) -> Step:
    name = w.one(FUNCTIONAL)
    options = _SETTINGS.get(name, {}) if w.chance(0.4) else {}
    return function("math", f"nn.functional.{name}", x, out=w.name(), **options)


@kind("math of two", 12)
def math_of_two(w: World) -> Step | None:
    x = w.any()
    if x is None:
        return None
    y = w.fellow(x)
    if w.chance(0.4):
        pair = (x, y) if w.chance(0.8) else (y, x)
        return Step("math of two", "operator", w.one(OPERATORS), pair, (), (w.name(),))
    name = w.one(BINARY)
    options: dict[str, Any] = {}
    if name in ("add", "sub", "rsub") and w.chance(0.2):
        options["alpha"] = w.one((2, 0.5))
    if name == "div" and w.chance(0.4):
        options["rounding_mode"] = w.one(("floor", "trunc"))
    if w.chance(0.5) and "." not in name and name != "rsub":
        return method("math of two", name, x, y, out=w.name(), **options)
    return function("math of two", name, x, y, out=w.name(), **options)


@kind("math of three", 3)
def math_of_three(w: World) -> Step | None:
    x = w.any()
    if x is None:
        return None
    y, z = w.tensor_beside(x), w.tensor_beside(x)
    name = w.one(words("addcmul addcdiv lerp lerp clamp clamp where"))
    if name == "where":
        return function("math of three", name, w.mask(w.get(x).shape), x, w.fellow(x), out=w.name())
    if name == "lerp":
        weight = z if w.chance(0.5) else 0.25
        return method("math of three", name, x, w.same(x) or x, weight, out=w.name())
    if name == "clamp":
        bounds: dict[str, Any] = {"min": y, "max": z}
        if w.chance(0.3):
            del bounds[w.one(("min", "max"))]
        return method("math of three", name, x, out=w.name(), **bounds)
    value = {"value": w.one((2, 0.5, -1))} if w.chance(0.4) else {}
    return method("math of three", name, x, y, z, out=w.name(), **value)


@kind("comparison", 1.5)
def comparison(w: World) -> Step | None:
    x, name = w.any(), w.one(COMPARE)
    if x is None:
        return None
    return method("comparison", name, x, *(() if name in ALONE else (w.fellow(x),)), out=w.name())


@kind("conversion", 2.5)
def conversion(w: World) -> Step | None:
    x = w.any()
    if x is None:
        return None
    if w.chance(0.5):
        return method("conversion", "to", x, Dtype(w.dtype()), out=w.name())
    if w.chance(0.2):
        return method("conversion", "type_as", x, w.any() or x, out=w.name())
    name = w.one(words("double float long bool half bfloat16 int cfloat cdouble short byte"))
    return method("conversion", name, x, out=w.name())
