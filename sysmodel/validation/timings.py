"""HBM2 timings of the reference figures, in cycles of 1 ns.

Source: the figures' own description, which gives Ramulator 2.1's values and DRAMsim3's where they
differ. Where it leaves something open, it is said here.
"""

from dataclasses import replace

from ..dram_timing import DramTiming

__all__ = [
    "DRAMSIM3_128BIT_CHANNELS",
    "DRAMSIM3_PSEUDO_CHANNEL",
    "RAMULATOR_PSEUDO_CHANNEL",
    "without_refresh",
]

# One of a channel's two pseudo-channels: 32 bytes in two cycles, pages of 1 KB.
RAMULATOR_PSEUDO_CHANNEL = DramTiming(
    columns=32,
    burst=2,
    tCCD_S=2,
    tCCD_L=4,
    tRRD_S=4,
    tRRD_L=4,
    tRCD_RD=14,
    tRCD_WR=12,
    tRP=14,
    tRAS=34,
    tCL=14,
    tCWL=5,
    tWTR_S=6,
    tWTR_L=8,
    tRTW=13,
    tRTP=5,
    tWR=16,
    tFAW=15,
    refresh="all-bank",
    tREFI=3900,
    tRFC=260,
)

# Write to read follows from tCWL: 12 and 14, where the description gives one pair, 13 and 15.
DRAMSIM3_PSEUDO_CHANNEL = replace(RAMULATOR_PSEUDO_CHANNEL, tRCD_WR=14, tCWL=4)

# 64 bytes in two cycles. Only the width is described. Timing: as above. Pages: two pseudo-channels
# side by side have 2 KB, as a channel of this width has in the presets; DRAMsim3's HBM2_8Gb_x128
# has 1 KB. Both are kept.
DRAMSIM3_128BIT_CHANNELS = tuple(
    replace(DRAMSIM3_PSEUDO_CHANNEL, columns=page_bytes // 64) for page_bytes in (2048, 1024)
)


def without_refresh(timing: DramTiming) -> DramTiming:
    """The same channel, never refreshed."""
    return replace(timing, refresh="none", tREFI=0, tRFC=0)
