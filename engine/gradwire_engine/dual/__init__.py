"""Values with a tangent, and how every op applies to them: what forward mode is made of."""

from gradwire_engine.dual import apply, walk, writing
from gradwire_engine.dual.value import Dual
from gradwire_engine.operators import give_operators

ENTERED = (apply, walk, writing)
"""Imported for what they enter: how ops, walks and writes apply to duals, before one is made."""

give_operators(Dual)
