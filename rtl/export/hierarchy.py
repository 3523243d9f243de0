"""Hierarchies of components in RTLIL, with each distinct module once."""

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

from rtl.lib.gating import clock_gated, has_clock_enable, is_clock_gated

from .back_end import allow_deep_expressions, ports_of
from .cells import CLOCK_GATE
from .clock_gate import add_clock_gate
from .crossings import Crossings
from .parts import elaborate, instance_of
from .platform import ExportPlatform
from .reset_style import ResetStyle
from .structural_key import structural_key
from .wide_inputs import join_inputs, split_inputs

__all__ = ["Hierarchies", "Part"]

_SELF = "t3_this_module"
_INNER = re.compile(rf"^module \\{_SELF}\.(\S+)$", re.MULTILINE)
_PORT = re.compile(r"^  wire width \d+ input \d+ +\\(\S+)$", re.MULTILINE)
_CELL = re.compile(r"^  cell \\(part_[0-9a-f]{32}) \\(\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """Module of a hierarchy.

    Parameters
    ----------
    name : str
        Name of the module.
    component : Component
        One of the components that the module implements.
    rtlil : str
        RTLIL of the module, with the final names of its submodules.
    """

    name: str
    component: wiring.Component
    rtlil: str


class Hierarchies:
    """Hierarchies of components, in which shared modules are converted once.

    Each component becomes a module whose ports have the names of the component's members.
    Components with identical modules share one module. Components of Amaranth's library, such as
    FIFOs, and small memories stay inside the module that uses them; large memories are cells. The
    module of a clock-gated block contains a gate for the clock of all its registers, except those
    of gated blocks inside.

    Parameters
    ----------
    reset : ResetStyle
        Reset style of all registers.
    """

    def __init__(self, reset: ResetStyle = "synchronous"):
        self._reset = reset
        self._platform = ExportPlatform()
        self._crossings = Crossings()
        # Modules by a key that is a hash of their text.
        self._texts: dict[str, str] = {}
        self._components: dict[str, wiring.Component] = {}
        # Structural key and text key of each converted component.
        self._made: list[tuple[Any, str]] = []

    def parts(self, component: wiring.Component, name: str) -> list[Part]:
        """List the distinct modules of a component, the top first.

        Parameters
        ----------
        name : str
            Name of the top's module, and prefix of all others, followed by two underscores, the
            component's class and, for a class with several variants, the place of use.

        Raises
        ------
        ValueError
            If a component reads a signal of another component that is not a port.
        """
        allow_deep_expressions()
        if has_clock_enable(component):
            clock_gated(component)
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
        """Convert a component, unless an equal one was converted before; return its key."""
        gated = is_clock_gated(component)
        structure = gated, structural_key(component)
        for other, key in self._made:
            if structure[1] is not None and structure == other:
                return key
        ports: dict[str, tuple[Value, PortDirection]] = dict(ports_of(component))
        clk = Signal(name="clk") if gated else ClockSignal()
        fragment = elaborate(component, self._platform, partial(self._instance, clk))
        if isinstance(clk, Signal):
            ports["clk"] = clk, PortDirection.Input
            self._gate(component, fragment, clk, ports)
        inputs = [value for value, side in ports.values() if side is PortDirection.Input]
        self._crossings.add(type(component).__name__, fragment, inputs)
        text = join_inputs(
            rtlil.convert(
                fragment,
                name=_SELF,
                ports=split_inputs(fragment, ports),
                emit_src=False,
                missing_domain=lambda _: self._domain(),
            )
        )
        key = f"part_{hashlib.sha256(text.encode()).hexdigest()[:32]}"
        self._texts.setdefault(key, text)
        self._components.setdefault(key, component)
        self._made.append((structure, key))
        return key

    def _domain(self) -> ClockDomain:
        style = self._reset
        return ClockDomain("sync", async_reset=style == "asynchronous", reset_less=style == "none")

    def _gate(
        self,
        block: wiring.Component,
        fragment: Fragment,
        clk: Signal,
        ports: dict[str, tuple[Value, PortDirection]],
    ) -> None:
        """Add a clock gate, and the reset to the ports if there is one."""
        domain = self._domain()
        if domain.rst is not None:
            domain.rst = Signal(name="rst")
            ports["rst"] = domain.rst, PortDirection.Input
        needs_clock = domain.rst if self._reset == "synchronous" else None
        domain.clk = add_clock_gate(fragment, block, clk, needs_clock)
        fragment.add_domains(domain)

    def _instance(self, clk: Value, component: wiring.Component, name: str | None) -> Instance:
        """Make an instance of a component; ``clk`` is the clock before the gate of the module."""
        key = self._add(component)
        if not is_clock_gated(component):
            if isinstance(clk, Signal) and self._has_gates(key):
                kind = type(component).__name__
                raise TypeError(
                    f"A {kind} in a gated block must contain no gated block: both gates would act"
                )
            clk = ClockSignal()
        # In the surrounding module, the signals of different parts need different names.
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
        """List key and instance name of each submodule."""
        return _CELL.findall(self._texts[key])

    def _names(self, top: str, prefix: str) -> dict[str, str]:
        """Choose reproducible names for the modules below ``top``, by their keys."""
        names, taken = {top: prefix}, {prefix}
        order = [top]
        kinds = defaultdict(dict)
        for parent in order:  # the loop appends to it
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
    """Reserve a name; append a number if the name is taken."""
    numbers = itertools.count(2)
    free = name
    while free in taken:
        free = f"{name}_{next(numbers)}"
    taken.add(free)
    return free


def _snake(component: wiring.Component) -> str:
    """Convert a class name to snake case: ``dma_lane`` for ``DmaLane``."""
    name = type(component).__name__.lstrip("_")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
