"""Chains of views, and ops that are told of a part by data: their spec rules trust what they get.

Only rules and in-place writes make such calls; out of a snapshot they are looked over here.
"""

from __future__ import annotations

from typing import Any

from gradwire_engine.call import Call
from gradwire_engine.ops.view_scatter import copy_slices, view_scatter
from gradwire_engine.ops.views import PARTS, placed
from gradwire_engine.snapshot.fields import need, whole
from gradwire_engine.spec import Spec


def check_part(call: Call) -> None:
    """Refuse a call whose data names no part of its operands; may raise anything else too."""
    if call.op in (view_scatter, copy_slices):
        base, part = call.inputs
        wanted = part.shape if type(part) is Spec else None
        end = led(call.attributes["chain"], base)
        need(wanted in (None, end.shape), "what is written has another form than the part")
    elif call.op is placed:
        found = PARTS[call.attributes["part"]]
        names = list(found.signature.by_name)[1:]
        where = dict(zip(names, call.attributes["where"], strict=True))
        seen = found.infer({"input": call.outputs[0], **where}).outputs
        need(type(seen) is Spec and seen.shape == call.inputs[0].shape, "a part has another form")


def led(chain: Any, spec: Any) -> Spec:
    """Where a chain of views leads from a spec; each begins where the one before ends."""
    need(type(spec) is Spec, "views are of a tensor")
    for call, index in chain:
        views = type(call) is Call and call.op.view and len(call.inputs) == 1
        need(views and call.inputs[0] == spec, "the steps of a view don't follow each other")
        spec = call.outputs[whole(index, "an output of a view", 0, len(call.outputs))]
    return spec  # type: ignore[no-any-return]
