"""Counters of a configuration's accesses and events, by activity."""

import numpy as np

from sysmodel.lib.activities import MOST_ACTIVITIES

__all__ = ["COUNTED", "new_counters"]

COUNTED = (
    *("reads", "writes", "link_bytes", "packets", "end_packets"),
    *("updates", "dma_reads", "cu_stores", "cu_additions"),
)
"""Counters that every GPU of the cycle loop has, under the same names."""

_OF_PACKETS = ("link_overhead_bytes",)
_OF_HARDWARE = "tiles", "flip_flop_clocks"
_COUNTERS = np.dtype(
    [(name, np.int64) for name in (*COUNTED, *_OF_PACKETS, "cu_loads", "activates", *_OF_HARDWARE)]
)


def new_counters() -> np.ndarray:
    """Make counters of zero: a record for each activity.

    ``reads`` and ``writes`` are accesses to the memory, ``updates`` and ``dma_reads`` are some of
    these; ``link_bytes`` are sent payload in ``packets``, ``end_packets`` are packets without
    payload, and ``link_overhead_bytes`` the headers and check bits of both. The other counters are
    those of :class:`~sysmodel.energy.counts.Activity`.
    """
    return np.zeros(MOST_ACTIVITIES, _COUNTERS)
