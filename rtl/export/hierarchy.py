"""Hierarchies of components in RTLIL: every distinct module once."""

import hashlib
import itertools
import re
from collections import defaultdict
from dataclasses import dataclass
from unittest.mock import patch

from amaranth.back import rtlil
from amaranth.hdl import ClockSignal, Fragment, Instance, ResetSignal
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring
from amaranth.lib.data import Layout

from rtl.parameters import T3Parameters

from .back_end import ports_of

__all__ = ["Hierarchies", "Part"]

_SELF = "t3_this_module"
_INNER = re.compile(rf"^module \\{_SELF}\.(\S+)$", re.MULTILINE)
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
    members. Components whose modules come out the same share one. Memories, FIFOs and the like of
    Amaranth's library stay inside the module that uses them.
    """

    def __init__(self):
        # By a key that is computed from the text.
        self._texts: dict[str, str] = {}
        self._components: dict[str, wiring.Component] = {}
        self._made: list[tuple[type, wiring.Signature, dict, str]] = []
        self._converting: list[wiring.Component] = []
        self._elaborate = Fragment.get

    def parts(self, component: wiring.Component, name: str) -> list[Part]:
        """The distinct modules of a component, the top first.

        Parameters
        ----------
        component : Component
        name : str
            Of the top's module. The names of the others begin with it and two underscores, go on
            with the component's class and, where that has several variants, say where one is used.
        """
        names = self._names(self._add(component), name)
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
        """Convert a component, and give its key."""
        recipe = (type(component), component.signature, _construction(component))
        if recipe[2] is not None:
            for *made, key in self._made:
                if tuple(made) == recipe:
                    component._MustUse__used = True
                    return key
        self._converting.append(component)
        try:
            with patch.object(Fragment, "get", self._fragment):
                ports = ports_of(component)
                text = rtlil.convert(component, name=_SELF, ports=ports, emit_src=False)
        finally:
            self._converting.pop()
        key = f"part_{hashlib.sha256(text.encode()).hexdigest()[:32]}"
        self._texts.setdefault(key, text)
        self._components.setdefault(key, component)
        self._made.append((*recipe, key))
        return key

    def _children(self, key: str) -> list[tuple[str, str]]:
        """Key and instance name of each submodule."""
        return _CELL.findall(self._texts[key])

    def _fragment(self, source, platform):
        # The library's own components have no fixed set of ports.
        inside = type(source).__module__.startswith("amaranth.")
        if not isinstance(source, wiring.Component) or inside or source is self._converting[-1]:
            return self._elaborate(source, platform)
        key = self._add(source)
        connections = {}
        for port, (value, direction) in ports_of(source).items():
            side = "i" if direction is PortDirection.Input else "o"
            connections[f"{side}_{port}"] = value
        for port, value in (("clk", ClockSignal()), ("rst", ResetSignal())):
            if re.search(rf"^  wire width 1 input \d+ +\\{port}$", self._texts[key], re.MULTILINE):
                connections[f"i_{port}"] = value
        return Instance(key, **connections)

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


def _construction(component: wiring.Component) -> dict | None:
    """What its constructor kept, or None if that cannot be compared.

    It decides, with class and signature, what the component elaborates to; so the many that are
    alike need not all be converted to see that they are.
    """
    known = {*component.signature.members, "_Component__signature"}
    kept = {k: v for k, v in vars(component).items() if k not in known and "_MustUse__" not in k}
    plain = (int, str, tuple, T3Parameters, Layout)
    return kept if all(isinstance(value, plain) for value in kept.values()) else None


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
