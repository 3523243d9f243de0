"""Verilog headers with registers and port layouts, for benches and drivers."""

import re
from collections.abc import Iterable, Iterator

from amaranth.hdl import Shape
from amaranth.lib import enum

from rtl.interface.encodings import (
    Action,
    ConfigurationError,
    ErrorCode,
    Granularity,
    InjectTarget,
    Policy,
)
from rtl.registers import map as register_map

from .ports import Field, Port

__all__ = ["layout_header", "register_header"]


def register_header(prefix: str) -> str:
    """Make a header with addresses, fields and reset values of the registers, from ``t3.rdl``.

    Parameters
    ----------
    prefix : str
        Prefix of the macros, in capitals.
    """
    lines = []
    for register in register_map.load().values():
        lines += ["", f"// {register.title}"]
        lines.append(_define(f"{prefix}_{register.name}", f"16'h{register.address:04x}"))
        if register.reset:
            lines.append(_define(f"{prefix}_{register.name}_RESET", f"32'h{register.reset:08x}"))
        for field in register.fields:
            name = f"{prefix}_{register.name}_{field.name.upper()}"
            if field.description:
                lines.append(f"// {field.description}")
            lines.append(_define(name, Field(field.name, field.low, field.width).bits))
    for shape in (Action, ErrorCode, Granularity, Policy, ConfigurationError, InjectTarget):
        lines += _values(prefix, shape)
    return _header(
        f"{prefix}_REGISTERS_VH",
        "Registers: byte addresses, and for each field the bits that a part select takes.",
        lines,
    )


def layout_header(prefix: str, ports: Iterable[Port]) -> str:
    """Make a header with widths and fields of the top's ports; channel 0 represents all channels.

    Parameters
    ----------
    prefix : str
        Prefix of the macros, in capitals.
    """
    lines, enumerations = [], {}
    for port in ports:
        if any(isinstance(name, int) and name > 0 for name in port.path):
            continue
        path = [name for name in port.path if isinstance(name, str) and name != "channel"]
        is_flag = path[-1] in ("valid", "ready")
        if is_flag or path[0] == "bus":
            continue
        path = path[:-1] if path[-1] == "payload" else path
        name = "_".join([prefix, *path]).upper()
        lines += ["", f"// {port.name}"] if port.fields else [""]
        lines.append(_define(f"{name}_BITS", str(port.width)))
        for field in port.fields:
            lines.append(_define(f"{name}_{field.name.upper()}", field.bits))
            lines.append(_define(f"{name}_{field.name.upper()}_BITS", str(field.width)))
        enumerations |= {shape.__name__: shape for shape in _enumerations(port.fields)}
    for _, shape in sorted(enumerations.items()):
        lines += _values(prefix, shape)
    return _header(
        f"{prefix}_LAYOUTS_VH",
        "Ports of the top: widths, the bits of their fields, and the values of these.",
        lines,
    )


def _enumerations(fields: Iterable[Field]) -> Iterator[type[enum.Enum]]:
    for field in fields:
        if field.shape is not None:
            yield field.shape
        yield from _enumerations(field.fields)


def _values(prefix: str, shape: type[enum.Enum]) -> list[str]:
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", shape.__name__).upper()
    width = Shape.cast(shape).width
    defines = [_define(f"{prefix}_{kind}_{v.name}", f"{width}'d{v.value}") for v in shape]
    return ["", f"// {shape.__name__}", *defines]


def _define(name: str, value: str) -> str:
    return f"`define {name:40} {value}"


def _header(guard: str, title: str, lines: list[str]) -> str:
    body = "\n".join(lines)
    return f"// {title}\n`ifndef {guard}\n`define {guard}\n{body}\n\n`endif\n"
