"""The system around the T3 hardware: GPU, memory, links, both engines, command line."""

from . import numba_cache as numba_cache  # before anything imports numba
