"""Configuration words: the tables that software fills, the production order, the arbiter's policy.

Addresses are in atoms. Places are those of :mod:`rtl.interface.layouts`.
"""

from amaranth.lib import data

from rtl.parameters import T3Parameters

from .encodings import Action, Datatype, Granularity, Operation, PacketKind, Policy

__all__ = [
    "ArbiterConfiguration",
    "CommandEntry",
    "MapConfiguration",
    "ProductionConfiguration",
    "RangeEntry",
    "WindowEntry",
]


def WindowEntry(p: T3Parameters):
    """A mapped buffer of one context: atoms ``base`` to ``limit - 1``."""
    return data.StructLayout(
        {
            "enable": 1,
            "base": p.atom_address_bits,
            "limit": p.atom_address_bits,
            "context": p.context_bits,
        }
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
            "atom_offset": p.atom_address_bits,
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
