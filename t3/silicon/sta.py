"""Static timing analysis of a netlist: the longest path to every endpoint.

Delays come from the library's tables, by the slew at the input and the load at the output. The slew
of a net is the largest slew of all paths to the net. The analysis has no wires and no clock skew.
The clock edge arrives at 0 with slew 0. Inputs arrive at 0 with the slew of an inverter that drives
four inverters. Outputs and pins of memories load their nets as four inverters do. A path begins at
an input, at a flip-flop's clock or at a memory's read data. It ends at an output, at a flip-flop's
data pin (setup time included) or at any other pin of a memory. The access time of a memory is left
out: its read data arrive at 0.

The tests compare the analysis with OpenSTA, whose delays are 0.1 to 0.5 % shorter in osu018 because
it distinguishes the rise and fall capacitance of a pin.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

from .cells import FALL, RISE, Arc, Library
from .netlist import Netlist
from .tables import Table

__all__ = ["KINDS", "Path", "Stage", "worst_paths"]

KINDS = ("in->reg", "reg->reg", "reg->out", "in->out")
"""Kinds of paths; memories count as registers."""

_INPUT, _REGISTER = 0, 1
_ORIGINS = ("in", "reg")
_NEVER = float("-inf")
_BOTH_TO_BOTH = ((RISE, RISE), (RISE, FALL), (FALL, RISE), (FALL, FALL))


@dataclass(frozen=True, slots=True)
class Stage:
    """Cell of a path.

    Parameters
    ----------
    net : str
        Designer's name of the net that the cell drives; empty for a net without a name.
    rises : bool
        True for a rising edge of the output.
    fanout : int
        Number of pins that the cell drives.
    """

    cell: str
    net: str
    rises: bool
    delay_ns: float
    slew_ns: float
    load_pf: float
    fanout: int


@dataclass(frozen=True, slots=True)
class Path:
    """Longest path between two signals.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    start, end : str
        Names of the signals.
    delay_ns : float
        Total delay, setup time included.
    stages : tuple of Stage
        Cells in order; the first cell is a flip-flop if the path begins at a flip-flop.
    gates : int
        Number of cells between the ends.
    """

    kind: str
    start: str
    end: str
    delay_ns: float
    setup_ns: float
    stages: tuple[Stage, ...]
    gates: int


@dataclass(slots=True)
class _Node:
    """Node of the timing graph: the pins of a cell, and the arcs between them."""

    cell: str
    pins: dict[str, int]
    arcs: tuple[Arc, ...]


@dataclass(slots=True)
class _Net:
    """State of a net: slew by edge, arrival time by origin and edge."""

    load_pf: float = 0.0
    fanout: int = 0
    slew_ns: list[float] = field(default_factory=lambda: [_NEVER, _NEVER])
    arrival_ns: list[list[float]] = field(
        default_factory=lambda: [[_NEVER, _NEVER], [_NEVER, _NEVER]]
    )
    # Cell, delay, preceding net and edge on it, by origin and edge; None at a start.
    before: list[list] = field(default_factory=lambda: [[None, None], [None, None]])


def worst_paths(netlist: Netlist, library: Library, *, count: int | None = None) -> list[Path]:
    """Find the longest paths, longest first, one for each pair of start and end.

    Parameters
    ----------
    count : int, optional
        Number of paths; by default the longest path of each kind.

    Raises
    ------
    ValueError
        The gates form a loop.
    """
    return _Analysis(netlist, library).paths(count)


class _Analysis:
    def __init__(self, netlist: Netlist, library: Library):
        self._netlist, self._library = netlist, library
        self._nets: dict[int, _Net] = defaultdict(_Net)
        self._flip_flops = [i for i in netlist.instances if library.cells[i.cell].is_flip_flop]
        self._add_loads()
        self._starts: dict[int, str] = {}
        self._begin()
        for node in self._in_order():
            self._propagate(node)

    def _add_loads(self) -> None:
        for instance in self._netlist.instances:
            inputs = self._library.cells[instance.cell].inputs
            for pin, net in instance.pins.items():
                if pin in inputs:
                    self._load(net, inputs[pin])
        outside = 4 * self._library.inverter_capacitance_pf
        for ends in self._outside_ends():
            for net in ends:
                self._load(net, outside)

    def _outside_ends(self) -> Iterator[dict[int, str]]:
        yield self._netlist.outputs
        yield from (part.inputs for part in self._netlist.parts)

    def _load(self, net: int, capacitance_pf: float) -> None:
        self._nets[net].load_pf += capacitance_pf
        self._nets[net].fanout += 1

    def _begin(self) -> None:
        self._begin_at(self._netlist.inputs, _INPUT)
        for part in self._netlist.parts:
            self._begin_at(part.outputs, _REGISTER)
        for instance in self._flip_flops:
            cell = self._library.cells[instance.cell]
            for arc in cell.arcs:
                out = instance.pins.get(arc.target)
                if arc.clocked and out is not None:
                    self._starts[out] = self._register(instance)
                    net = self._nets[out]
                    for _, edge in arc.edges:
                        delay = arc.delay_ns[edge].at(0.0, net.load_pf)
                        slew = arc.slew_ns[edge].at(0.0, net.load_pf)
                        net.slew_ns[edge] = max(net.slew_ns[edge], slew)
                        if delay > net.arrival_ns[_REGISTER][edge]:
                            net.arrival_ns[_REGISTER][edge] = delay
                            net.before[_REGISTER][edge] = (cell.name, delay, None, edge)

    def _begin_at(self, starts: dict[int, str], origin: int) -> None:
        for bit, name in starts.items():
            self._starts[bit] = name
            net = self._nets[bit]
            net.slew_ns = [self._library.fo4_slew_ns] * 2
            net.arrival_ns[origin] = [0.0, 0.0]

    def _register(self, instance) -> str:
        """Name of the signal that a flip-flop stores.

        If the library has no suitable flip-flop, synthesis puts an inverter behind another one.
        """
        outputs = self._library.cells[instance.cell].functions
        nets = [instance.pins[pin] for pin in outputs if pin in instance.pins]
        for net in nets:
            if net in self._netlist.names:
                return self._netlist.names[net]
        for net in nets:
            if net in self._inverted:
                return self._inverted[net]
        return f"a {instance.cell}"

    @cached_property
    def _inverted(self) -> dict[int, str]:
        """Names of inverted nets, by the net at the inverter's input."""
        names: dict[int, str] = {}
        for instance in self._netlist.instances:
            cell = self._library.cells[instance.cell]
            if len(cell.inputs) == 1 and len(cell.functions) == 1:
                ((source,), (target,)) = cell.inputs, cell.functions
                name = self._netlist.names.get(instance.pins.get(target, -1))
                if name and source in instance.pins:
                    names.setdefault(instance.pins[source], name)
        return names

    def _in_order(self) -> list[_Node]:
        """Sort the gates so that each follows its drivers."""
        nodes = []
        for instance in self._netlist.instances:
            cell = self._library.cells[instance.cell]
            if not cell.is_flip_flop:
                nodes.append(_Node(cell.name, instance.pins, cell.arcs))
        for macro in self._netlist.macros:
            for addresses, data in macro.through:
                nodes.append(self._read_without_clock(macro.name, addresses, data))
        drivers = {
            node.pins[arc.target]: index
            for index, node in enumerate(nodes)
            for arc in node.arcs
            if arc.target in node.pins
        }
        sorter: TopologicalSorter[int] = TopologicalSorter()
        for index, node in enumerate(nodes):
            nets = {node.pins.get(arc.source, -1) for arc in node.arcs}
            sorter.add(index, *(drivers[net] for net in sorted(nets) if net in drivers))
        try:
            return [nodes[index] for index in sorter.static_order()]
        except CycleError as error:
            cell = nodes[error.args[1][0]].cell
            raise ValueError(f"gates form a loop, with a {cell} in it") from None

    def _read_without_clock(self, name: str, addresses: list[int], data: list[int]) -> _Node:
        none = (Table((0.0,), (0.0,), ((0.0,),)),) * 2
        slew = (Table((0.0,), (0.0,), ((self._library.fo4_slew_ns,),)),) * 2
        pins = {f"a{i}": net for i, net in enumerate(addresses)}
        pins |= {f"d{i}": net for i, net in enumerate(data)}
        arcs = tuple(
            Arc(f"a{a}", f"d{d}", _BOTH_TO_BOTH, none, slew, False)
            for a in range(len(addresses))
            for d in range(len(data))
        )
        return _Node(name, pins, arcs)

    def _propagate(self, node: _Node) -> None:
        for arc in node.arcs:
            if arc.source not in node.pins or arc.target not in node.pins:
                continue
            source, target = node.pins[arc.source], self._nets[node.pins[arc.target]]
            origin_net = self._nets[source]
            load = target.load_pf
            for edge, after in arc.edges:
                slew = origin_net.slew_ns[edge]
                if slew == _NEVER:
                    continue
                delay = arc.delay_ns[after].at(slew, load)
                out = arc.slew_ns[after].at(slew, load)
                if out > target.slew_ns[after]:
                    target.slew_ns[after] = out
                for origin in (_INPUT, _REGISTER):
                    arrival = origin_net.arrival_ns[origin][edge] + delay
                    if arrival > target.arrival_ns[origin][after]:
                        target.arrival_ns[origin][after] = arrival
                        target.before[origin][after] = (node.cell, delay, source, edge)

    def _ends(self) -> Iterator[tuple[float, float, str, int, int, int, str]]:
        """Delay, setup, kind, net, origin, edge and name of every path's end."""
        for instance in self._flip_flops:
            name = self._register(instance)
            for setup in self._library.cells[instance.cell].setups:
                net = instance.pins.get(setup.pin)
                if net is not None:
                    for origin, edge, arrival in self._arrivals(net):
                        time = setup.time_ns[edge].at(0.0, self._nets[net].slew_ns[edge])
                        kind = f"{_ORIGINS[origin]}->reg"
                        yield arrival + time, time, kind, net, origin, edge, name
        for ends in self._outside_ends():
            side = "out" if ends is self._netlist.outputs else "reg"
            for net, name in ends.items():
                for origin, edge, arrival in self._arrivals(net):
                    yield arrival, 0.0, f"{_ORIGINS[origin]}->{side}", net, origin, edge, name

    def _arrivals(self, net: int) -> Iterator[tuple[int, int, float]]:
        if net in self._nets:
            for origin, arrivals in enumerate(self._nets[net].arrival_ns):
                for edge, arrival in enumerate(arrivals):
                    if arrival != _NEVER:
                        yield origin, edge, arrival

    def paths(self, count: int | None) -> list[Path]:
        ends = sorted(self._ends(), key=lambda end: (-end[0], end[6], end[2], end[5]))
        found: list[Path] = []
        seen = set()
        for end in ends:
            if count is None and end[2] in seen:
                continue
            path = self._trace(*end)
            key = (path.start, path.end) if count is not None else path.kind
            if key not in seen:
                seen.add(key)
                found.append(path)
            if len(found) == (len(KINDS) if count is None else count):
                break
        return found

    def _trace(
        self, delay: float, setup: float, kind: str, net: int, origin: int, edge: int, end: str
    ) -> Path:
        stages: list[Stage] = []
        gates = 0
        while (before := self._nets[net].before[origin][edge]) is not None:
            cell, stage_delay, previous, previous_edge = before
            state = self._nets[net]
            name = self._netlist.names.get(net, "")
            stages.append(
                Stage(
                    cell,
                    name,
                    edge == RISE,
                    stage_delay,
                    state.slew_ns[edge],
                    state.load_pf,
                    state.fanout,
                )
            )
            if previous is None:
                break
            gates += 1
            net, edge = previous, previous_edge
        return Path(
            kind=kind,
            start=_word(self._starts[net]),
            end=_word(end),
            delay_ns=delay,
            setup_ns=setup,
            stages=tuple(reversed(stages)),
            gates=gates,
        )


def _word(name: str) -> str:
    """Name of the signal without the number of the bit."""
    return re.sub(r"\[\d+\]$", "", name)
