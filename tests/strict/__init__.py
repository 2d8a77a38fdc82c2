"""A strict stand-in for CuPy: what runs on it finds, without a GPU, what would break on one.

`Array` holds a NumPy array and lets it out only where CuPy would copy to the host. `xp` and
`special` have the functions that CuPy has, with its parameters and dtype rules, read from the
tables in `cupy_api/` (taken from CuPy 15.0.0a1, close to release 14). Where CuPy's result isn't
defined (duplicate indices in an assignment, a factorisation that fails), the stand-in gives one
that a test can't mistake for NumPy's.
"""

from tests.strict.array import Array
from tests.strict.backend import from_numpy, strided, to_numpy
from tests.strict.namespace import special, xp

__all__ = ["Array", "from_numpy", "special", "strided", "to_numpy", "xp"]
