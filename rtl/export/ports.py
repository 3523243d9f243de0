"""Ports of an exported module, with descriptions from the component's documentation."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

from amaranth.hdl import Const, ShapeLike, Value, ValueCastable
from amaranth.lib import data, enum, wiring

from rtl.lib.gating import CLOCK_ENABLE

from .names import identifier

__all__ = ["Field", "Port", "documented_ports", "summary"]


@dataclass(frozen=True)
class Field:
    """Field of a port: bits ``low`` to ``low + width - 1``.

    Parameters
    ----------
    count : int or None
        Number of elements of an array; ``fields`` are those of its first element.
    shape : type or None
        Enumeration of the field's values.
    """

    name: str
    low: int
    width: int
    count: int | None = None
    fields: tuple["Field", ...] = ()
    shape: type[enum.Enum] | None = None

    @property
    def bits(self) -> str:
        """Part select of the field in Verilog: ``7:0``, or ``3``."""
        return f"{self.low + self.width - 1}:{self.low}" if self.width > 1 else str(self.low)


@dataclass(frozen=True)
class Port:
    """Port of an exported module.

    Parameters
    ----------
    path : tuple
        Path of the component's member.
    description : str
        Description from the component's documentation; may be empty.
    """

    name: str
    direction: str
    path: tuple[str | int, ...]
    width: int
    fields: tuple[Field, ...] = ()
    description: str = ""


def documented_ports(component: wiring.Component) -> list[Port]:
    """List the ports in the order of the members, without clock and reset."""
    ports = []
    for path, member, value in component.signature.flatten(component):
        value = value.as_value() if isinstance(value, ValueCastable) else value
        if not isinstance(value, Const) and len(Value.cast(value)):
            ports.append(
                Port(
                    identifier("__".join(map(str, path))),
                    "input" if member.flow is wiring.In else "output",
                    path,
                    len(value),
                    tuple(_fields(member.shape)),
                    _description(type(component), component.signature, path),
                )
            )
    return ports


def summary(component: wiring.Component) -> str:
    """Extract the first paragraph of the component's documentation."""
    return _plain(dedent(type(component).__doc__ or "").strip().partition("\n\n")[0])


def _fields(shape: ShapeLike) -> Iterator[Field]:
    if isinstance(shape, data.ArrayLayout):
        return
    if isinstance(shape, data.Layout):
        for name, field in shape:
            if field.width:
                yield _field(str(name), field.offset, field.width, field.shape)


def _field(name: str, low: int, width: int, shape: ShapeLike) -> Field:
    if isinstance(shape, data.ArrayLayout):
        element = shape.elem_shape
        inner = tuple(_fields(element))
        return Field(name, low, width, shape.length, inner)
    named = shape if isinstance(shape, type) and issubclass(shape, enum.Enum) else None
    return Field(name, low, width, None, tuple(_fields(shape)), named)


def _description(owner: Any, signature: wiring.Signature, path: tuple) -> str:
    """Find the most specific description of a member among the classes on its path."""
    members = _members(owner)
    if path == ("clock_enable",):
        return " ".join([CLOCK_ENABLE, _plain(members.get("clock_enable", ""))]).strip()
    documented = members.get(path[0])
    see = documented and re.fullmatch(r"See :class:`(\w+)`\.", documented)
    if see:
        documented = _members(vars(sys.modules[owner.__module__])[see[1]]).get(path[0])
    found = _plain(documented or "")
    rest = [name for name in path[1:] if isinstance(name, str)]
    member = signature.members[path[0]]
    if rest and not member.is_port:
        inner = member.signature
        if isinstance(inner, wiring.FlippedSignature):
            inner = inner.flip()
        if not type(inner).__module__.startswith("amaranth."):
            return _description(type(inner), inner, tuple(rest)) or found
    return found


def _members(owner: type) -> dict[str, str]:
    """Parse the section "Members" of a class and its base classes into descriptions by name."""
    inherited = [kind for kind in owner.__mro__[1:] if not kind.__module__.startswith("amaranth.")]
    texts = _members(inherited[0]) if inherited and inherited[0] is not object else {}
    document = dedent("    " + (vars(owner).get("__doc__") or ""))
    section = re.search(r"^Members\n-+\n(.*?)(?:\n\n|\Z)", document, re.DOTALL | re.MULTILINE)
    entries = re.compile(r"^(\S.*)\n((?: +\S.*\n?)*)", re.MULTILINE)
    for names, text in entries.findall(section[1] if section else ""):
        for name in names.partition(" : ")[0].split(","):
            texts[name.strip()] = " ".join(text.split())
    return texts


def _plain(text: str) -> str:
    """Remove the markup of cross-references and code."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"\1", text)
    return " ".join(re.sub(r"`{1,2}([^`]+)`{1,2}", r"\1", text).split())
