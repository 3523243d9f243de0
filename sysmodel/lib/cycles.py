"""Numbers of cycles that stand for something else."""

import numpy as np

__all__ = ["NEVER"]

NEVER = np.int64(1) << 62
"""A cycle that does not come."""
