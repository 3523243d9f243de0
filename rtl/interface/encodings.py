"""Encodings of fields, each defined once and shared by all blocks."""

from amaranth.hdl import Mux, Value
from amaranth.lib import enum

__all__ = [
    "Access",
    "CODES",
    "Action",
    "Datatype",
    "ErrorCode",
    "FOREIGN_PACKETS",
    "FREQUENT_ERRORS",
    "Granularity",
    "InjectTarget",
    "NO_LIMIT",
    "Operation",
    "Origin",
    "PacketKind",
    "Policy",
    "ConfigurationError",
    "StoreKind",
    "Target",
    "sent_kind",
]


class Access(enum.Enum, shape=2):
    READ = 0
    WRITE = 1
    UPDATE = 2  # op-and-store in memory
    PLACE = 3  # a write that the tracker counts, like an update


class Origin(enum.Enum, shape=1):
    COMPUTE = 0
    COMMUNICATION = 1


class StoreKind(enum.Enum, shape=1):
    STORE = 0
    END_OF_TILE = 1  # end-of-tile marker: the number of atoms of a wavefront's tile


class PacketKind(enum.Enum, shape=2):
    STORE = 0
    UPDATE = 1
    END = 2  # end-of-tile marker of a tile's contribution
    PLACE = 3  # a plain store that the receiver tracks, like an update


def sent_kind(kind: Value, marks: Value) -> Value:
    """Compute the kind of a command's packets: the receiver tracks stores with markers."""
    return Mux(kind, PacketKind.UPDATE, Mux(marks, PacketKind.PLACE, PacketKind.STORE))


class Action(enum.Enum, shape=2):
    """Action on a store into a range of dispatch indices."""

    NONE = 0
    REMOTE = 1  # remote_map: the store leaves over the link
    DMA = 2  # dma_map: the store updates memory here, DMA sends the complete tile
    OWN = 3  # own_map: the store updates memory here, the complete tile stays


class Target(enum.Enum, shape=2):
    """Destination of a classified store."""

    WRITE = 0
    UPDATE = 1
    REMOTE = 2
    END_OF_TILE = 3


class Operation(enum.Enum, shape=2):
    SUM = 0
    MAX = 1
    MIN = 2


class Datatype(enum.Enum, shape=2):
    FP16 = 0
    BF16 = 1
    FP32 = 2


class Granularity(enum.Enum, shape=1):
    WAVEFRONT = 0
    WORKGROUP = 1


class Policy(enum.Enum, shape=3):
    """Arbitration policy; each one has a file in :mod:`rtl.channel.arbitration`."""

    ROUND_ROBIN = 0
    COMPUTE_FIRST = 1
    MCA = 2
    CRITICAL = 3
    MCA_PAPER = 4


NO_LIMIT = 127
"""Threshold of the arbiter above every occupancy of the DRAM queue."""


class ErrorCode(enum.Enum, shape=5):
    NONE = 0
    STORE_LATE = 1  # a local update of a tile that is already complete
    # A local update beyond the credit window, or a store for a link without space that finds its
    # context's queue full.
    STORE_AHEAD = 2
    PACKET_UNMAPPED = 3  # a packet outside every region, range or context
    PACKET_LATE = 4
    PACKET_AHEAD = 5
    SET_FULL = 6
    NO_SHARE = 7  # an end-of-tile marker without a share
    OVERRUN = 8  # more shares than the tile has, or more updates than its markers announce
    COUNT_OVERFLOW = 9  # more updates ahead of their markers than the tracker counts
    TIMEOUT = 10  # no tile completed, or the launch did not drain, within the programmed time
    TRACKER_CORRUPT = 11  # an entry in the tile's set was lost to bit errors
    TRIGGER_CORRUPT = 12  # a count or a command of the trigger unit was lost to bit errors
    LINK_DOWN = 13  # no progress on a link for its time-out
    LINK_RESET = 14  # the other side of a link was reset: packets in flight are lost
    DMA_OUT_OF_REGION = 15  # a command would read atoms outside its region
    PACKET_MISMATCH = 16  # an update of another operation, type or wavefront than the command's
    PACKET_STALE = 17  # a packet of another launch than the current one
    STORE_STALE = 18
    PACKET_FORBIDDEN = 19  # the context's inbound filter rejects the packet
    PEER_ABORTED = 20  # a peer aborted this launch, or a context that the launch awaits was aborted
    STORE_MISMATCH = 21  # a store of a wavefront that the range's command does not have
    PORT_DOWN = 22  # packets to a GPU were lost: its port is down, was reset, or does not exist


FREQUENT_ERRORS = frozenset(
    code for code in ErrorCode if code.name.startswith(("STORE_", "PACKET_"))
)
"""Codes of errors that a stream of stores or packets can raise in every cycle."""

FOREIGN_PACKETS = frozenset(
    {ErrorCode.PACKET_UNMAPPED, ErrorCode.PACKET_STALE, ErrorCode.PACKET_FORBIDDEN}
)
"""Codes of refused packets that are not of the launch: strangers and late packets cause them, and
the launch has lost nothing. All other errors may mean that data of the launch were lost.
"""


class InjectTarget(enum.Enum, shape=3):
    """Kind of memory with check bits, as the target of an injection."""

    NONE = 0
    TRACKER = 1  # entries of a tracker bank
    TILES = 2  # a context's counts of complete tiles
    GROUPS = 3  # a context's counts of complete workgroups
    COMMANDS = 4  # a context's ready commands
    ISSUE_ACKS = 5  # issue acknowledgements that wait in a channel


class ConfigurationError(enum.Enum, shape=5):
    """Reason for which a write to a register is refused."""

    NONE = 0
    UNKNOWN_INDEX = 1
    MISALIGNED = 2
    ADDRESS_OUT_OF_RANGE = 3
    EMPTY = 4
    OVERLAP = 5
    REGION_DISABLED = 6
    REGION_IN_USE = 7
    QUEUE_FULL = 8
    IN_USE = 9  # a launch is pending, an abort is in progress, or a launch needs the epochs
    LAUNCH_RANGE = 10  # the launch's workgroups or dispatch indices are inconsistent
    WINDOW = 11  # a window of 0, or one larger than the hardware or the context's ways support
    EPOCH = 12  # no epoch is left until software clears the epoch tags in memory
    LOCKED = 13  # the register, or what it commits, is for privileged software only
    GENERATION = 14  # requests of another launch may still carry the generation
    NOT_WRITABLE = 15  # no register that software can write, or not all of its bytes
    NO_PEER = 16  # a peer that the context does not have, or that does not take this kind of packet
    NO_CONTEXT = 17  # a range awaits a context that the context may not await


CODES = (
    Action,
    ErrorCode,
    Granularity,
    Operation,
    Datatype,
    PacketKind,
    Policy,
    ConfigurationError,
    InjectTarget,
)
"""Encodings of the register fields that hold a code."""
