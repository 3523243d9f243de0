"""A component's ports taken apart into one port for each word."""

from collections.abc import Iterable, Iterator

from amaranth.back import verilog
from amaranth.hdl import (
    Cat,
    ClockDomain,
    Const,
    DomainRenamer,
    Elaboratable,
    Fragment,
    MemoryInstance,
    Module,
    Signal,
    Value,
)
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.export.back_end import allow_deep_expressions
from sysmodel.engine.ports import PortWord
from sysmodel.engine.rooms import rooms_within

__all__ = ["Flat"]


class Room:
    """A room that sleeps.

    Attributes
    ----------
    component : Component
    domain : ClockDomain
        Its own.
    awake : Signal
        See :func:`~rtl.lib.sleep.may_sleep`.
    """

    def __init__(self, component: wiring.Component, number: int):
        self.component = component
        self.domain = ClockDomain(f"room_{number}", reset_less=True)
        self.awake = Signal(name=f"awake_{number}")


class _Clocks:
    """A platform that gives each room that sleeps a clock."""

    def __init__(self) -> None:
        self.rooms: list[Room] = []

    def stop_clock(self, component: wiring.Component) -> Elaboratable:
        room = Room(component, len(self.rooms))
        self.rooms.append(room)
        return DomainRenamer(room.domain.name)(component)


def _inside(fragment: Fragment) -> Iterator[Fragment]:
    yield fragment
    for inner, *_ in fragment.subfragments:
        yield from _inside(inner)


def _is_clocked(part: Fragment) -> bool:
    """Whether a part itself has registers, of no room."""
    if isinstance(part, MemoryInstance):
        ports = (*part._write_ports, *part._read_ports)
        return any(port._domain == "sync" for port in ports)
    return "sync" in part.statements


class Flat(wiring.Component):
    """A component behind one port for each word, named as the word.

    Words without bits, and inputs that the component holds constant (the ``ready`` of a stream that
    is always taken), have no port. There is no reset either: a simulation begins with the initial
    values, and is quicker without a reset in every register.

    In Verilog, rooms that sleep have clocks of their own, which the wrapper leaves low while they
    do.

    Parameters
    ----------
    component : :class:`~amaranth.lib.wiring.Component`
    words : iterable of :class:`PortWord`
        Its ports. All words of a port must be there.

    Attributes
    ----------
    inputs, outputs : list of :class:`PortWord`
        Words that have a port.
    rooms : list of :class:`Room`
        Those whose clocks stop in the Verilog; empty before that is made.
    kinds : list of str
        Of what kind each of them is; see :class:`sysmodel.engine.rooms.Room`.
    sleeps : bool
        There is no register beside those of the rooms.
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
        self.rooms: list[Room] = []
        self.kinds: list[str] = []
        self.sleeps = False

    def verilog(self) -> str:
        """Text of a module named ``t3``: its ports are ``clk``, the clocks of the rooms and what
        tells that they are awake, and the words."""
        allow_deep_expressions()
        clocks = _Clocks()
        fragment = Fragment.get(self, clocks)
        self.rooms = clocks.rooms
        whole = fragment.find_subfragment("component")
        found = rooms_within(whole, [room.component for room in self.rooms])
        kinds = {id(component): room.kind for component, room in found}
        self.kinds = [kinds[id(room.component)] for room in self.rooms]
        self.sleeps = not any(map(_is_clocked, _inside(fragment)))
        words = self.inputs + self.outputs
        ports = [self._domain.clk, *(getattr(self, word.name) for word in words)]
        for room in self.rooms:
            ports += [room.domain.clk, room.awake]
        return verilog.convert(
            fragment, name="t3", ports=ports, emit_src=False, strip_internal_attrs=True
        )

    def _port(self, path: tuple[str | int, ...]) -> Value:
        found = self._component
        for key in path:
            found = found[key] if isinstance(key, int) else getattr(found, key)
        return Value.cast(found)

    def elaborate(self, platform):
        m = Module()
        m.domains += self._domain
        m.submodules.component = Fragment.get(self._component, platform)
        for room in platform.rooms if isinstance(platform, _Clocks) else ():
            m.domains += room.domain
            m.d.comb += room.awake.eq(room.component.awake)
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
