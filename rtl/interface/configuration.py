"""Configuration words: the tables that software fills, the dispatch order, the arbiter's policy.

Addresses are in atoms. Dispatch indices are those of :mod:`rtl.interface.layouts`.
"""

from amaranth.lib import data

from rtl.parameters import T3Parameters

from .encodings import Action, Datatype, Granularity, InjectTarget, Operation, PacketKind, Policy

__all__ = [
    "EPOCH_BITS",
    "GENERATION_BITS",
    "SOURCE_BITS",
    "AddressSpace",
    "ArbiterConfiguration",
    "CommandEntry",
    "ContextView",
    "Inbound",
    "Injection",
    "MapConfiguration",
    "LaunchConfiguration",
    "RangeEntry",
    "RegionEntry",
]

GENERATION_BITS = 4  # launches that are told apart, on a link as well
EPOCH_BITS = 8
SOURCE_BITS = 5  # number of a GPU


def Injection():
    """Wrong bits that software asks for: with the strobe ``set``, in the next word of a memory."""
    return data.StructLayout({"set": 1, "target": InjectTarget, "instance": 8, "double": 1})


def RegionEntry(p: T3Parameters):
    """A mapped buffer: atoms ``base`` to ``limit - 1``."""
    return data.StructLayout(
        {
            "enable": 1,
            "base": p.atom_address_bits,
            "limit": p.atom_address_bits,
        }
    )


def RangeEntry(p: T3Parameters):
    """Dispatch indices ``first`` to ``last``, both included, of a region's workgroups."""
    return data.StructLayout(
        {
            "enable": 1,
            "region": range(p.regions) if p.regions > 1 else 1,
            "first": p.dispatch_index_bits,
            "last": p.dispatch_index_bits,
            "action": Action,
            "command": range(p.commands) if p.commands > 1 else 1,
        }
    )


def CommandEntry(p: T3Parameters):
    """What a transfer does, and the geometry of a workgroup's tile.

    The walk is two-dimensional: ``outer_extent`` rows, ``stride`` atoms apart, of ``inner_extent``
    contiguous atoms. A workgroup at the matrix edge has ``outer_extent_edge`` rows, or rows of
    ``inner_extent_edge`` atoms. Its wavefronts divide a row in parts of ``2**wave_inner_log2``
    atoms and the rows in groups of ``wave_outer_extent``; wavefront ids count along the row first.
    ``waves[inner_edge * 2 + outer_edge]`` is the number of wavefronts that write at all.
    ``group_log2``: that many workgroups (a power of two) trigger together. ``atom_offset`` is added
    to an address to make it the receiver's, modulo the address space. It reads nothing outside
    ``region``.
    """
    return data.StructLayout(
        {
            "kind": PacketKind,
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
            "waves": data.ArrayLayout(4, 4),
        }
    )


def MapConfiguration(p: T3Parameters):
    return data.StructLayout(
        {
            "regions": data.ArrayLayout(RegionEntry(p), p.regions),
            "ranges": data.ArrayLayout(RangeEntry(p), p.ranges),
            "commands": data.ArrayLayout(CommandEntry(p), p.commands),
        }
    )


def LaunchConfiguration(p: T3Parameters):
    """The dispatch order, and the flow control that rests on it.

    ``shift`` takes a dispatch index to the downstream GPU's dispatch index of the same workgroup.
    Dispatch indices from ``tracked_first`` to ``tracked_end - 1`` are updated here; the ones before
    leave by remote_map. ``generation`` is the launch's on all GPUs, ``epoch`` its tag in this GPU's
    memory.
    """
    return data.StructLayout(
        {
            "first_workgroup": p.workgroup_bits,
            "workgroups": p.workgroup_bits + 1,
            "tracked_first": p.credit_limit_bits,
            "tracked_end": p.credit_limit_bits,
            "shift": p.credit_limit_bits,
            "credit_window": p.credit_limit_bits,
            "command_window": p.credit_limit_bits,
            "updates_per_atom": 2,
            "timeout": 32,
            "generation": GENERATION_BITS,
            "epoch": EPOCH_BITS,
        }
    )


def AddressSpace(p: T3Parameters):
    """The address space whose stores and packets are a context's, if ``enable``, and the one that
    it sends to."""
    return data.StructLayout({"enable": 1, "local": p.context_bits, "remote": p.context_bits})


def Inbound():
    """Which packets a context takes: by the number of the GPU that sends them, those that are only
    to be written and updates; and updates by their operation and their type. A bit for each."""
    sources = 1 << SOURCE_BITS
    return data.StructLayout({"stores": sources, "updates": sources, "ops": 4, "dtypes": 4})


def ContextView(p: T3Parameters):
    """What the channels know of a context. Updates are let through for dispatch indices from
    ``oldest`` to ``credit_limit - 1``; while it is ``aborting``, all of its traffic is dropped.

    ``launched``: there was a launch since the last abort. ``former``: and one before it, whose
    copies may still come.
    """
    return data.StructLayout(
        {
            "aborting": 1,
            "launched": 1,
            "former": data.StructLayout({"valid": 1, "generation": GENERATION_BITS}),
            "address_space": AddressSpace(p),
            "inbound": Inbound(),
            "maps": MapConfiguration(p),
            "launch_configuration": LaunchConfiguration(p),
            "oldest": p.credit_limit_bits,
            "credit_limit": p.credit_limit_bits,
        }
    )


def ArbiterConfiguration(p: T3Parameters):
    """Policy of the arbiter.

    MCA lets communication pass while the DRAM queue holds fewer than a threshold of entries. With
    ``automatic`` the threshold follows the occupancy averaged over the first
    ``2**measure_log2`` cycles after the start: at least ``cuts[2]`` gives ``levels[2]``, else at
    least ``cuts[1]`` gives ``levels[1]``, else at least ``cuts[0]`` gives ``levels[0]``, else
    there is no limit. Level 127 means no limit.

    For CRITICAL ``threshold`` is what MCA's is while communication has time, and ``cuts[2]`` the
    mean occupancy from which the memory itself holds communication up.
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
