"""Energy of a run, from its counted events."""

from typing import TYPE_CHECKING

from sysmodel.config.workload import ELEMENT_BYTES

from .constants import Constants
from .counts import Energy, Events

if TYPE_CHECKING:
    from sysmodel.config.system import System

    from .counts import DramBytes, LinkBytes

__all__ = ["energy_of"]

_PJ = 1e-12
# The DRAM's constants are HBM2's. They are assumed to scale with the square of the voltage.
_CORE, _IO, _SOURCE_VOLTS = ("dram_activate", "dram_array", "dram_bus"), ("dram_io",), 1.2
# Bytes that one lane moves with one instruction, as in RCCL's copy loop, and bytes that it adds
# with one instruction (packed fp16).
_MOVED_BYTES, _ADDED_BYTES = 16, 4


def energy_of(
    dram: "DramBytes",
    link: "LinkBytes",
    events: Events,
    system: "System",
    constants: Constants,
) -> Energy:
    """Compute the energy of one GPU.

    The counts may be numbers or columns of a table; the energies have the same type.
    """
    c = {name: getattr(constants, name).value * _PJ for name in Constants.model_fields}
    for names, volts in ((_CORE, system.dram.core_volts), (_IO, system.dram.io_volts)):
        c |= {name: c[name] * (volts / _SOURCE_VOLTS) ** 2 for name in names}
    crossing_mm, entry_bits = constants.crossing.value, constants.tracker_entry.value
    atom = system.dram.atom_bytes
    updates = sum(events.updates.values())
    update_bits = 8 * atom * updates
    read_bits = 8 * sum(dram.read.values())
    write_bits = 8 * sum(dram.write.values()) - update_bits
    access = c["dram_array"] + c["dram_bus"] + c["dram_io"]
    moved = events.cu_loads + events.cu_stores
    instructions = atom * moved / _MOVED_BYTES + atom * events.cu_additions / _ADDED_BYTES
    # An update or an end of tile reads a set of the tracker and writes an entry; a complete tile
    # reads and writes a row of the trigger's table.
    entries = (updates + events.tiles) * (system.t3.tracker_ways + 1) + events.tiles * 2
    return Energy(
        dram_activate=events.activates * system.dram.row_bytes * c["dram_activate"],
        dram_read=read_bits * access,
        dram_write=write_bits * access,
        # The operand crosses the interface; the stored value moves from the array to the adder and
        # back.
        dram_update=update_bits * (access + c["dram_array"]),
        nmc=updates * (atom // ELEMENT_BYTES) * c["nmc_add"],
        link=8 * link.total * c["link"],
        network=8 * atom * (moved + events.dma_reads) * crossing_mm * c["wire"],
        cu=instructions * c["instruction"]
        + atom // ELEMENT_BYTES * events.cu_additions * c["fp16_add"],
        dma=2 * 8 * atom * events.dma_reads * c["sram"],
        tracker=entries * entry_bits * c["sram"],
        logic=events.flip_flop_clocks * c["flip_flop"],
    )
