"""Memory of a system: standard, channels, and timing at the memory's clock."""

import math
import re
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import create_model

from sysmodel.lib.errors import InputError

from .bundled import MEMORIES
from .dram_timing import (
    MAX_BANKS,
    MAX_GROUPS,
    MAX_PSEUDO_CHANNELS,
    MAX_SIDE,
    MAX_STACK_IDS,
    BankInterleave,
    DramTiming,
    Refresh,
)
from .schema import PowerOfTwo, Strict, integer, number, power_of_two, read_toml, text, validate

__all__ = [
    "Delay",
    "Dram",
    "Standard",
    "known_standard",
    "with_standard",
]


class Delay(Strict):
    """Shortest time from one command to another: the longest of the given times."""

    ns: Annotated[float, number(0, 1e6)] = 0.0
    clocks: Annotated[int, integer(0, 1 << 20)] = 0
    # Only for tRTW: clocks from the end of the read data to the begin of the write data.
    gap_clocks: Annotated[int | None, integer(0, 1 << 10)] = None

    def cycles(self, clock_mhz: float) -> int:
        """Cycles of the clock, rounded up."""
        # 14 ns are 14 cycles of 1000 MHz, in spite of floating-point rounding.
        return max(math.ceil(self.ns * clock_mhz / 1e3 - 1e-6), self.clocks)

    def cycles_within(self, clock_mhz: float) -> int:
        """Cycles of the clock, rounded down, for an event that must not come later."""
        return max(math.floor(self.ns * clock_mhz / 1e3 + 1e-6), self.clocks)


_TIMES = [field for field in fields(DramTiming) if re.match("t[A-Z]", field.name)]
_REQUIRED = {field.name for field in _TIMES if field.default is MISSING}

if TYPE_CHECKING:

    class Timing(Strict):
        """Delay for each time of ``DramTiming``; None for a derived time."""

        def __getattr__(self, name: str) -> Delay | None: ...

else:
    Timing = create_model(
        "Timing",
        __base__=Strict,
        __doc__="Delays from command to command; names as in ``DramTiming``.",
        **{
            field.name: (Delay, ...) if field.name in _REQUIRED else (Delay | None, None)
            for field in _TIMES
        },
    )


class Dram(Strict):
    """Memory channels, each with its own data bus and its own channel of the T3 hardware.

    A channel is an HBM channel, or one of the pseudo-channels that share the command buses of an
    HBM channel.
    """

    standard: Annotated[str | None, text()] = None
    channels: int = integer(1, 256)
    pseudo_channels: PowerOfTwo = power_of_two(1, MAX_PSEUDO_CHANNELS)
    clock_mhz: float = number(100, 10_000)
    most_clock_mhz: float = number(100, 10_000)
    atom_bytes: Literal[32]
    burst_clocks: int = integer(1, 64)
    activate_half_clocks: int = integer(1, 16)
    precharge_half_clocks: int = integer(1, 16)
    interleave_bytes: PowerOfTwo = power_of_two(32, 65_536)
    banks: PowerOfTwo = power_of_two(1, MAX_BANKS)
    bank_groups: PowerOfTwo = power_of_two(1, MAX_GROUPS)
    stack_ids: PowerOfTwo = power_of_two(1, MAX_STACK_IDS)
    row_bytes: PowerOfTwo = power_of_two(256, 65_536)
    address_map: str = text()
    bank_interleave: BankInterleave
    queue_depth: int = integer(1, MAX_SIDE)
    turnaround_cap_clocks: int = integer(1, 1 << 20)
    data_share: float = number(0.1, 1)
    age_cap_clocks: int = integer(1, 1 << 20)
    read_latency_ns: float = number(0, 1e5)
    core_volts: float = number(0.3, 3)
    io_volts: float = number(0.1, 3)
    refresh: Refresh
    timing: Timing

    @property
    def timing_cycles(self) -> DramTiming:
        """Geometry and timing of one channel, in cycles of the memory's clock.

        Raises
        ------
        InputError
            A value does not fit the others; the message names its key.
        """
        try:
            return DramTiming(
                pseudo_channels=self.pseudo_channels,
                banks=self.banks,
                bank_groups=self.bank_groups,
                stack_ids=self.stack_ids,
                columns=self.row_bytes // self.atom_bytes,
                address_map=self.address_map,
                bank_interleave=self.bank_interleave,
                queue_depth=self.queue_depth,
                refresh=self.refresh,
                turnaround_cap=self.turnaround_cap_clocks,
                data_permille=round(1000 * self.data_share),
                age_cap=self.age_cap_clocks,
                burst=self.burst_clocks,
                activate_half_cycles=self.activate_half_clocks,
                precharge_half_cycles=self.precharge_half_clocks,
                **self._delays(),
            )
        except InputError:
            raise
        except ValueError as error:
            name, _, problem = str(error).partition(" ")
            within = "timing." if name in Timing.model_fields else ""
            raise InputError(f"{within}{name}", problem) from error

    def _delays(self) -> dict[str, Any]:
        """List the given delays in cycles."""
        delays: dict[str, Any] = {}
        for field in _TIMES:
            delay = getattr(self.timing, field.name)
            if delay is not None:
                count = delay.cycles_within if field.name == "tREFI" else delay.cycles
                delays[field.name] = count(self.clock_mhz)
                if delay.gap_clocks is not None:
                    delays[field.name] = self._after_data(field.name, delay, delays[field.name])
        return delays

    def _after_data(self, name: str, delay: Delay, least: int) -> int:
        if name != "tRTW":
            raise InputError(f"timing.{name}.gap_clocks", "is allowed for tRTW only")
        latency = (self.timing.tCL or Delay()), (self.timing.tCWL or Delay())
        read, write = (one.cycles(self.clock_mhz) for one in latency)
        return max(least, read + self.burst_clocks + (delay.gap_clocks or 0) - write)


class Standard(Strict):
    """Memory standard: default values of a system's ``[dram]``.

    ``base`` names the standard whose values hold where this one gives none.
    """

    base: Annotated[str | None, text()] = None
    description: str = text()
    source: str = text()
    dram: dict[str, Any]


def known_standard(name: str) -> Standard:
    """A memory standard by its name.

    Raises
    ------
    InputError
        No standard has that name.
    """
    path = MEMORIES.path(name, "dram.standard")
    own = validate(Standard, read_toml(path), path.name)
    if own.base is None:
        return own
    return own.model_copy(update={"dram": _over(known_standard(own.base).dram, own.dram)})


def with_standard(dram: Any) -> Any:
    """Complete a file's ``[dram]`` with the values of the standard that it names.

    Raises
    ------
    InputError
        No standard has that name.
    """
    if not isinstance(dram, dict) or not isinstance(dram.get("standard"), str):
        return dram
    return _over(known_standard(dram["standard"]).dram, dram)


def _over(base: dict[str, Any], dram: dict[str, Any]) -> dict[str, Any]:
    timing = dram.get("timing", {})
    if not isinstance(timing, dict):
        return dram
    return {**base, **dram, "timing": {**base["timing"], **timing}}
