"""Early stop: clock enables without one of their terms, so that a block stops too early."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Cat, Const, Fragment, Mux, Signal, Value, ValueCastable
from amaranth.hdl._ast import Assign, Concat, Operator, Slice
from amaranth.hdl._ir import PortDirection
from amaranth.lib.wiring import Component

from rtl.export.back_end import ports_of
from rtl.lib.gating import clock_gated, has_clock_enable, is_clock_gated

from .clocks import stopped
from .netlist import SELECT, flat_verilog

__all__ = ["EarlyStop", "early_stops", "one_of_each", "stops_early", "with_early_stop"]

_SELECT_BITS = 12
_ANY = ("b", "r|")
_UNARY = {"b": "any", "r|": "any", "r&": "all", "~": "not "}


@dataclass(frozen=True)
class EarlyStop:
    """Early stop of one block: one term of its clock enable is missing.

    Attributes
    ----------
    number : int
        Number of the defect, from 1.
    kind : str
        Class of the block.
    path : str
        Names of the submodules that lead to the block, with dots; empty for the module itself.
    term : str
        The missing term.
    """

    number: int
    kind: str
    path: str
    term: str

    @property
    def place(self) -> str:
        """Block and term in readable form, the same for all instances of a class."""
        return f"{self.kind}: {self.term}"


def with_early_stop(
    component: Component, name: str, *, folder: Path, left_out: Collection[type] = ()
) -> tuple[list[EarlyStop], str]:
    """Drop, one at a time, each term of each clock enable in a component.

    Blocks without clock enable hold their state, as behind a clock gate.

    Parameters
    ----------
    name : str
        Name of the module.
    folder : Path
        Folder for intermediate files.
    left_out : collection of type
        Classes of inner blocks that keep their clock enables, and all blocks inside of them.

    Returns
    -------
    tuple of list of EarlyStop and str
        Defects, and Verilog of the component with all of them and the input ``mutsel``, which
        selects one by its number.
    """
    select = Signal(_SELECT_BITS, name=SELECT)
    planter = _Planter(select, left_out)
    fragment = stopped(component, planter.plant)
    ports: dict[str, Any] = ports_of(component) | {SELECT: (select, PortDirection.Input)}
    text = rtlil.convert(fragment, name=name, ports=ports, emit_src=False)
    return planter.found, flat_verilog(text, name, folder)


def early_stops(component: Component, *, left_out: Collection[type] = ()) -> list[EarlyStop]:
    """List the defects that :func:`with_early_stop` would put into a component."""
    planter = _Planter(Const(0), left_out)
    stopped(component, planter.plant)
    return planter.found


def stops_early(block: type[Component], number: int) -> type[Component]:
    """Make a class of a block with one defect, by its number in :func:`early_stops`."""

    class StopsEarly(block):  # type: ignore[misc, valid-type]
        def elaborate(self, platform):
            fragment = Fragment.get(super().elaborate(platform), platform)
            # `Fragment.get` adds the block again.
            fragment.origins = (clock_gated(self),)
            _Planter(Const(number, _SELECT_BITS)).plant(fragment)
            fragment.origins = ()
            return fragment

    return StopsEarly


def one_of_each(found: Iterable[EarlyStop]) -> list[EarlyStop]:
    """Keep one of the defects that differ only in the number of an instance."""
    by_name = {(one.kind, re.sub(r"\d+", "", one.path), one.term): one for one in found}
    return list(by_name.values())


class _Planter:
    def __init__(self, select: Value, left_out: Collection[type] = ()):
        self._select = select
        self.found: list[EarlyStop] = []
        self._left_out = left_out
        self._read: set[int] = set()  # signals that the clock enables planted so far depend on
        self._names: dict[int, tuple[tuple[str, ...], str]] = {}

    def plant(self, fragment: Fragment) -> None:
        """Make the terms of all clock enables in a design removable."""
        self._name(fragment, ())
        self._plant(fragment, ())

    def _name(self, fragment: Fragment, path: tuple[str, ...]) -> None:
        """Record the path and the name of each signal that is a port or an attribute."""
        for block in _components(fragment):
            for name, value in _signals(block):
                self._names[id(value)] = path, name
        for inner, name, _ in fragment.subfragments:
            self._name(inner, (*path, name or ""))

    def _plant(self, fragment: Fragment, path: tuple[str, ...]) -> None:
        blocks = _components(fragment)
        if path and any(type(block) in self._left_out for block in blocks):
            return
        for block in filter(has_clock_enable, blocks):
            # The clock enable of an inner block without a gate may serve no gate.
            if not is_clock_gated(block) and id(block.clock_enable) not in self._read:
                continue
            statements = fragment.statements["comb"]
            (index,) = (
                index
                for index, statement in enumerate(statements)
                if isinstance(statement, Assign) and statement.lhs is block.clock_enable
            )
            self._read |= {id(signal) for signal in statements[index].rhs._rhs_signals()}
            enable = self._removable(statements[index].rhs, type(block).__name__, path)
            statements[index] = Assign(block.clock_enable, enable)
        for inner, name, _ in fragment.subfragments:
            self._plant(inner, (*path, name or ""))

    def _removable(self, value: Value, kind: str, path: tuple[str, ...]) -> Value:
        """Rebuild an expression so that each of its terms can be removed."""
        if _is_or(value) or isinstance(value, Concat):
            parts = (self._removable(part, kind, path) for part in _parts(value))
            return Cat(parts).any()
        term = self._remove(value, kind, path)
        if isinstance(value, Operator) and value.operator == "&":
            # A term may have a factor with terms of its own.
            factors = [
                self._removable(factor, kind, path) if _is_or(factor) else factor.any()
                for factor in value.operands
                if len(factor) == 1 or _is_or(factor)
            ]
            if len(factors) == len(value.operands):
                return Cat(factors).all() & term.any()
        return term

    def _remove(self, value: Value, kind: str, path: tuple[str, ...]) -> Value:
        number = len(self.found) + 1
        assert number < 1 << _SELECT_BITS
        self.found.append(EarlyStop(number, kind, ".".join(path), self._text(value, path)))
        return Mux(self._select == number, 0, value)

    def _text(self, value: Value, path: tuple[str, ...]) -> str:
        """Describe a term by the names of its signals, relative to the block at ``path``."""
        if isinstance(value, Signal):
            at, name = self._names.get(id(value), (path, value.name))
            return ".".join((*at[len(path) :], name))
        if isinstance(value, Slice):
            return f"{self._text(value.value, path)}[{value.start}:{value.stop}]"
        if isinstance(value, Const):
            return str(value.value)
        if isinstance(value, Operator):
            operands = [self._text(operand, path) for operand in value.operands]
            if len(operands) == 1:
                return f"{_UNARY.get(value.operator, value.operator)}({operands[0]})"
            return f"({f' {value.operator} '.join(operands)})"
        if isinstance(value, Concat):
            return ", ".join(self._text(part, path) for part in value.parts)
        return repr(value)


def _components(fragment: Fragment) -> list[Component]:
    return [one for one in fragment.origins or () if isinstance(one, Component)]


def _signals(block: Component) -> Iterator[tuple[str, Signal]]:
    """Yield ports and attributes of a block that are signals, with their names."""
    for name, value in vars(block).items():
        for key, one in enumerate(value) if isinstance(value, list) else [("", value)]:
            one = one.as_value() if isinstance(one, ValueCastable) else one
            if isinstance(one, Signal):
                yield f"{name.strip('_')}{'' if key == '' else f'[{key}]'}", one
    for path, _, value in block.signature.flatten(block):
        value = value.as_value() if isinstance(value, ValueCastable) else value
        if isinstance(value, Signal):
            yield ".".join(map(str, path)), value


def _is_or(value: Value) -> bool:
    if not isinstance(value, Operator):
        return False
    if value.operator in _ANY:
        return isinstance(value.operands[0], Concat) or _is_or(value.operands[0])
    return value.operator == "|"


def _parts(value: Value) -> Iterator[Value]:
    for operand in value.operands if isinstance(value, Operator) else (value,):
        yield from operand.parts if isinstance(operand, Concat) else (operand,)
