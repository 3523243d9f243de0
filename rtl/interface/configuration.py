"""Configuration layouts: tables that software fills, dispatch order and arbitration policy.

Addresses are in atoms. Dispatch indices are those of :mod:`rtl.interface.layouts`.
"""

from amaranth.lib import data

from rtl.parameters import T3Parameters

from .encodings import Action, Datatype, Granularity, InjectTarget, Operation, Policy

__all__ = [
    "ABORT_BITS",
    "EPOCH_BITS",
    "GENERATION_BITS",
    "WAVEFRONT_COUNT_BITS",
    "AddressSpace",
    "ArbiterConfiguration",
    "CommandEntry",
    "ContextView",
    "GATE_CONTEXT_BITS",
    "GPU_BITS",
    "Gate",
    "Inbound",
    "Injection",
    "MapConfiguration",
    "LaunchConfiguration",
    "LaunchProgress",
    "PeerEntry",
    "PeerLaunch",
    "RANK_BITS",
    "RangeEntry",
    "RegionEntry",
]

GENERATION_BITS = 4  # width of the generation, which distinguishes launches, also on a link
ABORT_BITS = 1 << (GENERATION_BITS - 1)  # launches whose aborts a context reports upstream
EPOCH_BITS = 8
GPU_BITS = 7  # width of the number by which the network finds a GPU
RANK_BITS = 7  # width of a GPU's rank among the GPUs of a context
GATE_CONTEXT_BITS = 3  # width of the number of an awaited context
WAVEFRONT_COUNT_BITS = 4  # width of a command's number of wavefronts


def Injection():
    """Injection request of software: on the strobe ``set``, the next word written into a memory
    gets bit errors."""
    return data.StructLayout({"set": 1, "target": InjectTarget, "instance": 8, "double": 1})


def RegionEntry(p: T3Parameters):
    """Mapped buffer: atoms ``base`` to ``limit - 1``."""
    return data.StructLayout(
        {
            "enable": 1,
            "base": p.atom_address_bits,
            "limit": p.atom_address_bits,
        }
    )


def Gate(p: T3Parameters):
    """Dispatch gate of a range, without bits if no other context exists.

    With ``enable`` the workgroups of the range wait for the launch ``generation`` of ``context``:
    the first ``workgroups`` of them until that launch has completed all slots below ``slot``, and
    each ``workgroups`` more until it has completed ``slots`` more; with ``workgroups`` 0 all wait
    for ``slot``.
    """
    there = int(p.contexts > 1)
    return data.StructLayout(
        {
            "enable": there,
            "context": GATE_CONTEXT_BITS * there,
            "generation": GENERATION_BITS * there,
            "slot": p.credit_limit_bits * there,
            "workgroups": p.dispatch_index_bits * there,
            "slots": p.dispatch_index_bits * there,
        }
    )


def RangeEntry(p: T3Parameters):
    """Range of dispatch indices, ``first`` to ``last`` inclusive, of a region's workgroups.

    A tile of the range is complete when its end-of-tile markers have ``shares`` in total, and all
    atoms that they announce are updated. A store or a tile of the range that leaves goes to each
    GPU of ``peers``, a mask over the context's peers; the tile's slot there is the dispatch index
    plus ``slot_offset``, a two's complement. The range's workgroups start behind its ``gate``.
    """
    return data.StructLayout(
        {
            "enable": 1,
            "region": range(p.regions) if p.regions > 1 else 1,
            "first": p.dispatch_index_bits,
            "last": p.dispatch_index_bits,
            "action": Action,
            "command": range(p.commands) if p.commands > 1 else 1,
            "shares": p.share_bits,
            "peers": p.peers,
            "slot_offset": p.credit_limit_bits,
            "gate": Gate(p),
        }
    )


def CommandEntry(p: T3Parameters):
    """Command template: the operation of a transfer and the geometry of a workgroup's tile.

    The walk is two-dimensional: ``outer_extent`` rows, ``stride`` atoms apart, of ``inner_extent``
    contiguous atoms. A workgroup at the matrix edge has ``outer_extent_edge`` rows, or rows of
    ``inner_extent_edge`` atoms. Its wavefronts divide a row into parts of ``2**wave_inner_log2``
    atoms and the rows into groups of ``wave_outer_extent``; wavefront ids count along the row
    first. ``waves[inner_edge * 2 + outer_edge]`` is the number of wavefronts that write. Groups of
    ``2**group_log2`` workgroups trigger together. The receiver's address is the local address plus
    ``atom_offset``, modulo the address space. The command reads only atoms of ``region``. It sends
    packets of ``kind``, STORE or UPDATE, and, if the receiver tracks its tiles (``marks``), PLACE
    instead of STORE and an END packet for each wavefront's tile. A copy marks nothing.
    """
    return data.StructLayout(
        {
            "kind": 1,
            "marks": 1,
            "op": Operation,
            "dtype": Datatype,
            "atom_offset": p.atom_address_bits,
            "granularity": Granularity,
            "group_log2": 3,
            "outer_extent": 16,
            "outer_extent_edge": 16,
            "inner_extent": 16,
            "inner_extent_edge": 16,
            "stride": 24,
            "region": range(p.regions) if p.regions > 1 else 1,
            "wave_outer_extent": 16,
            "wave_inner_log2": 4,
            "waves_inner_log2": 2,
            "waves": data.ArrayLayout(WAVEFRONT_COUNT_BITS, 4),
        }
    )


