"""Workaround for modules with more input bits than the back end supports."""

import re
from collections.abc import Mapping

from amaranth.hdl import Fragment, Instance, Signal, Value
from amaranth.hdl._ir import PortDirection

__all__ = ["split_inputs", "join_inputs"]

Ports = Mapping[str, tuple[Value, PortDirection]]

_MOST_BITS = (1 << 16) - 1
"""Greatest number of output bits of a cell in Amaranth; the inputs of a module form one cell."""
_KIND = "t3_input_group"
_CELL = re.compile(rf"^  cell \\{_KIND} \\\S+\n((?:    connect .*\n)*)  end\n", re.MULTILINE)
_CONNECTION = re.compile(r"    connect \\(\S+) \\(\S+)\n")
_NAME = re.compile(r"(?<!\n    connect )\\(\S+)")  # except for the ports of cells
_WIRE = re.compile(r"^(  wire width \d+) \\(\S+)$", re.MULTILINE)
_PORT = re.compile(r"^(  wire width \d+ (?:input|output) )(\d+)( +\\\S+)$", re.MULTILINE)


def split_inputs(fragment: Fragment, ports: Ports) -> dict[str, tuple[Value, PortDirection]]:
    """Replace a module's inputs by outputs of placeholder instances, if they have too many bits.

    :func:`join_inputs` turns the placeholders back into inputs, in the module's text.

    Parameters
    ----------
    fragment : Fragment
        Fragment to which the instances are added.
    ports : mapping
        Signals and directions of the ports by name.

    Returns
    -------
    dict
        Remaining ports.
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


def join_inputs(rtlil: str) -> str:
    """Replace the placeholder instances of :func:`split_inputs` by inputs, before other ports."""
    connections = [pair for cell in _CELL.findall(rtlil) for pair in _CONNECTION.findall(cell)]
    if not connections:
        return rtlil
    text = _CELL.sub("", rtlil)
    count = len(connections)
    text = _PORT.sub(lambda port: f"{port[1]}{count + int(port[2])}{port[3]}", text)
    # A net may have several names, and the placeholder's wire need not have the input's name.
    others = {wire: port for port, wire in connections} | dict(connections)
    text = _NAME.sub(lambda name: f"\\{others.get(name[1], name[1])}", text)
    numbers = {port: number for number, (port, _) in enumerate(connections)}

    def opened(wire: re.Match) -> str:
        number = numbers.pop(wire[2], None)
        return wire[0] if number is None else f"{wire[1]} input {number} \\{wire[2]}"

    text = _WIRE.sub(opened, text)
    assert not numbers, f"There is no wire of {', '.join(numbers)}"
    return text
