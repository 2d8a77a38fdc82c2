"""torch.special, from the catalogue.

Made from the catalogue by `make docs`.
"""

from typing import overload
from gradwire._typed.arguments import Ints, Number
from gradwire.tensor import Tensor
from gradwire_engine.spec import DType

def digamma(input: Tensor) -> Tensor:
    """The derivative of lgamma; it has a pole at each integer up to 0."""

def digamma_(input: Tensor) -> Tensor:
    """The derivative of lgamma; it has a pole at each integer up to 0."""

def entr(input: Tensor) -> Tensor:
    """The entropy -x log(x): 0 at 0, minus infinity below."""

def entr_(input: Tensor) -> Tensor:
    """The entropy -x log(x): 0 at 0, minus infinity below."""

def erf(input: Tensor) -> Tensor:
    """The error function: 2/√π times the integral of exp(-t²) from 0 to x."""

def erf_(input: Tensor) -> Tensor:
    """The error function: 2/√π times the integral of exp(-t²) from 0 to x."""

def erfc(input: Tensor) -> Tensor:
    """One less the error function, exact where that is small."""

def erfc_(input: Tensor) -> Tensor:
    """One less the error function, exact where that is small."""

def erfcx(input: Tensor) -> Tensor:
    """exp(x²) times erfc(x), without overflow."""

def erfcx_(input: Tensor) -> Tensor:
    """exp(x²) times erfc(x), without overflow."""

def erfinv(input: Tensor) -> Tensor:
    """The number whose error function each element is."""

def erfinv_(input: Tensor) -> Tensor:
    """The number whose error function each element is."""

def exp2(input: Tensor) -> Tensor:
    """2 to the power of each element."""

def exp2_(input: Tensor) -> Tensor:
    """2 to the power of each element."""

def expit(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)), which maps every number to between 0 and 1."""

def expit_(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)), which maps every number to between 0 and 1."""

def expm1(input: Tensor) -> Tensor:
    """e to the power of each element, less 1, exact near 0."""

def expm1_(input: Tensor) -> Tensor:
    """e to the power of each element, less 1, exact near 0."""

def gammaln(input: Tensor) -> Tensor:
    """The logarithm of the gamma function's absolute value."""

def gammaln_(input: Tensor) -> Tensor:
    """The logarithm of the gamma function's absolute value."""

def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""

def i0_(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""

def i0e(input: Tensor) -> Tensor:
    """i0 times exp(-|x|), which doesn't overflow."""

def i0e_(input: Tensor) -> Tensor:
    """i0 times exp(-|x|), which doesn't overflow."""

def i1(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 1."""

def i1_(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 1."""

def i1e(input: Tensor) -> Tensor:
    """i1 times exp(-|x|), which doesn't overflow."""

def i1e_(input: Tensor) -> Tensor:
    """i1 times exp(-|x|), which doesn't overflow."""

def log1p(input: Tensor) -> Tensor:
    """The natural logarithm of 1 plus each element, exact near 0."""

def log1p_(input: Tensor) -> Tensor:
    """The natural logarithm of 1 plus each element, exact near 0."""

def log_ndtr(input: Tensor) -> Tensor:
    """The logarithm of the normal distribution function, exact far below zero."""

def log_ndtr_(input: Tensor) -> Tensor:
    """The logarithm of the normal distribution function, exact far below zero."""

def log_softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """The logarithm of softmax, exact where the probabilities are tiny."""

def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)), the inverse of sigmoid; x is first limited to eps..1 - eps if given."""

def logit_(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)), the inverse of sigmoid; x is first limited to eps..1 - eps if given."""

def logsumexp(input: Tensor, dim: Ints, keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials over some axes, without overflow."""

def modified_bessel_i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 0, without a derivative."""

def modified_bessel_i1(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 1, without a derivative."""

def modified_bessel_k0(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind, of order 0."""

def modified_bessel_k1(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind, of order 1."""

def multigammaln(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""

def multigammaln_(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""

def ndtr(input: Tensor) -> Tensor:
    """The normal distribution function: the probability of being below each element."""

def ndtr_(input: Tensor) -> Tensor:
    """The normal distribution function: the probability of being below each element."""

def ndtri(input: Tensor) -> Tensor:
    """The number below which a normal variable stays with each element's probability."""

def ndtri_(input: Tensor) -> Tensor:
    """The number below which a normal variable stays with each element's probability."""

@overload
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of digamma."""
@overload
def polygamma(input: Tensor, n: int) -> Tensor: ...

@overload
def polygamma_(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of digamma."""
@overload
def polygamma_(input: Tensor, n: int) -> Tensor: ...

def psi(input: Tensor) -> Tensor:
    """The derivative of lgamma; it has a pole at each integer up to 0."""

def psi_(input: Tensor) -> Tensor:
    """The derivative of lgamma; it has a pole at each integer up to 0."""

@overload
def round(input: Tensor) -> Tensor:
    """The nearest integer; the even one of two as near."""
@overload
def round(input: Tensor, *, decimals: int) -> Tensor: ...

@overload
def round_(input: Tensor) -> Tensor:
    """The nearest integer; the even one of two as near."""
@overload
def round_(input: Tensor, *, decimals: int) -> Tensor: ...

def scaled_modified_bessel_k0(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind, of order 0, times exp(x)."""

def scaled_modified_bessel_k1(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind, of order 1, times exp(x)."""

def sinc(input: Tensor) -> Tensor:
    """sin(πx) / (πx), which is 1 at 0."""

def sinc_(input: Tensor) -> Tensor:
    """sin(πx) / (πx), which is 1 at 0."""

def softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """Exponentials along an axis, divided by their sum."""

def spherical_bessel_j0(input: Tensor) -> Tensor:
    """The spherical Bessel function of the first kind, of order 0: sin(x) / x."""

def xlog1py(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """input log1p(other), which is 0 where input is 0, unless other is NaN."""

def xlogy(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """input log(other), which is 0 where input is 0, unless other is NaN."""
