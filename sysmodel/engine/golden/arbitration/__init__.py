"""The arbiter between compute and communication: one file for each policy."""

from .arbiter import arbitrate
from .mca import ANY, measure

__all__ = ["ANY", "arbitrate", "measure"]
