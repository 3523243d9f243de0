"""The arbiter between compute and communication: one file for each policy."""

from .arbiter import arbitrate
from .critical import follow_congestion
from .measurement import ANY, MEASURING, measure

__all__ = ["ANY", "MEASURING", "arbitrate", "follow_congestion", "measure"]
