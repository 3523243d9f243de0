"""Payloads of the streams, each defined once and shared by all blocks.

Addresses are in atoms. A *dispatch index* is a workgroup's position in the dispatch order of its
GPU. A *slot* of a packet is the dispatch index of the packet's tile at the receiver. The *owner* of
a payload is the number of its context; with one context it has no bits.
"""

from amaranth.lib import data

from rtl.parameters import T3Parameters

from .configuration import (
    EPOCH_BITS,
    GENERATION_BITS,
    GPU_BITS,
    RANK_BITS,
    CommandEntry,
    RegionEntry,
)
from .encodings import Access, Datatype, ErrorCode, Operation, Origin, PacketKind, StoreKind, Target

__all__ = [
    "Classified",
    "Completion",
    "Copy",
    "DramRequest",
    "ErrorReport",
    "Location",
    "NmcRequest",
    "NmcResult",
    "OwnedPacket",
    "IssueAck",
    "LinkPacket",
    "Marker",
    "Packet",
    "Segment",
    "ReadRequest",
    "ReadReturn",
    "ReadyCommand",
    "StoreRequest",
    "TileUpdates",
    "TrackerInput",
]


_ISSUE_ACK_COUNT_BITS = 4  # at most 15 updates of a tile are merged into one tracker event


def _atoms(p: T3Parameters):
    return p.atom_address_bits


