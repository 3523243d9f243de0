"""More bits of inputs than the back end can number in one module."""

import re
from collections.abc import Mapping

from amaranth.hdl import Fragment, Instance, Signal, Value
from amaranth.hdl._ir import PortDirection

__all__ = ["drive_outside", "open_outside"]

Ports = Mapping[str, tuple[Value, PortDirection]]

_MOST_BITS = (1 << 16) - 1
"""That Amaranth can number of one cell: all inputs of a module are one, and so is an instance."""
_KIND = "t3_outside"
_CELL = re.compile(rf"^  cell \\{_KIND} \\\S+\n((?:    connect .*\n)*)  end\n", re.MULTILINE)
_CONNECTION = re.compile(r"    connect \\(\S+) \\(\S+)\n")
_NAME = re.compile(r"(?<!\n    connect )\\(\S+)")  # but for the ports of cells
_WIRE = re.compile(r"^(  wire width \d+) \\(\S+)$", re.MULTILINE)
_PORT = re.compile(r"^(  wire width \d+ (?:input|output) )(\d+)( +\\\S+)$", re.MULTILINE)


def drive_outside(fragment: Fragment, ports: Ports) -> dict[str, tuple[Value, PortDirection]]:
    """Let instances drive a module's inputs if they have too many bits for its ports.

    :func:`open_outside` makes inputs of them again, in the module's text.

    Parameters
    ----------
    fragment : Fragment
        Gets the instances.
    ports : mapping
        Signals by name, with their direction.

    Returns
    -------
    dict
        The ports that are left.
    """
    inputs = {name: value for name, (value, side) in ports.items() if side is PortDirection.Input}
    if sum(map(len, inputs.values())) <= _MOST_BITS:
        return dict(ports)
    groups: list[dict[str, Value]] = []
    left = 0
    for name, value in inputs.items():
        assert isinstance(value, Signal), f"Port {name} must be a signal, not {value!r}"
        value.name = name
        if len(value) > left:
            groups.append({})
            left = _MOST_BITS
        groups[-1][f"o_{name}"] = value
        left -= len(value)
    for number, group in enumerate(groups):
        fragment.add_subfragment(Instance(_KIND, **group), f"outside_{number}")
    return {name: port for name, port in ports.items() if name not in inputs}


def open_outside(rtlil: str) -> str:
    """Inputs in place of the instances of :func:`drive_outside`, before the other ports."""
    connections = [pair for cell in _CELL.findall(rtlil) for pair in _CONNECTION.findall(cell)]
    if not connections:
        return rtlil
    text = _CELL.sub("", rtlil)
    count = len(connections)
    text = _PORT.sub(lambda port: f"{port[1]}{count + int(port[2])}{port[3]}", text)
    # One net may have several names, of which the instance's wire need not be the input's.
    others = {wire: port for port, wire in connections} | dict(connections)
    text = _NAME.sub(lambda name: f"\\{others.get(name[1], name[1])}", text)
    numbers = {port: number for number, (port, _) in enumerate(connections)}

    def opened(wire: re.Match) -> str:
        number = numbers.pop(wire[2], None)
        return wire[0] if number is None else f"{wire[1]} input {number} \\{wire[2]}"

    text = _WIRE.sub(opened, text)
    assert not numbers, f"There is no wire of {', '.join(numbers)}"
    return text
