"""Memory channel of a system, with optional queues and address map of its own."""

import re
from dataclasses import replace
from typing import Any

import numpy as np

from sysmodel.config.dram_timing import DramTiming, Refresh
from sysmodel.config.memory import Dram, with_standard
from sysmodel.config.schema import validate
from sysmodel.config.system import System
from sysmodel.lib.errors import InputError

from .serve import split_channel

__all__ = ["channel_map", "memory_channel", "standard_memory"]

# Shares of a write queue at which Ramulator 2 begins and ends a drain.
_BEGIN_DRAIN, _END_DRAIN = 0.8, 0.2
_NOTHING = np.zeros(0, np.int64)


def standard_memory(standard: str, clock_mhz: float) -> Dram:
    """Make an HBM channel of a standard at a clock rate, with the queue of the presets."""
    own = {
        "standard": standard,
        "channels": 2,
        "clock_mhz": clock_mhz,
        "interleave_bytes": 256,
        "queue_depth": 64,
        "turnaround_cap_clocks": 80,
        "data_share": 1.0,
        "age_cap_clocks": 2000,
        "read_latency_ns": 0,
    }
    return validate(Dram, with_standard(own), standard)


def channel_map(system: System) -> str:
    """Address map of an HBM channel, whose pseudo-channels alternate in the system's interleave."""
    dram = system.dram
    if dram.pseudo_channels == 1:
        return dram.address_map
    words, left = [], system.offset_bits
    for name, bits in dram.timing_cycles.address_fields:
        below = min(bits, left)
        if below:
            words.append(f"{name}:{below}")
        left -= below
        if left == 0 and "pseudo:1" not in words:
            words.append("pseudo:1")
        if bits > below:
            words.append(f"{name}:{bits - below}")
    return " ".join(words)


def memory_channel(
    system: System,
    *,
    queue: str | None = None,
    refresh: Refresh | None = None,
    address_map: str | None = None,
) -> tuple[DramTiming, str]:
    """Make a system's HBM channel with its address map.

    Parameters
    ----------
    queue : str or None
        ``"N"``: one queue of N requests; ``"R+W"``: separate queues of R reads and W writes. A
        drain of writes begins at 80 % of W and ends at 20 %. Default: the system's queue for each
        pseudo-channel.
    refresh : str or None
        Kind of refresh; default: the system's refresh.
    address_map : str or None
        Address map, with ``pseudo:1`` for the bit of two pseudo-channels; default: the system's
        address map.

    Raises
    ------
    InputError
        If an option is not allowed; the error names the option and the allowed values.
    """
    timing = system.dram.timing_cycles
    address_map = address_map or channel_map(system)
    has_pseudo = "pseudo:1" in address_map.split()
    if has_pseudo != (timing.pseudo_channels > 1):
        wanted = "with pseudo:1" if timing.pseudo_channels > 1 else "without pseudo:1"
        raise InputError("address_map", f"{address_map!r} is not allowed; allowed: a map {wanted}")
    try:
        timing = replace(timing, address_map=split_channel(_NOTHING, address_map)[2])
    except ValueError as error:
        raise InputError("address_map", str(error).removeprefix("address_map ")) from error
    try:
        timing = replace(timing, refresh=refresh or timing.refresh)
    except ValueError as error:
        raise InputError("refresh", f"{refresh} needs dram.timing: {error}") from error
    queues = _queues(queue)
    try:
        return replace(timing, **queues), address_map
    except ValueError as error:
        raise InputError("queue", str(error)) from error


def _queues(queue: str | None) -> dict[str, Any]:
    if queue is None:
        return {}
    match = re.fullmatch(r"([0-9]{1,4})(?:\+([0-9]{1,4}))?", queue)
    if match is None:
        raise InputError(
            "queue", f"{queue[:20]!r} is not allowed; allowed: a depth such as 64 or 64+64"
        )
    if match[2] is None:
        return {"queue_depth": int(match[1]), "shared_queue": True}
    reads, writes = int(match[1]), int(match[2])
    return {
        "queue_depth": reads + writes,
        "write_queue": writes,
        "write_high": int(_BEGIN_DRAIN * writes) + 1,
        "write_low": max(0, -(-int(10 * _END_DRAIN * writes) // 10) - 1),
        "shared_queue": True,
    }
