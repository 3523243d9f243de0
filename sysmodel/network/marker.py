"""END packets of the link in a sampled or mirrored system."""

from typing import Any

import numpy as np

from sysmodel.engine.codes import PACKET_END
from sysmodel.engine.ports import PACKET
from sysmodel.gpu.address_spaces import context_of_space
from sysmodel.lib.compiled import inlined

__all__ = ["announce", "is_marker"]


@inlined
def is_marker(packet: np.ndarray) -> bool:
    """Return True for an END packet."""
    kind: int = packet[PACKET.kind]
    return kind == PACKET_END


@inlined
def announce(s: Any, g: int, packet: np.ndarray) -> None:
    """Announce in an END packet the simulated atoms of its tile at GPU ``g``.

    The hardware announces the tile's atoms in all channels, of which some may not be simulated. If
    one GPU stands for all, the packet arrives for another tile than it was sent for.
    """
    n = context_of_space(np.int64(packet[PACKET.context]))
    w = s.slot_row[g, s.context[g, n].kernel, np.int64(packet[PACKET.slot])]
    atoms = s.per_wave[w, np.int64(packet[PACKET.wavefront])]
    above = s.outer_edge[w] | s.inner_edge[w] << 1 | 1 << 2
    packet[PACKET.atom] = np.uint64(atoms | above << s.fixed[0].tile_atom_bits)
