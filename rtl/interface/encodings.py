"""Codes of the fields, each defined once and shared by all blocks."""

from amaranth.lib import enum

__all__ = [
    "Access",
    "CODES",
    "Action",
    "Datatype",
    "ErrorCode",
    "Granularity",
    "InjectTarget",
    "Operation",
    "Origin",
    "PacketKind",
    "Policy",
    "ConfigurationError",
    "StoreKind",
    "Target",
]


class Access(enum.Enum, shape=2):
    READ = 0
    WRITE = 1
    UPDATE = 2  # op-and-store in memory


class Origin(enum.Enum, shape=1):
    COMPUTE = 0
    COMMUNICATION = 1


class StoreKind(enum.Enum, shape=1):
    STORE = 0
    END_OF_TILE = 1  # a wavefront's last word: how many atoms its tile has


class PacketKind(enum.Enum, shape=1):
    STORE = 0
    UPDATE = 1


class Action(enum.Enum, shape=2):
    """What becomes of a store into a range of dispatch indices."""

    NONE = 0
    REMOTE = 1  # remote_map: leaves over the link
    DMA = 2  # dma_map: update here, the complete tile goes on by DMA
    OWN = 3  # update here, the complete tile stays


class Target(enum.Enum, shape=2):
    """Where a classified store goes."""

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
    """Arbitration policies: each has a file in :mod:`rtl.channel.arbitration`."""

    ROUND_ROBIN = 0
    COMPUTE_FIRST = 1
    MCA = 2
    CRITICAL = 3
    MCA_PAPER = 4


class ErrorCode(enum.Enum, shape=5):
    NONE = 0
    STORE_LATE = 1  # a local update to a tile that is already complete
    STORE_AHEAD = 2  # a local update beyond the credit window
    PACKET_UNMAPPED = 3  # a packet outside every region, range or context
    PACKET_LATE = 4
    PACKET_AHEAD = 5
    SET_FULL = 6
    ZERO_THRESHOLD = 7  # an end-of-tile marker that announces no atom
    SECOND_END_OF_TILE = 8
    OVERRUN = 9  # more updates than the tile has
    COUNT_OVERFLOW = 10
    TIMEOUT = 11  # for the programmed time no tile completed, or something was left in the end
    TRACKER_CORRUPT = 12  # an entry in the tile's set was lost to wrong bits
    TRIGGER_CORRUPT = 13  # a count, or a command of the trigger unit
    LINK_DOWN = 14  # no progress on a link for its bounded time
    LINK_RESET = 15  # the other side of a link began anew: what was on the link is lost
    DMA_OUTSIDE = 16  # atoms that a command may not read: outside its region
    PACKET_MISMATCH = 17  # an update of another operation or type than the range's command
    PACKET_STALE = 18  # a packet of another launch than the one that runs
    STORE_STALE = 19
    PACKET_FORBIDDEN = 20  # the context takes no such packets of that GPU
    PEER_ABORTED = 21  # the downstream GPU has given up this launch


class InjectTarget(enum.Enum, shape=3):
    """A kind of memory with check bits."""

    NONE = 0
    TRACKER = 1  # entries of a tracker bank
    TILES = 2  # a context's counts of complete tiles
    GROUPS = 3  # its counts of complete workgroups
    COMMANDS = 4  # its commands that are ready
    ISSUE_ACKS = 5  # issue acknowledgements that wait in a channel


class ConfigurationError(enum.Enum, shape=4):
    """Why a table entry, a copy or a launch was refused."""

    NONE = 0
    UNKNOWN_INDEX = 1
    MISALIGNED = 2
    OUT_OF_SPACE = 3
    EMPTY = 4
    OVERLAP = 5
    REGION_DISABLED = 6
    REGION_IN_USE = 7
    QUEUE_FULL = 8
    IN_USE = 9  # a launch is pending, or an abort is not over
    LAUNCH_RANGE = 10  # the launch's workgroups or dispatch indices contradict each other
    WINDOW = 11  # a window of 0, or one that the hardware has no room for
    EPOCH = 12  # no epoch is left until the memory is scrubbed
    LOCKED = 13  # the register is for privileged software


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
"""Of the register fields that hold a code."""
