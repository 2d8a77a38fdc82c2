"""Steps about hooks: on tensors, after accumulation, on nodes, and their removal."""

from __future__ import annotations
