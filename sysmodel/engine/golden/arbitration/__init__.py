"""The arbiter between compute and communication: one file for each policy."""

from .arbiter import arbitrate
from .mca import ANY, MEASURING, measure

__all__ = ["ANY", "MEASURING", "arbitrate", "measure"]
