"""Simulation of a pattern on one channel of the DRAM model, with its pseudo-channels.

>>> from sysmodel.config.system import load_system
>>> from t3.experiments.dram.patterns import mixed
>>> from t3.experiments.dram.serve import serve
>>> served = serve(load_system("h200").dram.timing_cycles, mixed(reads=2, writes=1))
>>> served.share_of_peak, served.row_hits
"""

from dataclasses import dataclass, replace

import numpy as np

from sysmodel.config.dram_timing import DramTiming
from sysmodel.engine.codes import READ
from sysmodel.memory.dram import new_dram

from .loop import Front, Loop
from .patterns import Pattern

__all__ = [
    "Served",
    "fraction_of_peak",
    "serve",
    "split_channel",
    "without_refresh",
]

_WARM_UP_CYCLES = 20_000


@dataclass(frozen=True, eq=False)
class Served:
    """Results of a pattern.

    Parameters
    ----------
    timing : DramTiming
        Channel that served the pattern.
    cycles : int
        Cycles until the last request was accepted.
    issued : int
        Column commands in these cycles.
    activates, refreshes, row_hits : int
        Commands, and column commands to an open row, until the last request was served.
    issued_at : array
        Cycle of each request's column command.
    latency_cycles : array
        Latency of each read, from acceptance to the last data.
    """

    timing: DramTiming
    cycles: int
    issued: int
    activates: int
    refreshes: int
    row_hits: int
    issued_at: np.ndarray
    latency_cycles: np.ndarray

    @property
    def share_of_peak(self) -> float:
        """Share of the capacity of the pseudo-channels' data buses."""
        return self.issued * self.timing.burst / (self.cycles * self.timing.pseudo_channels)


def split_channel(atoms: np.ndarray, address_map: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Split atoms into pseudo-channel and local atom, and remove ``pseudo:1`` from the address map.

    Without ``pseudo:1`` there is only one pseudo-channel.
    """
    words = address_map.split()
    if "pseudo:1" not in words:
        return np.zeros_like(atoms), atoms, address_map
    below = sum(int(word.partition(":")[2]) for word in words[: words.index("pseudo:1")])
    words.remove("pseudo:1")
    local = atoms >> (below + 1) << below | atoms & ((1 << below) - 1)
    return atoms >> below & 1, local, " ".join(words)


def serve(
    timing: DramTiming,
    pattern: Pattern,
    *,
    address_map: str | None = None,
    offered_per_cycle: int = 8,
    front: Front | None = None,
) -> Served:
    """Serve a pattern once.

    Requests are offered in order; a request without space holds up the following ones.

    Parameters
    ----------
    pattern : Pattern
        Pattern of atoms of the channel.
    address_map : str or None
        Address map of the channel, with the pseudo-channel's bit. Default: the map of the timing,
        with the pseudo-channel in the lowest bit.
    offered_per_cycle : int
        Most requests accepted per cycle.
    front : Front or None
        Queues in front of the channel's queues.

    Raises
    ------
    ValueError
        If nothing is offered, or the address map does not fit the timing.
    """
    if offered_per_cycle < 1:
        raise ValueError(f"offered_per_cycle must be at least 1, not {offered_per_cycle!r}")
    if address_map is None:
        address_map = ("pseudo:1 " if timing.pseudo_channels > 1 else "") + timing.address_map
    channel, local, own_map = split_channel(pattern.atoms, address_map)
    if channel.any() and timing.pseudo_channels == 1:
        raise ValueError("address_map has a pseudo-channel, and the channel has none")
    timing = replace(timing, address_map=own_map)
    state = new_dram(timing, timing.pseudo_channels)
    requests = channel, local, pattern.accesses
    done_at = np.zeros((2, len(local)), np.int64)
    loop = Loop(timing, front, offered_per_cycle)
    loop.run(state, requests, done_at, wrap=False, end=1 << 60)
    counters = state.channel
    accepted, issued = done_at
    reads = pattern.accesses == READ
    cycles = int(accepted.max()) + 1
    return Served(
        timing=timing,
        cycles=cycles,
        issued=int((issued < cycles).sum()),
        activates=int(counters["activate_count"].sum()),
        refreshes=int(counters["refresh_count"].sum()),
        row_hits=int(counters["row_hit_count"].sum()),
        issued_at=issued,
        latency_cycles=(issued - accepted)[reads] + timing.read_latency,
    )


def without_refresh(timing: DramTiming) -> DramTiming:
    """Return the same channel without refresh."""
    return replace(timing, refresh="none")


def fraction_of_peak(
    timing: DramTiming,
    pattern: Pattern,
    *,
    queue_depth: int | None = None,
    refresh: bool = True,
    cycles: int = 400_000,
) -> float:
    """Share of data-bus cycles with data while a repeated pattern saturates a channel.

    The pseudo-channel is in the lowest bit of an atom.

    Parameters
    ----------
    queue_depth : int or None
        Depth of the queue for reads and writes; default: the depth of the timing.
    refresh : bool
        False removes the refresh from the timing.
    cycles : int
        Length of the measurement, after the warm-up.

    Raises
    ------
    ValueError
        If the queue's depth is not allowed, or no cycle would be measured.
    """
    if cycles < 1:
        raise ValueError(f"cycles must be at least 1, not {cycles!r}")
    if queue_depth is not None:
        timing = replace(timing, queue_depth=queue_depth)
    if not refresh:
        timing = without_refresh(timing)
    pseudo = timing.pseudo_channels
    state = new_dram(timing, pseudo)
    requests = pattern.atoms % pseudo, pattern.atoms // pseudo, pattern.accesses
    done_at = np.zeros((2, len(pattern.atoms)), np.int64)
    loop = Loop(timing, None, 1)
    loop.run(state, requests, done_at, wrap=True, end=_WARM_UP_CYCLES)
    before = int(state.channel["busy_cycles"].sum())
    loop.run(state, requests, done_at, wrap=True, end=_WARM_UP_CYCLES + cycles)
    return (int(state.channel["busy_cycles"].sum()) - before) / (cycles * pseudo)
