"""The arbiter between compute and communication: one file for each policy."""

from .arbiter import arbitrate
from .measurement import ANY, MEASURING, measure

__all__ = ["ANY", "MEASURING", "arbitrate", "measure"]
