"""Files of tensors, and of what stands around them: gradwire.save and gradwire.load."""

from gradwire.saving.files import load as load
from gradwire.saving.files import save as save
