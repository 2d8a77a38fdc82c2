"""What all steps have in common."""

from __future__ import annotations

from typing import ClassVar
from typing import Literal as OneOf

from gradwire_service.host.protocol.names import optional
from gradwire_service.host.protocol.walks import Part

GradMode = OneOf["enable_grad", "no_grad", "inference_mode"]


class StepPart(Part):
    """A step. `word` is the field that makes it this kind of step."""

    word: ClassVar[str]
    grad_mode: GradMode | None = optional("The grad mode of this step alone.", "no_grad")
