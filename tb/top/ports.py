"""Ports of the top in the Verilog, converted from the golden model's arrays of words and back."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.ports import PortWord, top_words

__all__ = ["TopPorts"]

_BUS_RESPONSES = {"bresp": "bvalid", "rdata": "rvalid", "rresp": "rvalid"}

_Path = tuple[str | int, ...]


def _gate(path: _Path) -> _Path | None:
    """Return the path of the port that shows whether this port is valid, if there is one."""
    if path[-1] == "payload":
        return (*path[:-1], "valid")
    if path[0] == "bus" and path[-1] in _BUS_RESPONSES:
        return (*path[:-1], _BUS_RESPONSES[path[-1]])
    if path[-1] == "link_owner":
        return (*path[:-1], "link_out", "valid")
    return None


@dataclass(frozen=True)
class _Port:
    """Port, with the places of its words in an array: index, mask, first bit."""

    name: str
    handle: Any
    words: Sequence[tuple[int, int, int]]

    def value(self, array: list[int]) -> int:
        return sum((array[index] & mask) << offset for index, mask, offset in self.words)


def _is(handle: Any, expected: int) -> bool:
    """Compare a value with the expected one; faster than a search for an X in each bit."""
    try:
        return int(handle.value) == expected
    except ValueError:
        return False


class TopPorts:
    """Ports of the top under test.

    Parameters
    ----------
    dut
        The top, after its reset.
    p : T3Parameters
        Parameters of the top.
    """

    def __init__(self, dut, p: T3Parameters):
        words: dict[_Path, list[PortWord]] = defaultdict(list)
        for word in top_words(p):
            # A stream that is always accepted has no ready port.
            if word.width and hasattr(dut, self._name(word.path)):
                words[word.path].append(word)
        ports = {
            path: _Port(
                self._name(path),
                getattr(dut, self._name(path)),
                [(word.index, (1 << word.width) - 1, word.offset) for word in of_port],
            )
            for path, of_port in words.items()
        }
        self._inputs = [port for path, port in ports.items() if words[path][0].direction == "in"]
        self._outputs = [
            (port, ports[gate] if (gate := _gate(path)) else None)
            for path, port in ports.items()
            if words[path][0].direction == "out"
        ]
        self._given = [0] * len(self._inputs)

    @staticmethod
    def _name(path: _Path) -> str:
        return "__".join(map(str, path))

    def give(self, inputs: np.ndarray) -> None:
        """Set the inputs from an array."""
        array = inputs.tolist()
        for number, port in enumerate(self._inputs):
            value = port.value(array)
            if value != self._given[number]:
                self._given[number] = value
                port.handle.value = value

    def compare(self, outputs: np.ndarray) -> None:
        """Compare the outputs with an array; a stream's payload is compared only if it is valid.

        Raises
        ------
        AssertionError
            If outputs differ; the message names them.
        """
        array = outputs.tolist()
        differences = []
        for port, gate in self._outputs:
            if gate and not gate.value(array):
                continue
            expected = port.value(array)
            if not _is(port.handle, expected):
                differences.append(f"{port.name} is {port.handle.value}, not {expected:#x}")
        assert not differences, "; ".join(differences)
