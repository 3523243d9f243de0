"""Watchdog of a simulation: distinguishes a machine that waits for ever from a slow one."""

from dataclasses import asdict

import numpy as np

from sysmodel.config.system import System
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.collective import BLOCK
from sysmodel.gpu.events import latest_event
from sysmodel.lib.cycles import NEVER

from .state import State

__all__ = ["STILL_CYCLES", "Watchdog"]

STILL_CYCLES = 2_000_000
"""Cycles without any progress after which a machine whose steps are short stands still."""

_COUNTERS = {
    "gpu": ("reads", "writes", "slot_cycles"),
    "kernel": ("finished", "next_dispatch_index"),
}


class Watchdog:
    """Watchdog of one run of a machine.

    A step of the machine may take arbitrarily long, for example on the matrix pipe of a slow CU or
    on a long wire. The end of such a step is known in advance, as the time of an event. Therefore a
    machine stands still if it has made no progress for ``STILL_CYCLES`` after the last event that
    was scheduled when its progress ended. Steps whose end is not an event are added to
    ``STILL_CYCLES``: an atom on a slow link, a block at a slow port, and a long time of the memory.
    """

    def __init__(self, system: System, state: State):
        self._state, fixed = state, state.fixed[0]
        rates = state.link["rate_bytes"]
        rate = float(rates[rates > 0].min())
        times = asdict(system.dram.timing_cycles).values()
        memory = max(one for one in times if isinstance(one, int))
        unscheduled = (
            ATOM_BYTES * int(fixed["channels"]) / rate,
            BLOCK * float(fixed["port_cycles"]),
            memory / system.t3.clock_divider,
        )
        self._most = STILL_CYCLES + 2 * int(sum(unscheduled))
        self._progress: tuple[int, ...] | None = None
        self._moved = self._deadline = 0

    def still_cycles(self, now: int) -> int:
        """Cycles since the last progress if the machine stands still, otherwise 0."""
        progress = self._counters()
        if progress != self._progress:
            self._progress, self._moved, self._deadline = progress, now, 0
        elif now - self._moved > self._most:
            self._deadline = self._deadline or self._scheduled() + self._most
            if now > self._deadline:
                return now - self._moved
        return 0

    def _counters(self) -> tuple[int, ...]:
        held = int(self._state.hold.sum())
        over_links = int(self._state.link["sent_bytes"].sum())
        records = {"gpu": self._state.gpu, "kernel": self._state.kernel}
        counters = (records[of][name] for of, names in _COUNTERS.items() for name in names)
        return held, over_links, *(int(one.sum()) for one in counters)

    def _scheduled(self) -> int:
        """Latest cycle of an event that is or was scheduled."""
        state, gpu = self._state, self._state.gpu
        start = state.kernel["start"]
        begun = np.append(start[start < NEVER], 0)
        tables = state.packet_time, state.admission_time, state.back_time, begun
        latest = [int(times.max()) for times in tables]
        latest += [latest_event(row) for row in gpu]
        return max(int(np.ceil(gpu["next_dispatch"].max())), *latest)
