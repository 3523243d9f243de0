"""DRAM timings, and drivers that step a channel or serve a list of requests."""

from dataclasses import replace

import numpy as np
from numba import njit

from sysmodel.config.dram_timing import DramTiming
from sysmodel.config.system import load_system
from sysmodel.engine.codes import READ
from sysmodel.memory.dram import dram_accepts, dram_push, dram_step, new_dram
from t3.experiments.dram.patterns import Pattern
from t3.experiments.dram.serve import fraction_of_peak

GPGPUSIM_V100 = replace(load_system("asplos24").dram.timing_cycles, bank_interleave="linear")
DRAMSIM3_HBM2 = replace(
    load_system("asplos24-complete").dram.timing_cycles, bank_interleave="linear"
)

# Every gate as short as it may be, so that a test lengthens the one it is about.
BARE = DramTiming(
    tCCD_S=1,
    tCCD_L=1,
    tCCD_WL=1,
    tRRD_S=1,
    tRRD_L=1,
    tRCD_RD=2,
    tRCD_WR=2,
    tRP=2,
    tRAS=2,
    tCL=1,
    tCWL=1,
    tWTR_S=0,
    tWTR_L=0,
    tRTW=1,
    tRTP=1,
    tWR=0,
)


def atom_at(row: int, bank: int, column: int = 0) -> int:
    """Return the address of a place in the default geometry: row.B3.C3.B1.C3."""
    return row << 10 | bank >> 1 << 7 | column >> 3 << 4 | (bank & 1) << 3 | column & 7


class Channel:
    """Channel 0, stepped cycle by cycle, with the issue cycle of each token."""

    def __init__(self, timing: DramTiming, channels: int = 1):
        self.state = new_dram(timing, channels)
        self.now = 0
        self.issued: dict[int, int] = {}
        self.tokens = 0

    def push(self, access: int, row: int, bank: int, column: int = 0) -> int:
        token = self.tokens
        self.tokens += 1
        dram_push(self.state, 0, self.now, access, atom_at(row, bank, column), token)
        return token

    def run(self, cycles: int, allow_update: bool = True):
        for _ in range(cycles):
            token = dram_step(self.state, 0, self.now, allow_update)
            if token >= 0:
                assert token not in self.issued
                self.issued[token] = self.now
            self.now += 1

    def open(self, *banks: int, row: int = 0):
        """Open a row in each bank with a read, and let every gate pass."""
        for bank in banks:
            self.push(READ, row, bank, 63)
        self.run(200)
        self.issued.clear()

    def issue_times(self, *requests: tuple[int, int, int, int], cycles: int = 600) -> list[int]:
        """Push requests now; return their issue cycles, counted from now."""
        start = self.now
        tokens = [self.push(*request) for request in requests]
        self.run(cycles)
        return [self.issued[token] - start for token in tokens]


@njit
def _drive(state, cycles, atoms, accesses, tokens, times, blocked):
    """Offer requests in order, one a cycle while there is space.

    Writes the issued tokens and their cycles, and returns their number. Of each 16 cycles,
    `blocked` allow no updates.
    """
    offered = done = 0
    for now in range(cycles):
        if offered < len(atoms) and dram_accepts(state, 0, accesses[offered]):
            dram_push(state, 0, now, accesses[offered], atoms[offered], offered)
            offered += 1
        token = dram_step(state, 0, now, (now & 15) >= blocked)
        if token >= 0:
            tokens[done] = token
            times[done] = now
            done += 1
    return done


def drive(timing, atoms, accesses, cycles, *, blocked=0, state=None):
    """Serve a finite list; return tokens and cycles in order of issue, and the state."""
    atoms = np.asarray(atoms, np.int64)
    accesses = np.asarray(np.broadcast_to(accesses, atoms.shape), np.int64)
    tokens, times = np.full((2, len(atoms)), -1, np.int64)
    state = new_dram(timing, 1) if state is None else state
    done = _drive(state, cycles, atoms, accesses, tokens, times, blocked)
    return tokens[:done], times[:done], state


def rate(timing, atoms, accesses, cycles=100_000):
    """Return the column commands per cycle under an endless, saturating stream."""
    pattern = Pattern(np.asarray(atoms), np.broadcast_to(accesses, np.shape(atoms)))
    return fraction_of_peak(timing, pattern, cycles=cycles) / timing.burst
