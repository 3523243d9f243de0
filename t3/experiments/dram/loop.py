"""Compiled loop that offers requests to a channel."""

from dataclasses import dataclass

import numpy as np

from sysmodel.config.dram_timing import DramTiming
from sysmodel.engine.codes import READ, WRITE
from sysmodel.lib.bits import popcount
from sysmodel.lib.compiled import compiled
from sysmodel.memory.dram import (
    DramState,
    dram_accepts,
    dram_place,
    dram_push,
    dram_step,
)

__all__ = ["Front", "Loop"]

_SIDES = 2


@dataclass(frozen=True)
class Front:
    """Transaction queues in front of the channel's command queue, as in DRAMsim3.

    Each pseudo-channel has separate queues for reads and writes. One transaction per cycle enters
    the command queue: a read or, after the write queue was full, the writes that it held at that
    time.

    Parameters
    ----------
    transactions : int
        Depth of each transaction queue.
    of_bank : int
        Most commands per bank in the command queue.
    """

    transactions: int
    of_bank: int


class Loop:
    """Simulation of requests, cycle by cycle, that can be continued."""

    def __init__(self, timing: DramTiming, front: Front | None, offered_per_cycle: int):
        front = front or Front(0, 0)
        self._sizes = np.array([offered_per_cycle, front.transactions, front.of_bank], np.int64)
        pseudo = timing.pseudo_channels
        self._waiting = np.zeros((pseudo, _SIDES, max(1, front.transactions)), np.int64)
        self._levels = np.zeros((pseudo, _SIDES + 1), np.int64)  # the last: writes to be released
        self.now = 0
        self._progress = np.zeros(2, np.int64)  # next request, requests served

    def run(self, state: DramState, requests, done_at, *, wrap: bool, end: int) -> None:
        channel, local, accesses = requests
        self.now = _serve(
            state, channel, local, accesses, self._sizes, self._waiting, self._levels,
            self._progress, done_at, self.now, end, wrap,
        )  # fmt: skip


@compiled
def _serve(
    state, channel, local, accesses, sizes, waiting, levels, progress, done_at, now, end, wrap
):  # fmt: skip
    """Simulate from ``now`` to ``end``, or until all requests are served; return the cycle."""
    most, transactions, of_bank = sizes
    count, pseudo = len(local), len(waiting)
    while now < end and (wrap or progress[1] < count):
        for _ in range(most):
            i = progress[0]
            if i == count:
                break
            if transactions:
                if not _transact(waiting, levels, channel[i], accesses[i], i):
                    break
            elif dram_accepts(state, channel[i], accesses[i]):
                dram_push(state, channel[i], now, accesses[i], local[i], i)
            else:
                break
            done_at[0, i] = now
            progress[0] = i + 1 if i + 1 < count or not wrap else 0
        for turn in range(pseudo):
            ch = (turn + now) % pseudo
            token = dram_step(state, ch, now, True)
            if token >= 0:
                done_at[1, token] = now
                progress[1] += 1
            if transactions:
                _release(state, ch, local, waiting[ch], levels[ch], of_bank, now)
        now += 1
    return now


@compiled
def _transact(waiting, levels, ch, access, i):
    """Enter a request into its transaction queue, if there is space."""
    side = 0 if access == READ else 1
    level = levels[ch, side]
    if level == waiting.shape[2]:
        return False
    waiting[ch, side, level] = i
    levels[ch, side] += 1
    return True


@compiled
def _release(state, ch, local, waiting, levels, of_bank, now):
    """Move the oldest transaction whose bank has space for a command into the command queue."""
    if levels[2] == 0 and levels[1] == waiting.shape[1] or levels[0] == 0 and levels[2] == 0:
        levels[2] = levels[1]
    side = 1 if levels[2] > 0 else 0
    access = WRITE if side else READ
    c = state.channel[ch]
    for n in range(levels[side]):
        if not dram_accepts(state, ch, access):
            return
        i = waiting[side, n]
        bank = dram_place(state, local[i])[1]
        commands = 0
        for page in range(len(c.valid)):
            commands += popcount(c.bank_slots[page, bank])
        if commands < of_bank:
            dram_push(state, ch, now, access, local[i], i)
            for later in range(n, levels[side] - 1):
                waiting[side, later] = waiting[side, later + 1]
            levels[side] -= 1
            if side:
                levels[2] -= 1
            return
