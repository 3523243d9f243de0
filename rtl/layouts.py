"""Payloads and configuration words, each defined once and shared by all blocks.

Addresses are in atoms. A *place* is a workgroup's position in the production order of the GPU
that holds the tile: ``(workgroup - first_workgroup) mod workgroups``.
"""

from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from .axi_lite import AxiLiteSignature
from .parameters import T3Parameters

__all__ = [
    "Access",
    "Action",
    "ArbiterConfiguration",
    "ChannelSignature",
    "Classified",
    "CommandEntry",
    "Completion",
    "Copy",
    "Datatype",
    "DramRequest",
    "ErrorCode",
    "ErrorReport",
    "ErrorSignature",
    "Granularity",
    "Location",
    "MapConfiguration",
    "NmcRequest",
    "NmcResult",
    "Notice",
    "Operation",
    "Origin",
    "Packet",
    "PacketKind",
    "Piece",
    "Policy",
    "ProductionConfiguration",
    "RangeEntry",
    "ReadRequest",
    "ReadReturn",
    "ReadyCommand",
    "Refusal",
    "StoreKind",
    "StoreRequest",
    "T3Signature",
    "Target",
    "TileUpdates",
    "TrackerInput",
    "WindowEntry",
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
    TILE_END = 1  # a wavefront's last word: how many sectors its tile has


class PacketKind(enum.Enum, shape=1):
    STORE = 0
    UPDATE = 1


class Action(enum.Enum, shape=2):
    """What becomes of a store into a range of places."""

    NONE = 0
    REMOTE = 1  # remote_map: leaves over the link
    DMA = 2  # dma_map: update here, the complete tile goes on by DMA
    OWN = 3  # update here, the complete tile stays


class Target(enum.Enum, shape=2):
    """Where a classified store goes."""

    WRITE = 0
    UPDATE = 1
    REMOTE = 2
    TILE_END = 3


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


class Policy(enum.Enum, shape=2):
    ROUND_ROBIN = 0
    COMPUTE_FIRST = 1
    MCA = 2


class ErrorCode(enum.Enum, shape=4):
    NONE = 0
    STORE_LATE = 1  # a local update to a tile that is already complete
    STORE_AHEAD = 2  # a local update beyond the window
    PACKET_UNMAPPED = 3  # a packet outside every window, range or context
    PACKET_LATE = 4
    PACKET_AHEAD = 5
    SET_FULL = 6
    ZERO_THRESHOLD = 7  # a tile end that announces no sector
    SECOND_TILE_END = 8
    OVERRUN = 9  # more updates than the tile has
    COUNT_OVERFLOW = 10
    TIMEOUT = 11  # no tile completed for the programmed time


class Refusal(enum.Enum, shape=4):
    """Why a table entry or a copy was refused."""

    NONE = 0
    UNKNOWN_INDEX = 1
    MISALIGNED = 2
    OUT_OF_SPACE = 3
    EMPTY = 4
    OVERLAP = 5
    WINDOW_DISABLED = 6
    WINDOW_IN_USE = 7
    QUEUE_FULL = 8


_NOTICE_COUNT_BITS = 4  # updates of a tile that pass the tracker's front as one: at most 15


def _atoms(p: T3Parameters):
    return p.atom_address_bits


def _data(p: T3Parameters):
    """An atom's data in 64-bit words, or nothing."""
    return data.ArrayLayout(64, p.atom_bytes // 8 if p.payload else 0)


def ReadRequest(p: T3Parameters):
    """A read that missed in the L2; ``tag`` comes back with the data."""
    return data.StructLayout({"atom": _atoms(p), "tag": p.tag_bits})


def StoreRequest(p: T3Parameters):
    """A store of one atom, or a wavefront's tile end.

    ``sectors``, ``row_edge`` and ``run_edge`` count for a tile end only: the number of sectors
    that the wavefront really wrote in the channels served here, and whether its workgroup lies at
    the matrix edge in the direction of the DMA walk's rows or along its runs.
    """
    return data.StructLayout(
        {
            "kind": StoreKind,
            "atom": _atoms(p),
            "context": p.context_bits,
            "workgroup": p.workgroup_bits,
            "wavefront": p.wavefront_bits,
            "sectors": p.sector_bits,
            "row_edge": 1,
            "run_edge": 1,
            "data": _data(p),
        }
    )


def Location(p: T3Parameters):
    """Where a store or a packet belongs: ``window`` if ``mapped``, ``place`` if ``valid``.

    ``valid`` implies ``mapped``, and that the production has the workgroup.
    """
    return data.StructLayout(
        {
            "mapped": 1,
            "window": range(p.windows) if p.windows > 1 else 1,
            "valid": 1,
            "place": p.place_bits,
        }
    )


def Classified(p: T3Parameters):
    """A store after the address map's lookup."""
    return data.StructLayout(
        {
            "target": Target,
            "atom": _atoms(p),
            "workgroup": p.workgroup_bits,
            "place": p.place_bits,
            "wavefront": p.wavefront_bits,
            "sectors": p.sector_bits,
            "row_edge": 1,
            "run_edge": 1,
            "command": range(p.commands) if p.commands > 1 else 1,
            "op": Operation,
            "dtype": Datatype,
            "data": _data(p),
        }
    )


def Packet(p: T3Parameters):
    """One atom on the link; ``atom`` is an address of the receiver."""
    return data.StructLayout(
        {
            "kind": PacketKind,
            "atom": _atoms(p),
            "context": p.context_bits,
            "workgroup": p.workgroup_bits,
            "wavefront": p.wavefront_bits,
            "op": Operation,
            "dtype": Datatype,
            "data": _data(p),
        }
    )


def DramRequest(p: T3Parameters):
    """An access for the DRAM queue.

    ``tag`` is a compute read's tag or a DMA read's egress slot. The queue gives ``origin``,
    ``place`` and ``wavefront`` back in the notice of an update or of a communication write.
    """
    return data.StructLayout(
        {
            "access": Access,
            "origin": Origin,
            "atom": _atoms(p),
            "tag": max(p.tag_bits, p.slot_bits),
            "place": p.place_bits,
            "wavefront": p.wavefront_bits,
            "op": Operation,
            "dtype": Datatype,
            "data": _data(p),
        }
    )


def Notice(p: T3Parameters):
    """The DRAM issued an update, or a write of the communication stream.

    From then on no later read can overtake it.
    """
    return data.StructLayout(
        {
            "access": Access,
            "atom": _atoms(p),
            "place": p.place_bits,
            "wavefront": p.wavefront_bits,
        }
    )


def ReadReturn(p: T3Parameters):
    return data.StructLayout({"slot": p.slot_bits, "data": _data(p)})


def NmcRequest(p: T3Parameters):
    """An update at its memory bank. ``stored_epoch`` is the tag kept beside the stored atom."""
    return data.StructLayout(
        {
            "stored": _data(p),
            "stored_epoch": 8,
            "operand": _data(p),
            "op": Operation,
            "dtype": Datatype,
        }
    )


def NmcResult(p: T3Parameters):
    return data.StructLayout({"value": _data(p), "epoch": 8})


def TileUpdates(p: T3Parameters):
    """Issued updates of one tile: how many, at least one, and the smallest of their atoms."""
    return data.StructLayout(
        {
            "atom": _atoms(p),
            "place": p.place_bits,
            "wavefront": p.wavefront_bits,
            "count": _NOTICE_COUNT_BITS,
        }
    )


def TrackerInput(p: T3Parameters):
    """One event of a tile: ``count`` issued updates, or (``end``) its wavefront's tile end.

    ``count`` and ``atom`` are 0 in a tile end.
    """
    return data.StructLayout(
        {
            "end": 1,
            "place": p.place_bits,
            "wavefront": p.wavefront_bits,
            "atom": _atoms(p),
            "count": _NOTICE_COUNT_BITS,
            "sectors": p.sector_bits,
            "row_edge": 1,
            "run_edge": 1,
        }
    )


def Completion(p: T3Parameters):
    """A tile is complete; ``start`` is the smallest atom address that was seen."""
    return data.StructLayout(
        {
            "place": p.place_bits,
            "wavefront": p.wavefront_bits,
            "start": _atoms(p),
            "row_edge": 1,
            "run_edge": 1,
        }
    )


def ReadyCommand(p: T3Parameters):
    """A DMA command whose trigger condition holds.

    ``last`` marks the last one of its workgroup, which gives back a credit of the command queue.
    """
    return data.StructLayout(
        {
            "command": range(p.commands) if p.commands > 1 else 1,
            "place": p.place_bits,
            "wavefront": p.wavefront_bits,
            "start": _atoms(p),
            "row_edge": 1,
            "run_edge": 1,
            "last": 1,
        }
    )


def Copy(p: T3Parameters):
    """A plain copy that software starts: a command template and where it begins."""
    return data.StructLayout(
        {"command": range(p.commands) if p.commands > 1 else 1, "start": _atoms(p)}
    )


def Piece(p: T3Parameters):
    """Consecutive atoms of one tile in one channel, for that channel's DMA lane.

    Atom ``i`` of the piece belongs to wavefront
    ``wavefront + ((offset + i) >> wave_run_log2)``.
    """
    return data.StructLayout(
        {
            "atom": _atoms(p),
            "length": range(p.interleave_atoms + 1),
            "offset": 16,
            "wave_run_log2": 4,
            "wavefront": p.wavefront_bits,
            "workgroup": p.workgroup_bits,
            "context": p.context_bits,
            "kind": PacketKind,
            "op": Operation,
            "dtype": Datatype,
            "remote": _atoms(p),  # where its first atom goes, at the receiver
        }
    )


def ErrorReport(p: T3Parameters):
    """What went wrong, and for which tile (``place`` is a workgroup id for packet errors)."""
    return data.StructLayout(
        {"code": ErrorCode, "place": p.place_bits, "wavefront": p.wavefront_bits}
    )


def WindowEntry(p: T3Parameters):
    """A mapped buffer of one context: atoms ``base`` to ``limit - 1``."""
    return data.StructLayout(
        {"enable": 1, "base": _atoms(p), "limit": _atoms(p), "context": p.context_bits}
    )


def RangeEntry(p: T3Parameters):
    """Places ``first`` to ``last``, both included, of a window's workgroups."""
    return data.StructLayout(
        {
            "enable": 1,
            "window": range(p.windows) if p.windows > 1 else 1,
            "first": p.place_bits,
            "last": p.place_bits,
            "action": Action,
            "command": range(p.commands) if p.commands > 1 else 1,
        }
    )


def CommandEntry(p: T3Parameters):
    """What a transfer does, and the geometry of a workgroup's tile.

    The walk has ``rows`` rows, ``pitch`` atoms apart, of ``run`` contiguous atoms. A workgroup at
    the matrix edge has ``rows_edge`` rows, or runs of ``run_edge``. Its wavefronts divide a run in
    pieces of ``2**wave_run_log2`` atoms and the rows in groups of ``wave_rows``; wavefront ids
    count along the run first. ``waves[run_edge * 2 + row_edge]`` is the number of wavefronts that
    write at all. ``group_log2``: that many workgroups (a power of two) trigger together.
    ``atom_offset`` is added to an address to make it the receiver's, modulo the address space.
    """
    return data.StructLayout(
        {
            "kind": PacketKind,
            "op": Operation,
            "dtype": Datatype,
            "context": p.context_bits,
            "atom_offset": _atoms(p),
            "granularity": Granularity,
            "group_log2": 3,
            "rows": 16,
            "rows_edge": 16,
            "run": 16,
            "run_edge": 16,
            "pitch": 24,
            "wave_rows": 16,
            "wave_run_log2": 4,
            "waves_minor_log2": 2,
            "waves": data.ArrayLayout(4, 4),
        }
    )


def MapConfiguration(p: T3Parameters):
    return data.StructLayout(
        {
            "windows": data.ArrayLayout(WindowEntry(p), p.windows),
            "ranges": data.ArrayLayout(RangeEntry(p), p.ranges),
            "commands": data.ArrayLayout(CommandEntry(p), p.commands),
        }
    )


def ProductionConfiguration(p: T3Parameters):
    """The production order, and the flow control that rests on it.

    ``shift`` takes a place to the downstream GPU's place of the same workgroup. Places from
    ``tracked_first`` to ``tracked_end - 1`` are updated here; the ones before leave by remote_map.
    """
    return data.StructLayout(
        {
            "first_workgroup": p.workgroup_bits,
            "workgroups": p.workgroup_bits + 1,
            "tracked_first": p.limit_bits,
            "tracked_end": p.limit_bits,
            "shift": p.limit_bits,
            "window": p.limit_bits,
            "command_window": p.limit_bits,
            "updates_per_sector": 2,
            "timeout": 32,
            "epoch": 8,
        }
    )


def ArbiterConfiguration(p: T3Parameters):
    """Policy of the arbiter.

    MCA lets communication pass while the DRAM queue holds fewer than a threshold of entries. With
    ``automatic`` the threshold follows the occupancy averaged over the first
    ``2**measure_log2`` cycles after the start: at least ``cuts[2]`` gives ``levels[2]``, else at
    least ``cuts[1]`` gives ``levels[1]``, else at least ``cuts[0]`` gives ``levels[0]``, else
    there is no limit. Level 127 means no limit.
    """
    return data.StructLayout(
        {
            "policy": Policy,
            "automatic": 1,
            "threshold": 7,
            "starvation_limit": 16,
            "measure_log2": 5,
            "cuts": data.ArrayLayout(7, 3),
            "levels": data.ArrayLayout(7, 3),
        }
    )


class ErrorSignature(wiring.Signature):
    """An error in this cycle, combinational."""

    def __init__(self, p: T3Parameters):
        super().__init__({"valid": Out(1), "report": Out(ErrorReport(p))})


class ChannelSignature(wiring.Signature):
    """Ports of one memory channel.

    Members
    -------
    reads, stores : In(stream)
        From the compute units, by way of the L2.
    link_in, link_out : stream
        Packets from the upstream GPU, and to the downstream one.
    dram : Out(stream)
        Accesses for the DRAM queue.
    occupancy : In(7)
        Entries of that queue.
    notices : In(stream)
        Issued updates and communication writes.
    returns : In(stream)
        Data of DMA reads; always taken.
    stored : Out(32)
        Communication writes issued so far.
    nmc_in, nmc_out : stream
        The reduce unit's ends, with ``payload`` only. Always taken.
    """

    def __init__(self, p: T3Parameters):
        members = {
            "reads": In(stream.Signature(ReadRequest(p))),
            "stores": In(stream.Signature(StoreRequest(p))),
            "link_in": In(stream.Signature(Packet(p))),
            "link_out": Out(stream.Signature(Packet(p))),
            "dram": Out(stream.Signature(DramRequest(p))),
            "occupancy": In(7),
            "notices": In(stream.Signature(Notice(p))),
            "returns": In(stream.Signature(ReadReturn(p), always_ready=True)),
            "stored": Out(32),
        }
        if p.payload:
            members |= {
                "nmc_in": In(stream.Signature(NmcRequest(p), always_ready=True)),
                "nmc_out": Out(stream.Signature(NmcResult(p), always_ready=True)),
            }
        super().__init__(members)


class T3Signature(wiring.Signature):
    """Ports of the top.

    Members
    -------
    channel : array of :class:`ChannelSignature`
    bus : In(:class:`AxiLiteSignature`)
        The register port.
    limit_in, limit_out : limit_bits
        Admission of the downstream GPU, and this GPU's for its upstream one.
    dispatch_limit : Out(limit_bits)
        Workgroups of smaller places may be dispatched.
    tiles : Out(32)
        Complete tiles since reset.
    done, idle : Out(1)
        Every tracked tile is complete; no DMA work is left.
    irq : Out(1)
        An error is pending.
    """

    def __init__(self, p: T3Parameters):
        super().__init__(
            {
                "channel": Out(ChannelSignature(p)).array(p.channels),
                "bus": In(AxiLiteSignature()),
                "limit_in": In(p.limit_bits),
                "limit_out": Out(p.limit_bits),
                "dispatch_limit": Out(p.limit_bits),
                "tiles": Out(32),
                "done": Out(1),
                "idle": Out(1),
                "irq": Out(1),
            }
        )
