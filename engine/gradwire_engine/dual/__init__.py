"""Values with a tangent, and how every op applies to them: what forward mode is made of."""

from gradwire_engine.dual import apply, walk, writing
from gradwire_engine.dual.tangents import transposed as transposed
from gradwire_engine.dual.value import Dual as Dual
from gradwire_engine.dual.value import dual as dual
from gradwire_engine.dual.value import unpacked as unpacked
from gradwire_engine.dual.width import among_columns as among_columns
from gradwire_engine.dual.width import levels_of as levels_of
from gradwire_engine.dual.width import standing as standing
from gradwire_engine.operators import give_operators

ENTERED = (apply, walk, writing)
"""Imported for what they enter: how ops, walks and writes apply to duals. Who makes duals imports
this package and none of its modules, so that all of it is there before the first."""

give_operators(Dual)