def MapConfiguration(p: T3Parameters):
    """Address map of a context: regions, ranges and commands."""
    return data.StructLayout(
        {
            "regions": data.ArrayLayout(RegionEntry(p), p.regions),
            "ranges": data.ArrayLayout(RangeEntry(p), p.ranges),
            "commands": data.ArrayLayout(CommandEntry(p), p.commands),
        }
    )


def LaunchConfiguration(p: T3Parameters):
    """Configuration of a launch: dispatch order and flow control.

    The slots from ``tracked_first`` to ``tracked_end - 1`` are tracked here. ``to_send`` is
    the number of workgroups whose tiles leave. ``generation`` numbers the launch on all GPUs,
    ``epoch`` tags its data in this GPU's memory. With ``accumulate``, data of any epoch count as
    data of this launch, so that the first update of an atom adds to what the memory holds. With
    ``reports_steps``, software hears of each ``2**report_log2`` slots.
    """
    return data.StructLayout(
        {
            "workgroups": p.workgroup_bits + 1,
            "tracked_first": p.credit_limit_bits,
            "tracked_end": p.credit_limit_bits,
            "to_send": p.credit_limit_bits,
            "credit_window": p.credit_limit_bits,
            "command_window": p.credit_limit_bits,
            "timeout": 32,
            "generation": GENERATION_BITS,
            "epoch": EPOCH_BITS,
            "accumulate": 1,
            "reports_steps": 1,
            "report_log2": 5,
        }
    )


def AddressSpace(p: T3Parameters):
    """Address space ``local`` of a context: its stores and packets belong to the context if
    ``enable`` is set."""
    return data.StructLayout({"enable": 1, "local": p.context_bits})


def PeerEntry(p: T3Parameters):
    """Peer of a context: another GPU that runs the same launches.

    Packets to the peer go to the GPU ``gpu`` of the network and to its address space ``space``;
    packets of the peer carry ``rank``. The last four bits allow kinds of packets, to the peer and
    from it. A context without an enabled peer neither sends nor accepts packets.
    """
    return data.StructLayout(
        {
            "enable": 1,
            "gpu": GPU_BITS,
            "rank": RANK_BITS,
            "space": p.context_bits,
            "sends_stores": 1,
            "sends_updates": 1,
            "takes_stores": 1,
            "takes_updates": 1,
        }
    )


def PeerLaunch():
    """State of a peer for the launch check: the generation of its launch, and whether it admits
    anything, without which the generation means nothing."""
    return data.StructLayout({"admits": 1, "generation": GENERATION_BITS})


def LaunchProgress(p: T3Parameters):
    """Progress of a context for the contexts that await it, without bits if there is none.

    While ``valid``, the launch ``generation`` has completed all slots below ``oldest``. Bit *n* of
    ``complete``: the launch *n* generations before ``generation`` completed all of its slots, and
    the context was not aborted since. ``changes`` is set in the first cycle with another value.
    """
    there = int(p.contexts > 1)
    return data.StructLayout(
        {
            "valid": there,
            "generation": GENERATION_BITS * there,
            "oldest": p.credit_limit_bits * there,
            "complete": ABORT_BITS * there,
            "changes": there,
        }
    )


def Inbound():
    """Inbound filter of a context: one bit for each operation of an update, and each data type."""
    return data.StructLayout({"ops": 4, "dtypes": 4})


def ContextView(p: T3Parameters):
    """State of a context as the channels see it.

    Updates pass for dispatch indices from ``oldest`` to ``credit_limit - 1``. While the context is
    ``aborting``, all of its traffic is dropped. ``launched`` is set if a launch began since the
    last abort, and ``former`` describes the launch before it, whose copies may still arrive.
    ``changes`` is set in the first cycle of an abort, of a launch, and with regions closed: packets
    that channels located before must not meet a later launch.
    ``wavefronts`` is the largest number of wavefronts of each range's command. Dispatch indices and
    slots of the launch are below ``slots``. ``rank`` is this
    GPU's rank among the context's GPUs.
    """
    return data.StructLayout(
        {
            "aborting": 1,
            "launched": 1,
            "changes": 1,
            "former": data.StructLayout({"valid": 1, "generation": GENERATION_BITS}),
            "address_space": AddressSpace(p),
            "rank": RANK_BITS,
            "peers": data.ArrayLayout(PeerEntry(p), p.peers),
            "inbound": Inbound(),
            "maps": MapConfiguration(p),
            "wavefronts": data.ArrayLayout(WAVEFRONT_COUNT_BITS, p.ranges),
            "launch_configuration": LaunchConfiguration(p),
            "slots": p.credit_limit_bits,
            "oldest": p.credit_limit_bits,
            "credit_limit": p.credit_limit_bits,
        }
    )


def ArbiterConfiguration(p: T3Parameters):
    """Configuration of the arbiter.

    MCA lets communication pass while the DRAM queue holds fewer entries than a threshold. With
    ``automatic`` the threshold follows the occupancy averaged over the first
    ``2**measure_log2`` cycles after the start. From ``cuts[2]`` on, the threshold is ``levels[2]``;
    otherwise from ``cuts[1]`` on, ``levels[1]``; otherwise from ``cuts[0]`` on, ``levels[0]``;
    otherwise there is no limit. Level 127 means no limit.

    CRITICAL uses ``threshold`` in the same way as MCA while communication is not urgent, and
    ``cuts[2]`` as the occupancy at which the memory counts as full.
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
