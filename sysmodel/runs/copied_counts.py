"""Accesses and packets of collectives by copy engines."""

from typing import NamedTuple

import numpy as np

from sysmodel.config.system import System
from sysmodel.gpu.atoms import ATOM_BYTES

from .counters import new_counters

__all__ = ["Chunks", "copied_counts", "gathered_chunks", "scattered_chunks"]


class Chunks(NamedTuple):
    """Chunks that a GPU moves in a collective: at its memory, over its links, and on its CUs."""

    read: int
    written: int
    sent: int
    loaded: int = 0
    stored: int = 0


def scattered_chunks(gpus: int) -> Chunks:
    """Chunks of a reduce-scatter: all but the own are copied from the output to staging buffers of
    their owners, and the owner adds all parts of its chunk."""
    others = gpus - 1
    return Chunks(read=others + gpus, written=others + 1, sent=others, loaded=gpus, stored=1)


def gathered_chunks(gpus: int) -> Chunks:
    """Chunks of an all-gather: the own is read for each other GPU."""
    others = gpus - 1
    return Chunks(read=others, written=others, sent=others)


def copied_counts(
    system: System, base: np.ndarray, chunks: Chunks, chunk_bytes: float
) -> np.ndarray:
    """Counters of a collective of chunks of so many bytes on average.

    Rows of the memory are opened as often for each access as in ``base``, the counters of the same
    collective by other means.
    """
    one, chunk_atoms = new_counters()[:1], chunk_bytes / ATOM_BYTES
    one["reads"] = round(chunks.read * chunk_atoms)
    one["writes"] = round(chunks.written * chunk_atoms)
    one["cu_loads"] = round(chunks.loaded * chunk_atoms)
    one["cu_stores"] = round(chunks.stored * chunk_atoms)
    one["cu_additions"] = round(max(0, chunks.loaded - 1) * chunk_atoms)
    one["link_bytes"] = sent = round(chunks.sent * chunk_bytes)
    one["link_overhead_bytes"] = round(sent / system.copy_engine.payload_share) - sent
    accesses = one["reads"] + one["writes"]
    base_accesses = max(1, int(base["reads"] + base["writes"]))
    one["activates"] = accesses * int(base["activates"]) // base_accesses
    counted: np.ndarray = one[0]
    return counted
