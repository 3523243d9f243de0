"""Cells of a library as area and timing see them."""

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
        Edges of input and output that belong together: `RISE` or `FALL`.
    delay_ns, slew_ns : tuple of Table
        By edge of the output; over the input's slew (ns) and the output's load (pF).
    clocked : bool
        The input is a clock, the output changes with its active edge.
    """

    source: str
    target: str
    edges: tuple[tuple[int, int], ...]
    delay_ns: tuple[Table, Table]
    slew_ns: tuple[Table, Table]
    clocked: bool


@dataclass(frozen=True, slots=True)
class Setup:
    """Time that a pin is stable before the clock; by edge, over the slews of clock and pin."""

    pin: str
    time_ns: tuple[Table, Table]


@dataclass(frozen=True, slots=True)
class Cell:
    """A standard cell.

    Parameters
    ----------
    name : str
    area_um2 : float
    inputs : dict of str to float
        Capacitance of each input pin in pF.
    functions : dict of str to str
        Boolean function of each output pin that has one.
    arcs : tuple of Arc
    setups : tuple of Setup
    is_flip_flop : bool
    is_plain_flip_flop : bool
        It takes one data pin at a rising clock edge, and nothing else acts on it.
    usable : bool
        Synthesis may use it.
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
    """Cells, and the three by which others are measured.

    Parameters
    ----------
    name : str
        What the library calls itself.
    checksum : str
        SHA-256 of the Liberty text.
    cells : dict of str to Cell
    inverter, nand2, flip_flop : str
        The smallest cell of that function.
    fo4_ns, fo4_slew_ns : float
        Delay and output slew of the inverter that drives four of itself and is itself driven by
        such an inverter; means of rise and fall.
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
