"""A program in one call: what is asked, a plan where there is one, else a session for the call.

references: literals of requests, and tensors of sessions among them. asked: a request without its
elements, by which it is known again. repeated: the plan of requests like it. plans: those there
are. applied: the transform itself. once: all of it in order.
"""

from gradwire_service.host.once.asked import PLANNED
from gradwire_service.host.once.once import Once
from gradwire_service.host.once.references import FIELDS, Fetch, Reference, references

__all__ = ["FIELDS", "PLANNED", "Fetch", "Once", "Reference", "references"]
