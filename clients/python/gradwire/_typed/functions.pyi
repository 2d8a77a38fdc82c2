"""Autograd with torch's names, embedded in this process or against a gradwire server.

Made from the catalogue by `make docs`.
"""

from collections.abc import Sequence
from typing import Any, Literal, overload
from gradwire._typed import results
from gradwire._typed.arguments import Device, Ints, Number
from gradwire.random import Generator
from gradwire.tensor import Tensor
from gradwire_engine.spec import DType

def H(input: Tensor) -> Tensor:
    """Transpose a matrix and conjugate it."""

def T(input: Tensor) -> Tensor:
    """Reverse the order of all axes."""

def abs(input: Tensor) -> Tensor:
    """The absolute value of each element; the length of complex ones."""

def abs_(input: Tensor) -> Tensor:
    """The absolute value of each element; the length of complex ones."""

def absolute(input: Tensor) -> Tensor:
    """The absolute value of each element; the length of complex ones."""

def absolute_(input: Tensor) -> Tensor:
    """The absolute value of each element; the length of complex ones."""

def acos(input: Tensor) -> Tensor:
    """The angle, from 0 to π, whose cosine each element is."""

def acos_(input: Tensor) -> Tensor:
    """The angle, from 0 to π, whose cosine each element is."""

def acosh(input: Tensor) -> Tensor:
    """The number, 0 or more, whose hyperbolic cosine each element is."""

def acosh_(input: Tensor) -> Tensor:
    """The number, 0 or more, whose hyperbolic cosine each element is."""

def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The means of so many windows, spread evenly over the last axis."""

def add(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """Add other, times alpha, to input."""

def addbmm(
    input: Tensor,
    batch1: Tensor | Number,
    batch2: Tensor | Number,
    *,
    beta: Number = 1,
    alpha: Number = 1,
) -> Tensor:
    """Add a sum of products of matrices: beta input + alpha Σ batch1 batch2."""

def addcdiv(
    input: Tensor | Number,
    tensor1: Tensor | Number,
    tensor2: Tensor | Number,
    *,
    value: Number = 1,
) -> Tensor:
    """Add the quotient of two tensors, times value, to input."""

def addcmul(
    input: Tensor | Number,
    tensor1: Tensor | Number,
    tensor2: Tensor | Number,
    *,
    value: Number = 1,
) -> Tensor:
    """Add the product of two tensors, times value, to input."""

def addmm(
    input: Tensor,
    mat1: Tensor | Number,
    mat2: Tensor | Number,
    *,
    beta: Number = 1,
    alpha: Number = 1,
) -> Tensor:
    """Add a product of two matrices: beta input + alpha mat1 mat2."""

def addmv(
    input: Tensor,
    mat: Tensor | Number,
    vec: Tensor | Number,
    *,
    beta: Number = 1,
    alpha: Number = 1,
) -> Tensor:
    """Add a product of a matrix and a vector: beta input + alpha mat vec."""

def addr(
    input: Tensor,
    vec1: Tensor | Number,
    vec2: Tensor | Number,
    *,
    beta: Number = 1,
    alpha: Number = 1,
) -> Tensor:
    """Add the products of two vectors' elements: beta input + alpha vec1 vec2ᵀ."""

def adjoint(input: Tensor) -> Tensor:
    """Transpose the last two axes and conjugate."""

def all(input: Tensor, dim: Ints | None = None, keepdim: bool = False) -> Tensor:
    """Whether all elements are true (not 0)."""

def allclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> bool:
    """Whether all elements are close: |input - other| <= atol + rtol |other|."""

def amax(input: Tensor, dim: Ints | None = (), keepdim: bool = False) -> Tensor:
    """The largest element over some axes, or over all."""

def amin(input: Tensor, dim: Ints | None = (), keepdim: bool = False) -> Tensor:
    """The smallest element over some axes, or over all."""

def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> results.aminmax:
    """The smallest and the largest element along an axis, or of all."""

def angle(input: Tensor) -> Tensor:
    """The angle of each element in the complex plane, in radians; 0 or π where real."""

def any(input: Tensor, dim: Ints | None = None, keepdim: bool = False) -> Tensor:
    """Whether any element is true (not 0)."""

@overload
def arange(
    start: Number,
    end: Number,
    step: Number = 1,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from start (0 unless given) up to but without end, step apart."""
@overload
def arange(
    end: Number,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor: ...

def arccos(input: Tensor) -> Tensor:
    """The angle, from 0 to π, whose cosine each element is."""

def arccos_(input: Tensor) -> Tensor:
    """The angle, from 0 to π, whose cosine each element is."""

def arccosh(input: Tensor) -> Tensor:
    """The number, 0 or more, whose hyperbolic cosine each element is."""

def arccosh_(input: Tensor) -> Tensor:
    """The number, 0 or more, whose hyperbolic cosine each element is."""

def arcsin(input: Tensor) -> Tensor:
    """The angle, from -π/2 to π/2, whose sine each element is."""

def arcsin_(input: Tensor) -> Tensor:
    """The angle, from -π/2 to π/2, whose sine each element is."""

def arcsinh(input: Tensor) -> Tensor:
    """The number whose hyperbolic sine each element is."""

def arcsinh_(input: Tensor) -> Tensor:
    """The number whose hyperbolic sine each element is."""

def arctan(input: Tensor) -> Tensor:
    """The angle, from -π/2 to π/2, whose tangent each element is."""

def arctan2(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The angle of the point (other, input) in the plane, in radians from -π to π."""

def arctan_(input: Tensor) -> Tensor:
    """The angle, from -π/2 to π/2, whose tangent each element is."""

def arctanh(input: Tensor) -> Tensor:
    """The number whose hyperbolic tangent each element is."""

def arctanh_(input: Tensor) -> Tensor:
    """The number whose hyperbolic tangent each element is."""

def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the largest element along an axis, or among all in row-major order."""

def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest element along an axis, or among all in row-major order."""

def argsort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    *,
    stable: bool = False,
) -> Tensor:
    """The indices that sort an axis."""

def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, a row each."""

def as_strided(
    input: Tensor,
    size: Ints,
    stride: Ints,
    storage_offset: int | None = None,
) -> Tensor:
    """See a tensor's memory by size and stride; offsets count from where its storage begins."""

def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: Ints,
    stride: Ints,
    storage_offset: int | None = None,
) -> Tensor:
    """A copy with the elements that as_strided would show replaced by src."""

def asin(input: Tensor) -> Tensor:
    """The angle, from -π/2 to π/2, whose sine each element is."""

def asin_(input: Tensor) -> Tensor:
    """The angle, from -π/2 to π/2, whose sine each element is."""

def asinh(input: Tensor) -> Tensor:
    """The number whose hyperbolic sine each element is."""

def asinh_(input: Tensor) -> Tensor:
    """The number whose hyperbolic sine each element is."""

