"""Hierarchies of components in RTLIL: every distinct module once."""

import hashlib
import itertools
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, ClockSignal, Fragment, Instance, ResetSignal, Signal, Value
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from .back_end import allow_deep_expressions, is_room, ports_of
from .cells import CLOCK_GATE
from .clock_gate import add_clock_gate
from .crossings import Crossings
from .likeness import likeness
from .outside import drive_outside, open_outside
from .parts import elaborate, instance_of
from .platform import ExportPlatform
from .reset_style import ResetStyle

__all__ = ["Hierarchies", "Part"]

_SELF = "t3_this_module"
_INNER = re.compile(rf"^module \\{_SELF}\.(\S+)$", re.MULTILINE)
_PORT = re.compile(r"^  wire width \d+ input \d+ +\\(\S+)$", re.MULTILINE)
_CELL = re.compile(r"^  cell \\(part_[0-9a-f]{32}) \\(\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """A module.

    Parameters
    ----------
    name : str
        Of the module.
    component : Component
        One of the components that it was made of.
    rtlil : str
        Its text, with the final names of its submodules.
    """

    name: str
    component: wiring.Component
    rtlil: str


class Hierarchies:
    """Hierarchies of components, in which what they share is converted once.

    Each component becomes a module of its own, whose ports have the names of the component's
    members. Components whose modules come out the same share one. FIFOs and the like of Amaranth's
    library stay inside the module that uses them, and so do small memories; large ones are cells.
    In the module of a room there is a gate, which stops the clock of all in it but of rooms inside.

    Parameters
    ----------
    reset : ResetStyle
        Of all registers.
    """

    def __init__(self, reset: ResetStyle = "synchronous"):
        self._reset = reset
        self._platform = ExportPlatform()
        self._crossings = Crossings()
        # By a key that is computed from the text.
        self._texts: dict[str, str] = {}
        self._components: dict[str, wiring.Component] = {}
        # What each component that was converted consists of, and its key.
        self._made: list[tuple[Any, str]] = []

    def parts(self, component: wiring.Component, name: str) -> list[Part]:
        """The distinct modules of a component, the top first.

        Parameters
        ----------
        component : Component
        name : str
            Of the top's module. The names of the others begin with it and two underscores, go on
            with the component's class and, where that has several variants, say where one is used.

        Raises
        ------
        ValueError
            If a component reads a signal of another one that is none of its ports.
        """
        allow_deep_expressions()
        if is_room(component):
            self._platform.stop_clock(component)
        top = self._add(component)
        self._crossings.check()
        names = self._names(top, name)
        taken = set(names.values())
        parts = []
        for key, module in names.items():
            text = self._texts[key]
            for inner in _INNER.findall(text):  # such as a FIFO of Amaranth's library
                inner_name = _free(f"{module}__{inner.replace('.', '_')}", taken)
                text = text.replace(f"\\{_SELF}.{inner}\n", f"\\{inner_name}\n")
                text = text.replace(f"\\{_SELF}.{inner} ", f"\\{inner_name} ")
            text = text.replace(f"\\{_SELF}\n", f"\\{module}\n")
            for child in sorted({child for child, _ in self._children(key)}):
                text = text.replace(f"\\{child} ", f"\\{names[child]} ")
            parts.append(Part(module, self._components[key], text))
        return parts

    def _add(self, component: wiring.Component) -> str:
        """Convert a component, unless one like it was, and give its key."""
        sleeps = self._platform.has_room(component)
        consists_of = sleeps, likeness(component)
        for other, key in self._made:
            if consists_of[1] is not None and consists_of == other:
                return key
        ports: dict[str, tuple[Value, PortDirection]] = dict(ports_of(component))
        clk = Signal(name="clk") if sleeps else ClockSignal()
        fragment = elaborate(component, self._platform, partial(self._instance, clk))
        if isinstance(clk, Signal):
            ports["clk"] = clk, PortDirection.Input
            self._put_to_sleep(component, fragment, clk, ports)
        inputs = [value for value, side in ports.values() if side is PortDirection.Input]
        self._crossings.add(type(component).__name__, fragment, inputs)
        text = open_outside(
            rtlil.convert(
                fragment,
                name=_SELF,
                ports=drive_outside(fragment, ports),
                emit_src=False,
                missing_domain=lambda _: self._domain(),
            )
        )
        key = f"part_{hashlib.sha256(text.encode()).hexdigest()[:32]}"
        self._texts.setdefault(key, text)
        self._components.setdefault(key, component)
        self._made.append((consists_of, key))
        return key

    def _domain(self) -> ClockDomain:
        style = self._reset
        return ClockDomain("sync", async_reset=style == "asynchronous", reset_less=style == "none")

    def _put_to_sleep(
        self,
        room: wiring.Component,
        fragment: Fragment,
        clk: Signal,
        ports: dict[str, tuple[Value, PortDirection]],
    ) -> None:
        """The reset becomes one of the ports, if there is one."""
        domain = self._domain()
        if domain.rst is not None:
            domain.rst = Signal(name="rst")
            ports["rst"] = domain.rst, PortDirection.Input
        needs_clock = domain.rst if self._reset == "synchronous" else None
        domain.clk = add_clock_gate(fragment, room, clk, needs_clock)
        fragment.add_domains(domain)

    def _instance(self, clk: Value, component: wiring.Component, name: str | None) -> Instance:
        """``clk`` is the clock of rooms."""
        key = self._add(component)
        if not self._platform.has_room(component):
            if isinstance(clk, Signal) and self._has_gates(key):
                kind = type(component).__name__
                raise TypeError(f"A {kind} in a room must have no rooms: its clock would stop them")
            clk = ClockSignal()
        # Outside, its signals would have the names of its members, as those of all other parts.
        for port, (value, _) in ports_of(component).items():
            if name is not None and isinstance(value, Signal):
                value.name = f"{name}__{port}"
        domain = {"clk": clk, "rst": ResetSignal(allow_reset_less=True)}
        ports = set(_PORT.findall(self._texts[key]))
        return instance_of(component, key, **{n: s for n, s in domain.items() if n in ports})

    def _has_gates(self, key: str) -> bool:
        children = {child for child, _ in self._children(key)}
        return f"cell \\{CLOCK_GATE} " in self._texts[key] or any(map(self._has_gates, children))

    def _children(self, key: str) -> list[tuple[str, str]]:
        """Key and instance name of each submodule."""
        return _CELL.findall(self._texts[key])

    def _names(self, top: str, prefix: str) -> dict[str, str]:
        """Names of the modules below ``top`` by their keys, the same whenever they are computed."""
        names, taken = {top: prefix}, {prefix}
        order = [top]
        kinds = defaultdict(dict)
        for parent in order:  # grows
            for key, instance in self._children(parent):
                if key not in order:
                    order.append(key)
                    kinds[_snake(self._components[key])][key] = (instance, parent)
        for kind, uses in sorted(kinds.items()):
            for key, (instance, parent) in uses.items():
                candidates = [f"{prefix}__{kind}"]
                if len(uses) > 1:
                    place = re.sub(r"_\d+$", "", instance)
                    owner = _snake(self._components[parent])
                    candidates = [f"{candidates[0]}_{place}", f"{candidates[0]}_{owner}_{place}"]
                free = [name for name in candidates if name not in taken]
                names[key] = _free((free or candidates)[0], taken)
        return {key: names[key] for key in order}


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number if it is taken, which it is from now on."""
    numbers = itertools.count(2)
    free = name
    while free in taken:
        free = f"{name}_{next(numbers)}"
    taken.add(free)
    return free


def _snake(component: wiring.Component) -> str:
    """``dma_lane`` for a ``DmaLane``."""
    name = type(component).__name__.lstrip("_")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
