"""The hardware once more, in Numba: the same behaviour cycle by cycle, written independently.

It is the fast engine of the cycle loop and the scoreboard of the testbenches.
"""

from .model import reset, step
from .state import GoldenState, new_state

__all__ = ["GoldenState", "new_state", "reset", "step"]