def _data(p: T3Parameters):
    """Data of an atom in 64-bit words; empty in hardware without data."""
    return data.ArrayLayout(64, p.atom_bytes // 8 if p.with_data else 0)


def ReadRequest(p: T3Parameters):
    """Read that missed in the L2; ``tag`` returns with the data."""
    return data.StructLayout({"atom": _atoms(p), "tag": p.tag_bits})


def Marker(p: T3Parameters):
    """Content of an end-of-tile marker: the number of atoms that a contribution to a wavefront's
    tile has in the channels served here, whether the workgroup lies at the matrix edge across the
    rows of the DMA walk or along them, and the contribution's shares of the tile."""
    return data.StructLayout(
        {"tile_atoms": p.tile_atom_bits, "outer_edge": 1, "inner_edge": 1, "shares": p.share_bits}
    )


def StoreRequest(p: T3Parameters):
    """Store of one atom, or end-of-tile marker of a wavefront, with the fields of a
    :func:`Marker`."""
    return data.StructLayout(
        {
            "kind": StoreKind,
            "atom": _atoms(p),
            "context": p.context_bits,
            "generation": GENERATION_BITS,
            "dispatch_index": p.dispatch_index_bits,
            "wavefront": p.wavefront_bits,
            **Marker(p).members,
            "data": _data(p),
        }
    )


def Location(p: T3Parameters):
    """Result of the address lookup of a store or a packet.

    ``region`` is meaningful if ``mapped``. ``valid`` implies ``mapped``, and that the owner's
    launch includes the dispatch index. ``counted`` is set if the request is mapped and its context
    was not aborting when it arrived; a request that is mapped but not counted belongs to an aborted
    launch.
    """
    return data.StructLayout(
        {
            "owner": p.owner_bits,
            "mapped": 1,
            "counted": 1,
            "region": range(p.regions) if p.regions > 1 else 1,
            "valid": 1,
        }
    )


def Classified(p: T3Parameters):
    """Store, or end-of-tile marker (``end``), after the lookup in the address map; ``total`` is the
    number of shares with which a tile of its range is complete."""
    return data.StructLayout(
        {
            "target": Target,
            "end": 1,
            "owner": p.owner_bits,
            "atom": _atoms(p),
            "generation": GENERATION_BITS,
            "dispatch_index": p.dispatch_index_bits,
            "wavefront": p.wavefront_bits,
            **Marker(p).members,
            "total": p.share_bits,
            "range": range(p.ranges) if p.ranges > 1 else 1,
            "op": Operation,
            "dtype": Datatype,
            "data": _data(p),
        }
    )


def Packet(p: T3Parameters):
    """Packet of one atom for each GPU of ``peers``, a mask over the context's peers; ``atom`` and
    ``slot`` are the receiver's. In an END packet ``atom`` holds the :func:`Marker` of a tile, and
    operation, type and data mean nothing.
    """
    return data.StructLayout(
        {
            "kind": PacketKind,
            "atom": _atoms(p),
            "peers": p.peers,
            "generation": GENERATION_BITS,
            "slot": p.dispatch_index_bits,
            "wavefront": p.wavefront_bits,
            "op": Operation,
            "dtype": Datatype,
            "data": _data(p),
        }
    )


def LinkPacket(p: T3Parameters):
    """Packet on the link, to the address space ``context`` of the GPU ``destination``, with the
    sender's rank ``source``."""
    of_packet = {name: shape for name, shape in Packet(p).members.items() if name != "peers"}
    return data.StructLayout(
        {
            "destination": GPU_BITS,
            "source": RANK_BITS,
            "context": p.context_bits,
            **of_packet,
        }
    )


def OwnedPacket(p: T3Parameters):
    """Packet for the link, with its context."""
    return data.StructLayout({"packet": LinkPacket(p), "owner": p.owner_bits})


def DramRequest(p: T3Parameters):
    """Access for the DRAM queue.

    ``tag`` is the tag of a compute read or the egress slot of a DMA read. The queue returns
    ``owner``, ``dispatch_index`` and ``wavefront`` in the issue acknowledgement of an update or of
    a communication write.
    """
    return data.StructLayout(
        {
            "access": Access,
            "origin": Origin,
            "atom": _atoms(p),
            "tag": max(p.tag_bits, p.egress_bits),
            "owner": p.owner_bits,
            "dispatch_index": p.dispatch_index_bits,
            "wavefront": p.wavefront_bits,
            "op": Operation,
            "dtype": Datatype,
            "data": _data(p),
        }
    )


def IssueAck(p: T3Parameters):
    """Issue acknowledgement: the DRAM issued an update or a write of the communication stream.

    No later read can overtake an issued access.
    """
    return data.StructLayout(
        {
            "access": Access,
            "atom": _atoms(p),
            "owner": p.owner_bits,
            "dispatch_index": p.dispatch_index_bits,
            "wavefront": p.wavefront_bits,
        }
    )


def ReadReturn(p: T3Parameters):
    """Data of a DMA read for its egress slot."""
    return data.StructLayout({"slot": p.egress_bits, "data": _data(p)})


def NmcRequest(p: T3Parameters):
    """Update at its memory bank; ``stored_epoch`` is the tag stored with the atom."""
    return data.StructLayout(
        {
            "stored": _data(p),
            "stored_epoch": EPOCH_BITS,
            "owner": p.owner_bits,
            "operand": _data(p),
            "op": Operation,
            "dtype": Datatype,
        }
    )


def NmcResult(p: T3Parameters):
    """Result of an update, with the epoch tag to store with it."""
    return data.StructLayout({"value": _data(p), "epoch": EPOCH_BITS})


def TileUpdates(p: T3Parameters):
    """Issued updates of one tile: their number, at least one, and their smallest atom address."""
    return data.StructLayout(
        {
            "atom": _atoms(p),
            "owner": p.owner_bits,
            "dispatch_index": p.dispatch_index_bits,
            "wavefront": p.wavefront_bits,
            "count": _ISSUE_ACK_COUNT_BITS,
        }
    )


def TrackerInput(p: T3Parameters):
    """Tracker event of a tile: ``count`` issued updates, or, with ``end``, an end-of-tile marker.

    ``count`` and ``atom`` are 0 in an end-of-tile marker. ``total`` is the number of shares with
    which the tile is complete.
    """
    return data.StructLayout(
        {
            "end": 1,
            "owner": p.owner_bits,
            "dispatch_index": p.dispatch_index_bits,
            "wavefront": p.wavefront_bits,
            "atom": _atoms(p),
            "count": _ISSUE_ACK_COUNT_BITS,
            **Marker(p).members,
            "total": p.share_bits,
        }
    )


def Completion(p: T3Parameters):
    """Completion of a tile; ``start`` is the smallest atom address of its updates."""
    return data.StructLayout(
        {
            "owner": p.owner_bits,
            "dispatch_index": p.dispatch_index_bits,
            "wavefront": p.wavefront_bits,
            "start": _atoms(p),
            "outer_edge": 1,
            "inner_edge": 1,
        }
    )


def ReadyCommand(p: T3Parameters):
    """DMA command of a range whose trigger condition holds.

    ``last`` marks the last command of its workgroup, which returns a credit of the command queue.
    """
    return data.StructLayout(
        {
            "range": range(p.ranges) if p.ranges > 1 else 1,
            "dispatch_index": p.dispatch_index_bits,
            "wavefront": p.wavefront_bits,
            "start": _atoms(p),
            "outer_edge": 1,
            "inner_edge": 1,
            "last": 1,
        }
    )


def Copy(p: T3Parameters):
    """Copy that software starts: its first atom, the mask of the peers that get it, and the command
    and the region as they were when the copy was started."""
    return data.StructLayout(
        {
            "command": CommandEntry(p),
            "region": RegionEntry(p),
            "start": _atoms(p),
            "peers": p.peers,
        }
    )


def Segment(p: T3Parameters):
    """Segment: consecutive atoms of one tile in one channel, for the DMA lane of the channel.

    Atom ``i`` of the segment belongs to wavefront
    ``wavefront + ((offset + i) >> wave_inner_log2)``. A segment of kind END is an END packet, whose
    :func:`Marker` is in ``atom``.
    """
    return data.StructLayout(
        {
            "atom": _atoms(p),
            "length": range(p.interleave_atoms + 1),
            "offset": 16,
            "wave_inner_log2": 4,
            "wavefront": p.wavefront_bits,
            "slot": p.dispatch_index_bits,
            "peers": p.peers,
            "generation": GENERATION_BITS,
            "kind": PacketKind,
            "op": Operation,
            "dtype": Datatype,
            "atom_offset": _atoms(p),  # from a local address to the receiver's
        }
    )


def ErrorReport(p: T3Parameters):
    """Error report: the error code, its tile and its location.

    ``dispatch_index`` is the slot for errors of packets. ``atom`` is the address of the store, the
    packet or the segment, ``source`` the rank that the packet carries or of the peer that aborted,
    ``channel`` the channel of the store, the packet or the acknowledgement; each is 0 where it does
    not apply. ``unowned`` is set if the error belongs to no context and is reported to the GPU.
    """
    return data.StructLayout(
        {
            "code": ErrorCode,
            "owner": p.owner_bits,
            "dispatch_index": p.dispatch_index_bits,
            "wavefront": p.wavefront_bits,
            "atom": _atoms(p),
            "source": RANK_BITS,
            "channel": range(p.channels),
            "unowned": 1,
        }
    )
