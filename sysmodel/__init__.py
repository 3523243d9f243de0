"""The system around the T3 hardware: GPU, memory, links, both engines, command line."""

from sysmodel.lib import numba_cache as numba_cache  # before anything imports numba
