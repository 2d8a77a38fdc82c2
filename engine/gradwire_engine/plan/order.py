"""Where steps stand: what is read only later is worked out later, if that keeps nothing else alive.

A rule's part that needs no cotangent could run with the forward pass; what it makes would then lie
in memory until the walk back comes to it. Where its operands lie there anyway, it waits.
"""

from __future__ import annotations

from gradwire_engine.plan.code import CALL, JOIN, PRODUCT, Code
from gradwire_engine.plan.uses import readers


def put_off(code: Code) -> Code:
    """The same steps, each just before its first reader where its operands live as long anyway."""
    count = len(code.steps)
    reading = readers(step.operands for step in code.steps)
    kept = {*code.inputs, *code.constants, *code.outputs}
    places = list(range(count))  # where each step is put
    for place in reversed(range(count)):
        step = code.steps[place]
        waiting = [places[reader] for n in step.results for reader in reading.get(n, ())]
        if step.kind in (CALL, JOIN, PRODUCT) or not waiting:
            continue
        wanted = min(waiting)
        others = [[places[r] for r in reading[n] if r != place] for n in step.operands]
        alive = zip(step.operands, others, strict=True)
        if all(number in kept or max(found, default=-1) >= wanted for number, found in alive):
            places[place] = wanted
    order = sorted(range(count), key=lambda place: (places[place], place))
    return code._replace(steps=tuple(code.steps[place] for place in order))
