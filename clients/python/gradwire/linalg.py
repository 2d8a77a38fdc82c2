"""torch.linalg, from the catalogue."""

from gradwire.functions import serving
from gradwire_engine.errors import LinAlgError as LinAlgError

__getattr__, __dir__ = serving(__name__, "linalg.")
