"""Channels of the reference figures, with their timing columns, address mapping and queues."""

from dataclasses import replace

from sysmodel.config.dram_timing import DramTiming

from .references import DramReference

__all__ = [
    "DRAMSIM3_128BIT_CHANNEL",
    "DRAMSIM3_COMMANDS_OF_BANK",
    "DRAMSIM3_PSEUDO_CHANNELS",
    "RAMULATOR_HBM2",
    "UNBOUNDED",
    "ramulator_channel",
    "with_ramulator_queues",
]

UNBOUNDED = 1 << 40  # cycles, longer than any simulation

# HBM2_2000Mbps and HBM2_4Gb, two pseudo-channels of 64 bits; conventions as in ramulator_channel.
RAMULATOR_HBM2 = DramTiming(
    pseudo_channels=2,
    columns=32,
    address_map="group:2 column:5 bank:2",
    burst=2,
    activate_half_cycles=4,
    precharge_half_cycles=2,
    tCCD_S=2,
    tCCD_L=4,
    tRRD_S=4,
    tRRD_L=4,
    tRCD_RD=15,
    tRCD_WR=13,
    tRP=13,
    tRAS=35,
    tRC=48,
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
    tRFC=259,
    tRFC_pb=159,
    tRREFD=8,
)

# Common part of a pseudo-channel and the 128-bit channel, from the files' description.
_DRAMSIM3 = DramTiming(
    columns=32,
    address_map="group:2 column:5 bank:2",
    burst=2,
    turnaround_cap=UNBOUNDED,
    age_cap=UNBOUNDED,
    tCCD_S=2,
    tCCD_L=4,
    tRRD_S=4,
    tRRD_L=4,
    tRCD_RD=14,
    tRCD_WR=14,
    tRP=14,
    tRAS=34,
    tRC=48,
    tCL=14,
    tCWL=4,
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

# DRAMsim3 has no pseudo-channels, but channels with buses of their own: commands of half a cycle
# leave both enough of the shared buses. Requests go to the two in a common order. A row has 2 KB,
# 64 atoms, as in the 128-bit channel. Write to read is described as 13 and 15 cycles for both
# simulators, one cycle more than DRAMsim3's tCWL with Ramulator's tWTR.
DRAMSIM3_PSEUDO_CHANNELS = replace(
    _DRAMSIM3,
    pseudo_channels=2,
    columns=64,
    address_map="group:2 column:6 bank:2",
    activate_half_cycles=1,
    precharge_half_cycles=1,
    tWTR_S=7,
    tWTR_L=9,
)

# DRAMsim3's HBM2_8Gb_x128.ini: 64 bytes in two cycles, pages of 2 KB, mapping rorabgbachco.
DRAMSIM3_128BIT_CHANNEL = replace(
    _DRAMSIM3,
    address_map="column:5 bank:2 group:2",
    tCCD_L=2,
    tRRD_L=6,
    tRTW=14,
    tRTP=6,
    tFAW=30,
)


# DRAMsim3's HBM2 configuration: queue_structure PER_BANK, cmd_queue_size 8.
DRAMSIM3_COMMANDS_OF_BANK = 8


def ramulator_channel(reference: DramReference) -> tuple[DramTiming, str]:
    """Make channel and address mapping from the columns of a row.

    Ramulator counts a delay from the last half clock of a command to the last one of the next
    command. An activate occupies the bus longer than other commands, so delays after an activate
    are one clock longer, and delays before it one clock shorter, than in the columns.
    """
    row = reference.columns

    def clocks(name: str) -> int:
        return int(row[name] or 0)

    stacks, groups, banks = (int(row[name]) for name in ("sids", "bankgroups", "banks_per_group"))
    atoms = int(row["atoms_per_row"])
    widths = {"pc": ("pseudo", 2), "bg": ("group", groups), "col": ("column", atoms)}
    widths |= {"ba": ("bank", banks), "sid": ("stack", stacks)}
    fields = [widths[name] for name in row["addr_map_lsb_first"].split("_") if name != "row"]
    address_map = " ".join(f"{name}:{count.bit_length() - 1}" for name, count in fields)
    timing = DramTiming(
        pseudo_channels=2,
        banks=stacks * groups * banks,
        bank_groups=groups,
        stack_ids=stacks,
        columns=atoms,
        address_map=address_map.replace("pseudo:1 ", ""),
        burst=clocks("nBL"),
        activate_half_cycles=int(2 * float(row["act_row_bus_cycles"])),
        precharge_half_cycles=int(2 * float(row["pre_ref_row_bus_cycles"])),
        tCCD_S=clocks("nCCDS"),
        tCCD_L=clocks("nCCDL"),
        tCCD_R=clocks("nCCDR"),
        tRRD_S=clocks("nRRDS"),
        tRRD_L=clocks("nRRDL"),
        tRCD_RD=clocks("nRCDRD") + 1,
        tRCD_WR=clocks("nRCDWR") + 1,
        tRP=clocks("nRP") - 1,
        tRAS=clocks("nRAS") + 1,
        tRC=clocks("nRC"),
        tPPD=clocks("nPPD"),
        tCL=clocks("nCL"),
        tCWL=clocks("nCWL"),
        tWTR_S=clocks("nWTRS"),
        tWTR_L=clocks("nWTRL"),
        tRTW=clocks("nRTW"),
        tRTP=clocks("nRTP"),
        tWR=clocks("nWR"),
        tFAW=clocks("nFAW"),
        refresh=reference.refresh,
        tREFI=clocks("nREFI"),
        tRFC=clocks("nRFC") - 1,
        tRFC_pb=clocks("nRFCpb") - 1,
        tRREFD=clocks("nRREFD"),
    )
    return timing, address_map


def with_ramulator_queues(timing: DramTiming, read_queue: int, write_queue: int) -> DramTiming:
    """Return the same channel with the queues of Ramulator 2 (2.1, controller_base.cpp).

    The pseudo-channels share the queues. The controller turns to writes above 0.8 of the write
    queue or without a read, and back below 0.2 with a read (set_write_mode and its defaults). A
    request whose row is being opened leaves its queue (promote_to_active). The age of requests is
    unbounded.
    """
    return replace(
        timing,
        queue_depth=read_queue + write_queue,
        write_queue=write_queue,
        write_high=4 * write_queue // 5 + 1,
        write_low=-(-write_queue // 5) - 1,
        shared_queue=True,
        opening_leaves=True,
        age_cap=UNBOUNDED,
    )
