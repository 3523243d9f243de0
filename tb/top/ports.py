"""The top's ports in the Verilog, from the golden model's arrays of words and back."""

from collections import defaultdict

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.ports import PortWord, top_words

__all__ = ["TopPorts"]

_BUS_RESPONSES = {"bresp": "bvalid", "rdata": "rvalid", "rresp": "rvalid"}


def _gate(path: tuple[str | int, ...]) -> tuple[str | int, ...] | None:
    """The port that says whether this one counts, if one does."""
    if path[-1] == "payload":
        return (*path[:-1], "valid")
    if path[0] == "bus" and path[-1] in _BUS_RESPONSES:
        return (*path[:-1], _BUS_RESPONSES[path[-1]])
    if path[-1] == "link_owner":
        return (*path[:-1], "link_out", "valid")
    return None


class TopPorts:
    """Ports of the top under test.

    Parameters
    ----------
    dut
        The top, after its reset.
    p : T3Parameters
        Its own.
    """

    def __init__(self, dut, p: T3Parameters):
        words: dict[tuple, list[PortWord]] = defaultdict(list)
        for word in top_words(p):
            # A stream that is always taken has no ready port.
            if word.width and hasattr(dut, self._name(word.path)):
                words[word.path].append(word)
        self._dut = dut
        self._inputs = [path for path in words if words[path][0].direction == "in"]
        self._outputs = [path for path in words if words[path][0].direction == "out"]
        self._words = words
        self._given = dict.fromkeys(self._inputs, 0)

    @staticmethod
    def _name(path: tuple[str | int, ...]) -> str:
        return "__".join(map(str, path))

    def _value(self, path: tuple[str | int, ...], array: np.ndarray) -> int:
        return sum(
            (int(array[word.index]) & (1 << word.width) - 1) << word.offset
            for word in self._words[path]
        )

    def give(self, inputs: np.ndarray) -> None:
        """Set the inputs to an array of them."""
        for path in self._inputs:
            value = self._value(path, inputs)
            if value != self._given[path]:
                self._given[path] = value
                getattr(self._dut, self._name(path)).value = value

    def compare(self, outputs: np.ndarray) -> None:
        """Compare the outputs with an array of them; what a stream offers counts if it is valid.

        Raises
        ------
        AssertionError
            With the names of those that differ.
        """
        differences = []
        for path in self._outputs:
            gate = _gate(path)
            if gate and not self._value(gate, outputs):
                continue
            name, expected = self._name(path), self._value(path, outputs)
            found = getattr(self._dut, name).value
            if not found.is_resolvable or int(found) != expected:
                differences.append(f"{name} is {found}, not {expected:#x}")
        assert not differences, "; ".join(differences)
