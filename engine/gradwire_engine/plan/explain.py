"""A plan as people read it: what runs one after the other, what together, and its bytes."""

from __future__ import annotations

from gradwire_engine.plan.run_numpy import Plan
from gradwire_engine.plan.sweep import Sweep


def explained(plan: Plan) -> str:
    """A line for each call; below a region, indented, its steps."""
    found = [f"{len(plan.units)} calls, {plan.nbytes} bytes at most beside the inputs"]
    for unit in plan.units:
        if not isinstance(unit, Sweep):
            found.append(plan.code.text(unit))
            continue
        axes = " × ".join(map(str, unit.dims))
        threads = f", on {len(unit.parts)} threads" if len(unit.parts) > 1 else ""
        how = "compiled" if unit.native is not None else f"{unit.height} rows at a time"
        found.append(f"region {axes}, {how}{threads}")
        found += [f"  {plan.code.text(step)}" for _, step in unit.region.steps]
    return "\n".join(found)
