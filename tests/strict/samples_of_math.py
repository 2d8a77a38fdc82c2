"""The calls of `samples.py` for sums, statistics, products, transforms and linear algebra."""

from __future__ import annotations

from typing import Any

from tests.strict.samples import CREATION, INDEXING, SHAPES, Sample


def _over(name: str, **kwargs: Any) -> Sample:
    """The function over the last axis of the matrix."""
    return lambda xp, d: getattr(xp, name)(d.m, axis=1, **kwargs)


def _nan_over(name: str) -> Sample:
    return lambda xp, d: getattr(xp, name)(d.v)


_REDUCING = "all any prod sum amax max amin min ptp median mean std var argmax argmin"
_CUMULATIVE = "cumprod cumsum cumulative_prod cumulative_sum"
_OF_NAN = (
    "nancumprod nancumsum nansum nanprod nanmax nanmin nanargmax nanargmin nanmedian nanmean "
    "nanstd nanvar nan_to_num"
)
_TRANSFORMS = "fft fft2 fftn hfft ifft ifft2 ifftn ihfft irfft irfft2 irfftn rfft rfft2 rfftn"

REDUCTIONS: dict[str, Sample] = {name: _over(name, keepdims=True) for name in _REDUCING.split()}
REDUCTIONS |= {name: _over(name) for name in _CUMULATIVE.split()}
REDUCTIONS |= {name: _nan_over(name) for name in _OF_NAN.split()}
REDUCTIONS |= {
    "count_nonzero": lambda xp, d: xp.count_nonzero(d.b, axis=0),
    "quantile": lambda xp, d: xp.quantile(d.m, 0.3, axis=0, method="lower"),
    "percentile": lambda xp, d: xp.percentile(d.m, 30, axis=0),
    "average": lambda xp, d: xp.average(d.m, axis=1, weights=d.w),
    "corrcoef": lambda xp, d: xp.corrcoef(d.m),
    "cov": lambda xp, d: xp.cov(d.m),
    "diff": lambda xp, d: xp.diff(d.m, axis=0),
    "gradient": lambda xp, d: xp.gradient(d.m, axis=1),
    "trapezoid": lambda xp, d: xp.trapezoid(d.m, axis=1),
    "angle": lambda xp, d: xp.angle(d.c),
    "real": lambda xp, d: xp.real(d.c),
    "imag": lambda xp, d: xp.imag(d.c),
}
QUESTIONS: dict[str, Sample] = {
    "allclose": lambda xp, d: xp.allclose(d.m, d.m),
    "array_equal": lambda xp, d: xp.array_equal(d.m, d.m),
    "array_equiv": lambda xp, d: xp.array_equiv(d.m, d.m),
    "isclose": lambda xp, d: xp.isclose(d.v, d.v, equal_nan=True),
    "iscomplex": lambda xp, d: xp.iscomplex(d.c),
    "iscomplexobj": lambda xp, d: xp.iscomplexobj(d.c),
    "isreal": lambda xp, d: xp.isreal(d.c),
    "isrealobj": lambda xp, d: xp.isrealobj(d.c),
    "isfortran": lambda xp, d: xp.isfortran(d.m.T),
    "may_share_memory": lambda xp, d: xp.may_share_memory(d.m, d.m[1:]),
    "shares_memory": lambda xp, d: xp.shares_memory(d.m, d.w),
    "can_cast": lambda xp, d: xp.can_cast(d.m, "float32"),
    "result_type": lambda xp, d: xp.result_type(d.i, "float32"),
}
PRODUCTS: dict[str, Sample] = {
    "einsum": lambda xp, d: xp.einsum("ij,j->i", d.m, d.w),
    "cross": lambda xp, d: xp.cross(d.s[0], d.s[1]),
    "dot": lambda xp, d: xp.dot(d.m, d.w),
    "inner": lambda xp, d: xp.inner(d.m, d.m),
    "kron": lambda xp, d: xp.kron(d.m, d.s),
    "matmul": lambda xp, d: xp.matmul(d.t, d.m.T),
    "outer": lambda xp, d: xp.outer(d.w, d.w),
    "tensordot": lambda xp, d: xp.tensordot(d.t, d.m, axes=2),
    "vdot": lambda xp, d: xp.vdot(d.c, d.c),
    "trace": lambda xp, d: xp.trace(d.m, 1),
    "convolve": lambda xp, d: xp.convolve(d.w, d.w),
}
FUNCTION_SAMPLES = CREATION | SHAPES | INDEXING | REDUCTIONS | QUESTIONS | PRODUCTS

LINEAR_SAMPLES: dict[str, Sample] = {
    "matrix_power": lambda la, d: la.matrix_power(d.s, 3),
    "cross": lambda la, d: la.cross(d.s, d.s[::-1]),
    "matrix_transpose": lambda la, d: la.matrix_transpose(d.m),
    "cholesky": lambda la, d: la.cholesky(d.s),
    "qr": lambda la, d: tuple(la.qr(d.m)),
    "svd": lambda la, d: tuple(la.svd(d.m, full_matrices=False)),
    "eigh": lambda la, d: tuple(la.eigh(d.s)),
    "eig": lambda la, d: tuple(la.eig(d.s)),
    "eigvalsh": lambda la, d: la.eigvalsh(d.s),
    "eigvals": lambda la, d: la.eigvals(d.s),
    "norm": lambda la, d: la.norm(d.m, axis=1),
    "cond": lambda la, d: la.cond(d.s),
    "det": lambda la, d: la.det(d.s),
    "matrix_rank": lambda la, d: la.matrix_rank(d.m),
    "slogdet": lambda la, d: tuple(la.slogdet(d.s)),
    "solve": lambda la, d: la.solve(d.s, d.m),
    "tensorsolve": lambda la, d: la.tensorsolve(d.s, d.s[0]),
    "lstsq": lambda la, d: next(iter(la.lstsq(d.m, d.s[0], rcond=None))),
    "inv": lambda la, d: la.inv(d.s),
    "pinv": lambda la, d: la.pinv(d.m, 1e-15),
    "tensorinv": lambda la, d: la.tensorinv(d.s, ind=1),
}


def _transform(name: str) -> Sample:
    return lambda fft, d: getattr(fft, name)(d.m, norm="ortho")


FOURIER_SAMPLES: dict[str, Sample] = {name: _transform(name) for name in _TRANSFORMS.split()}
FOURIER_SAMPLES |= {
    "fftfreq": lambda fft, d: fft.fftfreq(5, 0.1),
    "rfftfreq": lambda fft, d: fft.rfftfreq(5, 0.1),
    "fftshift": lambda fft, d: fft.fftshift(d.m),
    "ifftshift": lambda fft, d: fft.ifftshift(d.m),
}
SPECIAL_SAMPLES: dict[str, Sample] = {
    "polygamma": lambda special, d: special.polygamma(1, abs(d.m) + 1),
    "multigammaln": lambda special, d: special.multigammaln(abs(d.m) + 3, 2),
    "softmax": lambda special, d: special.softmax(d.m, axis=1),
    "log_softmax": lambda special, d: special.log_softmax(d.m, axis=1),
    "logsumexp": lambda special, d: special.logsumexp(d.m, axis=1),
}
