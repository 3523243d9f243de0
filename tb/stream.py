"""Checker of the stream protocol, and generators of offers and of ready."""

import random
from collections import Counter
from collections.abc import Iterable

__all__ = ["Pace", "StreamChecker", "offer"]


def _value(handle) -> int:
    value = handle.value
    try:
        return int(value)
    except ValueError:
        raise AssertionError(f"{handle._name} is {value}") from None


def offer(dut, name: str, payload: int | None) -> None:
    """Set ``valid`` and the payload of a stream. Without a payload its bits are drawn at random,
    because a block must not depend on them.
    """
    port = getattr(dut, f"{name}__payload")
    getattr(dut, f"{name}__valid").value = int(payload is not None)
    port.value = random.getrandbits(len(port)) if payload is None else payload


class StreamChecker:
    """Asserts, cycle by cycle, that streams keep to their protocol.

    An offered payload stays unchanged until it is accepted. Valid and ready are always 0 or 1, and
    so are all bits of an offered payload.

    Parameters
    ----------
    dut
        Module with the streams, after its reset.
    names : iterable of str
        Names of the streams in the Verilog, without ``__valid``. A stream without a ``ready`` port
        is always ready.
    unheld : iterable of str
        Streams that follow other streams within the cycle: they may change until they are taken.

    Attributes
    ----------
    transfers, stalls : Counter
        Cycles in which each stream moved a payload, or offered one in vain.
    """

    def __init__(self, dut, names: Iterable[str], *, unheld: Iterable[str] = ()):
        self._dut = dut
        self._ports: dict[str, tuple] = {}
        self._held: dict[str, list[int]] = {}
        self._unheld = set(unheld)
        self.transfers: Counter[str] = Counter()
        self.stalls: Counter[str] = Counter()
        for name in (*names, *self._unheld):
            self.add(name, f"{name}__valid", f"{name}__ready", f"{name}__payload")

    def add(self, name: str, valid: str, ready: str, *payload: str) -> None:
        """Check another stream, by the names of its ports."""
        present = [getattr(self._dut, port, None) for port in payload]
        self._ports[name] = (
            getattr(self._dut, valid),
            getattr(self._dut, ready, None),
            [port for port in present if port is not None],
        )

    def forgive(self, names: Iterable[str]) -> None:
        """Allow these streams to withdraw their offers of the last cycle."""
        for name in names:
            self._held.pop(name, None)

    def sample(self) -> None:
        """Check one cycle, whose outputs have settled.

        Raises
        ------
        AssertionError
            If a stream breaks its protocol.
        """
        for name, (valid, ready, payload) in self._ports.items():
            takes = ready is None or bool(_value(ready))
            held = self._held.pop(name, None)
            if not _value(valid):
                assert held is None, f"{name} withdrew {held}"
                continue
            offered = [_value(port) for port in payload]
            assert held in (None, offered), f"{name} changed from {held} to {offered}"
            if takes:
                self.transfers[name] += 1
            else:
                self.stalls[name] += 1
                if name not in self._unheld:
                    self._held[name] = offered


class Pace:
    """Activity of several sides: each side acts at a rate that is redrawn after a number of cycles.

    Parameters
    ----------
    rng : :class:`random.Random`
    names : iterable of str
    rates : iterable of float
        Probabilities per cycle from which the rates are drawn.
    cycles : int
        Number of cycles between two draws.
    """

    def __init__(
        self,
        rng: random.Random,
        names: Iterable[str],
        *,
        rates: Iterable[float] = (0.1, 0.5, 0.9, 1, 1),
        cycles: int = 64,
    ):
        self._rng, self._names = rng, tuple(names)
        self._choices, self._cycles = tuple(rates), cycles
        self._rates: dict[str, float] = {}
        self._cycle = 0

    def acts(self) -> dict[str, bool]:
        """Return whether each side acts in the next cycle."""
        if self._cycle % self._cycles == 0:
            self._rates = {name: self._rng.choice(self._choices) for name in self._names}
        self._cycle += 1
        return {name: self._rng.random() < rate for name, rate in self._rates.items()}
