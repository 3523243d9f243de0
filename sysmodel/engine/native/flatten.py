"""Wrapper that splits a component's ports into one port for each word."""

from collections.abc import Iterable, Iterator

from amaranth.back import verilog
from amaranth.hdl import (
    Cat,
    ClockDomain,
    Const,
    DomainRenamer,
    Fragment,
    MemoryInstance,
    Module,
    Signal,
    Value,
)
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.export.back_end import allow_deep_expressions
from rtl.lib.gating import insert_clock_gates
from sysmodel.engine.gated_blocks import gated_blocks_within
from sysmodel.engine.ports import PortWord

__all__ = ["Flat"]


class GatedClock:
    """Clock of a gated block, which the wrapper drives.

    Attributes
    ----------
    domain : ClockDomain
        Clock domain of the block alone.
    enable : Signal
        Clock enable of the block.
    """

    def __init__(self, component: wiring.Component, number: int):
        self.component = component
        self.domain = ClockDomain(f"gated_{number}", reset_less=True)
        self.enable = Signal(name=f"enable_{number}")


def _inside(fragment: Fragment) -> Iterator[Fragment]:
    yield fragment
    for inner, *_ in fragment.subfragments:
        yield from _inside(inner)


def _is_clocked(part: Fragment) -> bool:
    """Test whether a part itself has registers that no gate stops."""
    if isinstance(part, MemoryInstance):
        ports = (*part._write_ports, *part._read_ports)
        return any(port._domain == "sync" for port in ports)
    return "sync" in part.statements


class Flat(wiring.Component):
    """Component behind one port for each word, with the name of the word.

    Words without bits, and inputs that the component holds constant (the ``ready`` of a stream that
    is always taken), have no port. There is no reset port either: a simulation begins with the
    initial values, and is faster without a reset in every register.

    In Verilog, clock-gated blocks have clocks of their own, which the wrapper leaves low while the
    clock enable of the block is low.

    Parameters
    ----------
    words : iterable of :class:`PortWord`
        Ports of the wrapper. All words of a port must be included.

    Attributes
    ----------
    inputs, outputs : list of :class:`PortWord`
        Words that have a port.
    clocks : list of :class:`GatedClock`
        Clocks of the gated blocks; empty before the Verilog is made.
    kinds : list of str
        Kind of each gated block; see :class:`sysmodel.engine.gated_blocks.GatedBlock`.
    is_fully_gated : bool
        Every register is in a gated block.
    """

    def __init__(self, component: wiring.Component, words: Iterable[PortWord]):
        self._component = component
        words = [word for word in words if word.width]
        self.inputs = [
            word
            for word in words
            if word.direction == "in" and not isinstance(self._port(word.path), Const)
        ]
        self.outputs = [word for word in words if word.direction == "out"]
        super().__init__(
            {word.name: In(word.width) for word in self.inputs}
            | {word.name: Out(word.width) for word in self.outputs}
        )
        self._domain = ClockDomain("sync", reset_less=True)
        self.clocks: list[GatedClock] = []
        self.kinds: list[str] = []
        self.is_fully_gated = False
        self._is_gated = False

    def verilog(self) -> str:
        """Make a module named ``t3``: its ports are ``clk``, the clock and the clock enable of each
        gated block, and the words."""
        allow_deep_expressions()
        self._is_gated = True
        fragment = Fragment.get(self, None)
        whole = fragment.find_subfragment("component")
        kinds = {id(component): block.kind for component, block in gated_blocks_within(whole)}
        self.kinds = [kinds[id(clock.component)] for clock in self.clocks]
        self.is_fully_gated = not any(map(_is_clocked, _inside(fragment)))
        words = self.inputs + self.outputs
        ports = [self._domain.clk, *(getattr(self, word.name) for word in words)]
        for clock in self.clocks:
            ports += [clock.domain.clk, clock.enable]
        return verilog.convert(
            fragment, name="t3", ports=ports, emit_src=False, strip_internal_attrs=True
        )

    def _port(self, path: tuple[str | int, ...]) -> Value:
        found = self._component
        for key in path:
            found = found[key] if isinstance(key, int) else getattr(found, key)
        return Value.cast(found)

    def _gate(self, block: wiring.Component, fragment: Fragment) -> Fragment:
        clock = GatedClock(block, len(self.clocks))
        self.clocks.append(clock)
        return DomainRenamer(clock.domain.name)(fragment)

    def elaborate(self, platform):
        m = Module()
        m.domains += self._domain
        component = Fragment.get(self._component, platform)
        if self._is_gated:
            component = insert_clock_gates(component, self._gate)
        m.submodules.component = component
        for clock in self.clocks:
            m.domains += clock.domain
            m.d.comb += clock.enable.eq(clock.component.clock_enable)
        ports: dict[tuple[str | int, ...], list[PortWord]] = {}
        for word in self.inputs:
            ports.setdefault(word.path, []).append(word)
        for path, words in ports.items():
            words.sort(key=lambda word: word.offset)
            m.d.comb += self._port(path).eq(Cat(getattr(self, word.name) for word in words))
        for word in self.outputs:
            port = self._port(word.path)
            m.d.comb += getattr(self, word.name).eq(port[word.offset : word.offset + word.width])
        return m
