"""Cell libraries from Liberty files, with their reference cells and FO4 delay."""

import gzip
import hashlib
import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from sysmodel.lib.errors import InputError

from .cells import FALL, RISE, Arc, Cell, Library, Setup
from .functions import truth_table
from .liberty import Group, parse
from .tables import Table

__all__ = ["liberty_text", "load_library"]

_NS = {"ps": 1e-3, "ns": 1.0, "us": 1e3}
_PF = {"ff": 1e-3, "pf": 1.0, "nf": 1e3}
# A cell with one of these attributes is not for plain logic; some stand between power domains.
_SPECIAL = ("dont_use", "always_on", "is_isolation_cell", "is_level_shifter", "retention_cell")
_SENSES = {
    "positive_unate": ((RISE, RISE), (FALL, FALL)),
    "negative_unate": ((RISE, FALL), (FALL, RISE)),
}
_NON_UNATE = ((RISE, RISE), (FALL, RISE), (RISE, FALL), (FALL, FALL))
_FIRST = {"input_net_transition", "related_pin_transition", "input_transition_time"}
_SECOND = {"total_output_net_capacitance", "constrained_pin_transition"}


def liberty_text(path: Path) -> str:
    """Read the text of a Liberty file, which may be compressed with gzip.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        return content.decode("utf-8-sig", "replace")
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or "it is not a complete gzip file"
        raise InputError("liberty", f"{str(path)!r} cannot be read: {reason}") from None


def load_library(paths: Sequence[Path]) -> Library:
    """Read Liberty files that together are one library.

    Raises
    ------
    InputError
        A file cannot be read, or the library lacks an inverter, a buffer, a NAND2 or a D
        flip-flop.
    """
    cells: dict[str, Cell] = {}
    names, texts = [], []
    for path in paths:
        texts.append(liberty_text(path))
        try:
            group = parse(texts[-1])
            cells |= _Reader(group).cells()
        except (ValueError, KeyError) as error:
            problem = f"{str(path)!r} cannot be used: {error}"
            raise InputError("liberty", problem) from error
        names.append(group.name)
    checksum = hashlib.sha256("".join(texts).encode()).hexdigest()
    return _calibrated(" + ".join(names), checksum, cells)


def _calibrated(name: str, checksum: str, cells: dict[str, Cell]) -> Library:
    inverter = _smallest(cells, "inverter", lambda c: _is_gate(c, 1, (True, False)))
    nand2 = _smallest(cells, "NAND2", lambda c: _is_gate(c, 2, (True, True, True, False)))
    flip_flop = _smallest(cells, "D flip-flop", lambda c: c.is_plain_flip_flop)
    # Without a buffer, Yosys' ABC ends without a message.
    _smallest(cells, "buffer", lambda c: _is_gate(c, 1, (False, True)))
    fo4_ns, slew_ns = _fo4(inverter)
    return Library(
        name, checksum, cells, inverter.name, nand2.name, flip_flop.name, fo4_ns, slew_ns
    )


def _smallest(cells: dict[str, Cell], kind: str, is_kind: Callable[[Cell], bool]) -> Cell:
    candidates = [cell for cell in cells.values() if cell.usable and is_kind(cell)]
    if not candidates:
        raise InputError("liberty", f"the library has no {kind}")
    return min(candidates, key=lambda c: (c.area_um2, sum(c.inputs.values()), c.name))


def _is_gate(cell: Cell, inputs: int, table: tuple[bool, ...]) -> bool:
    if len(cell.inputs) != inputs or len(cell.functions) != 1 or not cell.arcs:
        return False
    (function,) = cell.functions.values()
    try:
        return truth_table(function, tuple(cell.inputs)) == table
    except ValueError:
        return False


def _fo4(inverter: Cell) -> tuple[float, float]:
    (capacitance,) = inverter.inputs.values()
    slews = [0.0, 0.0]
    for _ in range(100):  # converges in a few steps for any real cell
        delays, after = [0.0, 0.0], [0.0, 0.0]
        for arc in inverter.arcs:
            for before, edge in arc.edges:
                load = 4 * capacitance
                delay = arc.delay_ns[edge].at(slews[before], load)
                delays[edge] = max(delays[edge], delay)
                after[edge] = max(after[edge], arc.slew_ns[edge].at(slews[before], load))
        if after == slews:
            break
        slews = after
    return sum(delays) / 2, sum(slews) / 2


class _Reader:
    """Reader of one library group: its cells in ns, pF and µm²."""

    def __init__(self, library: Group):
        self._library = library
        self._ns = _unit(library.values.get("time_unit", "1ns"), _NS)
        number, unit = library.lists.get("capacitive_load_unit", ("1", "pf"))
        self._pf = float(number) * _PF[unit.lower()]
        self._templates = {group.name: group for group in library.all("lu_table_template")}

    def cells(self) -> dict[str, Cell]:
        return {group.name: self._cell(group) for group in self._library.all("cell")}

    def _cell(self, group: Group) -> Cell:
        inputs, functions, arcs, setups = {}, {}, [], []
        for pin in group.all("pin"):
            for name in pin.arguments:
                if pin.values.get("direction") == "input":
                    inputs[name] = float(pin.values.get("capacitance", "0")) * self._pf
                    setups += self._setups(pin, name)
                elif "function" in pin.values:
                    functions[name] = pin.values["function"]
                    arcs += self._arcs(pin, name)
        state = group.first("ff")
        clock = state.values.get("clocked_on", "") if state else ""
        plain = (
            state is not None
            and not {"clear", "preset"} & set(state.values)
            and state.values.get("next_state", "").strip("() ") in inputs
            and set(inputs) == {state.values["next_state"].strip("() "), clock.strip("() ")}
        )
        return Cell(
            name=group.name,
            area_um2=float(group.values.get("area", "0")),
            inputs=inputs,
            functions=functions,
            arcs=tuple(arcs),
            setups=tuple(setups),
            is_flip_flop=state is not None,
            is_plain_flip_flop=plain,
            usable=not any(group.values.get(k, "").lower() == "true" for k in _SPECIAL),
        )

    def _arcs(self, pin: Group, target: str) -> list[Arc]:
        arcs = []
        for timing in pin.all("timing"):
            kind = timing.values.get("timing_type", "combinational")
            if kind not in ("combinational", "rising_edge", "falling_edge"):
                continue
            delay = self._pair(timing, "cell_rise", "cell_fall")
            slew = self._pair(timing, "rise_transition", "fall_transition")
            if not delay or not slew:
                continue
            clocked = kind != "combinational"
            # Only the active edge of a clock counts; it arrives at 0.
            active = FALL if kind == "falling_edge" else RISE
            edges = (
                ((active, RISE), (active, FALL))
                if clocked
                else _SENSES.get(timing.values.get("timing_sense", ""), _NON_UNATE)
            )
            for source in timing.values.get("related_pin", "").split():
                arcs.append(Arc(source, target, edges, delay, slew, clocked))
        return arcs

    def _setups(self, pin: Group, name: str) -> list[Setup]:
        setups = []
        for timing in pin.all("timing"):
            if timing.values.get("timing_type") in ("setup_rising", "setup_falling"):
                times = self._pair(timing, "rise_constraint", "fall_constraint")
                if times:
                    setups.append(Setup(name, times))
        return setups

    def _pair(self, timing: Group, rise: str, fall: str) -> tuple[Table, Table] | None:
        groups = timing.first(rise), timing.first(fall)
        first, second = groups[0] or groups[1], groups[1] or groups[0]
        if first is None or second is None:
            return None
        return self._table(first), self._table(second)

    def _table(self, group: Group) -> Table:
        """Read a table in ns.

        The first variable is the slew of the input or clock, the second the load or the slew of the
        constrained pin.
        """
        values = [_numbers(row) for row in group.lists["values"]]
        template = self._templates.get(group.name)
        if template is None:  # "scalar"
            return Table((0.0,), (0.0,), ((values[0][0] * self._ns,),))
        axes: list[tuple[str, tuple[float, ...]]] = []
        for number in ("1", "2"):
            variable = template.values.get(f"variable_{number}")
            if variable is None:
                continue
            if variable not in _FIRST | _SECOND:
                raise ValueError(f"tables over {variable} are not known")
            points = group.lists.get(f"index_{number}") or template.lists[f"index_{number}"]
            unit = self._pf if variable == "total_output_net_capacitance" else self._ns
            axes.append((variable, tuple(each * unit for each in _numbers(" ".join(points)))))
        if len(axes) == 1:
            ((variable, index),) = axes
            flat = [number for row in values for number in row]
            is_first = variable in _FIRST
            rows = [[number] for number in flat] if is_first else [flat]
            axes = [("", index), ("", (0.0,))] if is_first else [("", (0.0,)), ("", index)]
        else:
            flat = [number for row in values for number in row]
            width = len(axes[1][1])
            rows = [flat[start : start + width] for start in range(0, len(flat), width)]
            if axes[0][0] in _SECOND:
                axes.reverse()
                rows = [list(column) for column in zip(*rows, strict=True)]
        (_, first), (_, second) = axes
        return Table(
            first, second, tuple(tuple(number * self._ns for number in row) for row in rows)
        )


def _unit(text: str, units: dict[str, float]) -> float:
    match = re.fullmatch(r"([\d.]*)\s*(\w+)", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a unit")
    number, unit = match.groups()
    return float(number or 1) * units[unit.lower()]


def _numbers(text: str) -> list[float]:
    return [float(part) for part in re.split(r"[,\s]+", text.strip()) if part]
