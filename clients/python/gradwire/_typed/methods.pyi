"""The methods of a tensor that are ops.

Made from the catalogue by `make docs`.
"""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self, overload
from gradwire._typed import results
from gradwire._typed.arguments import Device, Ints, Number
from gradwire.autograd.hooks import RemovableHandle
from gradwire.random import Generator
from gradwire.tensor import Tensor
from gradwire_engine.spec import DType

class Methods:
    @property
    def H(self) -> Tensor:
        """Transpose a matrix and conjugate it."""

    @property
    def T(self) -> Tensor:
        """Reverse the order of all axes."""

    def __abs__(self) -> Tensor:
        """The absolute value of each element; the length of complex ones."""

    def __add__(self, other: Tensor | Number) -> Tensor:
        """Add other, times alpha, to input."""

    def __and__(self, other: Tensor | Number) -> Tensor:
        """The bits that both elements have."""

    def __array_wrap__(self, array: Any, context: Any=None, return_scalar: builtins.bool=False) -> Tensor:
        """What NumPy made of the tensor, as one; bools as bytes, as in torch."""

    def __div__(self, other: Tensor | Number) -> Tensor:
        """Divide input by other; ints give floats."""

    def __eq__(self, other: Tensor | Number) -> Tensor:  # type: ignore[override]
        """Whether two elements are equal."""

    def __floordiv__(self, other: Tensor | Number) -> Tensor:
        """The quotient rounded down; it has no derivative."""

    def __ge__(self, other: Tensor | Number) -> Tensor:
        """Whether input is greater than or equal to other."""

    def __getitem__(self, index: Any) -> Tensor:
        """Index with ints, slices, None, Ellipsis, lists and tensors of ints or bools."""

    def __gt__(self, other: Tensor | Number) -> Tensor:
        """Whether input is greater than other."""

    def __iabs__(self) -> Self:
        """The absolute value of each element; the length of complex ones."""

    def __iadd__(self, other: Tensor | Number) -> Self:
        """Add other, times alpha, to input."""

    def __iand__(self, other: Tensor | Number) -> Self:
        """The bits that both elements have."""

    def __idiv__(self, other: Tensor | Number) -> Self:
        """Divide input by other; ints give floats."""

    def __ieq__(self, other: Tensor | Number) -> Self:
        """Whether two elements are equal."""

    def __ifloordiv__(self, other: Tensor | Number) -> Self:
        """The quotient rounded down; it has no derivative."""

    def __ige__(self, other: Tensor | Number) -> Self:
        """Whether input is greater than or equal to other."""

    def __igt__(self, other: Tensor | Number) -> Self:
        """Whether input is greater than other."""

    def __iinvert__(self) -> Self:
        """All bits turned over; logical not of bools."""

    def __ile__(self, other: Tensor | Number) -> Self:
        """Whether input is less than or equal to other."""

    def __ilshift__(self, other: Tensor | Number) -> Self:
        """Bits moved up by other places; nothing is left after a whole width."""

    def __ilt__(self, other: Tensor | Number) -> Self:
        """Whether input is less than other."""

    def __imod__(self, other: Tensor | Number) -> Self:
        """The rest of a division, with the sign of the divisor."""

    def __imul__(self, other: Tensor | Number) -> Self:
        """Multiply input by other."""

    def __ine__(self, other: Tensor | Number) -> Self:
        """Whether two elements differ; NaN differs from everything."""

    def __ineg__(self) -> Self:
        """Negate each element."""

    def __invert__(self) -> Tensor:
        """All bits turned over; logical not of bools."""

    def __ior__(self, other: Tensor | Number) -> Self:
        """The bits that at least one element has."""

    def __ipow__(self, exponent: Tensor | Number) -> Self:
        """Raise input to the power of exponent."""

    def __isub__(self, other: Tensor | Number) -> Self:
        """Subtract other, times alpha, from input."""

    def __itruediv__(self, other: Tensor | Number) -> Self:
        """Divide input by other; ints give floats."""

    def __ixor__(self, other: Tensor | Number) -> Self:
        """The bits that just one of two elements has."""

    def __le__(self, other: Tensor | Number) -> Tensor:
        """Whether input is less than or equal to other."""

    def __lshift__(self, other: Tensor | Number) -> Tensor:
        """Bits moved up by other places; nothing is left after a whole width."""

    def __lt__(self, other: Tensor | Number) -> Tensor:
        """Whether input is less than other."""

    def __matmul__(self, other: Tensor) -> Tensor:
        """Matrix product of vectors, matrices or broadcast stacks of matrices."""

    def __mod__(self, other: Tensor | Number) -> Tensor:
        """The rest of a division, with the sign of the divisor."""

    def __mul__(self, other: Tensor | Number) -> Tensor:
        """Multiply input by other."""

    def __ne__(self, other: Tensor | Number) -> Tensor:  # type: ignore[override]
        """Whether two elements differ; NaN differs from everything."""

    def __neg__(self) -> Tensor:
        """Negate each element."""

    def __or__(self, other: Tensor | Number) -> Tensor:
        """The bits that at least one element has."""

    def __pos__(self) -> Tensor:
        """The tensor itself; not defined for bools."""

    def __pow__(self, exponent: Tensor | Number) -> Tensor:
        """Raise input to the power of exponent."""

    def __radd__(self, other: Tensor | Number) -> Tensor:
        """Add other, times alpha, to input."""

    def __rand__(self, other: Tensor | Number) -> Tensor:
        """The bits that both elements have."""

    def __rdiv__(self, other: Tensor | Number) -> Tensor:
        """Divide other by input."""

    def __rfloordiv__(self, other: Tensor | Number) -> Tensor:
        """Other divided by input, rounded down."""

    def __rlshift__(self, other: Tensor | Number) -> Tensor:
        """The bits of other moved up by input places."""

    def __rmatmul__(self, other: Tensor | Number) -> Tensor:
        """The matrix product of other and input."""

    def __rmod__(self, other: Tensor | Number) -> Tensor:
        """The rest of dividing other by input."""

    def __rmul__(self, other: Tensor | Number) -> Tensor:
        """Multiply input by other."""

    def __ror__(self, other: Tensor | Number) -> Tensor:
        """The bits that at least one element has."""

    def __rpow__(self, other: Tensor | Number) -> Tensor:
        """Raise other to the power of input."""

    def __rrshift__(self, other: Tensor | Number) -> Tensor:
        """The bits of other moved down by input places."""

    def __rshift__(self, other: Tensor | Number) -> Tensor:
        """Bits moved down by other places; only the sign is left after a whole width."""

    def __rsub__(self, other: Tensor | Number) -> Tensor:
        """Subtract input, times alpha, from other."""

    def __rtruediv__(self, other: Tensor | Number) -> Tensor:
        """Divide other by input."""

    def __rxor__(self, other: Tensor | Number) -> Tensor:
        """The bits that just one of two elements has."""

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write to the part of the tensor that the index shows."""

    def __sub__(self, other: Tensor | Number) -> Tensor:
        """Subtract other, times alpha, from input."""

    def __truediv__(self, other: Tensor | Number) -> Tensor:
        """Divide input by other; ints give floats."""

    def __xor__(self, other: Tensor | Number) -> Tensor:
        """The bits that just one of two elements has."""

    def _is_view(self) -> builtins.bool:
        """Whether writes go to the elements of another tensor, of which it has its history."""

    def abs(self) -> Tensor:
        """The absolute value of each element; the length of complex ones."""

    def abs_(self) -> Self:
        """The absolute value of each element; the length of complex ones."""

    def absolute(self) -> Tensor:
        """The absolute value of each element; the length of complex ones."""

    def absolute_(self) -> Self:
        """The absolute value of each element; the length of complex ones."""

    def acos(self) -> Tensor:
        """The angle, from 0 to π, whose cosine each element is."""

    def acos_(self) -> Self:
        """The angle, from 0 to π, whose cosine each element is."""

    def acosh(self) -> Tensor:
        """The number, 0 or more, whose hyperbolic cosine each element is."""

    def acosh_(self) -> Self:
        """The number, 0 or more, whose hyperbolic cosine each element is."""

    def adaptive_avg_pool1d(self, output_size: Any) -> Tensor:
        """The means of so many windows, spread evenly over the last axis."""

    def adaptive_avg_pool2d(self, output_size: Any) -> Tensor:
        """The means of so many windows, spread evenly over the last 2 axes."""

    def adaptive_avg_pool3d(self, output_size: Any) -> Tensor:
        """The means of so many windows, spread evenly over the last 3 axes."""

    @overload
    def adaptive_max_pool1d(
        self,
        output_size: Any,
        return_indices: Literal[False] = False,
    ) -> Tensor:
        """The maxima of so many windows, spread evenly over the last axis."""
    @overload
    def adaptive_max_pool1d(
        self,
        output_size: Any,
        *,
        return_indices: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def adaptive_max_pool1d(
        self,
        output_size: Any,
        return_indices: builtins.bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]: ...

    @overload
    def adaptive_max_pool2d(
        self,
        output_size: Any,
        return_indices: Literal[False] = False,
    ) -> Tensor:
        """The maxima of so many windows, spread evenly over the last 2 axes."""
    @overload
    def adaptive_max_pool2d(
        self,
        output_size: Any,
        *,
        return_indices: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def adaptive_max_pool2d(
        self,
        output_size: Any,
        return_indices: builtins.bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]: ...

    @overload
    def adaptive_max_pool3d(
        self,
        output_size: Any,
        return_indices: Literal[False] = False,
    ) -> Tensor:
        """The maxima of so many windows, spread evenly over the last 3 axes."""
    @overload
    def adaptive_max_pool3d(
        self,
        output_size: Any,
        *,
        return_indices: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def adaptive_max_pool3d(
        self,
        output_size: Any,
        return_indices: builtins.bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]: ...

    def add(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """Add other, times alpha, to input."""

    def add_(self, other: Tensor | Number, *, alpha: Number = 1) -> Self:
        """Add other, times alpha, to input."""

    def addbmm(
        self,
        batch1: Tensor | Number,
        batch2: Tensor | Number,
        *,
        beta: Number = 1,
        alpha: Number = 1,
    ) -> Tensor:
        """Add a sum of products of matrices: beta input + alpha Σ batch1 batch2."""

    def addbmm_(
        self,
        batch1: Tensor | Number,
        batch2: Tensor | Number,
        *,
        beta: Number = 1,
        alpha: Number = 1,
    ) -> Self:
        """Add a sum of products of matrices: beta input + alpha Σ batch1 batch2."""

    def addcdiv(
        self,
        tensor1: Tensor | Number,
        tensor2: Tensor | Number,
        *,
        value: Number = 1,
    ) -> Tensor:
        """Add the quotient of two tensors, times value, to input."""

    def addcdiv_(
        self,
        tensor1: Tensor | Number,
        tensor2: Tensor | Number,
        *,
        value: Number = 1,
    ) -> Self:
        """Add the quotient of two tensors, times value, to input."""

    def addcmul(
        self,
        tensor1: Tensor | Number,
        tensor2: Tensor | Number,
        *,
        value: Number = 1,
    ) -> Tensor:
        """Add the product of two tensors, times value, to input."""

    def addcmul_(
        self,
        tensor1: Tensor | Number,
        tensor2: Tensor | Number,
        *,
        value: Number = 1,
    ) -> Self:
        """Add the product of two tensors, times value, to input."""

    def addmm(
        self,
        mat1: Tensor | Number,
        mat2: Tensor | Number,
        *,
        beta: Number = 1,
        alpha: Number = 1,
    ) -> Tensor:
        """Add a product of two matrices: beta input + alpha mat1 mat2."""

    def addmm_(
        self,
        mat1: Tensor | Number,
        mat2: Tensor | Number,
        *,
        beta: Number = 1,
        alpha: Number = 1,
    ) -> Self:
        """Add a product of two matrices: beta input + alpha mat1 mat2."""

    def addmv(
        self,
        mat: Tensor | Number,
        vec: Tensor | Number,
        *,
        beta: Number = 1,
        alpha: Number = 1,
    ) -> Tensor:
        """Add a product of a matrix and a vector: beta input + alpha mat vec."""

    def addmv_(
        self,
        mat: Tensor | Number,
        vec: Tensor | Number,
        *,
        beta: Number = 1,
        alpha: Number = 1,
    ) -> Self:
        """Add a product of a matrix and a vector: beta input + alpha mat vec."""

    def addr(
        self,
        vec1: Tensor | Number,
        vec2: Tensor | Number,
        *,
        beta: Number = 1,
        alpha: Number = 1,
    ) -> Tensor:
        """Add the products of two vectors' elements: beta input + alpha vec1 vec2ᵀ."""

    def addr_(
        self,
        vec1: Tensor | Number,
        vec2: Tensor | Number,
        *,
        beta: Number = 1,
        alpha: Number = 1,
    ) -> Self:
        """Add the products of two vectors' elements: beta input + alpha vec1 vec2ᵀ."""

    def adjoint(self) -> Tensor:
        """Transpose the last two axes and conjugate."""

    def affine_grid(self, size: Ints, align_corners: builtins.bool | None = None) -> Tensor:
        """The grid for grid_sample that affine maps (N, 2, 3) or (N, 3, 4) make, for a result size."""

    def all(self, dim: Ints | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Whether all elements are true (not 0)."""

    def allclose(
        self,
        other: Tensor,
        rtol: builtins.float = 1e-05,
        atol: builtins.float = 1e-08,
        equal_nan: builtins.bool = False,
    ) -> builtins.bool:
        """Whether all elements are close: |input - other| <= atol + rtol |other|."""

    def alpha_dropout(self, p: builtins.float = 0.5, training: builtins.bool = False) -> Tensor:
        """Dropout for SELU networks: keeps mean and variance."""

    def alpha_dropout_(self, p: builtins.float = 0.5, training: builtins.bool = False) -> Self:
        """Dropout for SELU networks: keeps mean and variance."""

    def amax(self, dim: Ints | None = (), keepdim: builtins.bool = False) -> Tensor:
        """The largest element over some axes, or over all."""

    def amin(self, dim: Ints | None = (), keepdim: builtins.bool = False) -> Tensor:
        """The smallest element over some axes, or over all."""

    def aminmax(self, *, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> results.aminmax:
        """The smallest and the largest element along an axis, or of all."""

    def angle(self) -> Tensor:
        """The angle of each element in the complex plane, in radians; 0 or π where real."""

    def any(self, dim: Ints | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Whether any element is true (not 0)."""

    def arccos(self) -> Tensor:
        """The angle, from 0 to π, whose cosine each element is."""

    def arccos_(self) -> Self:
        """The angle, from 0 to π, whose cosine each element is."""

    def arccosh(self) -> Tensor:
        """The number, 0 or more, whose hyperbolic cosine each element is."""

    def arccosh_(self) -> Self:
        """The number, 0 or more, whose hyperbolic cosine each element is."""

    def arcsin(self) -> Tensor:
        """The angle, from -π/2 to π/2, whose sine each element is."""

    def arcsin_(self) -> Self:
        """The angle, from -π/2 to π/2, whose sine each element is."""

    def arcsinh(self) -> Tensor:
        """The number whose hyperbolic sine each element is."""

    def arcsinh_(self) -> Self:
        """The number whose hyperbolic sine each element is."""

    def arctan(self) -> Tensor:
        """The angle, from -π/2 to π/2, whose tangent each element is."""

    def arctan2(self, other: Tensor | Number) -> Tensor:
        """The angle of the point (other, input) in the plane, in radians from -π to π."""

    def arctan2_(self, other: Tensor | Number) -> Self:
        """The angle of the point (other, input) in the plane, in radians from -π to π."""

    def arctan_(self) -> Self:
        """The angle, from -π/2 to π/2, whose tangent each element is."""

    def arctanh(self) -> Tensor:
        """The number whose hyperbolic tangent each element is."""

    def arctanh_(self) -> Self:
        """The number whose hyperbolic tangent each element is."""

    def argmax(self, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> Tensor:
        """The index of the largest element along an axis, or among all in row-major order."""

    def argmin(self, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> Tensor:
        """The index of the smallest element along an axis, or among all in row-major order."""

    def argsort(self, dim: builtins.int = -1, descending: builtins.bool = False, *, stable: builtins.bool = False) -> Tensor:
        """The indices that sort an axis."""

    def argwhere(self) -> Tensor:
        """The indices of the elements that are not zero, a row each."""

    def as_strided(self, size: Ints, stride: Ints, storage_offset: builtins.int | None = None) -> Tensor:
        """See a tensor's memory by size and stride; offsets count from where its storage begins."""

    def as_strided_scatter(
        self,
        src: Tensor,
        size: Ints,
        stride: Ints,
        storage_offset: builtins.int | None = None,
    ) -> Tensor:
        """A copy with the elements that as_strided would show replaced by src."""

    def asin(self) -> Tensor:
        """The angle, from -π/2 to π/2, whose sine each element is."""

    def asin_(self) -> Self:
        """The angle, from -π/2 to π/2, whose sine each element is."""

    def asinh(self) -> Tensor:
        """The number whose hyperbolic sine each element is."""

    def asinh_(self) -> Self:
        """The number whose hyperbolic sine each element is."""

    def atan(self) -> Tensor:
        """The angle, from -π/2 to π/2, whose tangent each element is."""

    def atan2(self, other: Tensor | Number) -> Tensor:
        """The angle of the point (other, input) in the plane, in radians from -π to π."""

    def atan2_(self, other: Tensor | Number) -> Self:
        """The angle of the point (other, input) in the plane, in radians from -π to π."""

    def atan_(self) -> Self:
        """The angle, from -π/2 to π/2, whose tangent each element is."""

    def atanh(self) -> Tensor:
        """The number whose hyperbolic tangent each element is."""

    def atanh_(self) -> Self:
        """The number whose hyperbolic tangent each element is."""

    def atleast_1d(self) -> Tensor:
        """See a scalar as a vector of one element; several tensors one by one."""

    def atleast_2d(self) -> Tensor:
        """See a tensor with at least two axes, new ones in front; several tensors one by one."""

    def atleast_3d(self) -> Tensor:
        """See a tensor with at least three axes; several tensors one by one."""

    def avg_pool1d(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        ceil_mode: builtins.bool = False,
        count_include_pad: builtins.bool = True,
    ) -> Tensor:
        """The means of windows that slide over the last axis."""

    def avg_pool2d(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        ceil_mode: builtins.bool = False,
        count_include_pad: builtins.bool = True,
        divisor_override: builtins.int | None = None,
    ) -> Tensor:
        """The means of windows that slide over the last 2 axes."""

    def avg_pool3d(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        ceil_mode: builtins.bool = False,
        count_include_pad: builtins.bool = True,
        divisor_override: builtins.int | None = None,
    ) -> Tensor:
        """The means of windows that slide over the last 3 axes."""

    def backward(self, gradient: Tensor | None=None, retain_graph: builtins.bool | None=None, create_graph: builtins.bool=False, inputs: Any=None) -> None:
        """Add the gradients of this tensor into the leaves' `.grad`."""

    def baddbmm(
        self,
        batch1: Tensor | Number,
        batch2: Tensor | Number,
        *,
        beta: Number = 1,
        alpha: Number = 1,
    ) -> Tensor:
        """Add a stack of products of matrices: beta input + alpha batch1 batch2."""

    def baddbmm_(
        self,
        batch1: Tensor | Number,
        batch2: Tensor | Number,
        *,
        beta: Number = 1,
        alpha: Number = 1,
    ) -> Self:
        """Add a stack of products of matrices: beta input + alpha batch1 batch2."""

    def batch_norm(
        self,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        training: builtins.bool = False,
        momentum: builtins.float = 0.1,
        eps: builtins.float = 1e-05,
    ) -> Tensor:
        """Normalise each channel, by the batch in training (updating what runs), else by what ran."""

    @overload
    def bernoulli(self, *, generator: Generator | None = None) -> Tensor:
        """1 with the probability that each element gives, else 0."""
    @overload
    def bernoulli(self, p: builtins.float, *, generator: Generator | None = None) -> Tensor: ...

    def bernoulli_(self, p: builtins.float = 0.5, *, generator: Generator | None = None) -> Self:
        """Fill with 1, with a probability, and 0."""

    def bfloat16(self) -> Tensor:
        """Convert to bfloat16."""

    def bilinear(self, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """input1ᵀ weight[k] input2 for each output k, plus bias."""

    def binary_cross_entropy(
        self,
        target: Tensor,
        weight: Tensor | None = None,
        size_average: builtins.bool | None = None,
        reduce: builtins.bool | None = None,
        reduction: str = 'mean',
    ) -> Tensor:
        """Cross entropy of probabilities between 0 and 1; logarithms are cut off at -100."""

    def binary_cross_entropy_with_logits(
        self,
        target: Tensor,
        weight: Tensor | None = None,
        size_average: builtins.bool | None = None,
        reduce: builtins.bool | None = None,
        reduction: str = 'mean',
        pos_weight: Tensor | None = None,
    ) -> Tensor:
        """Cross entropy of probabilities, given as logits: sigmoid is taken here, without overflow."""

    def bincount(self, weights: Tensor | None = None, minlength: builtins.int = 0) -> Tensor:
        """How often each integer from 0 on occurs, or the sum of its weights."""

    def bitwise_and(self, other: Tensor | Number) -> Tensor:
        """The bits that both elements have."""

    def bitwise_and_(self, other: Tensor | Number) -> Self:
        """The bits that both elements have."""

    def bitwise_left_shift(self, other: Tensor | Number) -> Tensor:
        """Bits moved up by other places; nothing is left after a whole width."""

    def bitwise_left_shift_(self, other: Tensor | Number) -> Self:
        """Bits moved up by other places; nothing is left after a whole width."""

    def bitwise_not(self) -> Tensor:
        """All bits turned over; logical not of bools."""

    def bitwise_not_(self) -> Self:
        """All bits turned over; logical not of bools."""

    def bitwise_or(self, other: Tensor | Number) -> Tensor:
        """The bits that at least one element has."""

    def bitwise_or_(self, other: Tensor | Number) -> Self:
        """The bits that at least one element has."""

    def bitwise_right_shift(self, other: Tensor | Number) -> Tensor:
        """Bits moved down by other places; only the sign is left after a whole width."""

    def bitwise_right_shift_(self, other: Tensor | Number) -> Self:
        """Bits moved down by other places; only the sign is left after a whole width."""

    def bitwise_xor(self, other: Tensor | Number) -> Tensor:
        """The bits that just one of two elements has."""

    def bitwise_xor_(self, other: Tensor | Number) -> Self:
        """The bits that just one of two elements has."""

    def bmm(self, mat2: Tensor) -> Tensor:
        """Products of two equally long stacks of matrices."""

    def bool(self) -> Tensor:
        """Convert to bool."""

    @overload
    def broadcast_to(self, size: Ints) -> Tensor:
        """Expand a tensor to a shape."""
    @overload
    def broadcast_to(self, *size: builtins.int) -> Tensor: ...

    def bucketize(
        self,
        boundaries: Tensor,
        *,
        out_int32: builtins.bool = False,
        right: builtins.bool = False,
    ) -> Tensor:
        """Which interval between sorted boundaries each value falls into."""

    def byte(self) -> Tensor:
        """Convert to uint8."""

    def cauchy_(self, median: builtins.float=0, sigma: builtins.float=1, *, generator: Any=None) -> Tensor:
        """Numbers of the Cauchy distribution."""

    def cdist(
        self,
        x2: Tensor,
        p: builtins.float = 2.0,
        compute_mode: str = 'use_mm_for_euclid_dist_if_necessary',
    ) -> Tensor:
        """The p-norm distances of each row of x1 to each row of x2."""

    def cdouble(self) -> Tensor:
        """Convert to complex128."""

    def ceil(self) -> Tensor:
        """The smallest integer that is not below each element."""

    def ceil_(self) -> Self:
        """The smallest integer that is not below each element."""

    def celu(self, alpha: builtins.float = 1.0) -> Tensor:
        """x where positive, else alpha (exp(x / alpha) - 1)."""

    def celu_(self, alpha: builtins.float = 1.0) -> Self:
        """x where positive, else alpha (exp(x / alpha) - 1)."""

    def cfloat(self) -> Tensor:
        """Convert to complex64."""

    def channel_shuffle(self, groups: builtins.int) -> Tensor:
        """Deal the channels out to groups, as cards are: (g n) channels become (n g)."""

    def char(self) -> Tensor:
        """Convert to int8."""

    def cholesky(self, upper: builtins.bool = False) -> Tensor:
        """The triangular Cholesky factor of each positive definite matrix."""

    def cholesky_ex(
        self,
        *,
        upper: builtins.bool = False,
        check_errors: builtins.bool = False,
    ) -> results.linalg_cholesky_ex:
        """The Cholesky factor of each matrix, and an info that is not 0 where there is none."""

    def cholesky_inverse(self, upper: builtins.bool = False) -> Tensor:
        """The inverse of each matrix whose Cholesky factor is given."""

    def cholesky_solve(self, L: Tensor, upper: builtins.bool = False) -> Tensor:
        """The X of each system A X = input, where A is given by its Cholesky factor."""

    def chunk(self, chunks: builtins.int, dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """Cut an axis into so many pieces of one size, the last of which may be smaller or missing."""

    def clamp(
        self,
        min: Tensor | Number | None = None,
        max: Tensor | Number | None = None,
    ) -> Tensor:
        """Limit each element to between min and max; max wins where they cross."""

    def clamp_(
        self,
        min: Tensor | Number | None = None,
        max: Tensor | Number | None = None,
    ) -> Self:
        """Limit each element to between min and max; max wins where they cross."""

    def clamp_max(self, max: Tensor | Number) -> Tensor:
        """Limit each element from above."""

    def clamp_max_(self, max: Tensor | Number) -> Self:
        """Limit each element from above."""

    def clamp_min(self, min: Tensor | Number) -> Tensor:
        """Limit each element from below."""

    def clamp_min_(self, min: Tensor | Number) -> Self:
        """Limit each element from below."""

    def clip(
        self,
        min: Tensor | Number | None = None,
        max: Tensor | Number | None = None,
    ) -> Tensor:
        """Limit each element to between min and max; max wins where they cross."""

    def clip_(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Self:
        """Limit each element to between min and max; max wins where they cross."""

    def clone(self) -> Tensor:
        """Copy a tensor; gradients flow back to it unchanged."""

    def combinations(self, r: builtins.int = 2, with_replacement: builtins.bool = False) -> Tensor:
        """All combinations of r elements of a vector, in the vector's order, a row each."""

    def complex(self, imag: Tensor | Number) -> Tensor:
        """Complex numbers from real and imaginary parts."""

    def cond(self, p: Any = None) -> Tensor:
        """The condition number of each matrix: its norm times that of its inverse."""

    def conj(self) -> Tensor:
        """The complex conjugate of each element; the tensor itself where real."""

    def conj_physical(self) -> Tensor:
        """The complex conjugate of each element; the tensor itself where real."""

    def conj_physical_(self) -> Self:
        """The complex conjugate of each element; the tensor itself where real."""

    def constant_pad_nd(self, pad: Ints, value: Number = 0) -> Tensor:
        """Pad with a number; negative pads cut off."""

    def contiguous(self) -> Tensor:
        """The tensor itself where it is row-major, else a row-major copy."""

    @overload
    def conv1d(
        self,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Ints = (1,),
        padding: Ints = (0,),
        dilation: Ints = (1,),
        groups: builtins.int = 1,
    ) -> Tensor:
        """Slide a weight (O, C / groups, ...) over signals (N, C, L) and sum the products."""
    @overload
    def conv1d(
        self,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Ints = (1,),
        padding: str = 'valid',
        dilation: Ints = (1,),
        groups: builtins.int = 1,
    ) -> Tensor: ...

    @overload
    def conv2d(
        self,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Ints = (1,),
        padding: Ints = (0,),
        dilation: Ints = (1,),
        groups: builtins.int = 1,
    ) -> Tensor:
        """Slide a weight (O, C / groups, ...) over images (N, C, H, W) and sum the products."""
    @overload
    def conv2d(
        self,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Ints = (1,),
        padding: str = 'valid',
        dilation: Ints = (1,),
        groups: builtins.int = 1,
    ) -> Tensor: ...

    @overload
    def conv3d(
        self,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Ints = (1,),
        padding: Ints = (0,),
        dilation: Ints = (1,),
        groups: builtins.int = 1,
    ) -> Tensor:
        """Slide a weight (O, C / groups, ...) over volumes (N, C, D, H, W) and sum the products."""
    @overload
    def conv3d(
        self,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Ints = (1,),
        padding: str = 'valid',
        dilation: Ints = (1,),
        groups: builtins.int = 1,
    ) -> Tensor: ...

    def conv_transpose1d(
        self,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Ints = (1,),
        padding: Ints = (0,),
        output_padding: Ints = (0,),
        groups: builtins.int = 1,
        dilation: Ints = (1,),
    ) -> Tensor:
        """Spread each element of signals (N, C, L) over the window of a convolution's weight."""

    def conv_transpose2d(
        self,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Ints = (1,),
        padding: Ints = (0,),
        output_padding: Ints = (0,),
        groups: builtins.int = 1,
        dilation: Ints = (1,),
    ) -> Tensor:
        """Spread each element of images (N, C, H, W) over the window of a convolution's weight."""

    def conv_transpose3d(
        self,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Ints = (1,),
        padding: Ints = (0,),
        output_padding: Ints = (0,),
        groups: builtins.int = 1,
        dilation: Ints = (1,),
    ) -> Tensor:
        """Spread each element of volumes (N, C, D, H, W) over the window of a convolution's weight."""

    def copy_(self, src: Tensor | Number) -> Self:
        """Copy elements from another tensor, broadcast and converted to this one's dtype."""

    def copysign(self, other: Tensor | Number) -> Tensor:
        """The size of input with the sign of other."""

    def copysign_(self, other: Tensor | Number) -> Self:
        """The size of input with the sign of other."""

    def corrcoef(self) -> Tensor:
        """Correlation coefficients of variables (rows) over observations (columns)."""

    def cos(self) -> Tensor:
        """The cosine of each element, in radians."""

    def cos_(self) -> Self:
        """The cosine of each element, in radians."""

    def cosh(self) -> Tensor:
        """The hyperbolic cosine of each element."""

    def cosh_(self) -> Self:
        """The hyperbolic cosine of each element."""

    def cosine_embedding_loss(
        self,
        input2: Tensor,
        target: Tensor,
        margin: builtins.float = 0,
        size_average: builtins.bool | None = None,
        reduce: builtins.bool | None = None,
        reduction: str = 'mean',
    ) -> Tensor:
        """1 - cosine of the angle where target is 1, the cosine beyond the margin where it is -1."""

    def cosine_similarity(self, x2: Tensor, dim: builtins.int = 1, eps: builtins.float = 1e-08) -> Tensor:
        """The cosine of the angle between vectors along an axis."""

    @overload
    def count_nonzero(self, dim: Ints | None = None) -> Tensor:
        """How many elements are not 0."""
    @overload
    def count_nonzero(self, *dim: builtins.int) -> Tensor: ...

    def cov(
        self,
        *,
        correction: builtins.int = 1,
        fweights: Tensor | None = None,
        aweights: Tensor | None = None,
    ) -> Tensor:
        """Covariances of variables (rows) over observations (columns), with counts or weights."""

    def cpu(self) -> Tensor:
        """The tensor itself, where the session is on the CPU."""

    def cross(self, other: Tensor, dim: builtins.int | None = None) -> Tensor:
        """The cross product of vectors of three numbers, along the first axis of size 3 by default."""

    def cross_entropy(
        self,
        target: Tensor,
        weight: Tensor | None = None,
        size_average: builtins.bool | None = None,
        ignore_index: builtins.int = -100,
        reduce: builtins.bool | None = None,
        reduction: str = 'mean',
        label_smoothing: builtins.float = 0.0,
    ) -> Tensor:
        """The negated log-probability that softmax of the scores gives each sample's class."""

    @overload
    def ctc_loss(
        self,
        targets: Tensor,
        input_lengths: Tensor,
        target_lengths: Tensor,
        blank: builtins.int = 0,
        reduction: str = 'mean',
        zero_infinity: builtins.bool = False,
    ) -> Tensor:
        """Minus the log probability that sequences of class probabilities spell unaligned targets."""
    @overload
    def ctc_loss(
        self,
        targets: Tensor,
        input_lengths: Ints,
        target_lengths: Ints,
        blank: builtins.int = 0,
        reduction: str = 'mean',
        zero_infinity: builtins.bool = False,
    ) -> Tensor: ...

    def cuda(self, device: Any=None) -> Tensor:
        """The tensor itself, where the session is on that GPU; else refused, saying so."""

    def cummax(self, dim: builtins.int) -> results.cummax:
        """The largest element so far along an axis, and its index."""

    def cummin(self, dim: builtins.int) -> results.cummin:
        """The smallest element so far along an axis, and its index."""

    def cumprod(self, dim: builtins.int, *, dtype: DType | None = None) -> Tensor:
        """Running products along an axis."""

    def cumprod_(self, dim: builtins.int, *, dtype: DType | None = None) -> Self:
        """Running products along an axis."""

    def cumsum(self, dim: builtins.int, *, dtype: DType | None = None) -> Tensor:
        """Running sums along an axis."""

    def cumsum_(self, dim: builtins.int, *, dtype: DType | None = None) -> Self:
        """Running sums along an axis."""

    def cumulative_trapezoid(
        self,
        x: Tensor | None = None,
        *,
        dx: builtins.float = 1,
        dim: builtins.int = -1,
    ) -> Tensor:
        """The integral up to each sample along an axis, by the trapezoidal rule."""

    def deg2rad(self) -> Tensor:
        """Degrees as radians."""

    def deg2rad_(self) -> Self:
        """Degrees as radians."""

    def det(self) -> Tensor:
        """The determinant of each square matrix."""

    def detach_(self) -> Self:
        """Forget the tensor's history in place: it becomes a leaf that requires no grad."""

    def diag(self, diagonal: builtins.int = 0) -> Tensor:
        """Of a vector the matrix with it on a diagonal, of a matrix its diagonal, as a copy."""

    def diag_embed(self, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Tensor:
        """Matrices with the last axis of the input along a diagonal and zeros elsewhere."""

    def diagflat(self, offset: builtins.int = 0) -> Tensor:
        """The matrix with all elements of the input along a diagonal."""

    def diagonal(self, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
        """The diagonal of two axes, as the last axis."""

    def diagonal_scatter(
        self,
        src: Tensor,
        offset: builtins.int = 0,
        dim1: builtins.int = 0,
        dim2: builtins.int = 1,
    ) -> Tensor:
        """A copy with the diagonal of two axes replaced by src."""

    def diff(
        self,
        n: builtins.int = 1,
        dim: builtins.int = -1,
        prepend: Tensor | None = None,
        append: Tensor | None = None,
    ) -> Tensor:
        """Differences of neighbours along an axis, taken n times."""

    def digamma(self) -> Tensor:
        """The derivative of lgamma; it has a pole at each integer up to 0."""

    def digamma_(self) -> Self:
        """The derivative of lgamma; it has a pole at each integer up to 0."""

    def dist(self, other: Tensor, p: builtins.float = 2) -> Tensor:
        """The p-norm of the difference of two tensors."""

    @overload
    def div(self, other: Tensor | Number) -> Tensor:
        """Divide input by other; ints give floats."""
    @overload
    def div(self, other: Tensor | Number, *, rounding_mode: str | None) -> Tensor: ...

    def div_(self, other: Tensor | Number) -> Self:
        """Divide input by other; ints give floats."""

    @overload
    def divide(self, other: Tensor | Number) -> Tensor:
        """Divide input by other; ints give floats."""
    @overload
    def divide(self, other: Tensor | Number, *, rounding_mode: str | None) -> Tensor: ...

    def divide_(self, other: Tensor | Number) -> Self:
        """Divide input by other; ints give floats."""

    def dot(self, tensor: Tensor) -> Tensor:
        """Sum of the products of two vectors' elements."""

    def double(self) -> Tensor:
        """Convert to float64."""

    def dropout(self, p: builtins.float, train: builtins.bool) -> Tensor:
        """In training set each element to zero with probability p and scale the rest by 1 / (1 - p)."""

    def dropout1d(self, p: builtins.float = 0.5, training: builtins.bool = True) -> Tensor:
        """In training set whole channels of sequences to zero with probability p."""

    def dropout1d_(self, p: builtins.float = 0.5, training: builtins.bool = True) -> Self:
        """In training set whole channels of sequences to zero with probability p."""

    def dropout2d(self, p: builtins.float = 0.5, training: builtins.bool = True) -> Tensor:
        """In training set whole channels of images to zero with probability p."""

    def dropout2d_(self, p: builtins.float = 0.5, training: builtins.bool = True) -> Self:
        """In training set whole channels of images to zero with probability p."""

    def dropout3d(self, p: builtins.float = 0.5, training: builtins.bool = True) -> Tensor:
        """In training set whole channels of volumes to zero with probability p."""

    def dropout3d_(self, p: builtins.float = 0.5, training: builtins.bool = True) -> Self:
        """In training set whole channels of volumes to zero with probability p."""

    def dropout_(self, p: builtins.float, train: builtins.bool) -> Self:
        """In training set each element to zero with probability p and scale the rest by 1 / (1 - p)."""

    @overload
    def dsplit(self, indices_or_sections: builtins.int) -> tuple[Tensor, ...]:
        """Cut into equal pieces, or at places, along the third axis."""
    @overload
    def dsplit(self, indices_or_sections: Ints) -> tuple[Tensor, ...]: ...
    @overload
    def dsplit(self, *indices_or_sections: builtins.int) -> tuple[Tensor, ...]: ...

    def eig(self) -> results.linalg_eig:
        """Complex eigenvalues and eigenvectors of each square matrix."""

    def eigh(self, UPLO: str = 'L') -> results.linalg_eigh:
        """Real eigenvalues, rising, and eigenvectors of each Hermitian matrix."""

    def eigvals(self) -> Tensor:
        """The complex eigenvalues of each square matrix."""

    def eigvalsh(self, UPLO: str = 'L') -> Tensor:
        """The real eigenvalues, rising, of each Hermitian matrix."""

    def elu(self, alpha: builtins.float = 1.0) -> Tensor:
        """x where positive, else alpha (exp(x) - 1)."""

    def elu_(self, alpha: builtins.float = 1.0) -> Self:
        """x where positive, else alpha (exp(x) - 1)."""

    def embedding(
        self,
        weight: Tensor,
        padding_idx: builtins.int | None = None,
        max_norm: builtins.float | None = None,
        norm_type: builtins.float = 2.0,
        scale_grad_by_freq: builtins.bool = False,
        sparse: builtins.bool = False,
    ) -> Tensor:
        """The rows of weight that the indices in input name; the row padding_idx gets no gradient."""

    def embedding_bag(
        self,
        weight: Tensor,
        offsets: Tensor | None = None,
        max_norm: builtins.float | None = None,
        norm_type: builtins.float = 2.0,
        scale_grad_by_freq: builtins.bool = False,
        mode: str = 'mean',
        sparse: builtins.bool = False,
        per_sample_weights: Tensor | None = None,
        include_last_offset: builtins.bool = False,
        padding_idx: builtins.int | None = None,
    ) -> Tensor:
        """Sums, means or maxima of bags of a table's rows; offsets say where each bag begins."""

    def empty_like(
        self,
        *,
        dtype: DType | None = None,
        device: Device | None = None,
        requires_grad: builtins.bool = False,
    ) -> Tensor:
        """Zeros in the shape of another tensor, for values to come."""

    def entr(self) -> Tensor:
        """The entropy -x log(x): 0 at 0, minus infinity below."""

    def entr_(self) -> Self:
        """The entropy -x log(x): 0 at 0, minus infinity below."""

    def eq(self, other: Tensor | Number) -> Tensor:
        """Whether two elements are equal."""

    def eq_(self, other: Tensor | Number) -> Self:
        """Whether two elements are equal."""

    def equal(self, other: Tensor) -> builtins.bool:
        """Whether two tensors have the same shape and equal elements; NaN equals nothing."""

    def erf(self) -> Tensor:
        """The error function: 2/√π times the integral of exp(-t²) from 0 to x."""

    def erf_(self) -> Self:
        """The error function: 2/√π times the integral of exp(-t²) from 0 to x."""

    def erfc(self) -> Tensor:
        """One less the error function, exact where that is small."""

    def erfc_(self) -> Self:
        """One less the error function, exact where that is small."""

    def erfcx(self) -> Tensor:
        """exp(x²) times erfc(x), without overflow."""

    def erfcx_(self) -> Self:
        """exp(x²) times erfc(x), without overflow."""

    def erfinv(self) -> Tensor:
        """The number whose error function each element is."""

    def erfinv_(self) -> Self:
        """The number whose error function each element is."""

    def exp(self) -> Tensor:
        """e to the power of each element."""

    def exp2(self) -> Tensor:
        """2 to the power of each element."""

    def exp2_(self) -> Self:
        """2 to the power of each element."""

    def exp_(self) -> Self:
        """e to the power of each element."""

    @overload
    def expand(self, size: Ints) -> Tensor:
        """View axes of size 1 as larger ones; -1 keeps a size."""
    @overload
    def expand(self, *size: builtins.int) -> Tensor: ...

    def expand_as(self, other: Tensor) -> Tensor:
        """Expand a tensor to the shape of another."""

    def expm1(self) -> Tensor:
        """e to the power of each element, less 1, exact near 0."""

    def expm1_(self) -> Self:
        """e to the power of each element, less 1, exact near 0."""

    def exponential_(self, lambd: builtins.float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fill with exponentially distributed random numbers."""

    def feature_alpha_dropout(self, p: builtins.float = 0.5, training: builtins.bool = False) -> Tensor:
        """Alpha dropout of whole channels."""

    def feature_alpha_dropout_(self, p: builtins.float = 0.5, training: builtins.bool = False) -> Self:
        """Alpha dropout of whole channels."""

    def fft(self, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None) -> Tensor:
        """The discrete Fourier transform along an axis."""

    def fft2(self, s: Ints | None = None, dim: Ints = (-2, -1), norm: str | None = None) -> Tensor:
        """The discrete Fourier transform along two axes."""

    def fftn(
        self,
        s: Ints | None = None,
        dim: Ints | None = None,
        norm: str | None = None,
    ) -> Tensor:
        """The discrete Fourier transform along several axes, by default all."""

    @overload
    def fftshift(self, dim: Ints | None = None) -> Tensor:
        """Frequencies in rising order: the zero one moved from the front to the middle."""
    @overload
    def fftshift(self, *dim: builtins.int) -> Tensor: ...

    def fill(self, value: Tensor | Number) -> Tensor:
        """One value in the shape and dtype of a tensor."""

    def fill_(self, value: Tensor | Number) -> Self:
        """One value in the shape and dtype of a tensor."""

    def fill_diagonal_(self, fill_value: builtins.float, wrap: builtins.bool=False) -> Tensor:
        """Write a number to the main diagonal; wrap: of a tall matrix, again below it."""

    def fix(self) -> Tensor:
        """Each element without its fraction."""

    def fix_(self) -> Self:
        """Each element without its fraction."""

    def flatten(self, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor:
        """Fold a run of axes into one."""

    @overload
    def flip(self, dims: Ints) -> Tensor:
        """Turn the order of elements round along some axes."""
    @overload
    def flip(self, *dims: builtins.int) -> Tensor: ...

    def fliplr(self) -> Tensor:
        """Turn each row round."""

    def flipud(self) -> Tensor:
        """Turn the order of rows round."""

    def float(self) -> Tensor:
        """Convert to float32."""

    def float_power(self, exponent: Tensor | Number) -> Tensor:
        """Raise input to the power of exponent, in float64 or complex128."""

    def float_power_(self, exponent: Tensor | Number) -> Self:
        """Raise input to the power of exponent, in float64 or complex128."""

    def floor(self) -> Tensor:
        """The largest integer that is not above each element."""

    def floor_(self) -> Self:
        """The largest integer that is not above each element."""

    def floor_divide(self, other: Tensor | Number) -> Tensor:
        """The quotient rounded down; it has no derivative."""

    def floor_divide_(self, other: Tensor | Number) -> Self:
        """The quotient rounded down; it has no derivative."""

    def fmax(self, other: Tensor | Number) -> Tensor:
        """The larger of two elements; the other one if one is NaN."""

    def fmin(self, other: Tensor | Number) -> Tensor:
        """The smaller of two elements; the other one if one is NaN."""

    def fmod(self, other: Tensor | Number) -> Tensor:
        """The rest of a division, with the sign of the dividend."""

    def fmod_(self, other: Tensor | Number) -> Self:
        """The rest of a division, with the sign of the dividend."""

    def fold(
        self,
        output_size: Ints,
        kernel_size: Ints,
        dilation: Ints = (1,),
        padding: Ints = (0,),
        stride: Ints = (1,),
    ) -> Tensor:
        """Columns (N, C · window, windows) added back to images of a size: the transposed of unfold."""

    def frac(self) -> Tensor:
        """The fraction of each element, with its sign."""

    def frac_(self) -> Self:
        """The fraction of each element, with its sign."""

    def frexp(self) -> results.frexp:
        """Each element as a mantissa from 1/2 to 1 and a power of two."""

    def full_like(
        self,
        fill_value: Number,
        *,
        dtype: DType | None = None,
        device: Device | None = None,
        requires_grad: builtins.bool = False,
    ) -> Tensor:
        """A number in the shape, dtype and device of another tensor."""

    def gather(self, dim: builtins.int, index: Tensor, *, sparse_grad: builtins.bool = False) -> Tensor:
        """Elements of an axis, picked for each place by an index tensor of the same axes."""

    def gaussian_nll_loss(
        self,
        target: Tensor,
        var: Tensor,
        full: builtins.bool = False,
        eps: builtins.float = 1e-06,
        reduction: str = 'mean',
    ) -> Tensor:
        """Negative log-likelihood of target under normal distributions with mean input."""

    def gcd(self, other: Tensor | Number) -> Tensor:
        """The greatest common divisor of two integers; it may be negative if the least is among them. That integer has no absolute value, so that a remainder of it is negative, as in torch."""

    def gcd_(self, other: Tensor | Number) -> Self:
        """The greatest common divisor of two integers; it may be negative if the least is among them. That integer has no absolute value, so that a remainder of it is negative, as in torch."""

    def ge(self, other: Tensor | Number) -> Tensor:
        """Whether input is greater than or equal to other."""

    def ge_(self, other: Tensor | Number) -> Self:
        """Whether input is greater than or equal to other."""

    def gelu(self, *, approximate: str = 'none') -> Tensor:
        """x Φ(x), Φ the normal distribution; approximate="tanh" for the formula with tanh."""

    def gelu_(self, *, approximate: str = 'none') -> Self:
        """x Φ(x), Φ the normal distribution; approximate="tanh" for the formula with tanh."""

    def geometric_(self, p: builtins.float, *, generator: Any=None) -> Tensor:
        """How often one has to try, where each try succeeds with probability p."""

    def ger(self, vec2: Tensor) -> Tensor:
        """The matrix of all products of two vectors' elements."""

    def get_device(self) -> builtins.int:
        """The number of its CUDA device; -1 on the CPU."""

    def glu(self, dim: builtins.int = -1) -> Tensor:
        """The first half of an axis times the sigmoid of the second."""

    @overload
    def gradient(
        self,
        *,
        spacing: Sequence[Tensor],
        dim: Ints | None = None,
        edge_order: builtins.int = 1,
    ) -> tuple[Tensor, ...]:
        """Slopes along each axis (or those named) of a function sampled at these points or steps."""
    @overload
    def gradient(
        self,
        *,
        spacing: builtins.float | None = None,
        dim: Ints | None = None,
        edge_order: builtins.int = 1,
    ) -> tuple[Tensor, ...]: ...

    def greater(self, other: Tensor | Number) -> Tensor:
        """Whether input is greater than other."""

    def greater_(self, other: Tensor | Number) -> Self:
        """Whether input is greater than other."""

    def greater_equal(self, other: Tensor | Number) -> Tensor:
        """Whether input is greater than or equal to other."""

    def greater_equal_(self, other: Tensor | Number) -> Self:
        """Whether input is greater than or equal to other."""

    def grid_sample(
        self,
        grid: Tensor,
        mode: str = 'bilinear',
        padding_mode: str = 'zeros',
        align_corners: builtins.bool | None = None,
    ) -> Tensor:
        """Sample images where a grid says, in coordinates from -1 to 1, the last axis' first."""

    def group_norm(
        self,
        num_groups: builtins.int,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: builtins.float = 1e-05,
    ) -> Tensor:
        """Normalise each sample's channels in groups, then apply weight and bias per channel."""

    def gt(self, other: Tensor | Number) -> Tensor:
        """Whether input is greater than other."""

    def gt_(self, other: Tensor | Number) -> Self:
        """Whether input is greater than other."""

    def half(self) -> Tensor:
        """Convert to float16."""

    def hardshrink(self, lambd: builtins.float = 0.5) -> Tensor:
        """Each element that is farther than lambd from 0, else 0."""

    def hardshrink_(self, lambd: builtins.float = 0.5) -> Self:
        """Each element that is farther than lambd from 0, else 0."""

    def hardsigmoid(self) -> Tensor:
        """A sigmoid of straight lines: 0 up to -3, 1 from 3 on."""

    def hardsigmoid_(self) -> Self:
        """A sigmoid of straight lines: 0 up to -3, 1 from 3 on."""

    def hardswish(self) -> Tensor:
        """x times hardsigmoid of x."""

    def hardswish_(self) -> Self:
        """x times hardsigmoid of x."""

    def hardtanh(self, min_val: builtins.float = -1.0, max_val: builtins.float = 1.0) -> Tensor:
        """Each element limited to between min_val and max_val."""

    def hardtanh_(self, min_val: builtins.float = -1.0, max_val: builtins.float = 1.0) -> Self:
        """Each element limited to between min_val and max_val."""

    def heaviside(self, values: Tensor | Number) -> Tensor:
        """0 below zero, 1 above, and at zero the element of values."""

    def heaviside_(self, values: Tensor | Number) -> Self:
        """0 below zero, 1 above, and at zero the element of values."""

    def hfft(self, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None) -> Tensor:
        """The Fourier transform, which is real, of a signal whose second half mirrors this one."""

    def hfft2(self, s: Ints | None = None, dim: Ints = (-2, -1), norm: str | None = None) -> Tensor:
        """The Fourier transform along two axes, which is real, of a signal of which half is given."""

    def hfftn(
        self,
        s: Ints | None = None,
        dim: Ints | None = None,
        norm: str | None = None,
    ) -> Tensor:
        """The Fourier transform, which is real, of a signal of which one half is given."""

    def hinge_embedding_loss(
        self,
        target: Tensor,
        margin: builtins.float = 1.0,
        size_average: builtins.bool | None = None,
        reduce: builtins.bool | None = None,
        reduction: str = 'mean',
    ) -> Tensor:
        """The distance where target is 1, what it lacks to the margin where target is -1."""

    def histc(self, bins: builtins.int = 100, min: builtins.float = 0, max: builtins.float = 0) -> Tensor:
        """How many elements fall into each of equal intervals from min to max (0, 0: all there are)."""

    def householder_product(self, tau: Tensor) -> Tensor:
        """The first columns of the product of the reflections 1 - tau[i] v[i] v[i]ᴴ."""

    @overload
    def hsplit(self, indices_or_sections: builtins.int) -> tuple[Tensor, ...]:
        """Cut into equal pieces, or at places, along the second axis (the only one of a vector)."""
    @overload
    def hsplit(self, indices_or_sections: Ints) -> tuple[Tensor, ...]: ...
    @overload
    def hsplit(self, *indices_or_sections: builtins.int) -> tuple[Tensor, ...]: ...

    def huber_loss(
        self,
        target: Tensor,
        reduction: str = 'mean',
        delta: builtins.float = 1.0,
        weight: Tensor | None = None,
    ) -> Tensor:
        """Squared distances up to delta, delta times the absolute ones beyond."""

    def hypot(self, other: Tensor | Number) -> Tensor:
        """sqrt(input² + other²) without overflow."""

    def hypot_(self, other: Tensor | Number) -> Self:
        """sqrt(input² + other²) without overflow."""

    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind, of order 0."""

    def i0_(self) -> Self:
        """The modified Bessel function of the first kind, of order 0."""

    def i0e(self) -> Tensor:
        """i0 times exp(-|x|), which doesn't overflow."""

    def i0e_(self) -> Self:
        """i0 times exp(-|x|), which doesn't overflow."""

    def i1(self) -> Tensor:
        """The modified Bessel function of the first kind, of order 1."""

    def i1_(self) -> Self:
        """The modified Bessel function of the first kind, of order 1."""

    def i1e(self) -> Tensor:
        """i1 times exp(-|x|), which doesn't overflow."""

    def i1e_(self) -> Self:
        """i1 times exp(-|x|), which doesn't overflow."""

    def ifft(self, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None) -> Tensor:
        """The inverse discrete Fourier transform along an axis."""

    def ifft2(self, s: Ints | None = None, dim: Ints = (-2, -1), norm: str | None = None) -> Tensor:
        """The inverse discrete Fourier transform along two axes."""

    def ifftn(
        self,
        s: Ints | None = None,
        dim: Ints | None = None,
        norm: str | None = None,
    ) -> Tensor:
        """The inverse discrete Fourier transform along several axes, by default all."""

    @overload
    def ifftshift(self, dim: Ints | None = None) -> Tensor:
        """Frequencies in the order of a transform: the zero one moved from the middle to the front."""
    @overload
    def ifftshift(self, *dim: builtins.int) -> Tensor: ...

    def ihfft(self, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None) -> Tensor:
        """The first half of the inverse Fourier transform of real numbers."""

    def ihfft2(
        self,
        s: Ints | None = None,
        dim: Ints = (-2, -1),
        norm: str | None = None,
    ) -> Tensor:
        """The first half of the inverse Fourier transform of real numbers along two axes."""

    def ihfftn(
        self,
        s: Ints | None = None,
        dim: Ints | None = None,
        norm: str | None = None,
    ) -> Tensor:
        """The first half of the inverse Fourier transform of real numbers along several axes."""

    @property
    def imag(self) -> Tensor:
        """The imaginary parts of a complex tensor, as a view."""

    def index_add(
        self,
        dim: builtins.int,
        index: Tensor | Number,
        source: Tensor | Number,
        *,
        alpha: Number = 1,
    ) -> Tensor:
        """Add slices of source, times alpha, to the slices of an axis that a vector names."""

    def index_add_(
        self,
        dim: builtins.int,
        index: Tensor | Number,
        source: Tensor | Number,
        *,
        alpha: Number = 1,
    ) -> Self:
        """Add slices of source, times alpha, to the slices of an axis that a vector names."""

    def index_copy(self, dim: builtins.int, index: Tensor | Number, source: Tensor | Number) -> Tensor:
        """Put slices of source in place of the slices of an axis that a vector names."""

    def index_copy_(self, dim: builtins.int, index: Tensor | Number, source: Tensor | Number) -> Self:
        """Put slices of source in place of the slices of an axis that a vector names."""

    def index_fill(self, dim: builtins.int, index: Tensor | Number, value: Tensor | Number) -> Tensor:
        """Fill the slices of an axis that a vector of indices names."""

    def index_fill_(self, dim: builtins.int, index: Tensor | Number, value: Tensor | Number) -> Self:
        """Fill the slices of an axis that a vector of indices names."""

    def index_put(
        self,
        indices: Sequence[Tensor],
        values: Tensor | Number,
        accumulate: builtins.bool = False,
    ) -> Tensor:
        """Write, or add, values at places given by tensors of ints or bools, one for each axis."""

    def index_put_(
        self,
        indices: Sequence[Tensor],
        values: Tensor | Number,
        accumulate: builtins.bool = False,
    ) -> Self:
        """Write, or add, values at places given by tensors of ints or bools, one for each axis."""

    def index_reduce(
        self,
        dim: builtins.int,
        index: Tensor | Number,
        source: Tensor | Number,
        reduce: str,
        *,
        include_self: builtins.bool = True,
    ) -> Tensor:
        """Reduce slices of source into the slices of an axis that a vector of indices names."""

    def index_reduce_(
        self,
        dim: builtins.int,
        index: Tensor | Number,
        source: Tensor | Number,
        reduce: str,
        *,
        include_self: builtins.bool = True,
    ) -> Self:
        """Reduce slices of source into the slices of an axis that a vector of indices names."""

    def index_select(self, dim: builtins.int, index: Tensor) -> Tensor:
        """The slices of an axis that a vector of indices names."""

    def inner(self, other: Tensor) -> Tensor:
        """Sums of products over the last axis of both; a plain product where one is 0-d."""

    def instance_norm(
        self,
        running_mean: Tensor | None = None,
        running_var: Tensor | None = None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        use_input_stats: builtins.bool = True,
        momentum: builtins.float = 0.1,
        eps: builtins.float = 1e-05,
    ) -> Tensor:
        """Normalise each channel of each sample over its places, as if it were a batch of its own."""

    def int(self) -> Tensor:
        """Convert to int32."""

    def interpolate(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = 'nearest',
        align_corners: builtins.bool | None = None,
        recompute_scale_factor: builtins.bool | None = None,
        antialias: builtins.bool = False,
    ) -> Tensor:
        """Resize the axes after batch and channels to a size, or by a factor, in one of seven modes."""

    def inv(self) -> Tensor:
        """The inverse of each square matrix."""

    def inv_ex(self, *, check_errors: builtins.bool = False) -> results.linalg_inv_ex:
        """The inverse of each square matrix, and an info that is not 0 where there is none."""

    def inverse(self) -> Tensor:
        """The inverse of each square matrix."""

    def irfft(self, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None) -> Tensor:
        """The n real numbers whose halved Fourier transform this is; n is 2 (size - 1) if not given."""

    def irfft2(
        self,
        s: Ints | None = None,
        dim: Ints = (-2, -1),
        norm: str | None = None,
    ) -> Tensor:
        """The real numbers whose Fourier transform along two axes, halved along the last, this is."""

    def irfftn(
        self,
        s: Ints | None = None,
        dim: Ints | None = None,
        norm: str | None = None,
    ) -> Tensor:
        """The real numbers whose Fourier transform, halved along the last axis, this is."""

    def is_conj(self) -> builtins.bool:
        """False: conjugates are computed, no tensor has a bit that says it is to be read as one."""

    def is_neg(self) -> builtins.bool:
        """False: there is no such bit either."""

    def is_nonzero(self) -> builtins.bool:
        """Whether its only element is not zero."""

    def is_same_size(self, other: Tensor) -> builtins.bool:
        """Whether two tensors have the same shape."""

    def is_signed(self) -> builtins.bool:
        """Whether the dtype has numbers below zero."""

    def isclose(
        self,
        other: Tensor | Number,
        rtol: builtins.float = 1e-05,
        atol: builtins.float = 1e-08,
        equal_nan: builtins.bool = False,
    ) -> Tensor:
        """Whether |input - other| <= atol + rtol |other|; infinities are close to themselves only."""

    def isfinite(self) -> Tensor:
        """Whether an element is finite, both parts of a complex one."""

    def isinf(self) -> Tensor:
        """Whether an element is infinite; a complex one if either part is."""

    def isnan(self) -> Tensor:
        """Whether an element is NaN; a complex one if either part is."""

    def isneginf(self) -> Tensor:
        """Whether an element is minus infinity."""

    def isposinf(self) -> Tensor:
        """Whether an element is plus infinity."""

    def isreal(self) -> Tensor:
        """Whether an element's imaginary part is zero."""

    def istft(
        self,
        n_fft: builtins.int,
        hop_length: builtins.int | None = None,
        win_length: builtins.int | None = None,
        window: Tensor | None = None,
        center: builtins.bool = True,
        normalized: builtins.bool = False,
        onesided: builtins.bool | None = None,
        length: builtins.int | None = None,
        return_complex: builtins.bool = False,
    ) -> Tensor:
        """The signal whose stft this is, or the one that comes closest to it."""

    def kl_div(
        self,
        target: Tensor,
        size_average: builtins.bool | None = None,
        reduce: builtins.bool | None = None,
        reduction: str = 'mean',
        log_target: builtins.bool = False,
    ) -> Tensor:
        """Kullback-Leibler divergence of target from the distribution whose logarithm is input."""

    def kron(self, other: Tensor) -> Tensor:
        """The Kronecker product: every element of input times the whole of other, in blocks."""

    def kthvalue(self, k: builtins.int, dim: builtins.int = -1, keepdim: builtins.bool = False) -> results.kthvalue:
        """The k-th smallest element along an axis (counted from 1), and its index."""

    def l1_loss(
        self,
        target: Tensor,
        size_average: builtins.bool | None = None,
        reduce: builtins.bool | None = None,
        reduction: str = 'mean',
        weight: Tensor | None = None,
    ) -> Tensor:
        """Absolute distances of input and target."""

    def layer_norm(
        self,
        normalized_shape: Ints,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: builtins.float = 1e-05,
    ) -> Tensor:
        """Bring the last axes to mean 0 and variance 1, then apply weight and bias."""

    def lcm(self, other: Tensor | Number) -> Tensor:
        """The least common multiple of two integers."""

    def lcm_(self, other: Tensor | Number) -> Self:
        """The least common multiple of two integers."""

    def ldexp(self, other: Tensor | Number) -> Tensor:
        """input times 2 to the power of other."""

    def ldexp_(self, other: Tensor | Number) -> Self:
        """input times 2 to the power of other."""

    def ldl_factor(self, *, hermitian: builtins.bool = False) -> results.linalg_ldl_factor:
        """LDL factors of each symmetric matrix, packed, and pivots; without a derivative."""

    def ldl_factor_ex(
        self,
        *,
        hermitian: builtins.bool = False,
        check_errors: builtins.bool = False,
    ) -> results.linalg_ldl_factor_ex:
        """LDL factors of each matrix, their pivots, and where a block of D is 0."""

    def ldl_solve(self, pivots: Tensor, B: Tensor, *, hermitian: builtins.bool = False) -> Tensor:
        """The X of each system A X = B with A given by its LDL factors; without a derivative."""

    def le(self, other: Tensor | Number) -> Tensor:
        """Whether input is less than or equal to other."""

    def le_(self, other: Tensor | Number) -> Self:
        """Whether input is less than or equal to other."""

    def leaky_relu(self, negative_slope: builtins.float = 0.01) -> Tensor:
        """Each element where it is positive, else a small part of it."""

    def leaky_relu_(self, negative_slope: builtins.float = 0.01) -> Self:
        """Each element where it is positive, else a small part of it."""

    @overload
    def lerp(self, end: Tensor | Number, weight: Number) -> Tensor:
        """Go from input to end by a weight: input + weight (end - input)."""
    @overload
    def lerp(self, end: Tensor | Number, weight: Tensor | Number) -> Tensor: ...

    def lerp_(self, end: Tensor | Number, weight: Number) -> Self:
        """Go from input to end by a weight: input + weight (end - input)."""

    def less(self, other: Tensor | Number) -> Tensor:
        """Whether input is less than other."""

    def less_(self, other: Tensor | Number) -> Self:
        """Whether input is less than other."""

    def less_equal(self, other: Tensor | Number) -> Tensor:
        """Whether input is less than or equal to other."""

    def less_equal_(self, other: Tensor | Number) -> Self:
        """Whether input is less than or equal to other."""

    def lgamma(self) -> Tensor:
        """The logarithm of the gamma function's absolute value."""

    def lgamma_(self) -> Self:
        """The logarithm of the gamma function's absolute value."""

    def linear(self, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """Apply an affine map to the last axis: input weightᵀ + bias."""

    def local_response_norm(
        self,
        size: builtins.int,
        alpha: builtins.float = 0.0001,
        beta: builtins.float = 0.75,
        k: builtins.float = 1.0,
    ) -> Tensor:
        """Divide by (k + alpha mean of squares over `size` neighbouring channels) to the power beta."""

    def log(self) -> Tensor:
        """The natural logarithm of each element."""

    def log10(self) -> Tensor:
        """The logarithm to base 10 of each element."""

    def log10_(self) -> Self:
        """The logarithm to base 10 of each element."""

    def log1p(self) -> Tensor:
        """The natural logarithm of 1 plus each element, exact near 0."""

    def log1p_(self) -> Self:
        """The natural logarithm of 1 plus each element, exact near 0."""

    def log2(self) -> Tensor:
        """The logarithm to base 2 of each element."""

    def log2_(self) -> Self:
        """The logarithm to base 2 of each element."""

    def log_(self) -> Self:
        """The natural logarithm of each element."""

    def log_ndtr(self) -> Tensor:
        """The logarithm of the normal distribution function, exact far below zero."""

    def log_ndtr_(self) -> Self:
        """The logarithm of the normal distribution function, exact far below zero."""

    def log_normal_(self, mean: builtins.float=1, std: builtins.float=2, *, generator: Any=None) -> Tensor:
        """Numbers whose logarithm is normal, of this mean and standard deviation."""

    def log_softmax(self, dim: builtins.int, dtype: DType | None = None) -> Tensor:
        """The logarithm of softmax, exact where the probabilities are tiny."""

    def logaddexp(self, other: Tensor | Number) -> Tensor:
        """log(exp(input) + exp(other)) without overflow."""

    def logaddexp2(self, other: Tensor | Number) -> Tensor:
        """log2(2^input + 2^other) without overflow."""

    def logcumsumexp(self, dim: builtins.int) -> Tensor:
        """Logarithms of running sums of exponentials along an axis, without overflow."""

    def logdet(self) -> Tensor:
        """The logarithm of each determinant; NaN where that is negative."""

    def logical_and(self, other: Tensor | Number) -> Tensor:
        """Whether both elements are true."""

    def logical_and_(self, other: Tensor | Number) -> Self:
        """Whether both elements are true."""

    def logical_not(self) -> Tensor:
        """Whether the element is false."""

    def logical_not_(self) -> Self:
        """Whether the element is false."""

    def logical_or(self, other: Tensor | Number) -> Tensor:
        """Whether at least one element is true."""

    def logical_or_(self, other: Tensor | Number) -> Self:
        """Whether at least one element is true."""

    def logical_xor(self, other: Tensor | Number) -> Tensor:
        """Whether exactly one element is true."""

    def logical_xor_(self, other: Tensor | Number) -> Self:
        """Whether exactly one element is true."""

    def logit(self, eps: builtins.float | None = None) -> Tensor:
        """log(x / (1 - x)), the inverse of sigmoid; x is first limited to eps..1 - eps if given."""

    def logit_(self, eps: builtins.float | None = None) -> Self:
        """log(x / (1 - x)), the inverse of sigmoid; x is first limited to eps..1 - eps if given."""

    def logsigmoid(self) -> Tensor:
        """The logarithm of sigmoid, without overflow."""

    def logsumexp(self, dim: Ints, keepdim: builtins.bool = False) -> Tensor:
        """The logarithm of the sum of exponentials over some axes, without overflow."""

    def long(self) -> Tensor:
        """Convert to int64."""

    def lp_pool1d(
        self,
        norm_type: builtins.float,
        kernel_size: Ints,
        stride: Ints | None = None,
        ceil_mode: builtins.bool = False,
    ) -> Tensor:
        """The p-norms of windows that slide over the last axis: (sum of x^p)^(1/p)."""

    def lp_pool2d(
        self,
        norm_type: builtins.float,
        kernel_size: Ints,
        stride: Ints | None = None,
        ceil_mode: builtins.bool = False,
    ) -> Tensor:
        """The p-norms of windows that slide over the last 2 axes: (sum of x^p)^(1/p)."""

    def lp_pool3d(
        self,
        norm_type: builtins.float,
        kernel_size: Ints,
        stride: Ints | None = None,
        ceil_mode: builtins.bool = False,
    ) -> Tensor:
        """The p-norms of windows that slide over the last 3 axes: (sum of x^p)^(1/p)."""

    def lstsq(
        self,
        B: Tensor,
        rcond: builtins.float | None = None,
        *,
        driver: str | None = None,
    ) -> results.linalg_lstsq:
        """The X with the least |A X - B|, the squared residuals, rank and singular values of A."""

    def lt(self, other: Tensor | Number) -> Tensor:
        """Whether input is less than other."""

    def lt_(self, other: Tensor | Number) -> Self:
        """Whether input is less than other."""

    @overload
    def lu(self, pivot: builtins.bool = True, get_infos: Literal[False] = False) -> tuple[Tensor, Tensor]:
        """LU factors of each matrix, packed into one, with their pivots."""
    @overload
    def lu(self, pivot: builtins.bool = True, *, get_infos: Literal[True]) -> results.lu: ...
    @overload
    def lu(self, pivot: builtins.bool = True, get_infos: builtins.bool = False) -> tuple[Tensor, Tensor] | results.lu: ...

    def lu_factor(self, *, pivot: builtins.bool = True) -> results.linalg_lu_factor:
        """LU factors of each matrix, packed into one, with their pivots."""

    def lu_factor_ex(
        self,
        *,
        pivot: builtins.bool = True,
        check_errors: builtins.bool = False,
    ) -> results.linalg_lu_factor_ex:
        """LU factors of each matrix, their pivots, and where a pivot is 0."""

    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """The X of each system A X = b with A given by its LU factors."""

    def lu_unpack(
        self,
        LU_pivots: Tensor,
        unpack_data: builtins.bool = True,
        unpack_pivots: builtins.bool = True,
    ) -> results.lu_unpack:
        """The permutation and the triangular factors out of packed ones; empty where not wanted."""

    @property
    def mH(self) -> Tensor:
        """Transpose the last two axes and conjugate."""

    @property
    def mT(self) -> Tensor:
        """Transpose the last two axes."""

    def margin_ranking_loss(
        self,
        input2: Tensor,
        target: Tensor,
        margin: builtins.float = 0,
        size_average: builtins.bool | None = None,
        reduce: builtins.bool | None = None,
        reduction: str = 'mean',
    ) -> Tensor:
        """What input1 lacks to rank above input2 by a margin (target 1), or below it (target -1)."""

    def masked_fill(self, mask: Tensor | Number, value: Tensor | Number) -> Tensor:
        """Put one value wherever the mask is True."""

    def masked_fill_(self, mask: Tensor | Number, value: Tensor | Number) -> Self:
        """Put one value wherever the mask is True."""

    def masked_scatter(self, mask: Tensor | Number, source: Tensor | Number) -> Tensor:
        """Put the elements of source, one after the other, where a mask holds."""

    def masked_scatter_(self, mask: Tensor | Number, source: Tensor | Number) -> Self:
        """Put the elements of source, one after the other, where a mask holds."""

    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where a mask holds, in a vector."""

    def matmul(self, other: Tensor) -> Tensor:
        """Matrix product of vectors, matrices or broadcast stacks of matrices."""

    def matrix_exp(self) -> Tensor:
        """The exponential of each square matrix."""

    def matrix_norm(
        self,
        ord: Any = 'fro',
        dim: Ints = (-2, -1),
        keepdim: builtins.bool = False,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """A norm of each matrix in two axes: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."""

    def matrix_power(self, n: builtins.int) -> Tensor:
        """Each square matrix times itself, n times; its inverse where n is negative."""

    @overload
    def matrix_rank(
        self,
        *,
        atol: Tensor | None = None,
        rtol: Tensor | None = None,
        hermitian: builtins.bool = False,
    ) -> Tensor:
        """The numerical rank of each matrix: how many singular values count as more than 0."""
    @overload
    def matrix_rank(self, tol: Tensor, hermitian: builtins.bool = False) -> Tensor: ...

    @overload
    def max(self) -> Tensor:
        """The largest element; NaN if there is one."""
    @overload
    def max(self, dim: builtins.int, keepdim: builtins.bool = False) -> results.max: ...
    @overload
    def max(self, other: Tensor) -> Tensor: ...

    @overload
    def max_pool1d(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        dilation: Ints = (1,),
        ceil_mode: builtins.bool = False,
        return_indices: Literal[False] = False,
    ) -> Tensor:
        """The maxima of windows that slide over the last axis; with their places if asked."""
    @overload
    def max_pool1d(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        dilation: Ints = (1,),
        ceil_mode: builtins.bool = False,
        *,
        return_indices: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def max_pool1d(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        dilation: Ints = (1,),
        ceil_mode: builtins.bool = False,
        return_indices: builtins.bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]: ...

    def max_pool1d_with_indices(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        dilation: Ints = (1,),
        ceil_mode: builtins.bool = False,
        return_indices: builtins.bool = False,
    ) -> tuple[Tensor, Tensor]:
        """The maxima of windows that slide over the last axis, and their places."""

    @overload
    def max_pool2d(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        dilation: Ints = (1,),
        ceil_mode: builtins.bool = False,
        return_indices: Literal[False] = False,
    ) -> Tensor:
        """The maxima of windows that slide over the last 2 axes; with their places if asked."""
    @overload
    def max_pool2d(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        dilation: Ints = (1,),
        ceil_mode: builtins.bool = False,
        *,
        return_indices: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def max_pool2d(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        dilation: Ints = (1,),
        ceil_mode: builtins.bool = False,
        return_indices: builtins.bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]: ...

    def max_pool2d_with_indices(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        dilation: Ints = (1,),
        ceil_mode: builtins.bool = False,
        return_indices: builtins.bool = False,
    ) -> tuple[Tensor, Tensor]:
        """The maxima of windows that slide over the last 2 axes, and their places."""

    @overload
    def max_pool3d(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        dilation: Ints = (1,),
        ceil_mode: builtins.bool = False,
        return_indices: Literal[False] = False,
    ) -> Tensor:
        """The maxima of windows that slide over the last 3 axes; with their places if asked."""
    @overload
    def max_pool3d(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        dilation: Ints = (1,),
        ceil_mode: builtins.bool = False,
        *,
        return_indices: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def max_pool3d(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        dilation: Ints = (1,),
        ceil_mode: builtins.bool = False,
        return_indices: builtins.bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]: ...

    def max_pool3d_with_indices(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        dilation: Ints = (1,),
        ceil_mode: builtins.bool = False,
        return_indices: builtins.bool = False,
    ) -> tuple[Tensor, Tensor]:
        """The maxima of windows that slide over the last 3 axes, and their places."""

    def max_unpool1d(
        self,
        indices: Tensor,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        output_size: Ints | None = None,
    ) -> Tensor:
        """Put maxima back at their places over the last axis, with zeros around them."""

    def max_unpool2d(
        self,
        indices: Tensor,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        output_size: Ints | None = None,
    ) -> Tensor:
        """Put maxima back at their places over the last 2 axes, with zeros around them."""

    def max_unpool3d(
        self,
        indices: Tensor,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        output_size: Ints | None = None,
    ) -> Tensor:
        """Put maxima back at their places over the last 3 axes, with zeros around them."""

    def maximum(self, other: Tensor | Number) -> Tensor:
        """The larger of two elements; NaN if one is NaN."""

    def mean(
        self,
        dim: Ints | None = None,
        keepdim: builtins.bool = False,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """Mean over some axes, or over all."""

    @overload
    def median(self) -> Tensor:
        """The median of all elements, the lower of two; NaN if there is one."""
    @overload
    def median(self, dim: builtins.int, keepdim: builtins.bool = False) -> results.median: ...

    @overload
    def min(self) -> Tensor:
        """The smallest element; NaN if there is one."""
    @overload
    def min(self, dim: builtins.int, keepdim: builtins.bool = False) -> results.min: ...
    @overload
    def min(self, other: Tensor) -> Tensor: ...

    def minimum(self, other: Tensor | Number) -> Tensor:
        """The smaller of two elements; NaN if one is NaN."""

    def mish(self) -> Tensor:
        """x times tanh of softplus of x."""

    def mish_(self) -> Self:
        """x times tanh of softplus of x."""

    def mm(self, mat2: Tensor) -> Tensor:
        """Product of two matrices."""

    def mode(self, dim: builtins.int = -1, keepdim: builtins.bool = False) -> results.mode:
        """The most frequent elements along an axis, the smallest of several, and their last index."""

    def modified_bessel_i0(self) -> Tensor:
        """The modified Bessel function of the first kind, of order 0, without a derivative."""

    def modified_bessel_i1(self) -> Tensor:
        """The modified Bessel function of the first kind, of order 1, without a derivative."""

    def modified_bessel_k0(self) -> Tensor:
        """The modified Bessel function of the second kind, of order 0."""

    def modified_bessel_k1(self) -> Tensor:
        """The modified Bessel function of the second kind, of order 1."""

    @overload
    def moveaxis(self, source: Ints, destination: Ints) -> Tensor:
        """Move axes to other places; the rest keep their order."""
    @overload
    def moveaxis(self, source: Ints, *destination: builtins.int) -> Tensor: ...

    @overload
    def movedim(self, source: Ints, destination: Ints) -> Tensor:
        """Move axes to other places; the rest keep their order."""
    @overload
    def movedim(self, source: Ints, *destination: builtins.int) -> Tensor: ...

    def mse_loss(
        self,
        target: Tensor,
        size_average: builtins.bool | None = None,
        reduce: builtins.bool | None = None,
        reduction: str = 'mean',
        weight: Tensor | None = None,
    ) -> Tensor:
        """Squared distances of input and target."""

    def msort(self) -> Tensor:
        """Sort along the first axis."""

    def mul(self, other: Tensor | Number) -> Tensor:
        """Multiply input by other."""

    def mul_(self, other: Tensor | Number) -> Self:
        """Multiply input by other."""

    def multi_head_attention_forward(
        self,
        key: Tensor,
        value: Tensor,
        embed_dim_to_check: builtins.int,
        num_heads: builtins.int,
        in_proj_weight: Tensor | None,
        in_proj_bias: Tensor | None,
        bias_k: Tensor | None,
        bias_v: Tensor | None,
        add_zero_attn: builtins.bool,
        dropout_p: builtins.float,
        out_proj_weight: Tensor,
        out_proj_bias: Tensor | None,
        training: builtins.bool = True,
        key_padding_mask: Tensor | None = None,
        need_weights: builtins.bool = True,
        attn_mask: Tensor | None = None,
        use_separate_proj_weight: builtins.bool = False,
        q_proj_weight: Tensor | None = None,
        k_proj_weight: Tensor | None = None,
        v_proj_weight: Tensor | None = None,
        static_k: Tensor | None = None,
        static_v: Tensor | None = None,
        average_attn_weights: builtins.bool = True,
        is_causal: builtins.bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Multi-head attention of (length, batch, width) sequences; the output and its weights."""

    def multi_margin_loss(
        self,
        target: Tensor,
        p: builtins.int = 1,
        margin: builtins.float = 1.0,
        weight: Tensor | None = None,
        size_average: builtins.bool | None = None,
        reduce: builtins.bool | None = None,
        reduction: str = 'mean',
    ) -> Tensor:
        """What the target's score lacks to lead every other class's by a margin, over the classes."""

    def multilabel_margin_loss(
        self,
        target: Tensor,
        size_average: builtins.bool | None = None,
        reduce: builtins.bool | None = None,
        reduction: str = 'mean',
    ) -> Tensor:
        """What right classes' scores lack to lead all wrong ones by 1; targets end at the first -1."""

    def multilabel_soft_margin_loss(
        self,
        target: Tensor,
        weight: Tensor | None = None,
        size_average: builtins.bool | None = None,
        reduce: builtins.bool | None = None,
        reduction: str = 'mean',
    ) -> Tensor:
        """The mean over the classes of each one's binary cross entropy with logits."""

    def multinomial(
        self,
        num_samples: builtins.int,
        replacement: builtins.bool = False,
        *,
        generator: Generator | None = None,
    ) -> Tensor:
        """Indices of categories drawn in proportion to the weights in the last axis."""

    def multiply(self, other: Tensor | Number) -> Tensor:
        """Multiply input by other."""

    def multiply_(self, other: Tensor | Number) -> Self:
        """Multiply input by other."""

    def mv(self, vec: Tensor) -> Tensor:
        """Product of a matrix and a vector."""

    def mvlgamma(self, p: builtins.int) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension p."""

    def mvlgamma_(self, p: builtins.int) -> Self:
        """The logarithm of the multivariate gamma function of dimension p."""

    def nan_to_num(
        self,
        nan: builtins.float | None = None,
        posinf: builtins.float | None = None,
        neginf: builtins.float | None = None,
    ) -> Tensor:
        """Replace NaN by a number (0) and infinities by finite numbers (the dtype's largest)."""

    def nan_to_num_(
        self,
        nan: builtins.float | None = None,
        posinf: builtins.float | None = None,
        neginf: builtins.float | None = None,
    ) -> Self:
        """Replace NaN by a number (0) and infinities by finite numbers (the dtype's largest)."""

    def nanmean(
        self,
        dim: Ints | None = None,
        keepdim: builtins.bool = False,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """Mean over some axes, or over all, of what is not NaN."""

    @overload
    def nanmedian(self) -> Tensor:
        """The median of all elements that are not NaN, the lower of two."""
    @overload
    def nanmedian(self, dim: builtins.int, keepdim: builtins.bool = False) -> results.nanmedian: ...

    def nanquantile(
        self,
        q: Tensor,
        dim: builtins.int | None = None,
        keepdim: builtins.bool = False,
        *,
        interpolation: str = 'linear',
    ) -> Tensor:
        """The values below which a share q of what is not NaN lies, along an axis or of all."""

    def nansum(
        self,
        dim: Ints | None = None,
        keepdim: builtins.bool = False,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """Sum over some axes, or over all, with NaN counted as 0."""

    @overload
    def narrow(self, dim: builtins.int, start: builtins.int, length: builtins.int) -> Tensor:
        """The part of an axis that begins at start and has a length."""
    @overload
    def narrow(self, dim: builtins.int, start: Tensor, length: builtins.int) -> Tensor: ...

    def ndtr(self) -> Tensor:
        """The normal distribution function: the probability of being below each element."""

    def ndtr_(self) -> Self:
        """The normal distribution function: the probability of being below each element."""

    def ndtri(self) -> Tensor:
        """The number below which a normal variable stays with each element's probability."""

    def ndtri_(self) -> Self:
        """The number below which a normal variable stays with each element's probability."""

    def ne(self, other: Tensor | Number) -> Tensor:
        """Whether two elements differ; NaN differs from everything."""

    def ne_(self, other: Tensor | Number) -> Self:
        """Whether two elements differ; NaN differs from everything."""

    def neg(self) -> Tensor:
        """Negate each element."""

    def neg_(self) -> Self:
        """Negate each element."""

    def negative(self) -> Tensor:
        """Negate each element."""

    def negative_(self) -> Self:
        """Negate each element."""

    def new_empty(self, *args: Any, **kwargs: Any) -> Tensor:
        """torch.empty in this tensor's dtype and session."""

    def new_full(self, *args: Any, **kwargs: Any) -> Tensor:
        """torch.full in this tensor's dtype and session."""

    def new_ones(self, *args: Any, **kwargs: Any) -> Tensor:
        """torch.ones in this tensor's dtype and session."""

    def new_tensor(self, data: Any, *, dtype: Any=None, requires_grad: builtins.bool=False) -> Tensor:
        """A leaf of this data, in this tensor's dtype where none is given."""

    def new_zeros(self, *args: Any, **kwargs: Any) -> Tensor:
        """torch.zeros in this tensor's dtype and session."""

    def nextafter(self, other: Tensor | Number) -> Tensor:
        """The float next to input on the way to other."""

    def nextafter_(self, other: Tensor | Number) -> Self:
        """The float next to input on the way to other."""

    def nll_loss(
        self,
        target: Tensor,
        weight: Tensor | None = None,
        size_average: builtins.bool | None = None,
        ignore_index: builtins.int = -100,
        reduce: builtins.bool | None = None,
        reduction: str = 'mean',
    ) -> Tensor:
        """The negated log-probability of each sample's class."""

    @overload
    def nonzero(self, as_tuple: Literal[False] = False) -> Tensor:
        """The indices of the elements that are not zero: a row each, or a tensor for each axis."""
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    @overload
    def nonzero(self, as_tuple: builtins.bool = False) -> Tensor | tuple[Tensor, ...]: ...

    def norm(
        self,
        p: Any = 'fro',
        dim: Ints | None = None,
        keepdim: builtins.bool = False,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """A p-norm over some axes, or over all; 'fro' is 2, 'nuc' the sum of singular values."""

    def normal(self, std: Tensor | Number = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Normal random numbers, each of its own mean and standard deviation."""

    def normal_(
        self,
        mean: builtins.float = 0.0,
        std: builtins.float = 1.0,
        *,
        generator: Generator | None = None,
    ) -> Self:
        """Fill with normal random numbers."""

    def normalize(self, p: builtins.float = 2.0, dim: Ints | None = (1,), eps: builtins.float = 1e-12) -> Tensor:
        """Divide vectors along an axis, or several, by their p-norm, or by eps where it is smaller."""

    def not_equal(self, other: Tensor | Number) -> Tensor:
        """Whether two elements differ; NaN differs from everything."""

    def not_equal_(self, other: Tensor | Number) -> Self:
        """Whether two elements differ; NaN differs from everything."""

    def numpy_T(self) -> Tensor:
        """Reverse the order of all axes."""

    def one_hot(self, num_classes: builtins.int = -1) -> Tensor:
        """Vectors of zeros with a 1 at the place each index names; -1: as many as the indices need."""

    def ones_like(
        self,
        *,
        dtype: DType | None = None,
        device: Device | None = None,
        requires_grad: builtins.bool = False,
    ) -> Tensor:
        """Ones in the shape, dtype and device of another tensor."""

    def orgqr(self, tau: Tensor) -> Tensor:
        """The first columns of the product of the reflections 1 - tau[i] v[i] v[i]ᴴ."""

    def ormqr(
        self,
        tau: Tensor,
        other: Tensor,
        left: builtins.bool = True,
        transpose: builtins.bool = False,
    ) -> Tensor:
        """The product of the reflections, or its adjoint, times other (left) or after it."""

    def outer(self, vec2: Tensor) -> Tensor:
        """The matrix of all products of two vectors' elements."""

    def pad(self, pad: Ints, mode: str = 'constant', value: builtins.float | None = None) -> Tensor:
        """Pad axes, from the last on: constant, reflect, replicate or circular."""

    def pairwise_distance(
        self,
        x2: Tensor,
        p: builtins.float = 2.0,
        eps: builtins.float = 1e-06,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """The p-norms of the differences (plus eps) of vectors in the last axis."""

    def pdist(self, p: builtins.float = 2.0) -> Tensor:
        """The p-norm distances of each row to each later row, in one vector."""

    @overload
    def permute(self, dims: Ints) -> Tensor:
        """Put the axes in another order."""
    @overload
    def permute(self, *dims: builtins.int) -> Tensor: ...

    @overload
    def pinv(
        self,
        *,
        atol: Tensor | None = None,
        rtol: Tensor | None = None,
        hermitian: builtins.bool = False,
    ) -> Tensor:
        """The pseudo-inverse of each matrix."""
    @overload
    def pinv(self, rcond: Tensor, hermitian: builtins.bool = False) -> Tensor: ...

    def pinverse(self, rcond: builtins.float = 1e-15) -> Tensor:
        """The pseudo-inverse of each matrix."""

    def pixel_shuffle(self, upscale_factor: builtins.int) -> Tensor:
        """Move channels to places: (..., C r², H, W) becomes (..., C, H r, W r)."""

    def pixel_unshuffle(self, downscale_factor: builtins.int) -> Tensor:
        """Move places to channels: (..., C, H r, W r) becomes (..., C r², H, W)."""

    def poisson_nll_loss(
        self,
        target: Tensor,
        log_input: builtins.bool = True,
        full: builtins.bool = False,
        size_average: builtins.bool | None = None,
        eps: builtins.float = 1e-08,
        reduce: builtins.bool | None = None,
        reduction: str = 'mean',
    ) -> Tensor:
        """Negative log-likelihood of counts under Poisson rates (their logarithms by default)."""

    def polar(self, angle: Tensor | Number) -> Tensor:
        """Complex numbers from their lengths and angles (radians)."""

    def polygamma(self, n: builtins.int) -> Tensor:
        """The n-th derivative of digamma."""

    def polygamma_(self, n: builtins.int) -> Self:
        """The n-th derivative of digamma."""

    def positive(self) -> Tensor:
        """The tensor itself; not defined for bools."""

    def pow(self, exponent: Tensor | Number) -> Tensor:
        """Raise input to the power of exponent."""

    def pow_(self, exponent: Tensor | Number) -> Self:
        """Raise input to the power of exponent."""

    def prelu(self, weight: Tensor) -> Tensor:
        """Each element where it is positive, else times a learned weight: one, or one per channel."""

    @overload
    def prod(self, *, dtype: DType | None = None) -> Tensor:
        """Product of all elements."""
    @overload
    def prod(self, dim: builtins.int, keepdim: builtins.bool = False, *, dtype: DType | None = None) -> Tensor: ...

    def put(
        self,
        index: Tensor | Number,
        source: Tensor | Number,
        accumulate: builtins.bool = False,
    ) -> Tensor:
        """Write, or add, elements at places counted in row-major order; negative ones from the end."""

    def put_(
        self,
        index: Tensor | Number,
        source: Tensor | Number,
        accumulate: builtins.bool = False,
    ) -> Self:
        """Write, or add, elements at places counted in row-major order; negative ones from the end."""

    def qr(self, some: builtins.bool = True) -> results.qr:
        """An orthogonal Q and an upper triangular R with input = Q R for each matrix."""

    def quantile(
        self,
        q: Tensor,
        dim: builtins.int | None = None,
        keepdim: builtins.bool = False,
        *,
        interpolation: str = 'linear',
    ) -> Tensor:
        """The values below which a share q of the elements lies, along an axis or of all."""

    def rad2deg(self) -> Tensor:
        """Radians as degrees."""

    def rad2deg_(self) -> Self:
        """Radians as degrees."""

    def rand_like(
        self,
        *,
        dtype: DType | None = None,
        device: Device | None = None,
        requires_grad: builtins.bool = False,
        generator: Generator | None = None,
    ) -> Tensor:
        """Random numbers in [0, 1), in the shape of another tensor."""

    @overload
    def randint_like(
        self,
        high: builtins.int,
        *,
        dtype: DType | None = None,
        generator: Generator | None = None,
    ) -> Tensor:
        """Random integers from low (0 unless given) below high, in the shape of another tensor."""
    @overload
    def randint_like(
        self,
        low: builtins.int,
        high: builtins.int,
        *,
        dtype: DType | None = None,
        generator: Generator | None = None,
    ) -> Tensor: ...

    def randn_like(
        self,
        *,
        dtype: DType | None = None,
        device: Device | None = None,
        requires_grad: builtins.bool = False,
        generator: Generator | None = None,
    ) -> Tensor:
        """Standard normal random numbers, in the shape of another tensor."""

    def random_(self, *bounds: builtins.int, generator: Any=None) -> Tensor:
        """Whole numbers, equally likely, from the first bound (0) on and below the last.

    Without bounds: up to the largest that the dtype holds, with all below it, exactly."""

    def ravel(self) -> Tensor:
        """See all elements in one axis; a copy where they don't lie row by row."""

    @property
    def real(self) -> Tensor:
        """The real parts as a view; the tensor itself where real."""

    def reciprocal(self) -> Tensor:
        """One over each element."""

    def reciprocal_(self) -> Self:
        """One over each element."""

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a function with this tensor's gradient in every walk; what it gives replaces it."""

    def register_post_accumulate_grad_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a function with this leaf after a backward has added to its `.grad`."""

    def relu(self) -> Tensor:
        """Each element where it is positive, else 0."""

    def relu6(self) -> Tensor:
        """Each element limited to between 0 and 6."""

    def relu6_(self) -> Self:
        """Each element limited to between 0 and 6."""

    def relu_(self) -> Self:
        """Each element where it is positive, else 0."""

    def remainder(self, other: Tensor | Number) -> Tensor:
        """The rest of a division, with the sign of the divisor."""

    def remainder_(self, other: Tensor | Number) -> Self:
        """The rest of a division, with the sign of the divisor."""

    def renorm(self, p: builtins.float, dim: builtins.int, maxnorm: builtins.float) -> Tensor:
        """Shrink the slices along an axis whose p-norm is larger than maxnorm to that norm."""

    def renorm_(self, p: builtins.float, dim: builtins.int, maxnorm: builtins.float) -> Self:
        """Shrink the slices along an axis whose p-norm is larger than maxnorm to that norm."""

    @overload
    def repeat(self, repeats: Ints) -> Tensor:
        """Copies of the whole tensor side by side, so many along each axis."""
    @overload
    def repeat(self, *repeats: builtins.int) -> Tensor: ...

    @overload
    def repeat_interleave(
        self,
        repeats: builtins.int,
        dim: builtins.int | None = None,
        *,
        output_size: builtins.int | None = None,
    ) -> Tensor:
        """Each element, or slice of an axis, so many times in a row."""
    @overload
    def repeat_interleave(
        self,
        repeats: Tensor,
        dim: builtins.int | None = None,
        *,
        output_size: builtins.int | None = None,
    ) -> Tensor: ...
    @overload
    def repeat_interleave(self, *, output_size: builtins.int | None = None) -> Tensor: ...

    @overload
    def reshape(self, shape: Ints) -> Tensor:
        """Give a tensor another shape: a view where that is possible, else a copy."""
    @overload
    def reshape(self, *shape: builtins.int) -> Tensor: ...

    def reshape_as(self, other: Tensor) -> Tensor:
        """Give a tensor the shape of another."""

    def resolve_conj(self) -> Tensor:
        """The tensor itself: a conjugate is made of numbers here, there is none left to work out."""

    def resolve_neg(self) -> Tensor:
        """The tensor itself, as no bit is to be resolved."""

    def rfft(self, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None) -> Tensor:
        """The first half of the Fourier transform of real numbers, which determines the other half."""

    def rfft2(self, s: Ints | None = None, dim: Ints = (-2, -1), norm: str | None = None) -> Tensor:
        """The Fourier transform of real numbers along two axes, of the last one the first half."""

    def rfftn(
        self,
        s: Ints | None = None,
        dim: Ints | None = None,
        norm: str | None = None,
    ) -> Tensor:
        """The Fourier transform of real numbers along several axes, of the last one the first half."""

    def rms_norm(
        self,
        normalized_shape: Ints,
        weight: Tensor | None = None,
        eps: builtins.float | None = None,
    ) -> Tensor:
        """Divide the last axes by their root mean square, then apply weight."""

    @overload
    def roll(self, shifts: Ints, dims: Ints | None = None) -> Tensor:
        """Shift elements along axes; those that leave at one end come in at the other."""
    @overload
    def roll(self, shifts: Ints, *dims: builtins.int) -> Tensor: ...

    def rot90(self, k: builtins.int = 1, dims: Ints = (0, 1)) -> Tensor:
        """Turn the plane of two axes by k quarter turns, from the first towards the second."""

    @overload
    def round(self) -> Tensor:
        """The nearest integer; the even one of two as near."""
    @overload
    def round(self, *, decimals: builtins.int) -> Tensor: ...

    def round_(self) -> Self:
        """The nearest integer; the even one of two as near."""

    def rrelu(
        self,
        lower: builtins.float = 0.125,
        upper: builtins.float = 0.3333333333333333,
        training: builtins.bool = False,
    ) -> Tensor:
        """ReLU whose slope below zero is random between two bounds; their middle when not training."""

    def rrelu_(
        self,
        lower: builtins.float = 0.125,
        upper: builtins.float = 0.3333333333333333,
        training: builtins.bool = False,
    ) -> Self:
        """ReLU whose slope below zero is random between two bounds; their middle when not training."""

    def rsqrt(self) -> Tensor:
        """One over the square root of each element."""

    def rsqrt_(self) -> Self:
        """One over the square root of each element."""

    def rsub(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """Subtract input, times alpha, from other."""

    def rsub_(self, other: Tensor | Number, *, alpha: Number = 1) -> Self:
        """Subtract input, times alpha, from other."""

    def scaled_dot_product_attention(
        self,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: builtins.float = 0.0,
        is_causal: builtins.bool = False,
        scale: builtins.float | None = None,
        enable_gqa: builtins.bool = False,
    ) -> Tensor:
        """Values averaged by softmax(query keyᵀ / sqrt(E)), with a mask, dropout, shared heads."""

    def scaled_modified_bessel_k0(self) -> Tensor:
        """The modified Bessel function of the second kind, of order 0, times exp(x)."""

    def scaled_modified_bessel_k1(self) -> Tensor:
        """The modified Bessel function of the second kind, of order 1, times exp(x)."""

    @overload
    def scatter(
        self,
        dim: builtins.int,
        index: Tensor | Number,
        src: Tensor | Number,
        *,
        reduce: str | None = None,
    ) -> Tensor:
        """Write src, or one number, along an axis where an index tensor says; add or multiply it."""
    @overload
    def scatter(
        self,
        dim: builtins.int,
        index: Tensor | Number,
        value: Number,
        *,
        reduce: str | None = None,
    ) -> Tensor: ...

    def scatter_(
        self,
        dim: builtins.int,
        index: Tensor | Number,
        src: Tensor | Number,
        *,
        reduce: str | None = None,
    ) -> Self:
        """Write src, or one number, along an axis where an index tensor says; add or multiply it."""

    def scatter_add(self, dim: builtins.int, index: Tensor | Number, src: Tensor | Number) -> Tensor:
        """Add src along an axis where an index tensor says; places may repeat."""

    def scatter_add_(self, dim: builtins.int, index: Tensor | Number, src: Tensor | Number) -> Self:
        """Add src along an axis where an index tensor says; places may repeat."""

    def scatter_reduce(
        self,
        dim: builtins.int,
        index: Tensor | Number,
        src: Tensor | Number,
        reduce: str,
        *,
        include_self: builtins.bool = True,
    ) -> Tensor:
        """Reduce src into the input along an axis where an index tensor says."""

    def scatter_reduce_(
        self,
        dim: builtins.int,
        index: Tensor | Number,
        src: Tensor | Number,
        reduce: str,
        *,
        include_self: builtins.bool = True,
    ) -> Self:
        """Reduce src into the input along an axis where an index tensor says."""

    def searchsorted(
        self,
        sorted_sequence: Tensor,
        *,
        out_int32: builtins.bool = False,
        right: builtins.bool = False,
        side: str | None = None,
        sorter: Tensor | None = None,
    ) -> Tensor:
        """Where in a sorted last axis each value would go in: before (left) or behind equal ones."""

    def select(self, dim: builtins.int, index: builtins.int) -> Tensor:
        """The slice of a tensor at one index of an axis, which is dropped."""

    def select_scatter(self, src: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
        """A copy with the slice at one index of an axis replaced by src."""

    def selu(self) -> Tensor:
        """The exponential-linear function, scaled to keep mean and variance."""

    def selu_(self) -> Self:
        """The exponential-linear function, scaled to keep mean and variance."""

    def sgn(self) -> Tensor:
        """The sign of each element; complex ones brought to length 1, zero stays zero."""

    def sgn_(self) -> Self:
        """The sign of each element; complex ones brought to length 1, zero stays zero."""

    def short(self) -> Tensor:
        """Convert to int16."""

    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x)), which maps every number to between 0 and 1."""

    def sigmoid_(self) -> Self:
        """1 / (1 + exp(-x)), which maps every number to between 0 and 1."""

    def sign(self) -> Tensor:
        """-1, 0 or 1 by the sign of each element."""

    def sign_(self) -> Self:
        """-1, 0 or 1 by the sign of each element."""

    def signbit(self) -> Tensor:
        """Whether an element's sign bit is set: negative numbers and minus zero."""

    def silu(self) -> Tensor:
        """x times sigmoid of x, also called swish."""

    def silu_(self) -> Self:
        """x times sigmoid of x, also called swish."""

    def sin(self) -> Tensor:
        """The sine of each element, in radians."""

    def sin_(self) -> Self:
        """The sine of each element, in radians."""

    def sinc(self) -> Tensor:
        """sin(πx) / (πx), which is 1 at 0."""

    def sinc_(self) -> Self:
        """sin(πx) / (πx), which is 1 at 0."""

    def sinh(self) -> Tensor:
        """The hyperbolic sine of each element."""

    def sinh_(self) -> Self:
        """The hyperbolic sine of each element."""

    def slice(
        self,
        dim: builtins.int = 0,
        start: builtins.int | None = None,
        end: builtins.int | None = None,
        step: builtins.int = 1,
    ) -> Tensor:
        """Every step-th element of an axis from start up to end; ends beyond the axis are cut off."""

    def slice_scatter(
        self,
        src: Tensor,
        dim: builtins.int = 0,
        start: builtins.int | None = None,
        end: builtins.int | None = None,
        step: builtins.int = 1,
    ) -> Tensor:
        """A copy with a slice of an axis replaced by src."""

    def slogdet(self) -> results.linalg_slogdet:
        """Sign (or phase) of each determinant and the logarithm of its size."""

    def smooth_l1_loss(
        self,
        target: Tensor,
        size_average: builtins.bool | None = None,
        reduce: builtins.bool | None = None,
        reduction: str = 'mean',
        beta: builtins.float = 1.0,
    ) -> Tensor:
        """Squared distances up to beta, over beta, and absolute ones beyond."""

    def soft_margin_loss(
        self,
        target: Tensor,
        size_average: builtins.bool | None = None,
        reduce: builtins.bool | None = None,
        reduction: str = 'mean',
    ) -> Tensor:
        """log(1 + exp(-target input)): logistic loss of a score with target 1 or -1."""

    def softmax(self, dim: builtins.int, dtype: DType | None = None) -> Tensor:
        """Exponentials along an axis, divided by their sum."""

    def softmin(
        self,
        dim: builtins.int | None = None,
        _stacklevel: builtins.int = 3,
        dtype: DType | None = None,
    ) -> Tensor:
        """softmax of the negated tensor; along the first axis, of 2 and of 4 or more the second."""

    def softplus(self, beta: builtins.float = 1, threshold: builtins.float = 20) -> Tensor:
        """log(1 + exp(beta x)) / beta; x itself where beta x is above a threshold."""

    def softplus_(self, beta: builtins.float = 1, threshold: builtins.float = 20) -> Self:
        """log(1 + exp(beta x)) / beta; x itself where beta x is above a threshold."""

    def softshrink(self, lambd: builtins.float = 0.5) -> Tensor:
        """Each element moved by lambd towards 0, at most to 0."""

    def softshrink_(self, lambd: builtins.float = 0.5) -> Self:
        """Each element moved by lambd towards 0, at most to 0."""

    def softsign(self) -> Tensor:
        """x / (1 + |x|)."""

    def solve(self, B: Tensor, *, left: builtins.bool = True) -> Tensor:
        """The X of each system A X = B (or X A = B), for vectors or matrices B."""

    def solve_ex(
        self,
        B: Tensor,
        *,
        left: builtins.bool = True,
        check_errors: builtins.bool = False,
    ) -> results.linalg_solve_ex:
        """The X of each system A X = B, and an info that is not 0 where A is singular."""

    def solve_triangular(
        self,
        B: Tensor,
        *,
        upper: builtins.bool,
        left: builtins.bool = True,
        unitriangular: builtins.bool = False,
    ) -> Tensor:
        """The X of each system A X = B (or X A = B) with a triangular A."""

    @overload
    def sort(self, dim: builtins.int = -1, descending: builtins.bool = False) -> results.sort:
        """Sort along an axis; the values, and the indices they had."""
    @overload
    def sort(
        self,
        *,
        stable: builtins.bool | None = None,
        dim: builtins.int = -1,
        descending: builtins.bool = False,
    ) -> results.sort: ...

    def spherical_bessel_j0(self) -> Tensor:
        """The spherical Bessel function of the first kind, of order 0: sin(x) / x."""

    def split(self, split_size: Any, dim: builtins.int=0) -> Any:
        """Cut an axis into pieces of one size, or of the sizes in a list."""

    def split_with_sizes(self, split_sizes: Ints, dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """Cut an axis into pieces of these sizes."""

    def sqrt(self) -> Tensor:
        """The square root of each element."""

    def sqrt_(self) -> Self:
        """The square root of each element."""

    def square(self) -> Tensor:
        """The square of each element."""

    def square_(self) -> Self:
        """The square of each element."""

    @overload
    def squeeze(self, dim: builtins.int) -> Tensor:
        """Drop axes of size 1: this one, these, or all."""
    @overload
    def squeeze(self, dim: Ints | None = None) -> Tensor: ...
    @overload
    def squeeze(self, *dim: builtins.int) -> Tensor: ...

    def squeeze_(self, dim: Ints | None = None) -> Self:
        """Drop axes of size 1 in place: those named, or all."""

    @overload
    def std(
        self,
        dim: Ints | None = None,
        *,
        correction: builtins.float | None = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """Standard deviation over some axes, or over all: the root of the variance."""
    @overload
    def std(self, *dim: builtins.int, correction: builtins.float | None = None, keepdim: builtins.bool = False) -> Tensor: ...
    @overload
    def std(self, unbiased: builtins.bool) -> Tensor: ...
    @overload
    def std(self, dim: Ints | None, unbiased: builtins.bool, keepdim: builtins.bool = False) -> Tensor: ...

    @overload
    def std_mean(
        self,
        dim: Ints | None = None,
        *,
        correction: builtins.float | None = None,
        keepdim: builtins.bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Standard deviation and mean over some axes, or over all."""
    @overload
    def std_mean(
        self,
        *dim: builtins.int,
        correction: builtins.float | None = None,
        keepdim: builtins.bool = False,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def std_mean(self, unbiased: builtins.bool) -> tuple[Tensor, Tensor]: ...
    @overload
    def std_mean(
        self,
        dim: Ints | None,
        unbiased: builtins.bool,
        keepdim: builtins.bool = False,
    ) -> tuple[Tensor, Tensor]: ...

    def stft(
        self,
        n_fft: builtins.int,
        hop_length: builtins.int | None = None,
        win_length: builtins.int | None = None,
        window: Tensor | None = None,
        center: builtins.bool = True,
        pad_mode: str = 'reflect',
        normalized: builtins.bool = False,
        onesided: builtins.bool | None = None,
        return_complex: builtins.bool | None = None,
        align_to_window: builtins.bool | None = None,
    ) -> Tensor:
        """The Fourier transforms of a signal's windows, (…, frequency, time)."""

    def sub(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """Subtract other, times alpha, from input."""

    def sub_(self, other: Tensor | Number, *, alpha: Number = 1) -> Self:
        """Subtract other, times alpha, from input."""

    def subtract(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """Subtract other, times alpha, from input."""

    def subtract_(self, other: Tensor | Number, *, alpha: Number = 1) -> Self:
        """Subtract other, times alpha, from input."""

    def sum(
        self,
        dim: Ints | None = None,
        keepdim: builtins.bool = False,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """Sum over some axes, or over all."""

    @overload
    def sum_to_size(self, size: Ints) -> Tensor:
        """Sum over axes so that the result has a size that broadcasts to the input's."""
    @overload
    def sum_to_size(self, *size: builtins.int) -> Tensor: ...

    def svd(self, some: builtins.bool = True, compute_uv: builtins.bool = True) -> results.svd:
        """Singular values, falling, and vectors of each matrix: input = U diag(S) Vᴴ."""

    def svdvals(self, *, driver: str | None = None) -> Tensor:
        """The singular values, falling, of each matrix."""

    def swapaxes(self, axis0: builtins.int, axis1: builtins.int) -> Tensor:
        """Swap two axes."""

    def swapaxes_(self, axis0: builtins.int, axis1: builtins.int) -> Self:
        """Swap two axes in place."""

    def swapdims(self, axis0: builtins.int, axis1: builtins.int) -> Tensor:
        """Swap two axes."""

    def swapdims_(self, dim0: builtins.int, dim1: builtins.int) -> Self:
        """Swap two axes in place."""

    def t(self) -> Tensor:
        """Transpose a matrix; a vector or a scalar stays as it is."""

    def t_(self) -> Self:
        """Swap the axes of a matrix in place; what has fewer axes stays as it is."""

    def take(self, index: Tensor) -> Tensor:
        """Elements by their place in row-major order; negative places count from the end."""

    def take_along_dim(self, indices: Tensor, dim: builtins.int | None = None) -> Tensor:
        """Gather along an axis by indices that broadcast against the tensor; None: of all elements."""

    def tan(self) -> Tensor:
        """The tangent of each element, in radians."""

    def tan_(self) -> Self:
        """The tangent of each element, in radians."""

    def tanh(self) -> Tensor:
        """The hyperbolic tangent of each element."""

    def tanh_(self) -> Self:
        """The hyperbolic tangent of each element."""

    def tanhshrink(self) -> Tensor:
        """x less tanh of x."""

    @overload
    def tensor_split(self, indices_or_sections: builtins.int, dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """Cut an axis into so many pieces as equal as can be, or at the places in a list."""
    @overload
    def tensor_split(self, indices_or_sections: Ints, dim: builtins.int = 0) -> tuple[Tensor, ...]: ...
    @overload
    def tensor_split(self, tensor_indices_or_sections: Tensor, dim: builtins.int = 0) -> tuple[Tensor, ...]: ...

    def tensordot(self, b: Tensor, dims: Any = 2) -> Tensor:
        """Sum of products over the last axes of a and the first of b (an int), or over axes named."""

    def tensorinv(self, ind: builtins.int = 2) -> Tensor:
        """The inverse of a tensor seen as a matrix of its first `ind` axes by the others."""

    @overload
    def tensorsolve(self, B: Tensor, dims: Ints | None = None) -> Tensor:
        """The X with tensordot(A, X, X.ndim) = B."""
    @overload
    def tensorsolve(self, B: Tensor, *dims: builtins.int) -> Tensor: ...

    def threshold(self, threshold: builtins.float, value: builtins.float) -> Tensor:
        """Each element where it is above a threshold, else a value."""

    def threshold_(self, threshold: builtins.float, value: builtins.float) -> Self:
        """Each element where it is above a threshold, else a value."""

    @overload
    def tile(self, dims: Ints) -> Tensor:
        """Copies of the whole tensor side by side; axes without a number get one."""
    @overload
    def tile(self, *dims: builtins.int) -> Tensor: ...

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """Convert to a dtype, or to that of a tensor; a device must be the session's own."""

    def topk(
        self,
        k: builtins.int,
        dim: builtins.int = -1,
        largest: builtins.bool = True,
        sorted: builtins.bool = True,
    ) -> results.topk:
        """The k largest (or smallest) elements along an axis in order, and their indices."""

    def trace(self) -> Tensor:
        """The sum of a matrix' diagonal."""

    def transpose(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Swap two axes."""

    def transpose_(self, dim0: builtins.int, dim1: builtins.int) -> Self:
        """Swap two axes in place."""

    def trapezoid(self, x: Tensor | None = None, *, dx: builtins.float = 1, dim: builtins.int = -1) -> Tensor:
        """The integral along an axis by the trapezoidal rule, over sample points x or steps dx."""

    def trapz(self, x: Tensor | None = None, *, dx: builtins.float = 1, dim: builtins.int = -1) -> Tensor:
        """The integral along an axis by the trapezoidal rule, over sample points x or steps dx."""

    def triangular_solve(
        self,
        A: Tensor,
        upper: builtins.bool = True,
        transpose: builtins.bool = False,
        unitriangular: builtins.bool = False,
    ) -> results.triangular_solve:
        """The X of each triangular system A X = input (Aᵀ X = input), and A."""

    def tril(self, diagonal: builtins.int = 0) -> Tensor:
        """The matrix on and below a diagonal; zeros above."""

    def tril_(self, diagonal: builtins.int = 0) -> Self:
        """The matrix on and below a diagonal; zeros above."""

    def triplet_margin_loss(
        self,
        positive: Tensor,
        negative: Tensor,
        margin: builtins.float = 1.0,
        p: builtins.float = 2,
        eps: builtins.float = 1e-06,
        swap: builtins.bool = False,
        size_average: builtins.bool | None = None,
        reduce: builtins.bool | None = None,
        reduction: str = 'mean',
    ) -> Tensor:
        """How much nearer the positive should be to the anchor than the negative, by a margin."""

    def triplet_margin_with_distance_loss(
        self,
        positive: Tensor,
        negative: Tensor,
        *,
        margin: builtins.float = 1.0,
        swap: builtins.bool = False,
        reduction: str = 'mean',
    ) -> Tensor:
        """triplet_margin_loss with the Euclidean distance, which is torch's default there."""

    def triu(self, diagonal: builtins.int = 0) -> Tensor:
        """The matrix on and above a diagonal; zeros below."""

    def triu_(self, diagonal: builtins.int = 0) -> Self:
        """The matrix on and above a diagonal; zeros below."""

    @overload
    def true_divide(self, other: Tensor | Number) -> Tensor:
        """Divide input by other; ints give floats."""
    @overload
    def true_divide(self, other: Tensor | Number, *, rounding_mode: str | None) -> Tensor: ...

    def true_divide_(self, other: Tensor | Number) -> Self:
        """Divide input by other; ints give floats."""

    def trunc(self) -> Tensor:
        """Each element without its fraction."""

    def trunc_(self) -> Self:
        """Each element without its fraction."""

    def type(self, dtype: DType | str | None=None) -> Any:
        """The tensor in a dtype; without one the name that torch has for a tensor of its dtype."""

    def type_as(self, other: Tensor) -> Tensor:
        """Convert to the dtype of another tensor."""

    def unbind(self, dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """All slices along an axis, which is dropped."""

    @overload
    def unflatten(self, dim: builtins.int, sizes: Ints) -> Tensor:
        """Unfold one axis into several; one of the sizes may be -1."""
    @overload
    def unflatten(self, dim: builtins.int, *sizes: builtins.int) -> Tensor: ...

    def unfold(self, dimension: builtins.int, size: builtins.int, step: builtins.int) -> Tensor:
        """All windows of a size along an axis, step apart; the window is the last axis."""

    def uniform_(
        self,
        from_: builtins.float = 0.0,
        to: builtins.float = 1.0,
        *,
        generator: Generator | None = None,
    ) -> Self:
        """Fill with random numbers, equally likely anywhere from one bound up to another."""

    @overload
    def unique(
        self,
        sorted: builtins.bool = True,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: builtins.int | None = None,
    ) -> Tensor:
        """The distinct elements, or slices along an axis, in order."""
    @overload
    def unique(
        self,
        sorted: builtins.bool = True,
        return_inverse: builtins.bool = False,
        return_counts: builtins.bool = False,
        dim: builtins.int | None = None,
    ) -> Tensor | tuple[Tensor, ...]: ...

    @overload
    def unique_consecutive(
        self,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: builtins.int | None = None,
    ) -> Tensor:
        """The first of each run of equal elements, or of equal slices along an axis."""
    @overload
    def unique_consecutive(
        self,
        return_inverse: builtins.bool = False,
        return_counts: builtins.bool = False,
        dim: builtins.int | None = None,
    ) -> Tensor | tuple[Tensor, ...]: ...

    def unsqueeze(self, dim: builtins.int) -> Tensor:
        """Insert an axis of size 1."""

    def unsqueeze_(self, dim: builtins.int) -> Self:
        """Insert an axis of size 1 in place."""

    def upsample(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = 'nearest',
        align_corners: builtins.bool | None = None,
    ) -> Tensor:
        """Resize the axes after batch and channels: the older name of interpolate."""

    def upsample_bilinear(self, size: Any = None, scale_factor: Any = None) -> Tensor:
        """Resize images linearly along both axes, their corners kept."""

    def upsample_nearest(self, size: Any = None, scale_factor: Any = None) -> Tensor:
        """Resize by repeating the nearest element."""

    def vander(self, *, N: builtins.int | None = None) -> Tensor:
        """The powers 0 to N - 1 of each element, in a new last axis."""

    @overload
    def var(
        self,
        dim: Ints | None = None,
        *,
        correction: builtins.float | None = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """Variance over some axes, or over all, divided by n - correction (1 unless given)."""
    @overload
    def var(self, *dim: builtins.int, correction: builtins.float | None = None, keepdim: builtins.bool = False) -> Tensor: ...
    @overload
    def var(self, unbiased: builtins.bool) -> Tensor: ...
    @overload
    def var(self, dim: Ints | None, unbiased: builtins.bool, keepdim: builtins.bool = False) -> Tensor: ...

    @overload
    def var_mean(
        self,
        dim: Ints | None = None,
        *,
        correction: builtins.float | None = None,
        keepdim: builtins.bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Variance and mean over some axes, or over all."""
    @overload
    def var_mean(
        self,
        *dim: builtins.int,
        correction: builtins.float | None = None,
        keepdim: builtins.bool = False,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def var_mean(self, unbiased: builtins.bool) -> tuple[Tensor, Tensor]: ...
    @overload
    def var_mean(
        self,
        dim: Ints | None,
        unbiased: builtins.bool,
        keepdim: builtins.bool = False,
    ) -> tuple[Tensor, Tensor]: ...

    def vdot(self, other: Tensor) -> Tensor:
        """Inner product of two vectors, the first conjugated."""

    def vecdot(self, y: Tensor, *, dim: builtins.int = -1) -> Tensor:
        """Inner products of vectors along an axis, the first conjugated."""

    def vector_norm(
        self,
        ord: builtins.float = 2,
        dim: Ints | None = None,
        keepdim: builtins.bool = False,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """The p-norm over some axes, or over all: the p-th root of the sum of |x|^p."""

    @overload
    def view(self, size: Ints) -> Tensor:
        """See a tensor in another shape, sharing memory; an error where that takes a copy."""
    @overload
    def view(self, *size: builtins.int) -> Tensor: ...

    def view_as(self, other: Tensor) -> Tensor:
        """See a tensor in the shape of another."""

    def view_as_complex(self) -> Tensor:
        """See pairs of real numbers, along the last axis, as complex ones."""

    def view_as_real(self) -> Tensor:
        """See complex numbers as pairs of real ones, along a new last axis."""

    @overload
    def vsplit(self, indices_or_sections: builtins.int) -> tuple[Tensor, ...]:
        """Cut into equal pieces, or at places, along the first axis."""
    @overload
    def vsplit(self, indices_or_sections: Ints) -> tuple[Tensor, ...]: ...
    @overload
    def vsplit(self, *indices_or_sections: builtins.int) -> tuple[Tensor, ...]: ...

    def where(self, condition: Tensor | Number, other: Tensor | Number) -> Tensor:
        """Take elements of input where the condition holds, of other elsewhere."""

    def xlog1py(self, other: Tensor | Number) -> Tensor:
        """input log1p(other), which is 0 where input is 0, unless other is NaN."""

    def xlog1py_(self, other: Tensor | Number) -> Self:
        """input log1p(other), which is 0 where input is 0, unless other is NaN."""

    def xlogy(self, other: Tensor | Number) -> Tensor:
        """input log(other), which is 0 where input is 0, unless other is NaN."""

    def xlogy_(self, other: Tensor | Number) -> Self:
        """input log(other), which is 0 where input is 0, unless other is NaN."""

    def zero_(self) -> Self:
        """Set every element to zero."""

    def zeros_like(
        self,
        *,
        dtype: DType | None = None,
        device: Device | None = None,
        requires_grad: builtins.bool = False,
    ) -> Tensor:
        """Zeros in the shape, dtype and device of another tensor."""