def atan(input: Tensor) -> Tensor:
    """The angle, from -π/2 to π/2, whose tangent each element is."""

def atan2(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The angle of the point (other, input) in the plane, in radians from -π to π."""

def atan_(input: Tensor) -> Tensor:
    """The angle, from -π/2 to π/2, whose tangent each element is."""

def atanh(input: Tensor) -> Tensor:
    """The number whose hyperbolic tangent each element is."""

def atanh_(input: Tensor) -> Tensor:
    """The number whose hyperbolic tangent each element is."""

@overload
def atleast_1d(input: Tensor) -> Tensor:
    """See a scalar as a vector of one element; several tensors one by one."""
@overload
def atleast_1d(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def atleast_1d(*tensors: Tensor) -> tuple[Tensor, ...]: ...

@overload
def atleast_2d(input: Tensor) -> Tensor:
    """See a tensor with at least two axes, new ones in front; several tensors one by one."""
@overload
def atleast_2d(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(*tensors: Tensor) -> tuple[Tensor, ...]: ...

@overload
def atleast_3d(input: Tensor) -> Tensor:
    """See a tensor with at least three axes; several tensors one by one."""
@overload
def atleast_3d(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(*tensors: Tensor) -> tuple[Tensor, ...]: ...

def avg_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The means of windows that slide over the last axis."""

def baddbmm(
    input: Tensor,
    batch1: Tensor | Number,
    batch2: Tensor | Number,
    *,
    beta: Number = 1,
    alpha: Number = 1,
) -> Tensor:
    """Add a stack of products of matrices: beta input + alpha batch1 batch2."""

@overload
def bernoulli(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that each element gives, else 0."""
@overload
def bernoulli(input: Tensor, p: float, *, generator: Generator | None = None) -> Tensor: ...

def bernoulli_(input: Tensor, p: float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with 1, with a probability, and 0."""

def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1ᵀ weight[k] input2 for each output k, plus bias."""

def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 on occurs, or the sum of its weights."""

def bitwise_and(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The bits that both elements have."""

def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Bits moved up by other places; nothing is left after a whole width."""

def bitwise_not(input: Tensor) -> Tensor:
    """All bits turned over; logical not of bools."""

def bitwise_not_(input: Tensor) -> Tensor:
    """All bits turned over; logical not of bools."""

def bitwise_or(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The bits that at least one element has."""

def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Bits moved down by other places; only the sign is left after a whole width."""

def bitwise_xor(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The bits that just one of two elements has."""

@overload
def block_diag(tensors: Sequence[Tensor]) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere."""
@overload
def block_diag(*tensors: Tensor) -> Tensor: ...

def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Products of two equally long stacks of matrices."""

@overload
def broadcast_tensors(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Expand tensors to the shape that all of them broadcast to."""
@overload
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]: ...

@overload
def broadcast_to(input: Tensor, size: Ints) -> Tensor:
    """Expand a tensor to a shape."""
@overload
def broadcast_to(input: Tensor, *size: int) -> Tensor: ...

def bucketize(
    input: Tensor,
    boundaries: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
) -> Tensor:
    """Which interval between sorted boundaries each value falls into."""

def byte(input: Tensor) -> Tensor:
    """Convert to uint8."""

@overload
def cartesian_prod(tensors: Sequence[Tensor]) -> Tensor:
    """All tuples with an element from each vector, a row each, the last changing fastest."""
@overload
def cartesian_prod(*tensors: Tensor) -> Tensor: ...

def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors along an axis they have."""

def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = 'use_mm_for_euclid_dist_if_necessary',
) -> Tensor:
    """The p-norm distances of each row of x1 to each row of x2."""

def ceil(input: Tensor) -> Tensor:
    """The smallest integer that is not below each element."""

def ceil_(input: Tensor) -> Tensor:
    """The smallest integer that is not below each element."""

@overload
def chain_matmul(tensors: Sequence[Tensor]) -> Tensor:
    """Product of several matrices in the cheapest order; first and last may be vectors."""
@overload
def chain_matmul(*tensors: Tensor) -> Tensor: ...

def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Deal the channels out to groups, as cards are: (g n) channels become (n g)."""

def char(input: Tensor) -> Tensor:
    """Convert to int8."""

def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The triangular Cholesky factor of each positive definite matrix."""

def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of each matrix whose Cholesky factor is given."""

def cholesky_solve(input: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """The X of each system A X = input, where A is given by its Cholesky factor."""

def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut an axis into so many pieces of one size, the last of which may be smaller or missing."""

def clamp(
    input: Tensor | Number,
    min: Tensor | Number | None = None,
    max: Tensor | Number | None = None,
) -> Tensor:
    """Limit each element to between min and max; max wins where they cross."""

def clamp_max(input: Tensor | Number, max: Tensor | Number) -> Tensor:
    """Limit each element from above."""

def clamp_min(input: Tensor | Number, min: Tensor | Number) -> Tensor:
    """Limit each element from below."""

def clip(
    input: Tensor | Number,
    min: Tensor | Number | None = None,
    max: Tensor | Number | None = None,
) -> Tensor:
    """Limit each element to between min and max; max wins where they cross."""

def clone(input: Tensor) -> Tensor:
    """Copy a tensor; gradients flow back to it unchanged."""

@overload
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Join along the second axis, vectors as columns."""
@overload
def column_stack(*tensors: Tensor) -> Tensor: ...

def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of r elements of a vector, in the vector's order, a row each."""

def complex(real: Tensor | Number, imag: Tensor | Number) -> Tensor:
    """Complex numbers from real and imaginary parts."""

def concat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors along an axis they have."""

def concatenate(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors along an axis they have."""

def conj(input: Tensor) -> Tensor:
    """The complex conjugate of each element; the tensor itself where real."""

def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate of each element; the tensor itself where real."""

def conj_physical_(input: Tensor) -> Tensor:
    """The complex conjugate of each element; the tensor itself where real."""

def constant_pad_nd(input: Tensor, pad: Ints, value: Number = 0) -> Tensor:
    """Pad with a number; negative pads cut off."""

def contiguous(input: Tensor) -> Tensor:
    """The tensor itself where it is row-major, else a row-major copy."""

@overload
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: Ints = (0,),
    dilation: Ints = (1,),
    groups: int = 1,
) -> Tensor:
    """Slide a weight (O, C / groups, ...) over signals (N, C, L) and sum the products."""
@overload
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: str = 'valid',
    dilation: Ints = (1,),
    groups: int = 1,
) -> Tensor: ...

@overload
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: Ints = (0,),
    dilation: Ints = (1,),
    groups: int = 1,
) -> Tensor:
    """Slide a weight (O, C / groups, ...) over images (N, C, H, W) and sum the products."""
@overload
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: str = 'valid',
    dilation: Ints = (1,),
    groups: int = 1,
) -> Tensor: ...

@overload
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: Ints = (0,),
    dilation: Ints = (1,),
    groups: int = 1,
) -> Tensor:
    """Slide a weight (O, C / groups, ...) over volumes (N, C, D, H, W) and sum the products."""
@overload
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: str = 'valid',
    dilation: Ints = (1,),
    groups: int = 1,
) -> Tensor: ...

def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: Ints = (0,),
    output_padding: Ints = (0,),
    groups: int = 1,
    dilation: Ints = (1,),
) -> Tensor:
    """Spread each element of signals (N, C, L) over the window of a convolution's weight."""

def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: Ints = (0,),
    output_padding: Ints = (0,),
    groups: int = 1,
    dilation: Ints = (1,),
) -> Tensor:
    """Spread each element of images (N, C, H, W) over the window of a convolution's weight."""

def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: Ints = (0,),
    output_padding: Ints = (0,),
    groups: int = 1,
    dilation: Ints = (1,),
) -> Tensor:
    """Spread each element of volumes (N, C, D, H, W) over the window of a convolution's weight."""

def copy_(input: Tensor, src: Tensor | Number) -> Tensor:
    """Copy elements from another tensor, broadcast and converted to this one's dtype."""

def copysign(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The size of input with the sign of other."""

def corrcoef(input: Tensor) -> Tensor:
    """Correlation coefficients of variables (rows) over observations (columns)."""

def cos(input: Tensor) -> Tensor:
    """The cosine of each element, in radians."""

def cos_(input: Tensor) -> Tensor:
    """The cosine of each element, in radians."""

def cosh(input: Tensor) -> Tensor:
    """The hyperbolic cosine of each element."""

def cosh_(input: Tensor) -> Tensor:
    """The hyperbolic cosine of each element."""

def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """The cosine of the angle between vectors along an axis."""

@overload
def count_nonzero(input: Tensor, dim: Ints | None = None) -> Tensor:
    """How many elements are not 0."""
@overload
def count_nonzero(input: Tensor, *dim: int) -> Tensor: ...

def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """Covariances of variables (rows) over observations (columns), with counts or weights."""

def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product of vectors of three numbers, along the first axis of size 3 by default."""

def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int=0, reduction: int=0, zero_infinity: bool=False) -> Tensor:
    """The loss of all alignments. reduction: 1 for the mean, 2 for the sum."""

def cummax(input: Tensor, dim: int) -> results.cummax:
    """The largest element so far along an axis, and its index."""

def cummin(input: Tensor, dim: int) -> results.cummin:
    """The smallest element so far along an axis, and its index."""

def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """Running products along an axis."""

def cumprod_(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """Running products along an axis."""

def cumsum(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """Running sums along an axis."""

def cumsum_(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """Running sums along an axis."""

def cumulative_trapezoid(
    y: Tensor,
    x: Tensor | None = None,
    *,
    dx: float = 1,
    dim: int = -1,
) -> Tensor:
    """The integral up to each sample along an axis, by the trapezoidal rule."""

def deg2rad(input: Tensor) -> Tensor:
    """Degrees as radians."""

def deg2rad_(input: Tensor) -> Tensor:
    """Degrees as radians."""

def det(A: Tensor) -> Tensor:
    """The determinant of each square matrix."""

def detach(input: Tensor) -> Tensor:
    """The same elements without history: no gradient flows through."""

def detach_(input: Tensor) -> Tensor:
    """Forget the tensor's history in place: it becomes a leaf that requires no grad."""

def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Of a vector the matrix with it on a diagonal, of a matrix its diagonal, as a copy."""

def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last axis of the input along a diagonal and zeros elsewhere."""

def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all elements of the input along a diagonal."""

def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two axes, as the last axis."""

def diagonal_scatter(
    input: Tensor,
    src: Tensor,
    offset: int = 0,
    dim1: int = 0,
    dim2: int = 1,
) -> Tensor:
    """A copy with the diagonal of two axes replaced by src."""

def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours along an axis, taken n times."""

def digamma(input: Tensor) -> Tensor:
    """The derivative of lgamma; it has a pole at each integer up to 0."""

def digamma_(input: Tensor) -> Tensor:
    """The derivative of lgamma; it has a pole at each integer up to 0."""

def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of the difference of two tensors."""

@overload
def div(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Divide input by other; ints give floats."""
@overload
def div(input: Tensor, other: Tensor | Number, *, rounding_mode: str | None) -> Tensor: ...

@overload
def divide(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Divide input by other; ints give floats."""
@overload
def divide(input: Tensor, other: Tensor | Number, *, rounding_mode: str | None) -> Tensor: ...

def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Sum of the products of two vectors' elements."""

def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """In training set each element to zero with probability p and scale the rest by 1 / (1 - p)."""

def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In training set each element to zero with probability p and scale the rest by 1 / (1 - p)."""

@overload
def dsplit(input: Tensor, indices_or_sections: int) -> tuple[Tensor, ...]:
    """Cut into equal pieces, or at places, along the third axis."""
@overload
def dsplit(input: Tensor, indices_or_sections: Ints) -> tuple[Tensor, ...]: ...
@overload
def dsplit(input: Tensor, *indices_or_sections: int) -> tuple[Tensor, ...]: ...

@overload
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join in depth: along the third axis."""
@overload
def dstack(*tensors: Tensor) -> Tensor: ...

@overload
def einsum(equation: str, operands: Sequence[Tensor]) -> Tensor:
    """Multiply tensors and sum over axes, each named by a letter: 'ij,jk->ik' is a product."""
@overload
def einsum(equation: str, *operands: Tensor) -> Tensor: ...

@overload
def empty(
    size: Ints,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of a size for values to come; its elements are zeros, never what memory held."""
@overload
def empty(
    *size: int,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor: ...

def empty_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Zeros in the shape of another tensor, for values to come."""

def eq(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether two elements are equal."""

def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and equal elements; NaN equals nothing."""

def erf(input: Tensor) -> Tensor:
    """The error function: 2/√π times the integral of exp(-t²) from 0 to x."""

def erf_(input: Tensor) -> Tensor:
    """The error function: 2/√π times the integral of exp(-t²) from 0 to x."""

def erfc(input: Tensor) -> Tensor:
    """One less the error function, exact where that is small."""

def erfc_(input: Tensor) -> Tensor:
    """One less the error function, exact where that is small."""

def erfinv(input: Tensor) -> Tensor:
    """The number whose error function each element is."""

def erfinv_(input: Tensor) -> Tensor:
    """The number whose error function each element is."""

def exp(input: Tensor) -> Tensor:
    """e to the power of each element."""

def exp2(input: Tensor) -> Tensor:
    """2 to the power of each element."""

def exp2_(input: Tensor) -> Tensor:
    """2 to the power of each element."""

def exp_(input: Tensor) -> Tensor:
    """e to the power of each element."""

@overload
def expand(input: Tensor, size: Ints) -> Tensor:
    """View axes of size 1 as larger ones; -1 keeps a size."""
@overload
def expand(input: Tensor, *size: int) -> Tensor: ...

def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Expand a tensor to the shape of another."""

def expm1(input: Tensor) -> Tensor:
    """e to the power of each element, less 1, exact near 0."""

def expm1_(input: Tensor) -> Tensor:
    """e to the power of each element, less 1, exact near 0."""

def exponential_(
    input: Tensor,
    lambd: float = 1.0,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with exponentially distributed random numbers."""

def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere."""

def fill(input: Tensor, value: Tensor | Number) -> Tensor:
    """One value in the shape and dtype of a tensor."""

def fix(input: Tensor) -> Tensor:
    """Each element without its fraction."""

def fix_(input: Tensor) -> Tensor:
    """Each element without its fraction."""

def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Fold a run of axes into one."""

@overload
def flip(input: Tensor, dims: Ints) -> Tensor:
    """Turn the order of elements round along some axes."""
@overload
def flip(input: Tensor, *dims: int) -> Tensor: ...

def fliplr(input: Tensor) -> Tensor:
    """Turn each row round."""

def flipud(input: Tensor) -> Tensor:
    """Turn the order of rows round."""

def float_power(input: Tensor, exponent: Tensor | Number) -> Tensor:
    """Raise input to the power of exponent, in float64 or complex128."""

def floor(input: Tensor) -> Tensor:
    """The largest integer that is not above each element."""

def floor_(input: Tensor) -> Tensor:
    """The largest integer that is not above each element."""

def floor_divide(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The quotient rounded down; it has no derivative."""

def fmax(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The larger of two elements; the other one if one is NaN."""

def fmin(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The smaller of two elements; the other one if one is NaN."""

def fmod(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The rest of a division, with the sign of the dividend."""

def frac(input: Tensor) -> Tensor:
    """The fraction of each element, with its sign."""

def frac_(input: Tensor) -> Tensor:
    """The fraction of each element, with its sign."""

def frexp(input: Tensor) -> results.frexp:
    """Each element as a mantissa from 1/2 to 1 and a power of two."""

def full(
    size: Ints,
    fill_value: Number,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of a size filled with a number, whose dtype it has unless one is asked for."""

def full_like(
    input: Tensor,
    fill_value: Number,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A number in the shape, dtype and device of another tensor."""

def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Elements of an axis, picked for each place by an index tensor of the same axes."""

def gcd(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The greatest common divisor of two integers; it may be negative if the least is among them. That integer has no absolute value, so that a remainder of it is negative, as in torch."""

def ge(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether input is greater than or equal to other."""

def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """The matrix of all products of two vectors' elements."""

@overload
def gradient(
    input: Tensor,
    *,
    spacing: Sequence[Tensor],
    dim: Ints | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    """Slopes along each axis (or those named) of a function sampled at these points or steps."""
@overload
def gradient(
    input: Tensor,
    *,
    spacing: float | None = None,
    dim: Ints | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]: ...

def greater(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether input is greater than other."""

def greater_equal(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether input is greater than or equal to other."""

def gt(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether input is greater than other."""

def heaviside(input: Tensor | Number, values: Tensor | Number) -> Tensor:
    """0 below zero, 1 above, and at zero the element of values."""

def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements fall into each of equal intervals from min to max (0, 0: all there are)."""

@overload
def hsplit(input: Tensor, indices_or_sections: int) -> tuple[Tensor, ...]:
    """Cut into equal pieces, or at places, along the second axis (the only one of a vector)."""
@overload
def hsplit(input: Tensor, indices_or_sections: Ints) -> tuple[Tensor, ...]: ...
@overload
def hsplit(input: Tensor, *indices_or_sections: int) -> tuple[Tensor, ...]: ...

@overload
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join side by side: along the second axis, vectors along their only one."""
@overload
def hstack(*tensors: Tensor) -> Tensor: ...

def hypot(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """sqrt(input² + other²) without overflow."""

def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""

def i0_(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""

def imag(input: Tensor) -> Tensor:
    """The imaginary parts of a complex tensor, as a view."""

def index_add(
    input: Tensor,
    dim: int,
    index: Tensor | Number,
    source: Tensor | Number,
    *,
    alpha: Number = 1,
) -> Tensor:
    """Add slices of source, times alpha, to the slices of an axis that a vector names."""

def index_copy(input: Tensor, dim: int, index: Tensor | Number, source: Tensor | Number) -> Tensor:
    """Put slices of source in place of the slices of an axis that a vector names."""

def index_fill(input: Tensor, dim: int, index: Tensor | Number, value: Tensor | Number) -> Tensor:
    """Fill the slices of an axis that a vector of indices names."""

def index_put(
    input: Tensor,
    indices: Sequence[Tensor],
    values: Tensor | Number,
    accumulate: bool = False,
) -> Tensor:
    """Write, or add, values at places given by tensors of ints or bools, one for each axis."""

def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor | Number,
    source: Tensor | Number,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """Reduce slices of source into the slices of an axis that a vector of indices names."""

def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of an axis that a vector of indices names."""

def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sums of products over the last axis of both; a plain product where one is 0-d."""

def inverse(A: Tensor) -> Tensor:
    """The inverse of each square matrix."""

def isclose(
    input: Tensor | Number,
    other: Tensor | Number,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Whether |input - other| <= atol + rtol |other|; infinities are close to themselves only."""

def isfinite(input: Tensor) -> Tensor:
    """Whether an element is finite, both parts of a complex one."""

def isinf(input: Tensor) -> Tensor:
    """Whether an element is infinite; a complex one if either part is."""

def isnan(input: Tensor) -> Tensor:
    """Whether an element is NaN; a complex one if either part is."""

def isneginf(input: Tensor) -> Tensor:
    """Whether an element is minus infinity."""

def isposinf(input: Tensor) -> Tensor:
    """Whether an element is plus infinity."""

def isreal(input: Tensor) -> Tensor:
    """Whether an element's imaginary part is zero."""

def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose stft this is, or the one that comes closest to it."""

def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: every element of input times the whole of other, in blocks."""

def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> results.kthvalue:
    """The k-th smallest element along an axis (counted from 1), and its index."""

def lcm(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The least common multiple of two integers."""

def ldexp(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """input times 2 to the power of other."""

def le(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether input is less than or equal to other."""

@overload
def lerp(input: Tensor | Number, end: Tensor | Number, weight: Number) -> Tensor:
    """Go from input to end by a weight: input + weight (end - input)."""
@overload
def lerp(input: Tensor | Number, end: Tensor | Number, weight: Tensor | Number) -> Tensor: ...

def less(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether input is less than other."""

def less_equal(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether input is less than or equal to other."""

def lgamma(input: Tensor) -> Tensor:
    """The logarithm of the gamma function's absolute value."""

def lgamma_(input: Tensor) -> Tensor:
    """The logarithm of the gamma function's absolute value."""

@overload
def linspace(
    start: Number,
    end: Number,
    steps: int,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """So many numbers from start to end, equally far apart, both included."""
@overload
def linspace(
    start: Tensor,
    end: Tensor,
    steps: int,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor: ...

def log(input: Tensor) -> Tensor:
    """The natural logarithm of each element."""

def log10(input: Tensor) -> Tensor:
    """The logarithm to base 10 of each element."""

def log10_(input: Tensor) -> Tensor:
    """The logarithm to base 10 of each element."""

def log1p(input: Tensor) -> Tensor:
    """The natural logarithm of 1 plus each element, exact near 0."""

def log1p_(input: Tensor) -> Tensor:
    """The natural logarithm of 1 plus each element, exact near 0."""

def log2(input: Tensor) -> Tensor:
    """The logarithm to base 2 of each element."""

def log2_(input: Tensor) -> Tensor:
    """The logarithm to base 2 of each element."""

def log_(input: Tensor) -> Tensor:
    """The natural logarithm of each element."""

def log_softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """The logarithm of softmax, exact where the probabilities are tiny."""

def logaddexp(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """log(exp(input) + exp(other)) without overflow."""

def logaddexp2(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """log2(2^input + 2^other) without overflow."""

def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """Logarithms of running sums of exponentials along an axis, without overflow."""

def logdet(input: Tensor) -> Tensor:
    """The logarithm of each determinant; NaN where that is negative."""

def logical_and(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether both elements are true."""

def logical_not(input: Tensor) -> Tensor:
    """Whether the element is false."""

def logical_not_(input: Tensor) -> Tensor:
    """Whether the element is false."""

def logical_or(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether at least one element is true."""

def logical_xor(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether exactly one element is true."""

def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)), the inverse of sigmoid; x is first limited to eps..1 - eps if given."""

def logit_(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)), the inverse of sigmoid; x is first limited to eps..1 - eps if given."""

@overload
def logspace(
    start: Number,
    end: Number,
    steps: int,
    base: float = 10.0,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """So many powers of a base whose exponents are equally far apart from start to end."""
@overload
def logspace(
    start: Tensor,
    end: Tensor,
    steps: int,
    base: float = 10.0,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor: ...

def logsumexp(input: Tensor, dim: Ints, keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials over some axes, without overflow."""

def lt(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether input is less than other."""

@overload
def lu(A: Tensor, pivot: bool = True, get_infos: Literal[False] = False) -> tuple[Tensor, Tensor]:
    """LU factors of each matrix, packed into one, with their pivots."""
@overload
def lu(A: Tensor, pivot: bool = True, *, get_infos: Literal[True]) -> results.lu: ...
@overload
def lu(
    A: Tensor,
    pivot: bool = True,
    get_infos: bool = False,
) -> tuple[Tensor, Tensor] | results.lu: ...

def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The X of each system A X = b with A given by its LU factors."""

def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> results.lu_unpack:
    """The permutation and the triangular factors out of packed ones; empty where not wanted."""

def mH(input: Tensor) -> Tensor:
    """Transpose the last two axes and conjugate."""

def mT(input: Tensor) -> Tensor:
    """Transpose the last two axes."""

def masked_fill(input: Tensor | Number, mask: Tensor | Number, value: Tensor | Number) -> Tensor:
    """Put one value wherever the mask is True."""

def masked_scatter(input: Tensor, mask: Tensor | Number, source: Tensor | Number) -> Tensor:
    """Put the elements of source, one after the other, where a mask holds."""

def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where a mask holds, in a vector."""

def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product of vectors, matrices or broadcast stacks of matrices."""

def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of each square matrix."""

def matrix_power(A: Tensor, n: int) -> Tensor:
    """Each square matrix times itself, n times; its inverse where n is negative."""

@overload
def max(input: Tensor) -> Tensor:
    """The largest element; NaN if there is one."""
@overload
def max(input: Tensor, dim: int, keepdim: bool = False) -> results.max: ...
@overload
def max(input: Tensor, other: Tensor) -> Tensor: ...

@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The maxima of windows that slide over the last axis; with their places if asked."""
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...

@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The maxima of windows that slide over the last 2 axes; with their places if asked."""
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...

@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The maxima of windows that slide over the last 3 axes; with their places if asked."""
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...

def maximum(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The larger of two elements; NaN if one is NaN."""

def mean(
    input: Tensor,
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """Mean over some axes, or over all."""

@overload
def median(input: Tensor) -> Tensor:
    """The median of all elements, the lower of two; NaN if there is one."""
@overload
def median(input: Tensor, dim: int, keepdim: bool = False) -> results.median: ...

@overload
def meshgrid(tensors: Sequence[Tensor], *, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of the grid that vectors span: one tensor each, all of the grid's shape."""
@overload
def meshgrid(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]: ...

@overload
def min(input: Tensor) -> Tensor:
    """The smallest element; NaN if there is one."""
@overload
def min(input: Tensor, dim: int, keepdim: bool = False) -> results.min: ...
@overload
def min(input: Tensor, other: Tensor) -> Tensor: ...

def minimum(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The smaller of two elements; NaN if one is NaN."""

def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Product of two matrices."""

def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> results.mode:
    """The most frequent elements along an axis, the smallest of several, and their last index."""

@overload
def moveaxis(input: Tensor, source: Ints, destination: Ints) -> Tensor:
    """Move axes to other places; the rest keep their order."""
@overload
def moveaxis(input: Tensor, source: Ints, *destination: int) -> Tensor: ...

@overload
def movedim(input: Tensor, source: Ints, destination: Ints) -> Tensor:
    """Move axes to other places; the rest keep their order."""
@overload
def movedim(input: Tensor, source: Ints, *destination: int) -> Tensor: ...

def msort(input: Tensor) -> Tensor:
    """Sort along the first axis."""

def mul(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Multiply input by other."""

def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Indices of categories drawn in proportion to the weights in the last axis."""

def multiply(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Multiply input by other."""

def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Product of a matrix and a vector."""

def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""

def mvlgamma_(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""

def nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """Replace NaN by a number (0) and infinities by finite numbers (the dtype's largest)."""

def nan_to_num_(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """Replace NaN by a number (0) and infinities by finite numbers (the dtype's largest)."""

def nanmean(
    input: Tensor,
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """Mean over some axes, or over all, of what is not NaN."""

@overload
def nanmedian(input: Tensor) -> Tensor:
    """The median of all elements that are not NaN, the lower of two."""
@overload
def nanmedian(input: Tensor, dim: int, keepdim: bool = False) -> results.nanmedian: ...

def nanquantile(
    input: Tensor,
    q: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = 'linear',
) -> Tensor:
    """The values below which a share q of what is not NaN lies, along an axis or of all."""

def nansum(
    input: Tensor,
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """Sum over some axes, or over all, with NaN counted as 0."""

@overload
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """The part of an axis that begins at start and has a length."""
@overload
def narrow(input: Tensor, dim: int, start: Tensor, length: int) -> Tensor: ...

def ne(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether two elements differ; NaN differs from everything."""

def neg(input: Tensor) -> Tensor:
    """Negate each element."""

def neg_(input: Tensor) -> Tensor:
    """Negate each element."""

def negative(input: Tensor) -> Tensor:
    """Negate each element."""

def negative_(input: Tensor) -> Tensor:
    """Negate each element."""

def nextafter(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The float next to input on the way to other."""

@overload
def nonzero(input: Tensor, as_tuple: Literal[False] = False) -> Tensor:
    """The indices of the elements that are not zero: a row each, or a tensor for each axis."""
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
@overload
def nonzero(input: Tensor, as_tuple: bool = False) -> Tensor | tuple[Tensor, ...]: ...

def norm(
    input: Tensor,
    p: Any = 'fro',
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """A p-norm over some axes, or over all; 'fro' is 2, 'nuc' the sum of singular values."""

@overload
def normal(
    mean: Tensor,
    std: Tensor | Number = 1.0,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Normal random numbers, each of its own mean and standard deviation."""
@overload
def normal(
    mean: float,
    std: float,
    size: Ints,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
) -> Tensor: ...
@overload
def normal(
    mean: float,
    std: float,
    *size: int,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
) -> Tensor: ...

def normal_(
    input: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normal random numbers."""

def not_equal(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether two elements differ; NaN differs from everything."""

def numpy_T(input: Tensor) -> Tensor:
    """Reverse the order of all axes."""

@overload
def ones(
    size: Ints,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones of a size."""
@overload
def ones(
    *size: int,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor: ...

def ones_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones in the shape, dtype and device of another tensor."""

def orgqr(A: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of the reflections 1 - tau[i] v[i] v[i]ᴴ."""

def ormqr(
    input: Tensor,
    tau: Tensor,
    other: Tensor,
    left: bool = True,
    transpose: bool = False,
) -> Tensor:
    """The product of the reflections, or its adjoint, times other (left) or after it."""

def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The matrix of all products of two vectors' elements."""

def pairwise_distance(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    eps: float = 1e-06,
    keepdim: bool = False,
) -> Tensor:
    """The p-norms of the differences (plus eps) of vectors in the last axis."""

def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances of each row to each later row, in one vector."""

@overload
def permute(input: Tensor, dims: Ints) -> Tensor:
    """Put the axes in another order."""
@overload
def permute(input: Tensor, *dims: int) -> Tensor: ...

def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse of each matrix."""

def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Move channels to places: (..., C r², H, W) becomes (..., C, H r, W r)."""

def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Move places to channels: (..., C, H r, W r) becomes (..., C r², H, W)."""

def polar(abs: Tensor | Number, angle: Tensor | Number) -> Tensor:
    """Complex numbers from their lengths and angles (radians)."""

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

def positive(input: Tensor) -> Tensor:
    """The tensor itself; not defined for bools."""

def pow(input: Tensor | Number, exponent: Tensor | Number) -> Tensor:
    """Raise input to the power of exponent."""

@overload
def prod(input: Tensor, *, dtype: DType | None = None) -> Tensor:
    """Product of all elements."""
@overload
def prod(input: Tensor, dim: int, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor: ...

def put(
    input: Tensor,
    index: Tensor | Number,
    source: Tensor | Number,
    accumulate: bool = False,
) -> Tensor:
    """Write, or add, elements at places counted in row-major order; negative ones from the end."""

def qr(input: Tensor, some: bool = True) -> results.qr:
    """An orthogonal Q and an upper triangular R with input = Q R for each matrix."""

def quantile(
    input: Tensor,
    q: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = 'linear',
) -> Tensor:
    """The values below which a share q of the elements lies, along an axis or of all."""

def rad2deg(input: Tensor) -> Tensor:
    """Radians as degrees."""

def rad2deg_(input: Tensor) -> Tensor:
    """Radians as degrees."""

@overload
def rand(
    size: Ints,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """Random numbers, equally likely anywhere in [0, 1)."""
@overload
def rand(
    *size: int,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
) -> Tensor: ...

def rand_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """Random numbers in [0, 1), in the shape of another tensor."""

@overload
def randint(
    high: int,
    size: Ints,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """Random integers from low (0 unless given) up to but without high."""
@overload
def randint(
    high: int,
    *size: int,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
) -> Tensor: ...
@overload
def randint(
    low: int,
    high: int,
    size: Ints,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
) -> Tensor: ...
@overload
def randint(
    low: int,
    high: int,
    *size: int,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
) -> Tensor: ...

@overload
def randint_like(
    input: Tensor,
    high: int,
    *,
    dtype: DType | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Random integers from low (0 unless given) below high, in the shape of another tensor."""
@overload
def randint_like(
    input: Tensor,
    low: int,
    high: int,
    *,
    dtype: DType | None = None,
    generator: Generator | None = None,
) -> Tensor: ...

@overload
def randn(
    size: Ints,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """Random numbers from the standard normal distribution."""
@overload
def randn(
    *size: int,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
) -> Tensor: ...

def randn_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """Standard normal random numbers, in the shape of another tensor."""

def randperm(
    n: int,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """The integers from 0 up to but without n in random order."""

def ravel(input: Tensor) -> Tensor:
    """See all elements in one axis; a copy where they don't lie row by row."""

def real(input: Tensor) -> Tensor:
    """The real parts as a view; the tensor itself where real."""

def reciprocal(input: Tensor) -> Tensor:
    """One over each element."""

def reciprocal_(input: Tensor) -> Tensor:
    """One over each element."""

def remainder(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The rest of a division, with the sign of the divisor."""

def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Shrink the slices along an axis whose p-norm is larger than maxnorm to that norm."""

def renorm_(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Shrink the slices along an axis whose p-norm is larger than maxnorm to that norm."""

@overload
def repeat(input: Tensor, repeats: Ints) -> Tensor:
    """Copies of the whole tensor side by side, so many along each axis."""
@overload
def repeat(input: Tensor, *repeats: int) -> Tensor: ...

@overload
def repeat_interleave(
    input: Tensor,
    repeats: int,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """Each element, or slice of an axis, so many times in a row."""
@overload
def repeat_interleave(
    input: Tensor,
    repeats: Tensor,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor: ...
@overload
def repeat_interleave(repeats: Tensor, *, output_size: int | None = None) -> Tensor: ...

@overload
def reshape(input: Tensor, shape: Ints) -> Tensor:
    """Give a tensor another shape: a view where that is possible, else a copy."""
@overload
def reshape(input: Tensor, *shape: int) -> Tensor: ...

def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """Give a tensor the shape of another."""

def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: a conjugate is made of numbers here, there is none left to work out."""

@overload
def roll(input: Tensor, shifts: Ints, dims: Ints | None = None) -> Tensor:
    """Shift elements along axes; those that leave at one end come in at the other."""
@overload
def roll(input: Tensor, shifts: Ints, *dims: int) -> Tensor: ...

def rot90(input: Tensor, k: int = 1, dims: Ints = (0, 1)) -> Tensor:
    """Turn the plane of two axes by k quarter turns, from the first towards the second."""

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

@overload
def row_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Join one below the other: along the first axis, vectors as rows."""
@overload
def row_stack(*tensors: Tensor) -> Tensor: ...

def rsqrt(input: Tensor) -> Tensor:
    """One over the square root of each element."""

def rsqrt_(input: Tensor) -> Tensor:
    """One over the square root of each element."""

def rsub(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """Subtract input, times alpha, from other."""

@overload
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor | Number,
    src: Tensor | Number,
    *,
    reduce: str | None = None,
) -> Tensor:
    """Write src, or one number, along an axis where an index tensor says; add or multiply it."""
@overload
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor | Number,
    value: Number,
    *,
    reduce: str | None = None,
) -> Tensor: ...

def scatter_add(input: Tensor, dim: int, index: Tensor | Number, src: Tensor | Number) -> Tensor:
    """Add src along an axis where an index tensor says; places may repeat."""

def scatter_reduce(
    input: Tensor,
    dim: int,
    index: Tensor | Number,
    src: Tensor | Number,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """Reduce src into the input along an axis where an index tensor says."""

def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where in a sorted last axis each value would go in: before (left) or behind equal ones."""

def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice of a tensor at one index of an axis, which is dropped."""

def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy with the slice at one index of an axis replaced by src."""

def sgn(input: Tensor) -> Tensor:
    """The sign of each element; complex ones brought to length 1, zero stays zero."""

def sgn_(input: Tensor) -> Tensor:
    """The sign of each element; complex ones brought to length 1, zero stays zero."""

def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)), which maps every number to between 0 and 1."""

def sigmoid_(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)), which maps every number to between 0 and 1."""

def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1 by the sign of each element."""

def sign_(input: Tensor) -> Tensor:
    """-1, 0 or 1 by the sign of each element."""

def signbit(input: Tensor) -> Tensor:
    """Whether an element's sign bit is set: negative numbers and minus zero."""

def sin(input: Tensor) -> Tensor:
    """The sine of each element, in radians."""

def sin_(input: Tensor) -> Tensor:
    """The sine of each element, in radians."""

def sinc(input: Tensor) -> Tensor:
    """sin(πx) / (πx), which is 1 at 0."""

def sinc_(input: Tensor) -> Tensor:
    """sin(πx) / (πx), which is 1 at 0."""

def sinh(input: Tensor) -> Tensor:
    """The hyperbolic sine of each element."""

def sinh_(input: Tensor) -> Tensor:
    """The hyperbolic sine of each element."""

def slice(
    input: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """Every step-th element of an axis from start up to end; ends beyond the axis are cut off."""

def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """A copy with a slice of an axis replaced by src."""

def slogdet(A: Tensor) -> results.linalg_slogdet:
    """Sign (or phase) of each determinant and the logarithm of its size."""

def softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """Exponentials along an axis, divided by their sum."""

@overload
def sort(input: Tensor, dim: int = -1, descending: bool = False) -> results.sort:
    """Sort along an axis; the values, and the indices they had."""
@overload
def sort(
    input: Tensor,
    *,
    stable: bool | None = None,
    dim: int = -1,
    descending: bool = False,
) -> results.sort: ...

@overload
def split(input: Tensor, split_size_or_sections: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut an axis into pieces of one size, or of the sizes in a list."""
@overload
def split(input: Tensor, split_size_or_sections: Ints, dim: int = 0) -> tuple[Tensor, ...]: ...

def split_with_sizes(input: Tensor, split_sizes: Ints, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut an axis into pieces of these sizes."""

def sqrt(input: Tensor) -> Tensor:
    """The square root of each element."""

def sqrt_(input: Tensor) -> Tensor:
    """The square root of each element."""

def square(input: Tensor) -> Tensor:
    """The square of each element."""

def square_(input: Tensor) -> Tensor:
    """The square of each element."""

@overload
def squeeze(input: Tensor, dim: int) -> Tensor:
    """Drop axes of size 1: this one, these, or all."""
@overload
def squeeze(input: Tensor, dim: Ints | None = None) -> Tensor: ...
@overload
def squeeze(input: Tensor, *dim: int) -> Tensor: ...

@overload
def squeeze_(input: Tensor, dim: Ints | None = None) -> Tensor:
    """Drop axes of size 1 in place: those named, or all."""
@overload
def squeeze_(input: Tensor, *dim: int) -> Tensor: ...

def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors of one shape along a new axis."""

@overload
def std(
    input: Tensor,
    dim: Ints | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Tensor:
    """Standard deviation over some axes, or over all: the root of the variance."""
@overload
def std(input: Tensor, *dim: int, correction: float | None = None, keepdim: bool = False) -> Tensor: ...
@overload
def std(input: Tensor, unbiased: bool) -> Tensor: ...
@overload
def std(input: Tensor, dim: Ints | None, unbiased: bool, keepdim: bool = False) -> Tensor: ...

@overload
def std_mean(
    input: Tensor,
    dim: Ints | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean over some axes, or over all."""
@overload
def std_mean(
    input: Tensor,
    *dim: int,
    correction: float | None = None,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]: ...
@overload
def std_mean(input: Tensor, unbiased: bool) -> tuple[Tensor, Tensor]: ...
@overload
def std_mean(
    input: Tensor,
    dim: Ints | None,
    unbiased: bool,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]: ...

def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = 'reflect',
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The Fourier transforms of a signal's windows, (…, frequency, time)."""

def sub(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """Subtract other, times alpha, from input."""

def subtract(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """Subtract other, times alpha, from input."""

def sum(
    input: Tensor,
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """Sum over some axes, or over all."""

@overload
def sum_to_size(input: Tensor, size: Ints) -> Tensor:
    """Sum over axes so that the result has a size that broadcasts to the input's."""
@overload
def sum_to_size(input: Tensor, *size: int) -> Tensor: ...

def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> results.svd:
    """Singular values, falling, and vectors of each matrix: input = U diag(S) Vᴴ."""

def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Swap two axes."""

def swapaxes_(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Swap two axes in place."""

def swapdims(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Swap two axes."""

def swapdims_(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two axes in place."""

def t(input: Tensor) -> Tensor:
    """Transpose a matrix; a vector or a scalar stays as it is."""

def t_(input: Tensor) -> Tensor:
    """Swap the axes of a matrix in place; what has fewer axes stays as it is."""

def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements by their place in row-major order; negative places count from the end."""

def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Gather along an axis by indices that broadcast against the tensor; None: of all elements."""

def tan(input: Tensor) -> Tensor:
    """The tangent of each element, in radians."""

def tan_(input: Tensor) -> Tensor:
    """The tangent of each element, in radians."""

def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element."""

def tanh_(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element."""

@overload
def tensor_split(input: Tensor, indices_or_sections: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut an axis into so many pieces as equal as can be, or at the places in a list."""
@overload
def tensor_split(input: Tensor, indices_or_sections: Ints, dim: int = 0) -> tuple[Tensor, ...]: ...
@overload
def tensor_split(
    input: Tensor,
    tensor_indices_or_sections: Tensor,
    dim: int = 0,
) -> tuple[Tensor, ...]: ...

def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sum of products over the last axes of a and the first of b (an int), or over axes named."""

@overload
def tile(input: Tensor, dims: Ints) -> Tensor:
    """Copies of the whole tensor side by side; axes without a number get one."""
@overload
def tile(input: Tensor, *dims: int) -> Tensor: ...

@overload
def to(input: Tensor, dtype: DType, non_blocking: bool = False, copy: bool = False) -> Tensor:
    """Convert to a dtype."""
@overload
def to(
    input: Tensor,
    device: str,
    dtype: DType | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    *,
    requires_grad: bool = False,
) -> Tensor: ...
@overload
def to(input: Tensor, other: Tensor, non_blocking: bool = False, copy: bool = False) -> Tensor: ...

def topk(
    input: Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
) -> results.topk:
    """The k largest (or smallest) elements along an axis in order, and their indices."""

def trace(input: Tensor) -> Tensor:
    """The sum of a matrix' diagonal."""

def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two axes."""

def transpose_(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two axes in place."""

def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The integral along an axis by the trapezoidal rule, over sample points x or steps dx."""

def trapz(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The integral along an axis by the trapezoidal rule, over sample points x or steps dx."""

def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> results.triangular_solve:
    """The X of each triangular system A X = input (Aᵀ X = input), and A."""

def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrix on and below a diagonal; zeros above."""

def tril_(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrix on and below a diagonal; zeros above."""

def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Rows and columns of the elements on and below a diagonal, in row order."""

def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrix on and above a diagonal; zeros below."""

def triu_(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrix on and above a diagonal; zeros below."""

def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Rows and columns of the elements on and above a diagonal, in row order."""

@overload
def true_divide(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Divide input by other; ints give floats."""
@overload
def true_divide(input: Tensor, other: Tensor | Number, *, rounding_mode: str | None) -> Tensor: ...

def trunc(input: Tensor) -> Tensor:
    """Each element without its fraction."""

def trunc_(input: Tensor) -> Tensor:
    """Each element without its fraction."""

def type_as(input: Tensor, other: Tensor) -> Tensor:
    """Convert to the dtype of another tensor."""

def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """All slices along an axis, which is dropped."""

@overload
def unflatten(input: Tensor, dim: int, sizes: Ints) -> Tensor:
    """Unfold one axis into several; one of the sizes may be -1."""
@overload
def unflatten(input: Tensor, dim: int, *sizes: int) -> Tensor: ...

def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """All windows of a size along an axis, step apart; the window is the last axis."""

def uniform_(
    input: Tensor,
    from_: float = 0.0,
    to: float = 1.0,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with random numbers, equally likely anywhere from one bound up to another."""

@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor:
    """The distinct elements, or slices along an axis, in order."""
@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Tensor | tuple[Tensor, ...]: ...

@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor:
    """The first of each run of equal elements, or of equal slices along an axis."""
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Tensor | tuple[Tensor, ...]: ...

def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Insert an axis of size 1."""

def unsqueeze_(input: Tensor, dim: int) -> Tensor:
    """Insert an axis of size 1 in place."""

@overload
def var(
    input: Tensor,
    dim: Ints | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Tensor:
    """Variance over some axes, or over all, divided by n - correction (1 unless given)."""
@overload
def var(input: Tensor, *dim: int, correction: float | None = None, keepdim: bool = False) -> Tensor: ...
@overload
def var(input: Tensor, unbiased: bool) -> Tensor: ...
@overload
def var(input: Tensor, dim: Ints | None, unbiased: bool, keepdim: bool = False) -> Tensor: ...

@overload
def var_mean(
    input: Tensor,
    dim: Ints | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]:
    """Variance and mean over some axes, or over all."""
@overload
def var_mean(
    input: Tensor,
    *dim: int,
    correction: float | None = None,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]: ...
@overload
def var_mean(input: Tensor, unbiased: bool) -> tuple[Tensor, Tensor]: ...
@overload
def var_mean(
    input: Tensor,
    dim: Ints | None,
    unbiased: bool,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]: ...

def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Inner product of two vectors, the first conjugated."""

def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Inner products of vectors along an axis, the first conjugated."""

@overload
def view(input: Tensor, size: Ints) -> Tensor:
    """See a tensor in another shape, sharing memory; an error where that takes a copy."""
@overload
def view(input: Tensor, *size: int) -> Tensor: ...

def view_as(input: Tensor, other: Tensor) -> Tensor:
    """See a tensor in the shape of another."""

def view_as_complex(input: Tensor) -> Tensor:
    """See pairs of real numbers, along the last axis, as complex ones."""

def view_as_real(input: Tensor) -> Tensor:
    """See complex numbers as pairs of real ones, along a new last axis."""

@overload
def vsplit(input: Tensor, indices_or_sections: int) -> tuple[Tensor, ...]:
    """Cut into equal pieces, or at places, along the first axis."""
@overload
def vsplit(input: Tensor, indices_or_sections: Ints) -> tuple[Tensor, ...]: ...
@overload
def vsplit(input: Tensor, *indices_or_sections: int) -> tuple[Tensor, ...]: ...

@overload
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join one below the other: along the first axis, vectors as rows."""
@overload
def vstack(*tensors: Tensor) -> Tensor: ...

@overload
def where(condition: Tensor | Number, input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Take elements of input where the condition holds, of other elsewhere."""
@overload
def where(condition: Tensor) -> Tensor: ...

def xlogy(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """input log(other), which is 0 where input is 0, unless other is NaN."""

def zero_(input: Tensor) -> Tensor:
    """Set every element to zero."""

@overload
def zeros(
    size: Ints,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Zeros of a size."""
@overload
def zeros(
    *size: int,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor: ...

def zeros_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Zeros in the shape, dtype and device of another tensor."""
