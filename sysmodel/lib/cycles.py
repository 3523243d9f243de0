"""Special numbers of cycles."""

import numpy as np

__all__ = ["NEVER"]

NEVER = np.int64(1) << 62
"""Cycle that is never reached."""
