"""Area of a netlist."""

from dataclasses import dataclass

from .cells import Library
from .netlist import Netlist

__all__ = ["Area", "area"]


@dataclass(frozen=True, slots=True)
class Area:
    """Cells and SRAM macros of a netlist, with their sizes.

    Parameters
    ----------
    flip_flop_ge, logic_ge : float
        Area of the flip-flops and of all other cells, in NAND2 gates of the same library.
    macros, bits, single_port_bits : int
        Number of SRAM macros, number of their bits, and number of bits in macros with one port. The
        area of the cells excludes the macros.
    cells_um2 : float
        Area of all cells.
    """

    flip_flops: int
    flip_flop_ge: float
    logic_ge: float
    macros: int
    bits: int
    single_port_bits: int
    cells_um2: float

    @property
    def ge(self) -> float:
        return self.flip_flop_ge + self.logic_ge

    def __add__(self, other: "Area") -> "Area":
        return Area(*(getattr(self, n) + getattr(other, n) for n in Area.__slots__))

    def __mul__(self, count: int) -> "Area":
        return Area(*(getattr(self, name) * count for name in Area.__slots__))


NOTHING = Area(0, 0.0, 0.0, 0, 0, 0, 0.0)


def area(netlist: Netlist, library: Library) -> Area:
    """Add up the cells and macros of a netlist; black boxes have no area."""
    flip_flops, flip_flop_um2, logic_um2 = 0, 0.0, 0.0
    for instance in netlist.instances:
        cell = library.cells[instance.cell]
        if cell.is_flip_flop:
            flip_flops += 1
            flip_flop_um2 += cell.area_um2
        else:
            logic_um2 += cell.area_um2
    return Area(
        flip_flops=flip_flops,
        flip_flop_ge=flip_flop_um2 / library.gate_um2,
        logic_ge=logic_um2 / library.gate_um2,
        macros=len(netlist.macros),
        bits=sum(macro.bits for macro in netlist.macros),
        single_port_bits=sum(macro.bits for macro in netlist.macros if macro.is_single_port),
        cells_um2=flip_flop_um2 + logic_um2,
    )
