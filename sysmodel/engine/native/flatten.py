"""A component's ports taken apart into one port for each word."""

from collections.abc import Iterable

from amaranth.hdl import Cat, ClockDomain, Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from sysmodel.engine.ports import PortWord

__all__ = ["Flat"]


class Flat(wiring.Component):
    """A component behind one port for each word, named as the word.

    Words without bits, and inputs that the component holds constant (the ``ready`` of a stream that
    is always taken), have no port. There is no reset either: a simulation begins with the initial
    values, and is quicker without a reset in every register.

    Parameters
    ----------
    component : :class:`~amaranth.lib.wiring.Component`
    words : iterable of :class:`PortWord`
        Its ports. All words of a port must be there.

    Attributes
    ----------
    inputs, outputs : list of :class:`PortWord`
        Words that have a port.
    domain : :class:`~amaranth.hdl.ClockDomain`
        The only one.
    ports : list of :class:`~amaranth.hdl.Signal`
        For a back end: the clock, and all words.
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
        self.domain = ClockDomain("sync", reset_less=True)
        words = self.inputs + self.outputs
        self.ports = [self.domain.clk, *(getattr(self, word.name) for word in words)]

    def _port(self, path: tuple[str | int, ...]) -> Value:
        found = self._component
        for key in path:
            found = found[key] if isinstance(key, int) else getattr(found, key)
        return Value.cast(found)

    def elaborate(self, platform):
        m = Module()
        m.domains += self.domain
        m.submodules.component = self._component
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
