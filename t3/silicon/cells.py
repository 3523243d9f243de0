"""Cells of a library, with the data that area and timing need."""

from dataclasses import dataclass

from .tables import Table

__all__ = ["FALL", "RISE", "Arc", "Cell", "Library", "Setup"]

RISE, FALL = 0, 1


@dataclass(frozen=True, slots=True)
class Arc:
    """Delay from an input pin to an output pin.

    Parameters
    ----------
    source, target : str
        Pins.
    edges : tuple of (int, int)
        Pairs of an input edge and the output edge that it causes: `RISE` or `FALL`.
    delay_ns, slew_ns : tuple of Table
        Tables by edge of the output, over the input's slew (ns) and the output's load (pF).
    clocked : bool
        True if the input is a clock with whose active edge the output changes.
    """

    source: str
    target: str
    edges: tuple[tuple[int, int], ...]
    delay_ns: tuple[Table, Table]
    slew_ns: tuple[Table, Table]
    clocked: bool


@dataclass(frozen=True, slots=True)
class Setup:
    """Setup time of a pin: tables by edge, over the slews of clock and pin."""

    pin: str
    time_ns: tuple[Table, Table]


@dataclass(frozen=True, slots=True)
class Cell:
    """Standard cell.

    Parameters
    ----------
    inputs : dict of str to float
        Capacitance of each input pin in pF.
    functions : dict of str to str
        Boolean function of each output pin with a function.
    is_plain_flip_flop : bool
        True if the cell stores one data pin at a rising clock edge and has no other input.
    usable : bool
        True if synthesis may use the cell.
    """

    name: str
    area_um2: float
    inputs: dict[str, float]
    functions: dict[str, str]
    arcs: tuple[Arc, ...]
    setups: tuple[Setup, ...]
    is_flip_flop: bool
    is_plain_flip_flop: bool
    usable: bool


@dataclass(frozen=True)
class Library:
    """Cells of a library, and its three reference cells.

    Parameters
    ----------
    name : str
        Name of the library in its file.
    checksum : str
        SHA-256 of the Liberty text.
    inverter, nand2, flip_flop : str
        Smallest cell of each function.
    fo4_ns, fo4_slew_ns : float
        Delay and output slew of an inverter that drives four inverters and is driven by such an
        inverter; means of rise and fall.
    """

    name: str
    checksum: str
    cells: dict[str, Cell]
    inverter: str
    nand2: str
    flip_flop: str
    fo4_ns: float
    fo4_slew_ns: float

    @property
    def inverter_capacitance_pf(self) -> float:
        return next(iter(self.cells[self.inverter].inputs.values()))

    @property
    def gate_um2(self) -> float:
        """Area of a NAND2: one gate equivalent."""
        return self.cells[self.nand2].area_um2
