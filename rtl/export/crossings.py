"""Check for signals that cross module boundaries without a port."""

from collections.abc import Iterable, Iterator

from amaranth.hdl import ClockSignal, Fragment, Instance, ResetSignal, Signal, Value
from amaranth.hdl._mem import MemoryInstance

__all__ = ["Crossings"]


class Crossings:
    """Signals that the modules of a hierarchy read and drive.

    Amaranth connects a signal to all of its readers. A module that is converted separately would
    read a constant instead.
    """

    def __init__(self):
        # By identity, with the class of the reading or driving component.
        self._read: dict[int, tuple[Signal, str]] = {}
        self._driven: dict[int, tuple[Signal, str]] = {}

    def add(self, module: str, fragment: Fragment, inputs: Iterable[Value]) -> None:
        """Record the signals that a module reads without driving them, and those that it drives.

        Parameters
        ----------
        module : str
            Name of the module in error messages.
        fragment : Fragment
            Elaborated component, with instances in place of the components inside.
        inputs : iterable of Value
            Input ports of the module.
        """
        read: dict[int, Signal] = {}
        driven: dict[int, Signal] = {}
        given = {id(signal) for value in inputs for signal in value._lhs_signals()}
        for reads, drives in _signals(fragment):
            read |= {id(signal): signal for signal in reads}
            driven |= {id(signal): signal for signal in drives}
        loose = read.keys() - driven.keys() - given
        # A signal without bits needs no port.
        self._read |= {key: (read[key], module) for key in loose if len(read[key])}
        self._driven |= {key: (signal, module) for key, signal in driven.items()}

    def check(self) -> None:
        """Raise a :class:`ValueError` if a signal is read in a module, and driven in another."""
        for key, (signal, reader) in self._read.items():
            if key in self._driven:
                _, driver = self._driven[key]
                raise ValueError(f"{reader} reads {signal.name} of {driver}, which is not a port")


def _signals(fragment: Fragment) -> Iterator[tuple[Iterable[Signal], Iterable[Signal]]]:
    """Iterate over the read and the driven signals of a fragment, part by part."""
    if isinstance(fragment, Instance):
        for value, direction in fragment.ports.values():
            if direction != "i":
                yield (), value._lhs_signals()
            elif not isinstance(value, ClockSignal | ResetSignal):
                yield value._rhs_signals(), ()
    if isinstance(fragment, MemoryInstance):
        for port in fragment._read_ports:
            yield (), port._data._lhs_signals()
    for statements in fragment.statements.values():
        yield statements._rhs_signals(), statements._lhs_signals()
    for part, _name, _src_loc in fragment.subfragments:
        yield from _signals(part)
