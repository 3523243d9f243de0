"""Inputs of the criticality unit: kernels, links, and the unit's measured values."""

from collections.abc import Mapping

import numpy as np

from rtl.parameters import T3Parameters

__all__ = [
    "LOAD",
    "MOST_ELAPSED",
    "MOST_TICKS",
    "REGISTERS",
    "Dispatcher",
    "far_along",
    "near_the_verdict",
    "random_configuration",
]

LOAD = 3
"""Phase in which a comparison samples the measured values."""
MOST_ELAPSED, MOST_TICKS = (1 << 20) - 1, (1 << 14) - 1
"""Longest times of the kernel, and of a group of workgroups."""
REGISTERS = (
    *("launched", "changed", "phase", "looked", "fraction", "elapsed", "finished_seen"),
    *("finish_time", "sent", "timed_log2", "measuring", "group", "group_time", "link_time"),
    *("late", "active", "relaxed", "critical", "congested"),
)
"""Registers that the contract names."""


def random_configuration(rng: np.random.Generator, p: T3Parameters) -> dict[str, int]:
    """Draw the fields of ``LaunchConfiguration``, mostly with the values of a real program."""
    most = 1 << p.credit_limit_bits
    values = {
        "workgroups": (0, 60, 1 << p.workgroup_bits, rng.integers(1, 200)),
        "tracked_first": (0, 10, rng.integers(0, most)),
        "to_send": (0, 50, 190, most - 1, rng.integers(0, most)),
        "credit_window": (0, 8, 16, 30, rng.integers(0, most)),
    }
    return {name: int(rng.choice(choices)) for name, choices in values.items()}


class Dispatcher:
    """Kernel, link and timebase, each at its own pace; sometimes with meaningless numbers."""

    def __init__(self, rng: np.random.Generator, p: T3Parameters):
        self._rng, self._most = rng, (1 << p.credit_limit_bits) - 1
        self._channels = p.channels
        self.change()

    def change(self) -> None:
        """Choose other paces, and a random position in another kernel."""
        rng = self._rng
        self._rates = rng.choice([0, 0.02, 0.2, 0.8], 4).tolist()
        self._held_up = rng.choice([0, 0.1, 0.2, 1])
        self._busy = rng.choice([0, 0.5, 1, 1])
        self._ticks = rng.choice([1 / 64, 1 / 64, 1 / 8, 1])
        behind, self._ahead = rng.choice([0, 2, 8, 40], 2).tolist()
        self._dispatched = int(rng.integers(0, 40))
        self._finished = int(rng.integers(0, self._dispatched + 1))
        self._oldest = max(self._finished - behind, 0)

    def cycle(self, workgroups: int) -> dict[str, int]:
        """Draw the inputs of the unit, except the launch."""
        rng = self._rng
        if rng.random() < 0.01:
            numbers = rng.integers(0, self._most + 1, 4).tolist()
            issued = bool(rng.random() < 0.5)
        else:
            dispatches, finishes, completes, issued = (rng.random(4) < self._rates).tolist()
            limit = self._oldest + 20 + self._ahead
            self._dispatched += dispatches and self._dispatched < min(workgroups, limit)
            self._finished += finishes and self._finished < self._dispatched
            self._oldest += completes and self._oldest < self._finished
            numbers = [self._dispatched, self._finished, self._oldest, limit]
        names = ("dispatched", "finished", "oldest", "dispatch_limit")
        held_up = sum(int(rng.random() < self._held_up) << c for c in range(self._channels))
        return {
            **dict(zip(names, numbers, strict=True)),
            "issued": issued,
            "busy": bool(rng.random() < self._busy),
            "held_up": held_up,
            "tick": bool(rng.random() < self._ticks),
        }


def near_the_verdict(
    rng: np.random.Generator, own: np.void, launch: Mapping[str, int], finished: int
) -> dict[str, int]:
    """Choose times such that the link needs exactly or nearly three quarters of the kernel's time,
    for phase :data:`LOAD`.

    Parameters
    ----------
    own, launch : record
        State of the golden unit, and its configuration.
    """
    elapsed = int(rng.integers(0, rng.choice([30, 3000, MOST_ELAPSED + 1])))
    finish_time = max(elapsed - int(rng.choice([0, 1, elapsed // 3])), 0)
    kernel = int(launch["workgroups"]) * finish_time - finished * elapsed
    factor = int(own["remaining"]) * finished
    link_time = max(kernel, 0) * (3 << 2 + int(own["timed_log2"])) // factor if factor else 0
    link_time = min(max(link_time + int(rng.integers(-1, 2)), 0), MOST_TICKS)
    # The longer one of two times decides.
    times = [link_time, int(rng.choice([0, link_time // 2, link_time]))]
    rng.shuffle(times)
    names = ("link_time", "group_time")
    return {"elapsed": elapsed, "finish_time": finish_time, **dict(zip(names, times, strict=True))}


def far_along(rng: np.random.Generator, own: np.void) -> dict[str, int]:
    """Draw the measured values of a kernel that has run for hours, for a unit that measures the
    link.
    """
    values = {
        "fraction": int(rng.integers(12, 16)),
        "sent": int(rng.choice([2040, rng.integers(0, 60)])),
        "group": max((1 << int(own["timed_log2"])) - int(rng.integers(1, 5)), 0),
    }
    most = dict.fromkeys(("elapsed", "finish_time"), MOST_ELAPSED)
    for name, last in (most | dict.fromkeys(("group_time", "link_time"), MOST_TICKS)).items():
        values[name] = int(rng.choice([0, rng.integers(0, 50), last - rng.integers(0, 40)]))
    return values
