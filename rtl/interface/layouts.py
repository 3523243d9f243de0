"""Payloads of the streams, each defined once and shared by all blocks.

Addresses are in atoms. A *dispatch index* is a workgroup's position in the dispatch order of the
GPU that holds the tile: ``(workgroup - first_workgroup) mod workgroups``. An *owner* is the number
of the context that something belongs to; with one context it has no bits.
"""

from amaranth.lib import data

from rtl.parameters import T3Parameters

from .configuration import EPOCH_BITS, GENERATION_BITS, SOURCE_BITS, CommandEntry, RegionEntry
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
    "IssueAck",
    "LinkPacket",
    "Packet",
    "Segment",
    "ReadRequest",
    "ReadReturn",
    "ReadyCommand",
    "StoreRequest",
    "TileUpdates",
    "TrackerInput",
]


_ISSUE_ACK_COUNT_BITS = 4  # updates of a tile that pass the tracker's front as one: at most 15


def _atoms(p: T3Parameters):
    return p.atom_address_bits


def _data(p: T3Parameters):
    """An atom's data in 64-bit words, or nothing."""
    return data.ArrayLayout(64, p.atom_bytes // 8 if p.with_data else 0)


def ReadRequest(p: T3Parameters):
    """A read that missed in the L2; ``tag`` comes back with the data."""
    return data.StructLayout({"atom": _atoms(p), "tag": p.tag_bits})


def StoreRequest(p: T3Parameters):
    """A store of one atom, or a wavefront's end-of-tile marker.

    ``tile_atoms``, ``outer_edge`` and ``inner_edge`` count for an end-of-tile marker only: the
    number of atoms that the wavefront really wrote in the channels served here, and whether its
    workgroup lies at the matrix edge in the direction of the DMA walk's rows or along its runs.
    """
    return data.StructLayout(
        {
            "kind": StoreKind,
            "atom": _atoms(p),
            "context": p.context_bits,
            "generation": GENERATION_BITS,
            "workgroup": p.workgroup_bits,
            "wavefront": p.wavefront_bits,
            "tile_atoms": p.tile_atom_bits,
            "outer_edge": 1,
            "inner_edge": 1,
            "data": _data(p),
        }
    )


def Location(p: T3Parameters):
    """Where a store or a packet belongs: ``region`` if ``mapped``, ``dispatch_index`` if ``valid``.

    ``valid`` implies ``mapped``, and that the owner's launch has the workgroup. ``counted``: it is
    mapped, and its context was not aborting when it came. If it is mapped only, it belongs to what
    was aborted.
    """
    return data.StructLayout(
        {
            "owner": p.owner_bits,
            "mapped": 1,
            "counted": 1,
            "region": range(p.regions) if p.regions > 1 else 1,
            "valid": 1,
            "dispatch_index": p.dispatch_index_bits,
        }
    )


def Classified(p: T3Parameters):
    """A store after the address map's lookup."""
    return data.StructLayout(
        {
            "target": Target,
            "owner": p.owner_bits,
            "atom": _atoms(p),
            "generation": GENERATION_BITS,
            "workgroup": p.workgroup_bits,
            "dispatch_index": p.dispatch_index_bits,
            "wavefront": p.wavefront_bits,
            "tile_atoms": p.tile_atom_bits,
            "outer_edge": 1,
            "inner_edge": 1,
            "command": range(p.commands) if p.commands > 1 else 1,
            "op": Operation,
            "dtype": Datatype,
            "data": _data(p),
        }
    )


def Packet(p: T3Parameters):
    """One atom for the link; ``atom`` is an address of the receiver."""
    return data.StructLayout(
        {
            "kind": PacketKind,
            "atom": _atoms(p),
            "context": p.context_bits,
            "generation": GENERATION_BITS,
            "workgroup": p.workgroup_bits,
            "wavefront": p.wavefront_bits,
            "op": Operation,
            "dtype": Datatype,
            "data": _data(p),
        }
    )


def LinkPacket(p: T3Parameters):
    """A packet on the link, with the number of the GPU that sends it."""
    return data.StructLayout({"source": SOURCE_BITS, **Packet(p).members})


def DramRequest(p: T3Parameters):
    """An access for the DRAM queue.

    ``tag`` is a compute read's tag or a DMA read's egress slot. The queue gives ``owner``,
    ``dispatch_index`` and ``wavefront`` back in the issue acknowledgement of an update or of a
    communication write.
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
    """The DRAM issued an update, or a write of the communication stream.

    From then on no later read can overtake it.
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
    return data.StructLayout({"slot": p.egress_bits, "data": _data(p)})


def NmcRequest(p: T3Parameters):
    """An update at its memory bank. ``stored_epoch`` is the tag kept beside the stored atom."""
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
    return data.StructLayout({"value": _data(p), "epoch": EPOCH_BITS})


def TileUpdates(p: T3Parameters):
    """Issued updates of one tile: how many, at least one, and the smallest of their atoms."""
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
    """One event of a tile: ``count`` issued updates, or (``end``) its wavefront's end-of-tile
    marker.

    ``count`` and ``atom`` are 0 in an end-of-tile marker.
    """
    return data.StructLayout(
        {
            "end": 1,
            "owner": p.owner_bits,
            "dispatch_index": p.dispatch_index_bits,
            "wavefront": p.wavefront_bits,
            "atom": _atoms(p),
            "count": _ISSUE_ACK_COUNT_BITS,
            "tile_atoms": p.tile_atom_bits,
            "outer_edge": 1,
            "inner_edge": 1,
        }
    )


def Completion(p: T3Parameters):
    """A tile is complete; ``start`` is the smallest atom address that was seen."""
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
    """A DMA command whose trigger condition holds.

    ``last`` marks the last one of its workgroup, which gives back a credit of the command queue.
    """
    return data.StructLayout(
        {
            "command": range(p.commands) if p.commands > 1 else 1,
            "dispatch_index": p.dispatch_index_bits,
            "wavefront": p.wavefront_bits,
            "start": _atoms(p),
            "outer_edge": 1,
            "inner_edge": 1,
            "last": 1,
        }
    )


def Copy(p: T3Parameters):
    """A plain copy that software starts: the command and its region, as they were then, and where
    it begins."""
    return data.StructLayout(
        {"command": CommandEntry(p), "region": RegionEntry(p), "start": _atoms(p)}
    )


def Segment(p: T3Parameters):
    """Consecutive atoms of one tile in one channel, for that channel's DMA lane.

    Atom ``i`` of the segment belongs to wavefront
    ``wavefront + ((offset + i) >> wave_inner_log2)``.
    """
    return data.StructLayout(
        {
            "atom": _atoms(p),
            "length": range(p.interleave_atoms + 1),
            "offset": 16,
            "wave_inner_log2": 4,
            "wavefront": p.wavefront_bits,
            "workgroup": p.workgroup_bits,
            "context": p.context_bits,
            "generation": GENERATION_BITS,
            "kind": PacketKind,
            "op": Operation,
            "dtype": Datatype,
            "atom_offset": _atoms(p),  # from an atom here to where it goes, at the receiver
        }
    )


def ErrorReport(p: T3Parameters):
    """What went wrong, for which tile, and where.

    ``dispatch_index`` is a workgroup id for errors of packets and of the DMA engine. ``atom`` is
    that of the store, the packet or the segment, ``source`` the GPU that sent the packet,
    ``channel`` the one of the store, the packet or the acknowledgement; each is 0 where there is
    none. ``stray``: it is no context's, but the GPU's.
    """
    return data.StructLayout(
        {
            "code": ErrorCode,
            "owner": p.owner_bits,
            "dispatch_index": p.dispatch_index_bits,
            "wavefront": p.wavefront_bits,
            "atom": _atoms(p),
            "source": SOURCE_BITS,
            "channel": range(p.channels),
            "stray": 1,
        }
    )
