"""HBM2 timings of the reference figures, in cycles of 1 ns.

Source: the figures' own description, which gives Ramulator 2.1's values and DRAMsim3's where they
differ. Where it leaves something open, it is said here.
"""

from dataclasses import replace

from sysmodel.config.dram_timing import MAX_QUEUE, DramTiming

__all__ = [
    "DRAMSIM3_128BIT_CHANNEL",
    "DRAMSIM3_PSEUDO_CHANNEL",
    "RAMULATOR_PSEUDO_CHANNEL",
    "UNBOUNDED",
    "with_write_queue",
    "without_refresh",
]

UNBOUNDED = 1 << 40  # cycles, more than anything runs

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

# 64 bytes in two cycles. Only the width is described. Timing: as above. Pages: 2 KB, those of
# DRAMsim3's HBM2_8Gb_x128.ini, whose 64 columns of 128 bits are doubled for HBM (configuration.cc,
# InitDRAMParams).
DRAMSIM3_128BIT_CHANNEL = replace(DRAMSIM3_PSEUDO_CHANNEL, columns=2048 // 64)


def with_write_queue(timing: DramTiming, read_queue: int, write_queue: int) -> DramTiming:
    """The same channel with Ramulator 2's queues (2.1, controller_base.cpp).

    It turns to writes above 0.8 of the write queue or without a read, and back below 0.2 if there
    is one (set_write_mode and its defaults). A request whose row is being opened leaves its queue
    (promote_to_active): a sequential stream has ``2**low_bank_bits`` banks at a time, so that one
    more request for each waits, as far as the model has slots. No request's age is bounded.
    """
    slots = MAX_QUEUE - read_queue - write_queue
    opening = min(1 << timing.low_bank_bits, slots // 2)
    return replace(
        timing,
        queue_depth=read_queue + write_queue + 2 * opening,
        write_queue=write_queue + opening,
        write_high=4 * write_queue // 5 + 1,
        write_low=-(-write_queue // 5) - 1,
        age_cap=UNBOUNDED,
    )


def without_refresh(timing: DramTiming) -> DramTiming:
    """The same channel, never refreshed."""
    return replace(timing, refresh="none", tREFI=0, tRFC=0)
